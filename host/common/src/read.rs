//! Reading a small file whole, so that no path can hold the process up or fill its memory.
//!
//! A path in a configuration, an environment variable or a folder may lead to a pipe, a device, a file of the kernel's
//! or a file of 3 GiB. Opening a pipe waits for its writer, reading `/proc/kmsg` waits for the next message, and the
//! deadline is not known before the configuration is read. So the file is opened without waiting, looked at by its
//! descriptor and not by its name, and read up to a limit.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

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
    let file = without_waiting(OpenOptions::new().read(true)).open(path);
    let file = file.map_err(|error| in_words(error, path))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(odd(&format!("it is {}", name(metadata.file_type()))));
    }
    if metadata.len() == 0 && is_made_up(&file) {
        return Err(odd("it is a file of the kernel's"));
    }
    Ok((file, metadata))
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

fn odd(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{what}, and only a regular file is read"),
    )
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "a device" }
}

/// Without waiting for the other end of a pipe, and without making a terminal ours.
#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    // The standard library adds O_CLOEXEC.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed())
}

#[cfg(not(unix))]
fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A socket cannot be opened at all, and the operating system's words for that puzzle people.
#[cfg(unix)]
fn in_words(error: io::Error, path: &Path) -> io::Error {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = || std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
    match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() && is_socket() => odd("it is a socket"),
        _ => error,
    }
}

#[cfg(not(unix))]
fn in_words(error: io::Error, _: &Path) -> io::Error {
    error
}

/// Whether the kernel makes the content up: such files say that they are regular and empty, and reading one may wait, or
/// take from others what is there to read.
#[cfg(target_os = "linux")]
fn is_made_up(file: &File) -> bool {
    /// `proc`, `sysfs`, `debugfs`, `tracefs`, `securityfs`, `cgroup2` and `pstore`, by their magic numbers.
    const KERNEL: [u64; 7] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x6367_7270,
        0x6165_676c,
    ];
    rustix::fs::fstatfs(file).is_ok_and(|system| {
        let magic = u64::try_from(system.f_type).unwrap_or_default() & 0xffff_ffff;
        KERNEL.contains(&magic)
    })
}

#[cfg(not(target_os = "linux"))]
fn is_made_up(_: &File) -> bool {
    false
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
