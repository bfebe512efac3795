//! Where there are no Unix signals: a thread that sleeps until the deadline.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use super::time_passed;
use crate::exit::ExitCode;

pub(super) const STDOUT: bool = true;
pub(super) const STDERR: bool = false;

/// When to wake up, and when again. The thread looks at it anew whenever it has slept enough.
static TIMES: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);

/// The harness ends a hook by terminating its process, which nothing can catch.
pub(super) fn catch_signals() {}

/// There is nothing to catch.
pub(super) fn catch_faults() {}

pub(super) fn start_timer(first: Duration, then: Duration) {
    let now = Instant::now();
    let times = Some((now + first, now + first + then));
    let running = TIMES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .replace(times.expect("it was just made"));
    if running.is_none() {
        thread::spawn(watch);
    }
}

fn watch() {
    for second in [false, true] {
        while let Some(left) = time_left(second) {
            thread::sleep(left.min(Duration::from_millis(100)));
        }
        time_passed();
    }
}

fn time_left(second: bool) -> Option<Duration> {
    let (first, then) = (*TIMES.lock().unwrap_or_else(PoisonError::into_inner))?;
    (if second { then } else { first }).checked_duration_since(Instant::now())
}

pub(super) fn write(stdout: bool, bytes: &[u8]) {
    // There is nobody left to tell of a failure.
    let _ = if stdout {
        std::io::stdout().write_all(bytes)
    } else {
        std::io::stderr().write_all(bytes)
    };
}

/// A path as the operating system takes it.
pub(super) type LogPath = PathBuf;

pub(super) fn log_path(path: &Path) -> Option<LogPath> {
    Some(path.to_owned())
}

/// Appends to a file.
pub(super) fn append(log: &LogPath, line: &[u8]) {
    let file = OpenOptions::new().read(true).append(true).create(true).open(log);
    // There is nobody left to tell of a failure.
    let _ = file.and_then(|mut file| {
        let length = file.metadata()?.len();
        match crate::log::is_torn(&file, length) {
            true => file.write_all(&[b"\n", line].concat()),
            false => file.write_all(line),
        }
    });
}

/// There is no timer for it here.
pub(super) fn end_soon(_: ExitCode) {}

pub(super) fn end(code: ExitCode) -> ! {
    std::process::exit(code.number())
}
