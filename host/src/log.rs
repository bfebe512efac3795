//! The decision log: one line of JSON a decision, written by many processes at once.
//!
//! A line is one `write` on a file opened for appending, so lines of different processes do not mix. A file that has
//! grown too large is renamed under a lock; a process that still has it open writes its line into the renamed file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_artifact::Digest;
use holdpoint_common::append::{self, Links};
use holdpoint_receipts::{Deviation, Environment, Moment};
use serde::{Serialize, Serializer};

use crate::policy::Identity;
use crate::record::Record;
use crate::text;
use crate::verdict::FaultKind;

/// The longest reason that is kept, in characters.
const LONGEST_REASON: usize = 400;
/// The longest name that is kept, in characters.
const LONGEST_NAME: usize = 160;
/// How long another process that renames a full log is waited for. It takes less than a millisecond.
const LONGEST_RENAMING: Duration = Duration::from_millis(300);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// What lies beside a log that a line could not be written to.
const MISSED: &str = "missed";

/// One decision. Holds no arguments and no secrets: names of tools and machines, and what was decided.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// When it was decided, RFC 3339 in UTC; where the host was ended before that, when it began to.
    pub at: String,
    /// The session's id.
    pub session: String,
    /// The call's id.
    pub call: String,
    /// The tool, as the harness spells it. For an event that is no call, the event's name.
    pub tool: String,
    /// `pass`, `ask` or `deny`; for a fault in an event that cannot be gated, `silent`.
    pub verdict: &'static str,
    /// The kind of fault, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<&'static str>,
    /// The reason or note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The digest of an event that could not be read: all that is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Digest>,
    /// The digest of the arguments that were decided on: by it is seen at the call's end whether they are those that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Digest>,
    /// How what ran differs from what was decided; in a line of a call's end only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Deviation>,
    /// Where the call came from; safe to show already.
    #[serde(skip_serializing_if = "Environment::is_empty")]
    pub environment: Environment,
    /// What the decision was made of.
    #[serde(flatten)]
    pub record: Record,
    /// The policy that decided: where it came from and its digest.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_words")]
    pub policy: Option<Identity>,
    /// The receipt's number and digest, or why there is none; none where receipts are off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// The remote signer's receipt, or why there is none; none where there is no remote signer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Milliseconds by phase.
    pub ms: Phases,
}

fn in_words<S: Serializer>(policy: &Option<Identity>, serializer: S) -> Result<S::Ok, S::Error> {
    match policy {
        Some(policy) => serializer.collect_str(policy),
        None => serializer.serialize_none(),
    }
}

/// Where a decision's time went, in milliseconds since the process started.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Phases {
    /// Until the event was read, waiting for the harness included.
    pub read: f64,
    /// Until the policy was loaded.
    pub load: f64,
    /// How long of that the gate took: signature, digests, and whose the compiled code is. Zero for the shipped policy,
    /// which needs none.
    #[serde(skip_serializing_if = "is_zero")]
    pub gate: f64,
    /// Until it had decided; zero where the host was ended before that.
    pub total: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(ms: &f64) -> bool {
    *ms == 0.0
}

impl Entry {
    /// The entry of what ended in a fault, with what became of it.
    pub fn failed(self, verdict: &'static str, fault: FaultKind, cause: &str) -> Self {
        Self {
            verdict,
            fault: Some(fault.word()),
            why: Some(cause.to_owned()),
            ..self
        }
    }

    /// The entry as the log has it: one line, safe to show.
    ///
    /// # Errors
    ///
    /// Never for the entries of this program; the type of its serialiser wants one.
    pub fn line(&mut self) -> io::Result<Vec<u8>> {
        self.clean();
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// The lines of an entry that could still fail in each of these ways, as [`failed`](Self::failed) and
    /// [`line`](Self::line) make them. It is made once and filled in, since every call needs these lines before it is
    /// decided on, and most never write one.
    pub(crate) fn lines_if_failed<const N: usize>(
        self,
        verdict: &'static str,
        faults: [(FaultKind, &str); N],
    ) -> [Vec<u8>; N] {
        let mut open = Self {
            verdict,
            fault: None,
            why: None,
            ..self
        };
        let line = String::from_utf8(open.line().unwrap_or_default()).unwrap_or_default();
        // A quotation mark inside a text is escaped, so the first place that reads like this is the member itself.
        let member = format!("\"verdict\":\"{verdict}\"");
        let end = line
            .find(&member)
            .map_or(line.len(), |start| start + member.len());
        let (before, after) = line.split_at(end);
        faults.map(|(fault, cause)| {
            let fault = serde_json::Value::from(fault.word());
            let why = serde_json::Value::from(text::clean_line(cause, LONGEST_REASON));
            format!("{before},\"fault\":{fault},\"why\":{why}{after}").into_bytes()
        })
    }

    /// Makes every text safe to show and cuts it; the record is so already.
    fn clean(&mut self) {
        for text in [&mut self.session, &mut self.call, &mut self.tool] {
            *text = name(text);
        }
        for text in [&mut self.why, &mut self.receipt, &mut self.signer] {
            *text = text.take().map(|text| text::clean_line(&text, LONGEST_REASON));
        }
    }
}

/// A name as the log has it.
pub(crate) fn name(text: &str) -> String {
    text::clean_line(text, LONGEST_NAME)
}

/// Where decisions are written.
#[derive(Debug, Clone)]
pub struct Log {
    /// The current file.
    pub path: PathBuf,
    /// The size, in bytes, at which a new file is begun.
    pub largest_bytes: u64,
    /// How many full files are kept.
    pub keep: u32,
}

impl Log {
    /// Appends one entry, and begins a new file where this one is full.
    ///
    /// # Errors
    ///
    /// The operating system's, where the file cannot be written.
    pub fn append(&self, entry: &mut Entry) -> io::Result<()> {
        self.append_line(&entry.line()?)
    }

