//! Opening a file that grows, so that nothing that lies in its place can hold the process up.
//!
//! A log's path may lead to a pipe that nobody reads: opening it waits for a reader, and writing to it until there is room.
//! As for reading, the file is opened without waiting and looked at by its descriptor.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::kind;

/// What becomes of a symbolic link at the path itself. Those in the folders above it are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is followed: a user may keep a file elsewhere.
    Followed,
    /// It is refused: nobody but this program makes a file of this name.
    Refused,
}

/// Opens a regular file, or the null device, with these options and without waiting for anybody. One that is made is for
/// its owner alone.
///
/// # Errors
///
/// The operating system's; and where the path leads to a folder, a pipe, another device, a socket or a file that the kernel
/// makes up, with words that follow "cannot be written" in parentheses.
pub fn open(path: &Path, options: &mut OpenOptions, links: Links) -> io::Result<(File, Metadata)> {
    const TO_BE: &str = "written";
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let opened = kind::without_waiting(options, links == Links::Followed).open(path);
    let file = opened.map_err(|error| kind::in_words(error, path, TO_BE))?;
    let metadata = file.metadata()?;
    match kind::odd(&file, &metadata) {
        Some(what) if !is_null_device(&metadata) => Err(kind::refused(what, TO_BE)),
        _ => Ok((file, metadata)),
    }
}

#[cfg(unix)]
fn is_null_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    metadata.file_type().is_char_device()
        && std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev())
}

#[cfg(not(unix))]
fn is_null_device(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn append(path: &Path, links: Links) -> io::Result<File> {
        open(path, OpenOptions::new().append(true).create(true), links).map(|(file, _)| file)
    }

    #[test]
    fn a_new_file_is_its_owners_and_a_link_is_followed_only_where_that_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        symlink(&path, &link).unwrap();
        append(&link, Links::Followed).unwrap().write_all(b"a").unwrap();
        append(&path, Links::Refused).unwrap().write_all(b"b").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ab");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let told = append(&link, Links::Refused).unwrap_err().to_string();
        assert_eq!(told, "it is a link, and only a regular file is written");
    }

    #[test]
    fn what_is_not_a_file_is_refused_without_waiting_and_the_null_device_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        let told = |path: &Path| append(path, Links::Followed).unwrap_err().to_string();
        assert!(told(&pipe).starts_with("it is a pipe"), "{}", told(&pipe));
        // Also where it has a reader.
        let both = File::options().read(true).write(true).open(&pipe).unwrap();
        assert!(told(&pipe).starts_with("it is a pipe"), "{}", told(&pipe));
        drop(both);
        assert!(told(folder.path()).starts_with("it is a folder"));
        assert!(told(Path::new("/dev/full")).starts_with("it is a device"));
        append(Path::new("/dev/null"), Links::Followed)
            .unwrap()
            .write_all(b"x")
            .unwrap();
    }
}
