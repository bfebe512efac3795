//! What this platform says of a file: who else could have written it or can read it.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Whether anybody but the file's owner may write it, or the owner is neither this user nor the system's.
#[cfg(unix)]
pub fn writable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o022 != 0 || is_anothers(metadata, false)
}

/// Whether anybody but root could have written a file of the machine's installation, whoever asks.
#[cfg(unix)]
pub fn writable_by_others_than_root(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o022 != 0 || metadata.uid() != 0
}

/// Whether a file belongs to somebody who may not own it: to another user than root, or, if not only root may, than this one.
#[cfg(unix)]
pub fn is_anothers(metadata: &Metadata, only_root: bool) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = metadata.uid();
    owner != 0 && (only_root || owner != rustix::process::geteuid().as_raw())
}

/// Whether anybody but the file's owner may read it.
#[cfg(unix)]
pub fn readable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077 != 0 || writable_by_others(metadata)
}

/// Whether this user may execute the file, as far as its mode says so.
#[cfg(unix)]
pub fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o111 != 0
}

/// The file's mode.
#[cfg(unix)]
pub fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    Some(std::fs::metadata(path).ok()?.mode() & 0o7777)
}

/// Gives a file another mode.
#[cfg(unix)]
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// How many bytes this user can still write where the path leads, or will lead once it is there.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|ancestor| ancestor.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether this process is root's.
#[cfg(unix)]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this user may list a folder and make files in it, as far as the operating system says so beforehand.
#[cfg(unix)]
pub fn check_folder(folder: &Path) -> io::Result<()> {
    use rustix::fs::Access;
    let all = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    Ok(rustix::fs::access(folder, all)?)
}

/// The first folder on the way to a path that this user may not enter, or the path, where this user may not read it; none
/// where nothing is closed.
#[cfg(unix)]
pub fn first_closed(path: &Path) -> Option<PathBuf> {
    use rustix::fs::{Access, access};
    let is_closed = |path: &Path, right| access(path, right) == Err(rustix::io::Errno::ACCESS);
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let closed = above
        .into_iter()
        .find(|folder| is_closed(folder, Access::EXEC_OK));
    closed
        .or_else(|| Some(path).filter(|path| is_closed(path, Access::READ_OK)))
        .map(Path::to_owned)
}

/// The first folder on the way to a path, or the path, that users other than its owner may not enter or read, or start
/// where it is a program.
#[cfg(unix)]
pub fn closed_to_others(path: &Path, is_started: bool) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let mut way: Vec<&Path> = path.ancestors().collect();
    way.reverse();
    let closed = way.into_iter().find(|part| {
        std::fs::metadata(part).is_ok_and(|found| {
            let needed = if found.is_dir() || is_started {
                0o001
            } else {
                0o004
            };
            found.mode() & needed == 0
        })
    });
    closed.map(Path::to_owned)
}

/// The home folder that the user database names for this user: unlike `HOME`, no project can set it.
#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "the standard library asks the user database for nothing"
)]
pub fn home_by_database() -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    let user = rustix::process::geteuid().as_raw();
    let mut buffer = vec![0_u8; 16 * 1024];
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut found = std::ptr::null_mut();
    // SAFETY: the buffer is as long as is said, and both it and the entry outlive what points to them.
    let code = unsafe {
        libc::getpwuid_r(
            user,
            entry.as_mut_ptr(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &raw mut found,
        )
    };
    if code != 0 {
        return Err(io::Error::from_raw_os_error(code));
    }
    let unknown = |what: &str| io::Error::new(io::ErrorKind::NotFound, what.to_owned());
    if found.is_null() {
        return Err(unknown("the user database has no entry for this user"));
    }
    // SAFETY: the call filled the entry, whose texts end with a zero in the buffer.
    let home = unsafe { std::ffi::CStr::from_ptr((*found).pw_dir) };
    let home = PathBuf::from(std::ffi::OsStr::from_bytes(home.to_bytes()));
    if home.is_absolute() {
        Ok(home)
    } else {
        Err(unknown("the user database names no absolute path"))
    }
}

/// Nobody is root there.
#[cfg(not(unix))]
pub fn is_root() -> bool {
    false
}

/// Not asked for there.
#[cfg(not(unix))]
pub fn check_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// As above.
#[cfg(not(unix))]
pub fn first_closed(_: &Path) -> Option<PathBuf> {
    None
}

/// As above.
#[cfg(not(unix))]
pub fn closed_to_others(_: &Path, _: bool) -> Option<PathBuf> {
    None
}

/// No such database is asked there.
#[cfg(not(unix))]
pub fn home_by_database() -> io::Result<PathBuf> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Makes a directory for its owner alone, where there is none.
pub fn create_folder(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Makes a file that was not there, for its owner only or, if it is public, for everybody to read.
#[cfg(unix)]
pub fn create(path: &Path, public: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mode = if public { 0o644 } else { 0o600 };
    File::options().write(true).create_new(true).mode(mode).open(path)
}

/// As above; who can read it there is inherited from the folder.
#[cfg(not(unix))]
pub fn create(path: &Path, _: bool) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Takes a file away from everybody but its owner.
#[cfg(unix)]
pub fn keep(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

/// As above: who can use it there is inherited from the folder.
#[cfg(not(unix))]
pub fn keep(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Windows keeps this in access control lists, which are not read yet: see the chapter on platforms in the docs.
#[cfg(not(unix))]
pub fn writable_by_others(_: &Metadata) -> bool {
    false
}

/// As above.
#[cfg(not(unix))]
pub fn writable_by_others_than_root(_: &Metadata) -> bool {
    false
}

/// As above.
#[cfg(not(unix))]
pub fn is_anothers(_: &Metadata, _: bool) -> bool {
    false
}

/// As above.
#[cfg(not(unix))]
pub fn readable_by_others(_: &Metadata) -> bool {
    false
}

/// Whether a file is a program is a matter of its name there.
#[cfg(not(unix))]
pub fn is_executable(_: &Metadata) -> bool {
    true
}

/// There are no modes there.
#[cfg(not(unix))]
pub fn mode(_: &Path) -> Option<u32> {
    None
}

/// As above.
#[cfg(not(unix))]
pub fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Not asked for there.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}
