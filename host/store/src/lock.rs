//! One writer at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_common::append::{self, Links};

use crate::error::StoreError;
use crate::owner;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// The writer's right, until it is dropped or the process ends, however it ends.
pub(crate) struct Lock(#[expect(dead_code, reason = "holds the lock by being open")] File);

/// Waits for the lock, at most until the deadline.
pub(crate) fn take(path: &Path, deadline: Instant) -> Result<Lock, StoreError> {
    let io = |cause| StoreError::io(path, cause);
    let begun = Instant::now();
    let opened = append::open(path, OpenOptions::new().write(true), Links::Refused);
    let (file, metadata) = opened.map_err(io)?;
    owner::check(path, &metadata)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::Error(cause)) => return Err(io(cause)),
            Err(TryLockError::WouldBlock) => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(StoreError::Busy {
                path: path.to_owned(),
                waited: begun.elapsed(),
            });
        }
        thread::sleep(PAUSE.min(left));
    }
}
