//! Where records lie: files of JSON lines, one or more for each day, which go when they are too old or too many.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use holdpoint_common::access;
use holdpoint_common::append::{self, Links};
use holdpoint_config::{self as config, ConfigError};
use time::{Date, Month};

/// How many files there are, about, when the folder is full.
const FILES: u64 = 8;
/// What a record's file ends with.
const ENDING: &str = "jsonl";

/// The folder of the records.
#[derive(Debug, Clone)]
pub struct Files {
    /// Where it is.
    pub directory: PathBuf,
    /// How much all records together may take, in bytes; the one that is being written may exceed it.
    pub largest_bytes: u64,
    /// For how many days a record is kept.
    pub keep_days: u32,
}

/// A file of records, by its name: `2026-11-30.1.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct File {
    day: i32,
    number: u32,
    name: String,
    size: u64,
}

impl Files {
    /// Where the configuration has them.
    ///
    /// # Errors
    ///
    /// Where nothing is configured and there is no home directory.
    pub fn of(config: &config::Record) -> Result<Self, ConfigError> {
        Ok(Self {
            directory: config.directory()?,
            largest_bytes: config.largest_bytes(),
            keep_days: config.keep_days(),
        })
    }

    /// Adds a record's line, written on this day (RFC 3339), and takes away what is too old or too much.
    ///
    /// Nothing is locked: a line is one write to a file opened for appending, so those of several processes do not mix;
    /// two that begin a new file at the same time mean the same one.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn append(&self, line: &[u8], now: &str) -> io::Result<()> {
        let date = now.get(..10).unwrap_or_default();
        let day = day(date).ok_or_else(|| io::Error::other(format!("'{now}' is no time")))?;
        access::create_folder(&self.directory)?;
        let files = self.list()?;
        let number = match files.iter().rev().find(|file| file.day == day) {
            Some(file) if file.size >= self.largest_bytes / FILES => file.number + 1,
            Some(file) => file.number,
            None => 1,
        };
        let path = self.directory.join(format!("{date}.{number}.{ENDING}"));
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let (mut file, _) = append::open(&path, &mut options, Links::Followed)?;
        file.write_all(line)?;
        self.take_away(&files, day, number, line.len() as u64)
    }

    /// The files that are there, oldest first. What is called otherwise is none of ours.
    fn list(&self) -> io::Result<Vec<File>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some((day, number)) = parsed(&name) {
                // One that has just gone has no size any more.
                let size = entry.metadata().map_or(0, |metadata| metadata.len());
                files.push(File {
                    day,
                    number,
                    name,
                    size,
                });
            }
        }
        files.sort();
        Ok(files)
    }

    fn take_away(&self, files: &[File], today: i32, number: u32, added: u64) -> io::Result<()> {
        let days = i32::try_from(self.keep_days).unwrap_or(i32::MAX);
        let mut all = added + files.iter().map(|file| file.size).sum::<u64>();
        for file in files {
            let is_written = file.day == today && file.number == number;
            let is_old = file.day <= today.saturating_sub(days);
            if is_written || !(is_old || all > self.largest_bytes) {
                continue;
            }
            match fs::remove_file(self.directory.join(&file.name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => all -= file.size,
            }
        }
        Ok(())
    }
}

/// The day and the number in a file's name.
fn parsed(name: &str) -> Option<(i32, u32)> {
    let (date, rest) = name.split_at_checked(10)?;
    let number = rest.strip_prefix('.')?.strip_suffix(ENDING)?.strip_suffix('.')?;
    Some((day(date)?, number.parse().ok()?))
}

/// The number of a day, by which days can be counted.
fn day(date: &str) -> Option<i32> {
    let mut parts = date.split('-');
    let mut next = || parts.next()?.parse::<u16>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::from(year), month, u8::try_from(day).ok()?).ok()?;
    Some(date.to_julian_day())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(largest_bytes: u64, keep_days: u32) -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().unwrap();
        let files = Files {
            directory: directory.path().join("records"),
            largest_bytes,
            keep_days,
        };
        (directory, files)
    }

    fn names(files: &Files) -> Vec<String> {
        files.list().unwrap().into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_day_after_the_last_one_kept_a_file_goes() {
        let (_directory, files) = folder(1 << 20, 2);
        for day in ["2026-11-29", "2026-11-30", "2026-12-01"] {
            files.append(b"{}\n", &format!("{day}T23:59:59Z")).unwrap();
        }
        assert_eq!(names(&files), ["2026-11-30.1.jsonl", "2026-12-01.1.jsonl"]);
        files.append(b"{}\n", "2027-06-01T00:00:00Z").unwrap();
        assert_eq!(names(&files), ["2027-06-01.1.jsonl"]);
    }

    #[test]
    fn there_are_never_more_bytes_than_there_may_be_beside_the_last_line() {
        let (_directory, files) = folder(8_000, 9);
        std::fs::create_dir(&files.directory).unwrap();
        std::fs::write(files.directory.join("notes.txt"), "somebody's own").unwrap();
        for _ in 0..100 {
            files.append(&[b'x'; 500], "2026-11-30T00:00:00Z").unwrap();
            let all: u64 = files.list().unwrap().iter().map(|file| file.size).sum();
            assert!(all <= 8_000 + 500, "{all}");
        }
        // Two lines of 500 bytes fill a file.
        assert_eq!(names(&files).last().unwrap(), "2026-11-30.50.jsonl");
        assert!(files.directory.join("notes.txt").exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_them() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_directory, files) = folder(1 << 20, 2);
        files.append(b"{}\n", "2026-11-30T00:00:00Z").unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&files.directory), 0o700);
        assert_eq!(mode(&files.directory.join("2026-11-30.1.jsonl")), 0o600);
    }

    #[test]
    fn many_writers_lose_nothing() {
        let (_directory, files) = folder(1 << 20, 2);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let files = &files;
                scope.spawn(move || {
                    for _ in 0..50 {
                        files.append(b"0123456789\n", "2026-11-30T00:00:00Z").unwrap();
                    }
                });
            }
        });
        let mut lines = 0;
        for name in names(&files) {
            let text = fs::read_to_string(files.directory.join(name)).unwrap();
            assert!(text.lines().all(|line| line == "0123456789"));
            lines += text.lines().count();
        }
        assert_eq!(lines, 400);
    }
}
