//! The only place that knows how this platform says who owns what, and what a link is.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(unix)]
pub(crate) use unix::{
    create_file, is_own, is_same, open_directory, open_file, private_directories, set_mode,
};

#[cfg(not(unix))]
pub(crate) use other::{
    create_file, is_own, is_same, open_directory, open_file, private_directories, set_mode,
};

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, Permissions};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};

    use rustix::fs::OFlags;

    use super::{File, Metadata, OpenOptions, Path, io};

    /// Opens a directory that is no symbolic link. Its handle can carry the operating system's lock.
    pub(crate) fn open_directory(path: &Path) -> io::Result<File> {
        open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW)
    }

    /// Opens what is no symbolic link for reading, and does not wait for the other end of a pipe.
    pub(crate) fn open_file(path: &Path) -> io::Result<File> {
        open(path, OFlags::NOFOLLOW | OFlags::NONBLOCK)
    }

    fn open(path: &Path, flags: OFlags) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
    }

    /// Creates a file that was not there, for its owner only.
    pub(crate) fn create_file(path: &Path) -> io::Result<File> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        set_mode(&file, &file.metadata()?, 0o600)?;
        Ok(file)
    }

    pub(crate) fn private_directories() -> DirBuilder {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder
    }

    pub(crate) fn set_mode(file: &File, now: &Metadata, mode: u32) -> io::Result<()> {
        if now.mode() & 0o7777 == mode {
            return Ok(());
        }
        file.set_permissions(Permissions::from_mode(mode))
    }

    pub(crate) fn is_own(metadata: &Metadata) -> bool {
        metadata.uid() == rustix::process::geteuid().as_raw()
    }

    /// Whether both are one file, and not written in between.
    pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        let identity = |file: &Metadata| (file.dev(), file.ino(), file.mtime(), file.mtime_nsec());
        identity(one) == identity(other)
    }
}

/// Windows keeps owners in access control lists, which are not read yet, and cannot lock a directory.
#[cfg(not(unix))]
mod other {
    use std::fs::DirBuilder;

    use super::{File, Metadata, OpenOptions, Path, io};

    pub(crate) fn open_directory(path: &Path) -> io::Result<File> {
        let options = &mut OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(".holdpoint"))
    }

    pub(crate) fn open_file(path: &Path) -> io::Result<File> {
        if std::fs::symlink_metadata(path)?.is_symlink() {
            return Err(io::Error::other("a symbolic link"));
        }
        File::open(path)
    }

    pub(crate) fn create_file(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    pub(crate) fn private_directories() -> DirBuilder {
        DirBuilder::new()
    }

    pub(crate) fn set_mode(_: &File, _: &Metadata, _: u32) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn is_own(_: &Metadata) -> bool {
        true
    }

    pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        one.len() == other.len() && one.modified().ok() == other.modified().ok()
    }
}
