//! The log's files: what they are called, who may use them, and how they are read.
//!
//! A log is a directory. `000000000001.jsonl` holds receipts from number 1 on, one a line; when it is full, the next one
//! begins. `lock` is what writers hold. `keys.json` is the key set. `torn-….part` is what was set aside.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_common::append::{self, Links};
use holdpoint_common::read;

use crate::envelope::Receipt;
use crate::error::LogError;
use crate::keyset::KeySet;
use crate::lines::{Reader, line_before};
use crate::permissions::create;

/// The key set's name.
pub(crate) const KEY_SET: &str = "keys.json";
/// What the name of a segment ends with.
const SEGMENT: &str = ".jsonl";
/// What the name of something set aside begins and ends with.
const TORN: (&str, &str) = ("torn-", ".part");
/// How long a reader waits for a writer. It can do without: what is being written is then a line without an end.
const READERS_WAIT: Duration = Duration::from_secs(2);

/// The right to write to a log, or to see it at rest. Ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the right to write.
    pub(crate) fn exclusive(directory: &Path, wait: Duration) -> Result<Self, LogError> {
        let path = directory.join("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let opened = append::open(&path, &mut options, Links::Refused);
        let (file, _) = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => LogError::NoLog(directory.to_owned()),
            _ => LogError::file(&path, "opened")(error),
        })?;
        if take(|| file.try_lock(), wait).map_err(LogError::file(&path, "locked"))? {
            Ok(Self { _file: file })
        } else {
            Err(LogError::Busy(directory.to_owned()))
        }
    }

    /// The right to see the log at rest; none where there is no lock to be had, as in a copy of a log.
    pub(crate) fn shared(directory: &Path) -> Option<Self> {
        let (file, _) = read::open(&directory.join("lock")).ok()?;
        take(|| file.try_lock_shared(), READERS_WAIT)
            .ok()?
            .then_some(Self { _file: file })
    }
}

/// Tries to take a lock for so long; says whether it was taken.
pub(crate) fn take(attempt: impl Fn() -> Result<(), TryLockError>, wait: Duration) -> io::Result<bool> {
    let started = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        match attempt() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() >= wait => return Ok(false),
            Err(TryLockError::WouldBlock) => thread::sleep(pause),
        }
        pause = (2 * pause).min(Duration::from_millis(2));
    }
}

/// One file of receipts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
}

impl Segment {
    /// The segment that begins with this receipt.
    pub(crate) fn of(directory: &Path, first: u64) -> Self {
        Self {
            path: directory.join(format!("{first:012}{SEGMENT}")),
        }
    }

    /// The number of the receipt that a file begins with, by its name; none where it is not named like one of a log.
    pub(crate) fn first(path: &Path) -> Option<u64> {
        let digits = path.file_name()?.to_str()?.strip_suffix(SEGMENT)?;
        let is_one = digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_one.then(|| digits.parse().ok()).flatten()
    }

    /// Those that there are, in their order.
    pub(crate) fn all(directory: &Path) -> Result<Vec<Self>, LogError> {
        let paths = named(directory, |name| Self::first(Path::new(name)).is_some())?;
        Ok(paths.into_iter().map(|path| Self { path }).collect())
    }
}

