//! The only place that knows how this platform says who owns what, what a link is, and who holds a lock.

#[cfg(unix)]
pub(crate) use unix::{
    close_to_others, create_file, directories, hold, is_own, is_same, let_go, open_file, sync_directory,
};
#[cfg(windows)]
pub(crate) use windows::{
    close_to_others, create_file, directories, hold, is_own, is_same, let_go, open_file, sync_directory,
};

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    use rustix::fs::OFlags;

    /// Opens what is no symbolic link for reading, and does not wait for the other end of a pipe.
    pub(crate) fn open_file(path: &Path) -> io::Result<File> {
        open(path, OFlags::NOFOLLOW | OFlags::NONBLOCK)
    }

    fn open(path: &Path, flags: OFlags) -> io::Result<File> {
        let flags = flags.bits().cast_signed();
        OpenOptions::new().read(true).custom_flags(flags).open(path)
    }

    /// Creates a file that was not there, for its owner only, whatever the process's mask is.
    pub(crate) fn create_file(path: &Path) -> io::Result<File> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(file)
    }

    /// Forces a directory's names to the disk.
    pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    /// Makes directories that only their owner may enter.
    pub(crate) fn directories() -> DirBuilder {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder
    }

    /// Makes sure that only its owner may enter a directory.
    pub(crate) fn close_to_others(path: &Path, now: &Metadata) -> io::Result<()> {
        if now.mode() & 0o7777 == 0o700 {
            return Ok(());
        }
        fs::set_permissions(path, Permissions::from_mode(0o700))
    }

    pub(crate) fn is_own(metadata: &Metadata) -> bool {
        metadata.uid() == rustix::process::geteuid().as_raw()
    }

    /// Whether both are one file, and not written in between.
    pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        let identity = |file: &Metadata| (file.dev(), file.ino(), file.mtime(), file.mtime_nsec());
        identity(one) == identity(other)
    }

    /// Makes the marker and locks it, or none where anybody else has the name.
    pub(crate) fn hold(path: &Path) -> io::Result<Option<File>> {
        match directories().create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let marker = match open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW) {
            Ok(marker) => marker,
            // Its holder has removed it just now; another one may be there already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // The original's, or a link.
            Err(_) if fs::symlink_metadata(path).map_or(true, |found| !found.is_dir()) => return Ok(None),
            Err(error) => return Err(error),
        };
        match marker.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Between opening and locking its holder may have removed it: then the lock is on a directory without a name.
        let (locked, named) = (marker.metadata()?, fs::symlink_metadata(path));
        let is_it = named.is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()));
        Ok(is_it.then_some(marker))
    }

    /// Removes the marker, and only then lets go of the lock on it.
    pub(crate) fn let_go(path: &Path, marker: File) {
        // A marker that stays stops nobody of ours once the lock is gone.
        let _ = fs::remove_dir(path);
        drop(marker);
    }
}

/// Owners are kept in access control lists here, which are not read yet.
#[cfg(windows)]
mod windows {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::path::Path;

    /// `FILE_FLAG_DELETE_ON_CLOSE`.
    const DELETE_ON_CLOSE: u32 = 0x0400_0000;
    /// `ERROR_SHARING_VIOLATION`.
    const SHARING_VIOLATION: i32 = 32;

    pub(crate) fn open_file(path: &Path) -> io::Result<File> {
        if fs::symlink_metadata(path)?.is_symlink() {
            return Err(io::Error::other("a symbolic link"));
        }
        File::open(path)
    }

    pub(crate) fn create_file(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }
    /// Directories cannot be forced to the disk there.
    pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn directories() -> DirBuilder {
        DirBuilder::new()
    }

    pub(crate) fn close_to_others(_: &Path, _: &Metadata) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn is_own(_: &Metadata) -> bool {
        true
    }

    pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        one.len() == other.len() && one.modified().ok() == other.modified().ok()
    }

    /// A file that is open here and shared with nobody cannot be deleted by others, and goes with its process.
    pub(crate) fn hold(path: &Path) -> io::Result<Option<File>> {
        let options = &mut OpenOptions::new();
        options.write(true).create_new(true).share_mode(0);
        match options.custom_flags(DELETE_ON_CLOSE).open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn let_go(_: &Path, marker: File) {
        drop(marker);
    }
}
