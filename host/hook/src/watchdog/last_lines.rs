//! What the decision log gets from a process that is ended before it can write its own line. Written beforehand, since a
//! signal handler can neither format nor allocate.
#![expect(unsafe_code, reason = "a signal handler can take no lock")]

use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use holdpoint_runtime::verdict::FaultKind;

use super::{Cause, platform};

struct LastLines {
    log: platform::LogPath,
    deadline: Vec<u8>,
    panic: Vec<u8>,
    signal: Vec<u8>,
}

static LINES: AtomicPtr<LastLines> = AtomicPtr::new(ptr::null_mut());

/// The ways a process can be ended, with the words for each.
const ENDS: [(FaultKind, &str); 3] = [
    (FaultKind::Deadline, "the host had no answer before its deadline"),
    (FaultKind::Host, "the host itself failed (a panic)"),
    (FaultKind::Host, "the host was ended by a signal"),
];

/// Leaves lines for this log, one for each of the ends that `lines` is given, until others are left or they are withdrawn.
pub fn leave_lines(log: &Path, lines: impl FnOnce([(FaultKind, &str); 3]) -> [Vec<u8>; 3]) {
    let lines = platform::log_path(log).map(|log| {
        let [deadline, panic, signal] = lines(ENDS);
        LastLines {
            log,
            deadline,
            panic,
            signal,
        }
    });
    // Never freed: a signal handler may be reading the former ones.
    let lines = lines.map_or(ptr::null_mut(), |lines| Box::into_raw(Box::new(lines)));
    LINES.store(lines, Ordering::SeqCst);
}

/// The process writes its own line from now on. Where the log hangs, the last word must not hang on it as well.
pub fn withdraw_lines() {
    LINES.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Whether the process is writing a line of its own.
static WRITING: AtomicBool = AtomicBool::new(false);

/// Writes the process's own line, with the lines that were left still there: a process that is ended after it and before its
/// answer has blocked a call that this line lets pass, and says so in another one. Not at the deadline while the own line is
/// being written: a log that hangs then is what took so long.
pub fn keep_lines_while<T>(write: impl FnOnce() -> T) -> T {
    WRITING.store(true, Ordering::SeqCst);
    let written = write();
    WRITING.store(false, Ordering::SeqCst);
    written
}

/// Appends the line that was left for this cause, if there is one. Async-signal-safe.
pub(super) fn append(cause: Cause) {
    if matches!(cause, Cause::Deadline) && WRITING.load(Ordering::SeqCst) {
        return;
    }
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
