//! The directory that processes meet in: its owner's alone, and nothing in it is taken on trust.

use std::fs::{self, DirEntry, File, Metadata, OpenOptions, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

/// No file is longer, in bytes: some hundred times what a board has.
const LARGEST_FILE: u64 = 1 << 20;
/// What is done under a lock takes less than a millisecond; a hundred wait their turn in less than this.
const LONGEST_LOCK: Duration = Duration::from_secs(1);
/// How often a lock is tried.
const PAUSE: Duration = Duration::from_millis(2);
/// Files that nobody has written for so long are of no use to anybody.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);

/// A directory that is there, this user's, and closed to everybody else.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory; made where it does not exist.
    ///
    /// # Errors
    ///
    /// Where it cannot be made, is a link, another user's, or open to others. It is not mended: what lies in it may be
    /// somebody else's by then.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                platform::make(path).map_err(|cause| Error::io(path, cause))?;
                fs::symlink_metadata(path)
            }
            found => found,
        };
        let found = found.map_err(|cause| Error::io(path, cause))?;
        if !found.is_dir() {
            return Err(Error::Odd {
                path: path.to_owned(),
            });
        }
        platform::check(path, &found)?;
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What a file holds; none where there is no such file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, is no plain file, too large, or could be somebody else's.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.file(name);
        let Some((file, metadata)) = open(&path, OpenOptions::new().read(true))? else {
            return Ok(None);
        };
        if metadata.len() > LARGEST_FILE {
            return Err(Error::Odd { path });
        }
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE)
            .read_to_end(&mut bytes)
            .map_err(|cause| Error::io(&path, cause))?;
        Ok(Some(bytes))
    }

    /// Puts a file in the place of the old one, whole, at whatever moment this process ends. It is not forced to the
    /// disk: after a power cut nothing in here counts.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        // The standard library seeds its hashers from the operating system.
        let unique = RandomState::new().build_hasher().finish();
        let temporary = self.file(&format!("{name}.{unique:016x}.tmp"));
        let mut options = OpenOptions::new();
        let file = platform::private(options.write(true).create_new(true)).open(&temporary);
        let replaced = file
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, self.file(name)));
        replaced.map_err(|cause| {
            // The first error is the one to tell.
            let _ = fs::remove_file(&temporary);
            Error::io(&self.file(name), cause)
        })
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.file(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&path, error)),
            _ => Ok(()),
        }
    }

    /// Waits for a lock. It ends when the file is dropped, and with the process, however that ends.
    pub(crate) fn lock(&self, name: &str) -> Result<File, Error> {
        let path = self.file(name);
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_LOCK {
            if let Some(file) = self.try_lock(name)? {
                return Ok(file);
            }
            thread::sleep(PAUSE);
        }
        Err(Error::Busy { path })
    }

    /// Takes a lock, or none where another process has it. The file is made where it does not exist.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub fn try_lock(&self, name: &str) -> Result<Option<File>, Error> {
        let path = self.file(name);
        let opened = open(&path, OpenOptions::new().append(true).create(true))?;
        let Some((file, metadata)) = opened else {
            return Ok(None);
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(Error::io(&path, cause)),
        }
        // It may have been swept away in between: then the lock is on a file without a name, and stops nobody.
        let named = fs::symlink_metadata(&path);
        Ok(named
            .is_ok_and(|named| platform::is_same(&named, &metadata))
            .then_some(file))
    }

    /// A file that somebody may hold a lock on; none where it does not exist.
    pub(crate) fn find(&self, name: &str) -> Result<Option<File>, Error> {
        let found = open(&self.file(name), OpenOptions::new().read(true))?;
        Ok(found.map(|(file, _)| file))
    }

    /// Removes what was left here a day ago: boards of VPGs that are not asked for any more, of earlier runs of the
    /// machine, and what killed processes could not remove. Nothing depends on it, nor on the clock that it goes by.
    pub(crate) fn sweep(&self) {
        let is_left = |entry: &DirEntry| {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|time| time.elapsed().ok());
            age.is_some_and(|age| age > LEFT)
        };
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if is_left(&entry) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Opens what is a plain file of this user's and of nobody else; none where it does not exist.
fn open(path: &Path, options: &mut OpenOptions) -> Result<Option<(File, Metadata)>, Error> {
    let file = match platform::private(options).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::io(path, cause)),
    };
    let metadata = file.metadata().map_err(|cause| Error::io(path, cause))?;
    if !metadata.is_file() {
        return Err(Error::Odd {
            path: path.to_owned(),
        });
    }
    platform::check(path, &metadata)?;
    Ok(Some((file, metadata)))
}

#[cfg(unix)]
mod platform {
    use super::{Error, Metadata, OpenOptions, Path, fs, io};
    use rustix::fs::OFlags;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};

    pub(super) fn make(path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// For its owner only where it is made, never through a link, and without waiting for the other end of a pipe.
    pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed())
    }

    pub(super) fn check(path: &Path, metadata: &Metadata) -> Result<(), Error> {
        let path = path.to_owned();
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(Error::Foreign { path });
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(Error::Exposed { path });
        }
        Ok(())
    }

    pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
}

/// Who owns a file is kept in access control lists there, which are not read: nothing is shared or kept.
#[cfg(not(unix))]
mod platform {
    use super::{Error, Metadata, OpenOptions, Path, io};

    pub(super) fn make(_: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(super) fn check(_: &Path, _: &Metadata) -> Result<(), Error> {
        Err(Error::Unsupported)
    }

    pub(super) fn is_same(_: &Metadata, _: &Metadata) -> bool {
        false
    }
}