/// The files in a directory whose names fit, in the order of their names.
fn named(directory: &Path, fits: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, LogError> {
    let listed = || LogError::file(directory, "listed");
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(listed())? {
        let name = entry.map_err(listed())?.file_name();
        if name.to_str().is_some_and(&fits) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names.into_iter().map(|name| directory.join(name)).collect())
}

/// The name for what is set aside: by its digest, so that doing it again after a crash does not do it twice.
pub(crate) fn torn_name(digest: &holdpoint_artifact::Digest) -> String {
    format!("{}{:.16}{}", TORN.0, digest.hex(), TORN.1)
}

/// Where receipts are read: a log's directory, or a file of lines.
#[derive(Debug, Clone)]
pub struct Source {
    pieces: Vec<(PathBuf, u64)>,
    set_aside: Vec<PathBuf>,
    key_set: PathBuf,
}

impl Source {
    /// Looks at a log's directory, or at a file of lines, as it is now: what is appended later is not read.
    ///
    /// # Errors
    ///
    /// Where it cannot be looked at.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let metadata = fs::metadata(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => LogError::NoLog(path.to_owned()),
            _ => LogError::file(path, "read")(error),
        })?;
        if !metadata.is_dir() {
            return Ok(Self {
                pieces: vec![(path.to_owned(), metadata.len())],
                set_aside: Vec::new(),
                key_set: beside(path),
            });
        }
        let _at_rest = Lock::shared(path);
        let mut pieces = Vec::new();
        for Segment { path } in Segment::all(path)? {
            let length = fs::metadata(&path).map_err(LogError::file(&path, "read"))?.len();
            pieces.push((path, length));
        }
        let is_torn = |name: &str| name.starts_with(TORN.0) && name.ends_with(TORN.1);
        Ok(Self {
            pieces,
            set_aside: named(path, is_torn)?,
            key_set: path.join(KEY_SET),
        })
    }

    /// The same, behind the archives of the log, whichever order they are named in.
    ///
    /// # Errors
    ///
    /// Where one of them cannot be looked at, or an archive does not begin with a receipt.
    pub fn with_archives(path: &Path, archives: &[PathBuf]) -> Result<Self, LogError> {
        let mut source = Self::open(path)?;
        let mut before = Vec::new();
        for archive in archives {
            let length = fs::metadata(archive)
                .map_err(LogError::file(archive, "read"))?
                .len();
            let piece = (archive.clone(), length);
            let mut lines = Reader::of(vec![piece.clone()]);
            let first = match lines.next() {
                Some(line) => Receipt::read(line?.text()?)?.seq,
                None => return Err(LogError::Archive(format!("{} is empty", archive.display()))),
            };
            before.push((first, piece));
        }
        before.sort_by_key(|(first, _)| *first);
        if let Some((_, (last, length))) = before.last() {
            let through = last_number(last, *length)?;
            // Where a move was begun and not ended, the log still has what the archive has: whole files of it.
            let next = |at: usize, pieces: &[(PathBuf, u64)]| {
                pieces.get(at + 1).and_then(|(path, _)| Segment::first(path))
            };
            let pieces = source.pieces.clone();
            let mut at = 0;
            source.pieces.retain(|_| {
                at += 1;
                next(at - 1, &pieces).is_none_or(|next| next > through + 1)
            });
        }
        let archived = before.into_iter().map(|(_, piece)| piece);
        source.pieces = archived.chain(source.pieces).collect();
        Ok(source)
    }

    /// The files that hold what was set aside.
    pub fn set_aside(&self) -> &[PathBuf] {
        &self.set_aside
    }

    /// Where the key set lies, if there is one.
    pub fn key_set(&self) -> &Path {
        &self.key_set
    }

    /// Copies the lines into one file, and the key set into one beside it (`receipts.jsonl`, `receipts.keys.json`): what
    /// somebody else needs to verify them. Neither may be there yet.
    ///
    /// # Errors
    ///
    /// Where one of them cannot be read or written.
    pub fn export(&self, to: &Path) -> Result<PathBuf, LogError> {
        let keys = KeySet::read(&self.key_set)?;
        let key_set = beside(to);
        let mut file = create(&key_set)?;
        io::Write::write_all(&mut file, keys.to_json().as_bytes())
            .map_err(LogError::file(&key_set, "written"))?;
        let mut file = io::BufWriter::new(create(to)?);
        for line in self.lines() {
            let line = line?;
            let ending: &[u8] = if line.ended { b"\n" } else { b"" };
            io::Write::write_all(&mut file, &line.bytes)
                .and_then(|()| io::Write::write_all(&mut file, ending))
                .map_err(LogError::file(to, "written"))?;
        }
        io::Write::flush(&mut file).map_err(LogError::file(to, "written"))?;
        Ok(key_set)
    }

    /// Reads the lines, from the first to the last.
    pub fn lines(&self) -> Reader {
        Reader::of(self.pieces.clone())
    }

    /// Reads the receipts, from the first to the last. What is no receipt is an error in its place.
    pub fn receipts(&self) -> impl Iterator<Item = Result<Receipt, LogError>> {
        self.lines().map(|line| {
            let line = line?;
            Ok(Receipt::read(line.text().map_err(LogError::Receipt)?)?)
        })
    }
}

/// The number of the last receipt in a file.
fn last_number(path: &Path, length: u64) -> Result<u64, LogError> {
    let failed = || LogError::file(path, "read");
    let (mut file, _) = read::open(path).map_err(failed())?;
    let line = line_before(&mut file, length).map_err(failed())?;
    let text = line.map(|(_, line)| String::from_utf8_lossy(&line).into_owned());
    Ok(Receipt::read(text.unwrap_or_default().trim_end())?.seq)
}

/// The key set that an export puts beside its lines.
pub(crate) fn beside(lines: &Path) -> PathBuf {
    lines.with_extension("keys.json")
}
