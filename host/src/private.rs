//! What this platform says of a file: who else could have written it or can read it.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Whether anybody but the file's owner may write it, or the owner is neither this user nor the system's.
#[cfg(unix)]
pub(crate) fn writable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = metadata.uid();
    metadata.mode() & 0o022 != 0 || (owner != 0 && owner != rustix::process::geteuid().as_raw())
}

/// Whether anybody but the file's owner may read it.
#[cfg(unix)]
pub(crate) fn readable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077 != 0 || writable_by_others(metadata)
}

/// Whether this user may execute the file, as far as its mode says so.
#[cfg(unix)]
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o111 != 0
}

/// The file's mode.
#[cfg(unix)]
pub(crate) fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    Some(std::fs::metadata(path).ok()?.mode() & 0o7777)
}

/// Gives a file another mode.
#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// How many bytes this user can still write where the path leads, or will lead once it is there.
#[cfg(unix)]
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|ancestor| ancestor.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Makes a file that was not there, for its owner only or, if it is public, for everybody to read.
#[cfg(unix)]
pub(crate) fn create(path: &Path, public: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mode = if public { 0o644 } else { 0o600 };
    File::options().write(true).create_new(true).mode(mode).open(path)
}

/// As above; who can read it there is inherited from the folder.
#[cfg(not(unix))]
pub(crate) fn create(path: &Path, _: bool) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Takes a file away from everybody but its owner.
#[cfg(unix)]
pub(crate) fn keep(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

/// As above: who can use it there is inherited from the folder.
#[cfg(not(unix))]
pub(crate) fn keep(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Windows keeps this in access control lists, which are not read yet: see the chapter on platforms in the docs.
#[cfg(not(unix))]
pub(crate) fn writable_by_others(_: &Metadata) -> bool {
    false
}

/// As above.
#[cfg(not(unix))]
pub(crate) fn readable_by_others(_: &Metadata) -> bool {
    false
}

/// Whether a file is a program is a matter of its name there.
#[cfg(not(unix))]
pub(crate) fn is_executable(_: &Metadata) -> bool {
    true
}

/// There are no modes there.
#[cfg(not(unix))]
pub(crate) fn mode(_: &Path) -> Option<u32> {
    None
}

/// As above.
#[cfg(not(unix))]
pub(crate) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Not asked for there.
#[cfg(not(unix))]
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}
