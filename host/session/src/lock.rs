//! One process at a time, ours or the original's.
//!
//! The original's lock is a file, `<scope>.lock`. Whoever creates it holds it, whoever finds one older than 30 seconds
//! unlinks it, and a holder that is done unlinks whatever has the name by then. So it can be taken from a process that
//! was merely stopped, and nothing tells a dead holder from a living one.
//!
//! Ours has the same name and is a **directory**, on which the operating system's lock is held. Whoever has made or found
//! the directory, has locked it, and then still sees it under the name, holds the scope; who is done removes it and then
//! lets go. Why that is enough:
//!
//! - *Ours and the original exclude each other.* Making a directory and creating a file with `O_CREAT|O_EXCL` both fail
//!   where anything has the name.
//! - *The original cannot steal from us.* Its `unlink` of a lock that it thinks abandoned, or its own, fails on a
//!   directory, however old; it takes the failure for "still locked", waits and gives up.
//! - *Ours exclude each other.* Of those that have one directory open only one has the lock. Only who has it removes
//!   the directory, so as long as the name leads to what is locked, nobody can have locked another one under this name.
//! - *The dead give back.* The lock ends with its process, however that ends. A directory without a lock on it stops
//!   nobody of ours: it is locked and used as it is found.
//! - *We do not steal from the original.* Its file is waited for, as long as it would wait itself, and never touched
//!   while it may be held. Older than 30 seconds it is abandoned by what all originals have agreed on; were it left, a
//!   killed original would end the count for good. Then it is moved aside, onto a file, which no directory can be moved
//!   to: so nothing of ours is ever moved. If what was moved is not what was looked at, another original was faster
//!   and has made its own: it is put back by a link, which never replaces.
//!
//! Left are two weaknesses, both of which originals have among themselves. One that was stopped for over 30 seconds in
//! the middle writes when it wakes, over what was counted since. And for two to hold a scope, one original has to
//! steal, and another to lock, within the microseconds between our move and our link.
//!
//! A process of ours that is killed leaves its directory, which stops originals, never ours, in that scope until one of
//! ours works in it or sweeps it: see [`Store`](crate::Store). (On Windows, where files in use cannot be deleted, ours is
//! a file like the original's, open and shared with nobody, which the system deletes with its process.)

use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::directory::{Directory, remove_if_there};
use crate::error::SessionError;
use crate::platform;
use crate::scope::Scope;

/// How long we queue behind our own, who need some milliseconds each. Shorter than any hook's time limit.
const WAIT_FOR_OURS: Duration = Duration::from_secs(4);
/// How long we wait for an original: as it does.
const WAIT_FOR_ORIGINAL: Duration = Duration::from_secs(1);
/// The age at which a lock file of the original's is abandoned, by its own rule.
const ABANDONED: Duration = Duration::from_secs(30);
/// How often a lock is tried.
const PAUSE: Duration = Duration::from_millis(2);

/// The right to change one scope's file, against ours and the original's. Ends when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// There until the lock is dropped.
    marker: Option<File>,
}

impl Lock {
    /// Waits for the right.
    pub(crate) fn acquire(directory: &Directory, scope: &Scope) -> Result<Self, SessionError> {
        let started = Instant::now();
        let mut behind_original = Duration::ZERO;
        loop {
            if let Some(lock) = Self::try_acquire(directory, scope)? {
                return Ok(lock);
            }
            if started.elapsed() >= WAIT_FOR_OURS || behind_original >= WAIT_FOR_ORIGINAL {
                return Err(SessionError::Busy);
            }
            let paused = Instant::now();
            thread::sleep(PAUSE);
            if fs::symlink_metadata(directory.lock(scope)).is_ok_and(|found| !found.is_dir()) {
                behind_original += paused.elapsed();
            }
        }
    }

    /// Takes the right, or none where somebody else has it.
    pub(crate) fn try_acquire(directory: &Directory, scope: &Scope) -> io::Result<Option<Self>> {
        let path = directory.lock(scope);
        if let Some(marker) = platform::hold(&path)? {
            return Ok(Some(Self {
                path,
                marker: Some(marker),
            }));
        }
        if let Ok(found) = fs::symlink_metadata(&path)
            && !found.is_dir()
            && is_abandoned(&found)
        {
            set_aside(&path, &found)?;
        }
        Ok(None)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(marker) = self.marker.take() {
            platform::let_go(&self.path, marker);
        }
    }
}

fn is_abandoned(lock: &Metadata) -> bool {
    let modified = lock.modified().ok();
    let age = modified.and_then(|time| SystemTime::now().duration_since(time).ok());
    age.is_some_and(|age| age > ABANDONED)
}

/// Takes an abandoned lock file of the original's away, and no other one.
fn set_aside(path: &Path, abandoned: &Metadata) -> io::Result<()> {
    // The standard library seeds its hashers from the operating system.
    let unique = RandomState::new().build_hasher().finish();
    let aside = path.with_extension(format!("{unique:016x}.tmp"));
    drop(platform::create_file(&aside)?);
    // Fails where the file is gone, or a directory of ours is there by now: then there is nothing to take away.
    let moved = fs::rename(path, &aside).is_ok();
    if moved && !platform::is_same(&fs::symlink_metadata(&aside)?, abandoned) {
        match fs::hard_link(&aside, path) {
            // The name is taken again, so its owner has no use for this one.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    remove_if_there(&aside)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// What is taken away is what was looked at, even if the name leads elsewhere by then.
    #[test]
    fn only_the_abandoned_file_is_taken_away() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scope.lock");
        let looked_at = || fs::symlink_metadata(&path).unwrap();
        let left = || fs::read_dir(directory.path()).unwrap().count();

        fs::write(&path, "abandoned").unwrap();
        let abandoned = looked_at();
        set_aside(&path, &abandoned).unwrap();
        assert_eq!(left(), 0);

        // Keeps the first one's number from being used again.
        fs::write(directory.path().join("other"), "").unwrap();
        fs::write(&path, "another original's").unwrap();
        set_aside(&path, &abandoned).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "another original's");
        assert_eq!(left(), 2);

        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        set_aside(&path, &abandoned).unwrap();
        assert!(path.is_dir(), "ours");
        assert_eq!(left(), 2);
    }

    #[test]
    fn a_lock_on_what_has_lost_its_name_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scope.lock");
        let held = platform::hold(&path).unwrap().unwrap();
        assert!(platform::hold(&path).unwrap().is_none());
        platform::let_go(&path, held);
        assert!(!path.exists());
        // As a process that was killed leaves it.
        fs::create_dir(&path).unwrap();
        assert!(platform::hold(&path).unwrap().is_some());
    }
}
