//! Receipts of the service, kept as they came: JSON lines that can be verified without the service.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use holdpoint_common::append::{self, Links};

use super::Signed;
use crate::files;

impl Signed {
    /// Appends the receipt to a file, which is made where there is none, and sees it on the disk. Many processes may do so
    /// at once; one that finds the file locked waits no longer than `wait`. A line that a process did not finish stays where
    /// it is, as a line that is not a receipt.
    ///
    /// A receipt says itself which call it is about (`invocation_ref`) and by which key it is signed, so nothing is added.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written, is not a regular file, or stays locked.
    pub fn keep(&self, path: &Path, wait: Duration) -> io::Result<()> {
        let mut file = open(path)?;
        if !files::take(|| file.try_lock(), wait)? {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "another process keeps it locked",
            ));
        }
        let mut line = match ends_within_a_line(&mut file)? {
            true => b"\n".to_vec(),
            false => Vec::new(),
        };
        serde_json::to_writer(&mut line, &self.receipt)?;
        line.push(b'\n');
        file.write_all(&line)?;
        file.sync_data()
    }
}

/// Opens the file without waiting: in place of a regular file there may be a pipe that nobody reads.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    append::open(path, &mut options, Links::Followed).map(|(file, _)| file)
}

fn ends_within_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
