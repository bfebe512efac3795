//! What files were before we changed them.
//!
//! The copies lie in a folder of ours and not beside the files: a settings file may hold tokens, and a project is under
//! version control. Each is named after the whole path of its file.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::FileError;
use crate::transaction::{Readers, Transaction};

/// The longest name that is made from a path, in bytes; file systems take 255.
const LONGEST_NAME: usize = 200;

/// The folder with the copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies {
    folder: PathBuf,
}

/// What a file was before we changed it for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// It was not there.
    Absent,
    /// It held this.
    Bytes(Vec<u8>),
}

impl Copies {
    /// The copies in a folder, which need not be there yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    /// Where they lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the copy of a file lies, if there is one.
    pub fn path(&self, target: &Path) -> PathBuf {
        self.folder.join(name(target))
    }

    /// The mark of a file that was not there.
    fn mark(&self, target: &Path) -> PathBuf {
        self.folder.join(name(target) + "~absent")
    }

    /// Since when something is noted of a file: since we changed it for the first time.
    pub fn since(&self, target: &Path) -> Option<SystemTime> {
        let noted = [self.path(target), self.mark(target)];
        let times = noted
            .iter()
            .filter_map(|path| fs::metadata(path).ok()?.modified().ok());
        times.min()
    }

    /// What the file at the end of all links was before; none where nothing is known.
    ///
    /// # Errors
    ///
    /// Where the copy cannot be read.
    pub fn before(&self, files: &mut Transaction, target: &Path) -> Result<Option<Before>, FileError> {
        if let Some(bytes) = files.read(&self.path(target))? {
            return Ok(Some(Before::Bytes(bytes.to_owned())));
        }
        let is_marked = files.read(&self.mark(target))?.is_some();
        Ok(is_marked.then_some(Before::Absent))
    }

    /// Notes what a file is before it is changed for the first time. What was noted earlier becomes a further copy.
    pub(crate) fn begin(
        &self,
        files: &mut Transaction,
        target: &Path,
        bytes: Option<&[u8]>,
    ) -> Result<(), FileError> {
        let copy = self.path(target);
        let earlier = files.read(&copy)?.map(<[u8]>::to_owned);
        if let Some(earlier) = earlier.filter(|earlier| Some(earlier.as_slice()) != bytes) {
            self.keep_further(files, target, &earlier)?;
        }
        match bytes {
            Some(bytes) => {
                files.remove(&self.mark(target))?;
                files.write(&copy, bytes.to_owned(), Readers::Owner)
            }
            None => {
                files.remove(&copy)?;
                files.write(&self.mark(target), Vec::new(), Readers::Owner)
            }
        }
    }

    /// Keeps a copy of a file as it is now, unless there is one that says the same, and says where it is.
    pub(crate) fn keep(
        &self,
        files: &mut Transaction,
        target: &Path,
        bytes: &[u8],
    ) -> Result<PathBuf, FileError> {
        let copy = self.path(target);
        match files.read(&copy)? {
            Some(kept) if kept == bytes => Ok(copy),
            Some(_) => self.keep_further(files, target, bytes),
            None => {
                files.remove(&self.mark(target))?;
                files.write(&copy, bytes.to_owned(), Readers::Owner)?;
                Ok(copy)
            }
        }
    }

    /// Keeps a copy beside what was noted first, and says where it is.
    pub(crate) fn keep_further(
        &self,
        files: &mut Transaction,
        target: &Path,
        bytes: &[u8],
    ) -> Result<PathBuf, FileError> {
        let mut number = 1;
        loop {
            let path = self.folder.join(format!("{}~{number}", name(target)));
            match files.read(&path)? {
                Some(kept) if kept != bytes => number += 1,
                Some(_) => return Ok(path),
                None => {
                    files.write(&path, bytes.to_owned(), Readers::Owner)?;
                    return Ok(path);
                }
            }
        }
    }

    /// Drops what was noted of a file; further copies stay.
    pub(crate) fn forget(&self, files: &mut Transaction, target: &Path) -> Result<(), FileError> {
        files.remove(&self.path(target))?;
        files.remove(&self.mark(target))
    }

    /// Every file that something is noted of, as far as the names of the notes tell it: those of long paths do not.
    pub fn targets(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut targets: Vec<PathBuf> = entries
            .filter_map(|entry| target(entry.file_name().to_str()?))
            .collect();
        targets.sort();
        targets.dedup();
        targets
    }

    /// Every copy that holds something.
    pub fn all(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| !path.as_os_str().as_encoded_bytes().ends_with(b"~absent"))
            .collect();
        paths.sort();
        paths
    }
}

/// A file name that says the whole path, and no other path's.
fn name(target: &Path) -> String {
    let bytes = target.as_os_str().as_encoded_bytes();
    let mut name = String::new();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => name.push(char::from(*byte)),
            other => {
                let _ = write!(name, "%{other:02X}");
            }
        }
    }
    if name.len() > LONGEST_NAME {
        // FNV-1a: the beginning of a long path is told by a number.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let end = name.split_off(name.len() - LONGEST_NAME + 20);
        name = format!("{hash:016x}{end}");
    }
    name
}

/// The path that a note's name says; none of a further copy or of a path that was too long.
fn target(note: &str) -> Option<PathBuf> {
    let name = note.strip_suffix("~absent").unwrap_or(note);
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some((plain, escaped)) = rest.split_once('%') {
        bytes.extend(plain.as_bytes());
        bytes.push(u8::from_str_radix(escaped.get(..2)?, 16).ok()?);
        rest = &escaped[2..];
    }
    bytes.extend(rest.as_bytes());
    let path = PathBuf::from(String::from_utf8(bytes).ok()?);
    (path.is_absolute() && !name.contains('~')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_name_of_its_own() {
        let long = format!("/{}/settings.json", "a/".repeat(400));
        let other = format!("/b{}/settings.json", "a/".repeat(400));
        let paths = [
            "/a/b",
            "/a%2Fb",
            "/a~b",
            "/a/b~absent",
            "/a b",
            "/ä",
            long.as_str(),
            other.as_str(),
        ];
        let names: std::collections::BTreeSet<String> =
            paths.iter().map(|path| name(Path::new(path))).collect();
        assert_eq!(names.len(), paths.len());
        assert!(
            names
                .iter()
                .all(|name| name.len() <= LONGEST_NAME && !name.contains(['/', '~']))
        );
    }
}
