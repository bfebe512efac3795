//! One process at a time, ours or the original's.
//!
//! The original's lock is a file, `<scope>.lock`. Whoever creates it holds it, whoever finds one older than 30 seconds
//! unlinks it, and a holder that is done unlinks whatever has the name by then. So it can be taken from a process that
//! was merely stopped, and nothing tells a dead holder from a living one. Ours are two things, taken in this order and
//! given back in the other:
//!
//! 1. The *guard*: the operating system's lock on the state directory itself. It ends with its process, however that
//!    ends, and since nobody removes the directory, nobody can take it away. Among ours it alone would be enough.
//! 2. The *marker*: a **directory** with the name of the original's lock file. `mkdir` and the original's `O_CREAT|O_EXCL`
//!    exclude each other: each fails where anything has the name. What the original would do to a lock that it thinks
//!    abandoned or its own, `unlink`, fails on a directory, and it takes that failure for "still locked". So it waits
//!    for us as for one of its own, and cannot steal from us, however long we are stopped.
//!
//! What follows for a marker that is found by one of ours, which has the guard:
//!
//! - A directory. Ours alone make one, and only with the guard, which we have now: so its maker is dead, and it is
//!   taken over at once.
//! - Anything else is the original's, and is never removed while it may be held: we let go of the guard, wait and try
//!   again, for as long as the original does, and then give up.
//! - The original's, older than 30 seconds. All originals have agreed to treat it as abandoned; were it left, a killed
//!   original would end the count for good. It is moved aside, and only removed if it still is the one that was looked
//!   at: where another original was faster and has made its own, that one is put back by `link`, which never replaces.
//!
//! Two holders would need an original to steal, and a second one to lock, between our move and our link, microseconds
//! later; or an original that was stopped for 30 seconds in the middle, which is its own rule's weakness among
//! originals, too. One of ours is never overtaken by either.
//!
//! A process of ours that is killed leaves its marker, which stops originals (never ours) in that scope until one of
//! ours works in it, or sweeps the directory: see [`Store`](crate::Store).

use std::fs::{self, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::directory::{Directory, remove_if_there};
use crate::error::SessionError;
use crate::platform;
use crate::scope::Scope;

/// How long we queue behind our own, who hold the guard for some milliseconds each. Shorter than any hook's time limit.
const WAIT_FOR_OURS: Duration = Duration::from_secs(4);
/// How long we wait for an original: as it does.
const WAIT_FOR_ORIGINAL: Duration = Duration::from_secs(1);
/// The age at which a lock file of the original's is abandoned, by its own rule.
const ABANDONED: Duration = Duration::from_secs(30);
/// How often a lock is tried.
const PAUSE: Duration = Duration::from_millis(2);

/// The right to change one scope's file, against ours and the original's. Ends when dropped.
#[derive(Debug)]
pub(crate) struct Lock<'a> {
    // Fields are dropped in this order: the marker has to be gone before others of ours look for it.
    _marker: Marker,
    _guard: Guard<'a>,
}

impl<'a> Lock<'a> {
    /// Waits for the right.
    pub(crate) fn acquire(directory: &'a Directory, scope: &Scope) -> Result<Self, SessionError> {
        let started = Instant::now();
        let mut in_the_way = None;
        loop {
            let guard = Guard::acquire(directory, started + WAIT_FOR_OURS)?;
            if let Some(marker) = Marker::place(directory, scope)? {
                return Ok(Self {
                    _marker: marker,
                    _guard: guard,
                });
            }
            // Sessions that no original works in need not wait with us.
            drop(guard);
            if in_the_way.get_or_insert_with(Instant::now).elapsed() >= WAIT_FOR_ORIGINAL {
                return Err(SessionError::Busy);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The operating system's lock on the directory.
#[derive(Debug)]
struct Guard<'a>(&'a Directory);

impl<'a> Guard<'a> {
    fn acquire(directory: &'a Directory, deadline: Instant) -> Result<Self, SessionError> {
        loop {
            match directory.handle.try_lock() {
                Ok(()) => return Ok(Self(directory)),
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(SessionError::Busy);
                }
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Should this fail, closing the directory ends the lock as well.
        let _ = self.0.handle.unlock();
    }
}

/// The directory with the name of the original's lock file. Made, and removed, only by who has the guard.
#[derive(Debug)]
pub(crate) struct Marker(PathBuf);

impl Marker {
    /// Makes the marker, or none where an original is in the way.
    pub(crate) fn place(directory: &Directory, scope: &Scope) -> io::Result<Option<Self>> {
        let path = directory.lock(scope);
        loop {
            match platform::private_directories().create(&path) {
                Ok(()) => return Ok(Some(Self(path))),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => return Ok(Some(Self(path))),
                Ok(found) if is_abandoned(&found) => set_aside(directory, scope, &found)?,
                Ok(_) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // A marker that stays stops nobody of ours.
        let _ = fs::remove_dir(&self.0);
    }
}

fn is_abandoned(lock: &Metadata) -> bool {
    let age = lock
        .modified()
        .ok()
        .and_then(|time| SystemTime::now().duration_since(time).ok());
    age.is_some_and(|age| age > ABANDONED)
}

/// Takes an abandoned lock file of the original's away, and no other one.
fn set_aside(directory: &Directory, scope: &Scope, abandoned: &Metadata) -> io::Result<()> {
    let (path, aside) = (directory.lock(scope), directory.temporary(scope));
    match fs::rename(&path, &aside) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        result => result?,
    }
    if !platform::is_same(&fs::symlink_metadata(&aside)?, abandoned) {
        // Fails where the name is taken again, and then there is nothing to put back.
        let _ = fs::hard_link(&aside, &path);
    }
    remove_if_there(&aside)
}
