//! Receipts end: the oldest files of a log are moved into an archive, and the log goes on from a base.
//!
//! The order is what makes a crash harmless at any point. First the base is appended to the log and is on the disk: a
//! receipt, signed and linked like any other, that names the last receipt of the archive to be. Then the files are copied
//! and the copy is on the disk under its own name. Only then are they deleted, the oldest first, after another comparison,
//! byte by byte, with the copy. Between the first and the last step the log holds more than it has to; the same command
//! again ends what was begun.
//!
//! Whole files are moved, so nothing is written anew. Files that writers are done with never change, so they are copied
//! without the lock: hooks go on appending to the last one.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_artifact::Digest;
use holdpoint_common::read;

use crate::body::{Body, Event};
use crate::envelope::Receipt;
use crate::error::LogError;
use crate::files::{self, KEY_SET, Segment, beside};
use crate::keyset::KeySet;
use crate::lines::line_before;
use crate::log::{Log, Tail, sync_directory};
use crate::moment::Moment;
use crate::permissions;

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// The number of its last receipt.
    pub through: u64,
    /// That receipt's digest.
    pub digest: Digest,
    /// The key set beside it.
    pub keys: PathBuf,
    /// How many files were moved out of the log.
    pub files: usize,
}

/// Up to where a log is archived.
struct Base {
    through: u64,
    digest: Digest,
}

impl Log {
    /// Moves the oldest files of receipts into an archive: those whose receipts were all made before a time, or all.
    /// Where the archive is there already, ends the move that was begun into it.
    ///
    /// # Errors
    ///
    /// Where there is nothing to move, or a file cannot be read or written. Nothing is lost then, and the log goes on.
    pub fn archive(&self, to: &Path, before: Option<Moment>, wait: Duration) -> Result<Archived, LogError> {
        if Segment::first(to).is_some() {
            return Err(LogError::Archive(format!(
                "{} is named like a file of the log itself; choose another name",
                to.display()
            )));
        }
        let base = if to.exists() {
            self.begun(to)?
        } else {
            let base = self.begin_archive(to, before, wait)?;
            self.copy(to, base.through)?;
            base
        };
        let files = self.remove(to, base.through, wait)?;
        Ok(Archived {
            through: base.through,
            digest: base.digest,
            keys: beside(to),
            files,
        })
    }

    /// Appends the base.
    fn begin_archive(&self, to: &Path, before: Option<Moment>, wait: Duration) -> Result<Base, LogError> {
        let name = file_name(to);
        let _lock = self.lock(wait)?;
        let mut tail = Tail::find(self)?;
        let key = self.right_key(&tail)?;
        let segments = Segment::all(&self.directory)?;
        if let Some(base) = self.pending(&tail, &segments, &name) {
            return Ok(base);
        }
        let mut last = None;
        let mut count = 0;
        for segment in &segments {
            // A file that a writer began and did not get to write into.
            let Some(receipt) = last_of(&segment.path)? else {
                break;
            };
            if before.is_some_and(|before| receipt.issued_at >= before) {
                break;
            }
            last = Some(receipt);
            count += 1;
        }
        let nothing = || {
            let why = match before {
                Some(before) => format!("no file of them ends before {before}, and files are moved whole"),
                None => "there are no receipts but the base of the last archive".to_owned(),
            };
            LogError::Archive(format!(
                "nothing to archive from {}: {why}",
                self.directory.display()
            ))
        };
        let last = last.ok_or_else(nothing)?;
        let only_a_base = matches!(last.body, Body::Event(Event::Archived { .. }))
            && segments.first().and_then(|segment| Segment::first(&segment.path)) == Some(last.seq);
        if only_a_base {
            return Err(nothing());
        }
        if count == segments.len() {
            // The last file is among them: the base begins the next one.
            tail.segment = None;
        }
        let event = Event::Archived {
            through: last.seq,
            digest: last.digest,
            file: name,
        };
        let mut lines = Vec::new();
        for event in &tail.set_aside.clone() {
            tail.sign(&Body::Event(event.clone()), &key, &mut lines)?;
        }
        tail.sign(&Body::Event(event), &key, &mut lines)?;
        tail.write(&lines, true)?;
        Ok(Base {
            through: last.seq,
            digest: last.digest,
        })
    }

    /// The base that was appended for this archive, where nothing came of it so far.
    fn pending(&self, tail: &Tail<'_>, segments: &[Segment], name: &str) -> Option<Base> {
        let (segment, _) = tail.segment.as_ref()?;
        match last_of(&segment.path).ok()??.body {
            Body::Event(Event::Archived {
                through,
                digest,
                file,
            }) if file == name => {
                let first = Segment::first(&segments.first()?.path)?;
                (first <= through).then_some(Base { through, digest })
            }
            _ => None,
        }
    }

