//! Receipts of the service, kept as they came: JSON lines that can be verified without the service.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::Signed;

impl Signed {
    /// Appends the receipt to a file, which is made where there is none, and sees it on the disk. Many processes may do so
    /// at once. A line that somebody did not get to the end of stays where it is, as a line that is no receipt.
    ///
    /// A receipt says itself which call it is about (`invocation_ref`) and by which key it is signed, so nothing is added.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub fn keep(&self, path: &Path) -> io::Result<()> {
        let mut file = open(path)?;
        file.lock()?;
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

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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
