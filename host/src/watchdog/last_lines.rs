//! What the decision log gets from a process that is ended before it can write its own line. Written beforehand, since a
//! signal handler can neither format nor allocate.
#![expect(unsafe_code, reason = "a signal handler can take no lock")]

use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Cause, platform};
use crate::verdict::FaultKind;

struct LastLines {
    log: platform::LogPath,
    deadline: Vec<u8>,
    panic: Vec<u8>,
    signal: Vec<u8>,
}

static LINES: AtomicPtr<LastLines> = AtomicPtr::new(ptr::null_mut());

/// Leaves lines for this log, each made by `line` from the kind of fault and its cause, until others are left or they are
/// withdrawn.
pub fn leave_lines(log: &Path, line: impl Fn(FaultKind, &str) -> Vec<u8>) {
    let lines = platform::log_path(log).map(|log| LastLines {
        log,
        deadline: line(FaultKind::Deadline, "the host had no answer before its deadline"),
        panic: line(FaultKind::Host, "the host itself failed (a panic)"),
        signal: line(FaultKind::Host, "the host was ended by a signal"),
    });
    // Never freed: a signal handler may be reading the former ones.
    let lines = lines.map_or(ptr::null_mut(), |lines| Box::into_raw(Box::new(lines)));
    LINES.store(lines, Ordering::SeqCst);
}

/// The process writes its own line from now on. Where the log hangs, the last word must not hang on it as well.
pub fn withdraw_lines() {
    LINES.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Appends the line that was left for this cause, if there is one. Async-signal-safe.
pub(super) fn append(cause: Cause) {
    // SAFETY: what was once stored is never freed or changed.
    if let Some(lines) = unsafe { LINES.load(Ordering::SeqCst).as_ref() } {
        let line = match cause {
            Cause::Deadline => &lines.deadline,
            Cause::Panic => &lines.panic,
            Cause::Signal => &lines.signal,
        };
        platform::append(&lines.log, line);
    }
}