    /// Up to where an archive goes that is there already, if it was made from this log.
    fn begun(&self, to: &Path) -> Result<Base, LogError> {
        let foreign = || {
            LogError::Archive(format!(
                "{} is there already, and is not the archive of a move that was begun and not ended; choose another name",
                to.display()
            ))
        };
        let last = last_of(to)?.ok_or_else(foreign)?;
        let wanted = |receipt: &Receipt| {
            matches!(&receipt.body, Body::Event(Event::Archived { through, digest, .. })
                if *through == last.seq && *digest == last.digest)
        };
        let source = files::Source::open(&self.directory)?;
        let has_base = source
            .receipts()
            .filter_map(Result::ok)
            .any(|receipt| wanted(&receipt));
        if !has_base || self.archived_files(last.seq)?.is_empty() {
            return Err(foreign());
        }
        Ok(Base {
            through: last.seq,
            digest: last.digest,
        })
    }

    /// The log's files that hold receipts up to this one.
    fn archived_files(&self, through: u64) -> Result<Vec<PathBuf>, LogError> {
        let segments = Segment::all(&self.directory)?.into_iter();
        Ok(segments
            .map(|segment| segment.path)
            .filter(|path| Segment::first(path).is_some_and(|first| first <= through))
            .collect())
    }

    /// Copies the files, in one piece under the archive's name: it is there whole or not at all.
    fn copy(&self, to: &Path, through: u64) -> Result<(), LogError> {
        let keys = KeySet::read(&self.directory.join(KEY_SET))?;
        let mut part: OsString = to.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let written = || LogError::file(&part, "written");
        let mut out = permissions::replace(&part, false).map_err(written())?;
        for path in self.archived_files(through)? {
            let (mut file, _) = read::open(&path).map_err(LogError::file(&path, "read"))?;
            io::copy(&mut file, &mut out).map_err(written())?;
        }
        out.flush().and_then(|()| out.sync_all()).map_err(written())?;
        keys.write(&beside(to))?;
        fs::rename(&part, to).map_err(LogError::file(to, "written"))?;
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(parent.unwrap_or_else(|| Path::new(".")))
    }

    /// Deletes what the archive holds, byte for byte, and is on the disk.
    fn remove(&self, to: &Path, through: u64, wait: Duration) -> Result<usize, LogError> {
        let paths = self.archived_files(through)?;
        let failed = || LogError::file(to, "read");
        let (archive, metadata) = read::open(to).map_err(failed())?;
        // Also where an earlier run made it: the system may not have written all of it.
        archive.sync_all().map_err(LogError::file(to, "written"))?;
        let mut lengths = 0;
        for path in &paths {
            lengths += fs::metadata(path).map_err(LogError::file(path, "read"))?.len();
        }
        let whole = metadata.len();
        let mut archive = BufReader::with_capacity(1 << 16, archive);
        let differs = || {
            LogError::Archive(format!(
                "{} does not hold what the log does up to receipt {through}: nothing was deleted; move it away and archive \
                 again",
                to.display()
            ))
        };
        let start = whole.checked_sub(lengths).ok_or_else(differs)?;
        archive.seek(SeekFrom::Start(start)).map_err(failed())?;
        for path in &paths {
            let (file, _) = read::open(path).map_err(LogError::file(path, "read"))?;
            if !begins_with(&mut archive, BufReader::with_capacity(1 << 16, file)).map_err(failed())? {
                return Err(differs());
            }
        }
        let _lock = self.lock(wait)?;
        for path in &paths {
            fs::remove_file(path).map_err(LogError::file(path, "deleted"))?;
            // One after the other on the disk, too: what is left always goes on to the log's end without a gap.
            sync_directory(&self.directory)?;
        }
        Ok(paths.len())
    }
}

/// The last receipt in a file; none in one that has none.
fn last_of(path: &Path) -> Result<Option<Receipt>, LogError> {
    let failed = || LogError::file(path, "read");
    let (mut file, metadata) = read::open(path).map_err(failed())?;
    let Some((_, line)) = line_before(&mut file, metadata.len()).map_err(failed())? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&line);
    Ok(Some(Receipt::read(text.trim_end())?))
}

/// Whether what comes next is what the other one holds.
fn begins_with(left: &mut impl Read, mut right: impl Read) -> io::Result<bool> {
    let (mut ours, mut theirs) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let length = right.read(&mut theirs)?;
        if length == 0 {
            return Ok(true);
        }
        match left.read_exact(&mut ours[..length]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if ours[..length] != theirs[..length] {
            return Ok(false);
        }
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    // It stands in a receipt, which others print.
    name.to_string_lossy()
        .chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .take(200)
        .collect()
}
