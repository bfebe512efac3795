//! Reading a small file whole, so that no path can hold the process up or fill its memory.
//!
//! A path in a configuration, an environment variable or a folder may lead to a pipe, a device, a file of the kernel's
//! or a file of 3 GiB. Opening a pipe waits for its writer, reading `/proc/kmsg` waits for the next message, and the
//! deadline is not known before the configuration is read. So the file is opened without waiting, looked at by its
//! descriptor and not by its name, and read up to a limit.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use crate::kind;

/// How large files of each kind may be, in bytes: far beyond what is in use, and small enough to hold in memory.
pub mod limit {
    /// A configuration of ours, or the original hook's.
    pub const CONFIGURATION: u64 = 1024 * 1024;
    /// A catalog. The largest that is shipped has 90 KiB.
    pub const CATALOG: u64 = 4 * 1024 * 1024;
    /// A file of certificate authorities. A whole system's bundle has 250 KiB.
    pub const CERTIFICATES: u64 = 4 * 1024 * 1024;
    /// A password, a client's secret, a token.
    pub const SECRET: u64 = 64 * 1024;
    /// A key, public or private.
    pub const KEY: u64 = 64 * 1024;
    /// A set of public keys.
    pub const KEY_SET: u64 = 1024 * 1024;
    /// A file of cases, or the golden output beside it.
    pub const CASE: u64 = 16 * 1024 * 1024;
    /// A harness's settings. `.claude.json` holds a history and grows to some megabytes.
    pub const SETTINGS: u64 = 64 * 1024 * 1024;
}

/// Opens a regular file for reading, without waiting for anybody. Links are followed.
///
/// # Errors
///
/// The operating system's; and where the path leads to a folder, a pipe, a device, a socket or a file that the kernel
/// makes up as it is read, with words that follow "cannot be read" in parentheses.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    const TO_BE: &str = "read";
    let opened = kind::without_waiting(OpenOptions::new().read(true), true).open(path);
    let file = opened.map_err(|error| kind::in_words(error, path, TO_BE))?;
    let metadata = file.metadata()?;
    match kind::odd(&file, &metadata) {
        Some(what) => Err(kind::refused(what, TO_BE)),
        None => Ok((file, metadata)),
    }
}

/// Reads a regular file whole.
///
/// # Errors
///
/// As for [`open`]; and where it holds more than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, metadata) = open(path)?;
    read_opened(&file, &metadata, most)
}

/// Reads a regular file whole, as text.
///
/// # Errors
///
/// As for [`read`]; and where it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text(read(path, most)?)
}

/// Bytes of a file as text.
///
/// # Errors
///
/// Where they are not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads what [`open`] opened, whole.
///
/// # Errors
///
/// The operating system's, and where there are more than `most` bytes, also where they came while it was read.
pub fn read_opened(file: &File, metadata: &Metadata, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "it is larger than {}, the most that is read of such a file",
                size(most)
            ),
        )
    };
    if metadata.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large());
    }
    Ok(bytes)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / 1024 / 1024),
    }
}

#[cfg(all(test, unix))]
#[expect(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        read(path, 100).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink(path("pipe"), path("link")).unwrap();
        for (path, words) in [
            (path("pipe"), "it is a pipe"),
            (path("link"), "it is a pipe"),
            (path("socket"), "it is a socket"),
            (folder.path().to_owned(), "it is a folder"),
            ("/dev/zero".into(), "it is a device"),
        ] {
            let told = refused(&path);
            assert!(told.starts_with(words), "{}: {told}", path.display());
        }
        assert_eq!(
            read(&path("nothing"), 1).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_kernel_makes_up_is_not_a_regular_file() {
        for path in ["/proc/self/environ", "/proc/version", "/proc/self/maps"] {
            assert!(refused(Path::new(path)).contains("the kernel's"), "{path}");
        }
    }

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "x".repeat(100)).unwrap();
        assert_eq!(read(&path, 100).unwrap().len(), 100);
        assert!(
            read(&path, 99)
                .unwrap_err()
                .to_string()
                .contains("larger than 99 bytes")
        );
        // Sparse: it takes no room on the disk, and would take all of the memory.
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(3 << 30)
            .unwrap();
        let told = read(&path, limit::CONFIGURATION).unwrap_err().to_string();
        assert!(told.contains("larger than 1 MiB"), "{told}");
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(read_text(&path, 9).unwrap_err().to_string().contains("UTF-8"));
        std::fs::write(&path, "").unwrap();
        assert_eq!(read(&path, 9).unwrap(), b"");
    }
}
