//! What lies at a path beside a regular file, and how a file is opened without waiting for anybody.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// What an opened file is, where it is not a regular one.
pub(crate) fn odd(file: &File, metadata: &Metadata) -> Option<&'static str> {
    if !metadata.is_file() {
        return Some(name(metadata.file_type()));
    }
    (metadata.len() == 0 && is_made_up(file)).then_some("a file of the kernel's")
}

/// The error of what is not a regular file.
pub(crate) fn refused(what: &str, to_be: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {what}, and only a regular file is {to_be}"),
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
pub(crate) fn without_waiting(options: &mut OpenOptions, follows_links: bool) -> &mut OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    // The standard library adds O_CLOEXEC.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    flags.set(OFlags::NOFOLLOW, !follows_links);
    options.custom_flags(flags.bits().cast_signed())
}

#[cfg(not(unix))]
pub(crate) fn without_waiting(options: &mut OpenOptions, _: bool) -> &mut OpenOptions {
    options
}

/// What the operating system opens for nobody, in words: its own for that puzzle people.
#[cfg(unix)]
pub(crate) fn in_words(error: io::Error, path: &Path, to_be: &str) -> io::Error {
    use rustix::io::Errno;
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    let what = if is(Errno::NXIO) || is(Errno::ISDIR) {
        let found = std::fs::metadata(path).ok();
        found
            .filter(|found| !found.is_file())
            .map(|found| name(found.file_type()))
    } else if is(Errno::LOOP) {
        let found = std::fs::symlink_metadata(path);
        found.is_ok_and(|found| found.is_symlink()).then_some("a link")
    } else {
        None
    };
    what.map_or(error, |what| refused(what, to_be))
}

#[cfg(not(unix))]
pub(crate) fn in_words(error: io::Error, _: &Path, _: &str) -> io::Error {
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