    /// Appends a line that ends in its line break, and begins a new file where this one is full.
    ///
    /// # Errors
    ///
    /// The operating system's, where the file cannot be written; also where it is neither a regular file nor the null
    /// device, or is full and another process keeps it from being renamed.
    pub fn append_line(&self, line: &[u8]) -> io::Result<()> {
        let appended = self.append_whole(line);
        if appended.is_err() {
            self.note_missed();
        }
        appended
    }

    fn append_whole(&self, line: &[u8]) -> io::Result<()> {
        self.create_directory()?;
        let (file, length) = self.open(true)?;
        match is_torn(&file, length) {
            // In one write, so that no other line comes in between.
            true => (&file).write_all(&[b"\n", line].concat())?,
            false => (&file).write_all(line)?,
        }
        if file.metadata()?.len() >= self.largest_bytes {
            self.rotate()?;
        }
        Ok(())
    }

    /// Opens the file to append to it, without waiting for anybody, and says how long it is; a new one only where that is
    /// wanted. To be read as well where this user may, so that a torn end is seen.
    pub(crate) fn open(&self, create: bool) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        options.append(true).create(create);
        let opened = append::open(&self.path, options.clone().read(true), Links::Followed)
            .or_else(|_| append::open(&self.path, &mut options, Links::Followed));
        opened.map(|(file, metadata)| (file, metadata.len()))
    }

    /// Leaves word that a line could not be written: an empty file, which a full disk mostly still has room for. Beside a
    /// regular file only, and where it cannot be done there is nobody to tell.
    fn note_missed(&self) {
        let is_file = fs::metadata(&self.path).map(|found| found.is_file());
        if is_file.unwrap_or_else(|error| error.kind() == io::ErrorKind::NotFound) {
            let mut options = OpenOptions::new();
            options.append(true).create(true);
            let mark = append::open(&self.numbered(MISSED), &mut options, Links::Refused);
            let _ = mark.and_then(|(mark, _)| mark.set_modified(std::time::SystemTime::now()));
        }
    }

    /// Whether a line could not be written in so many milliseconds before now.
    pub(crate) fn missed_since(&self, milliseconds: u64) -> bool {
        let mark = fs::metadata(self.numbered(MISSED)).and_then(|mark| mark.modified());
        // A time in the future counts.
        let is_old = |at: std::time::SystemTime| {
            at.elapsed()
                .is_ok_and(|ago| ago.as_millis() > u128::from(milliseconds))
        };
        match mark {
            Ok(at) => !is_old(at),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Makes the directory that the log is in, for its owner alone, where there is none.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn create_directory(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), create_private)
    }

    /// Renames the full file, once, however many processes found it full.
    fn rotate(&self) -> io::Result<()> {
        let _lock = self.lock()?;
        if fs::metadata(&self.path).map_or(0, |metadata| metadata.len()) < self.largest_bytes {
            return Ok(());
        }
        for older in (1..self.keep).rev() {
            rename_if_there(&self.numbered(older), &self.numbered(older + 1))?;
        }
        if self.keep == 0 {
            fs::remove_file(&self.path)
        } else {
            fs::rename(&self.path, self.numbered(1))
        }
    }

