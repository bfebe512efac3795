//! The directory that states lie in, and what is done to its files.
//!
//! Nothing is used that is a symbolic link or belongs to another user: neither the directory nor a file in it.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::error::SessionError;
use crate::platform;
use crate::scope::Scope;

/// The largest file that is read, in bytes: a hundred times what a full state has.
const LARGEST_FILE: u64 = 1 << 20;

/// Lies in a directory that was made for this alone: there, old states may be removed.
const MARK: &str = ".made-by-holdpoint";

/// A state directory that is there and this user's.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory, or none where it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, SessionError> {
        Ok(Self::examine(path)?.map(|(directory, _)| directory))
    }

    /// The directory, made where it does not exist, and then marked as ours where it is for this alone; for its owner only,
    /// from now on.
    pub(crate) fn create(path: &Path, for_this_alone: bool) -> Result<Self, SessionError> {
        let (directory, metadata) = match Self::examine(path)? {
            Some(found) => found,
            None => {
                platform::directories().recursive(true).create(path)?;
                let made = Self::examine(path)?.ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
                if for_this_alone {
                    // Without it, nothing is swept: no reason not to count.
                    let _ = platform::create_file(&made.0.path.join(MARK));
                }
                made
            }
        };
        platform::close_to_others(path, &metadata)?;
        Ok(directory)
    }

    fn examine(path: &Path) -> Result<Option<(Self, Metadata)>, SessionError> {
        let Some(metadata) = look(path)? else {
            return Ok(None);
        };
        if !metadata.is_dir() {
            return Err(refused(path, "no directory"));
        }
        let path = path.to_owned();
        Ok(Some((Self { path }, metadata)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was made for this alone.
    pub(crate) fn is_ours(&self) -> bool {
        fs::symlink_metadata(self.path.join(MARK)).is_ok_and(|mark| mark.is_file() && platform::is_own(&mark))
    }

    /// The state's file.
    fn state(&self, scope: &Scope) -> PathBuf {
        self.path.join(format!("{}.json", scope.as_str()))
    }

    /// What stands in the way of everybody else while the scope is in use.
    pub(crate) fn lock(&self, scope: &Scope) -> PathBuf {
        self.path.join(format!("{}.lock", scope.as_str()))
    }

    /// A name for what is on its way in or out. One is enough: only who holds the lock uses it.
    pub(crate) fn temporary(&self, scope: &Scope) -> PathBuf {
        self.path.join(format!(".{}.holdpoint.tmp", scope.as_str()))
    }

    /// The scope's file, opened for reading, or none where it does not exist.
    pub(crate) fn find(&self, scope: &Scope) -> Result<Option<(File, Metadata)>, SessionError> {
        let path = self.state(scope);
        let file = match platform::open_file(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                look(&path)?;
                return Err(error.into());
            }
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(refused(&path, "no regular file"));
        }
        own(&path, &metadata)?;
        Ok(Some((file, metadata)))
    }

    /// A found file's contents; nothing where it is too large to be a state.
    pub(crate) fn contents(file: File) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_FILE {
            bytes.clear();
        }
        Ok(bytes)
    }

    /// Puts new contents in the place of the old ones, whole, whichever process is killed at whichever moment.
    ///
    /// Forced to the disk only where that is wanted, as the original always does: it costs five times as much as all the
    /// rest, and a power cut ends the session whose failures are counted here. What it may leave of the file reads as no
    /// state.
    pub(crate) fn replace(&self, scope: &Scope, contents: &[u8], durable: bool) -> io::Result<()> {
        let temporary = self.temporary(scope);
        let mut file = match platform::create_file(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // Left by a process that was killed right here.
                fs::remove_file(&temporary)?;
                platform::create_file(&temporary)?
            }
            result => result?,
        };
        let written = file.write_all(contents).and_then(|()| match durable {
            true => file.sync_all(),
            false => Ok(()),
        });
        let replaced = written
            .and_then(|()| fs::rename(&temporary, self.state(scope)))
            .and_then(|()| match durable {
                true => platform::sync_directory(&self.path),
                false => Ok(()),
            });
        if replaced.is_err() {
            // The first error is the one to tell; what is left here is removed by the next write.
            let _ = fs::remove_file(&temporary);
        }
        replaced
    }

    /// Removes the scope's file, and what a killed process may have left of it.
    pub(crate) fn remove(&self, scope: &Scope) -> io::Result<()> {
        remove_if_there(&self.temporary(scope))?;
        remove_if_there(&self.state(scope))
    }
}

/// What lies at a path; none where nothing does. A symbolic link is refused.
pub(crate) fn look(path: &Path) -> Result<Option<Metadata>, SessionError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(refused(path, "a symbolic link")),
        Ok(metadata) => {
            own(path, &metadata)?;
            Ok(Some(metadata))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn own(path: &Path, metadata: &Metadata) -> Result<(), SessionError> {
    if platform::is_own(metadata) {
        Ok(())
    } else {
        Err(refused(path, "another user's"))
    }
}

fn refused(path: &Path, what: &'static str) -> SessionError {
    SessionError::Refused {
        path: path.to_owned(),
        what,
    }
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
