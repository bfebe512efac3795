//! A log's lines, read from the beginning or, one by one, from the end.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use holdpoint_common::read;

use crate::error::{LogError, ReceiptError};
use crate::limit::LARGEST_RECEIPT;

/// What is read at once, in bytes: some receipts.
const BLOCK: u64 = 8 * 1024;

/// A line as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Without the line break.
    pub bytes: Vec<u8>,
    /// Whether there was a line break.
    pub ended: bool,
}

impl Line {
    /// The line's text.
    ///
    /// # Errors
    ///
    /// Where it is none, or longer than any receipt.
    pub fn text(&self) -> Result<&str, ReceiptError> {
        if self.bytes.len() >= LARGEST_RECEIPT {
            return Err(ReceiptError::TooLarge(self.bytes.len()));
        }
        std::str::from_utf8(&self.bytes).map_err(|error| ReceiptError::Unreadable(error.to_string()))
    }
}

/// Reads a source's lines, one at a time.
#[derive(Debug)]
pub struct Reader {
    rest: std::vec::IntoIter<(PathBuf, u64)>,
    open: Option<(PathBuf, BufReader<io::Take<File>>)>,
}

impl Reader {
    /// Reads these files one after the other, each up to the length beside it.
    pub(crate) fn of(pieces: Vec<(PathBuf, u64)>) -> Self {
        Self {
            rest: pieces.into_iter(),
            open: None,
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Line, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((path, file)) = &mut self.open {
                match next_line(file) {
                    Ok(None) => self.open = None,
                    Ok(Some(line)) => return Some(Ok(line)),
                    Err(cause) => {
                        let error = LogError::file(path, "read")(cause);
                        self.open = None;
                        return Some(Err(error));
                    }
                }
            }
            let (path, length) = self.rest.next()?;
            match read::open(&path) {
                Ok((file, _)) => {
                    self.open = Some((path, BufReader::with_capacity(1 << 16, file.take(length))));
                }
                Err(cause) => return Some(Err(LogError::file(&path, "read")(cause))),
            }
        }
    }
}

/// The next line; of one that is longer than any receipt, only so much that this is seen.
fn next_line(file: &mut BufReader<io::Take<File>>) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    file.take(LARGEST_RECEIPT as u64 + 1)
        .read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let ended = bytes.pop_if(|last| *last == b'\n').is_some();
    if !ended && bytes.len() > LARGEST_RECEIPT {
        file.skip_until(b'\n')?;
    }
    Ok(Some(Line { bytes, ended }))
}

/// The line that ends at `end`, with its line break if it has one, and where it starts; none at the beginning. Of a line
/// that is longer than any receipt, its end.
pub(crate) fn line_before(file: &mut File, end: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
    if end == 0 {
        return Ok(None);
    }
    let mut line: Vec<u8> = Vec::new();
    let mut from = end;
    while from > 0 && line.len() <= LARGEST_RECEIPT {
        let step = BLOCK.min(from);
        from -= step;
        let mut block = vec![0; step as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut block)?;
        // The last byte is the line's own break, where it has one.
        let own = usize::from(line.is_empty());
        let before = block[..block.len() - own].iter().rposition(|byte| *byte == b'\n');
        let cut = before.map_or(0, |at| at + 1);
        line.splice(..0, block.drain(cut..));
        if before.is_some() {
            from += cut as u64;
            break;
        }
    }
    Ok(Some((from, line)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(text: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file
    }

    #[test]
    fn lines_are_found_from_the_end_whatever_their_length() {
        let lengths = [0, 1, BLOCK as usize - 1, BLOCK as usize, 3 * BLOCK as usize + 5];
        for first in lengths {
            for second in lengths {
                let text = format!("{}\n{}\n", "a".repeat(first), "b".repeat(second));
                let mut file = file(text.as_bytes());
                let (start, line) = line_before(&mut file, text.len() as u64).unwrap().unwrap();
                assert_eq!(line, text.as_bytes()[first + 1..], "{first} {second}");
                assert_eq!(start, first as u64 + 1);
                let (start, line) = line_before(&mut file, start).unwrap().unwrap();
                assert_eq!((start, line.len()), (0, first + 1));
                assert!(line_before(&mut file, start).unwrap().is_none());
            }
        }
    }

    #[test]
    fn an_unfinished_line_is_a_line_without_a_break() {
        let mut file = file(b"whole\ntorn");
        let (start, line) = line_before(&mut file, 10).unwrap().unwrap();
        assert_eq!((start, line.as_slice()), (6, b"torn".as_slice()));
        let (start, line) = line_before(&mut file, start).unwrap().unwrap();
        assert_eq!((start, line.as_slice()), (0, b"whole\n".as_slice()));
    }
}
