//! The decision log: one line of JSON a decision, written by many processes at once.
//!
//! A line is one `write` on a file opened for appending, so lines of different processes do not mix. A file that has
//! grown too large is renamed under a lock; a process that still has it open writes its line into the renamed file.

mod entry;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_common::access;
use holdpoint_common::append::{self, Links};
use holdpoint_config::{self as config, ConfigError};
use holdpoint_receipts::Moment;

pub use entry::Entry;
pub use entry::name;

/// How long another process that renames a full log is waited for. It takes less than a millisecond.
const LONGEST_RENAMING: Duration = Duration::from_millis(300);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// What lies beside a log that a line could not be written to.
const MISSED: &str = "missed";

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
    /// The log that the configuration names.
    ///
    /// # Errors
    ///
    /// Where nothing is configured and there is no home directory.
    pub fn of(config: &config::Log) -> Result<Self, ConfigError> {
        Ok(Self {
            path: config.path()?,
            largest_bytes: config.largest_bytes(),
            keep: config.keep(),
        })
    }

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
    pub fn open(&self, create: bool) -> io::Result<(File, u64)> {
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
    pub fn missed_since(&self, milliseconds: u64) -> bool {
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
        self.path.parent().map_or(Ok(()), access::create_folder)
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
    pub fn all_names(&self) -> impl Iterator<Item = PathBuf> {
        let beside = ["lock", MISSED].map(|suffix| self.numbered(suffix));
        let older = (1..=self.keep).map(|number| self.numbered(number));
        [self.path.clone()].into_iter().chain(beside).chain(older)
    }

    /// Where a full file lies, or what belongs to the log.
    pub fn numbered(&self, suffix: impl std::fmt::Display) -> PathBuf {
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

/// Whether the last line of a file of this length has no end: the disk was full, say. What is appended to such a line is lost
/// with it.
pub fn is_torn(file: &File, mut length: u64) -> bool {
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
pub fn before_now(milliseconds: u64) -> String {
    Moment::from_unix_millis(Moment::now().unix_millis().saturating_sub(milliseconds)).to_string()
}

/// This moment, RFC 3339 in UTC, with three digits after the second: such texts sort as their times do.
pub fn now() -> String {
    Moment::now().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use holdpoint_receipts::Environment;
    use holdpoint_runtime::verdict::FaultKind;

    fn entry(call: &str) -> Entry {
        let mut record = Record::default();
        record.target("web\u{202e}01");
        Entry {
            verdict: "deny",
            why: Some("two\nlines".into()),
            record,
            ..Entry::new("s", call, "mcp__a__\u{1b}[31mb")
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