    /// The right to rename. Ends with the process, however that ends.
    fn lock(&self) -> io::Result<File> {
        let path = self.numbered("lock");
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let in_words = |error: &io::Error| {
            io::Error::new(
                error.kind(),
                format!("it is full, and {} cannot be locked: {error}", path.display()),
            )
        };
        let opened = append::open(&path, &mut options, Links::Refused);
        let (file, _) = opened.map_err(|error| in_words(&error))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(in_words(&error)),
                Err(TryLockError::WouldBlock) if begun.elapsed() >= LONGEST_RENAMING => {
                    let others = io::Error::new(io::ErrorKind::TimedOut, "another process keeps it locked");
                    return Err(in_words(&others));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            }
        }
    }

    /// The files of the log that are there, newest first.
    pub fn files(&self) -> Vec<PathBuf> {
        let older = (1..=self.keep).map(|number| self.numbered(number));
        let files = [self.path.clone()].into_iter().chain(older);
        files.filter(|path| path.exists()).collect()
    }

    /// Every name that belongs to the log, whether something is there or not.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = PathBuf> {
        let beside = ["lock", MISSED].map(|suffix| self.numbered(suffix));
        let older = (1..=self.keep).map(|number| self.numbered(number));
        [self.path.clone()].into_iter().chain(beside).chain(older)
    }

    /// Where a full file lies, or what belongs to the log.
    pub(crate) fn numbered(&self, suffix: impl std::fmt::Display) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{suffix}"));
        name.into()
    }
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Makes a directory for its owner alone, where there is none.
pub(crate) fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Whether the last line of a file of this length has no end: the disk was full, say. What is appended to such a line is lost
/// with it.
pub(crate) fn is_torn(file: &File, mut length: u64) -> bool {
    /// How often it is looked at: another process may be in the middle of its line.
    const LOOKS: u32 = 3;
    for _ in 0..LOOKS {
        let Some(last) = length.checked_sub(1) else {
            return false;
        };
        if byte_at(file, last).is_none_or(|byte| byte == b'\n') {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        length = file.metadata().map_or(0, |found| found.len());
    }
    true
}

/// None where the file ends before it, or is not open for reading.
fn byte_at(file: &File, at: u64) -> Option<u8> {
    let mut byte = [0];
    #[cfg(unix)]
    std::os::unix::fs::FileExt::read_exact_at(file, &mut byte, at).ok()?;
    #[cfg(not(unix))]
    {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut file = file;
        file.seek(SeekFrom::Start(at)).ok()?;
        file.read_exact(&mut byte).ok()?;
    }
    Some(byte[0])
}

/// So many milliseconds before this moment, as [`now`].
pub(crate) fn before_now(milliseconds: u64) -> String {
    Moment::from_unix_millis(Moment::now().unix_millis().saturating_sub(milliseconds)).to_string()
}

/// This moment, RFC 3339 in UTC, with three digits after the second: such texts sort as their times do.
pub fn now() -> String {
    Moment::now().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(call: &str) -> Entry {
        let mut record = Record::default();
        record.target("web\u{202e}01");
        Entry {
            at: now(),
            session: "s".into(),
            call: call.into(),
            tool: "mcp__a__\u{1b}[31mb".into(),
            verdict: "deny",
            fault: None,
            why: Some("two\nlines".into()),
            event: None,
            arguments: None,
            deviation: None,
            environment: Environment::default(),
            record,
            policy: None,
            receipt: None,
            signer: None,
            ms: Phases::default(),
        }
    }

    #[test]
    fn a_line_holds_nothing_that_acts_on_a_terminal() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log {
            path: directory.path().join("new/decisions.log"),
            largest_bytes: 1 << 20,
            keep: 1,
        };
        log.append(&mut entry("c")).unwrap();
        let text = fs::read_to_string(&log.path).unwrap();
        assert_eq!(text.lines().count(), 1);
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["tool"], "mcp__a__\\u{1b}[31mb");
        assert_eq!(line["why"], "two\\u{a}lines");
        assert_eq!(line["targets"][0], "web\\u{202e}01");
        assert!(line["at"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn lines_that_are_made_beforehand_are_those_of_a_failure() {
        let entry = Entry {
            session: r#"","verdict":"deny","x":""#.into(),
            environment: Environment {
                cwd: Some(r#"/"verdict":"deny""#.into()),
                ..Environment::default()
            },
            ..entry("c")
        };
        let faults = [(FaultKind::Deadline, "late"), (FaultKind::Host, "a \"panic\"")];
        let lines = entry.clone().lines_if_failed("deny", faults);
        for ((fault, cause), line) in faults.into_iter().zip(lines) {
            let expected = entry.clone().failed("deny", fault, cause).line().unwrap();
            assert_eq!(String::from_utf8(line), String::from_utf8(expected));
        }
    }

    #[test]
    fn many_writers_lose_nothing_over_many_rotations() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log {
            path: directory.path().join("decisions.log"),
            largest_bytes: 4_000,
            keep: 1_000,
        };
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let log = &log;
                scope.spawn(move || {
                    for number in 0..50 {
                        log.append(&mut entry(&format!("{writer}-{number}"))).unwrap();
                    }
                });
            }
        });
        let mut calls = Vec::new();
        for file in fs::read_dir(directory.path()).unwrap() {
            let file = file.unwrap().path();
            for line in fs::read_to_string(file).unwrap().lines() {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                calls.push(line["call"].as_str().unwrap().to_owned());
            }
        }
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), 400);
    }

    #[test]
    fn only_so_many_full_files_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let log = Log {
            path: directory.path().join("decisions.log"),
            largest_bytes: 1,
            keep: 2,
        };
        for number in 0..5 {
            log.append(&mut entry(&number.to_string())).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["decisions.log.1", "decisions.log.2", "decisions.log.lock"]
        );
    }
}
