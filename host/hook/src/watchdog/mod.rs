//! The last word: whatever happens to this process, a call that waits for it gets a deny and not a guess.
//!
//! Most harnesses let a call run when its hook panics, is killed by a signal or takes too long. So panics, signals that
//! can be caught and the deadline itself end here, in a few writes that need no memory and no lock, and in `_exit`.

mod last_lines;
#[cfg(not(unix))]
mod thread;
#[cfg(unix)]
mod unix;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use holdpoint_runtime::sandbox;
#[cfg(not(unix))]
use thread as platform;
#[cfg(unix)]
use unix as platform;

pub use last_lines::{keep_lines_while, leave_lines, withdraw_lines};

use crate::exit::ExitCode;

/// What is known of the event, and so what the last word has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Waiting {
    /// The event has not been read: block, in the form that needs no knowledge of it.
    Unknown = 0,
    /// A call waits for the answer: deny it.
    Call = 1,
    /// Nothing waits: stay silent.
    Nothing = 2,
    /// The answer is being written: block without adding to it.
    Answer = 3,
    /// The process answers nobody, and what it has to end with is settled: end with it.
    Nobody = 4,
}

/// The exit code of a process that answers nobody.
static CODE: AtomicU8 = AtomicU8::new(0);

static WAITING: AtomicU8 = AtomicU8::new(Waiting::Unknown as u8);
static LATE: AtomicBool = AtomicBool::new(false);

/// The time before the deadline, at most, in which the host still tries to answer in an orderly way, with a line in the
/// log. On a machine that is short of time, half a second was not always enough.
const GRACE: Duration = Duration::from_secs(2);

/// Arms what needs to know nothing: what ends the process before [`arm`] blocks a call, in the form that needs no knowledge
/// of it. The library's start has given signal handlers a stack of their own by then.
pub fn arm_first() {
    platform::catch_faults();
}

/// Arms the watchdog: panics and signals from now on, and the deadline from the start of the process.
pub fn arm(deadline: Instant) {
    std::panic::set_hook(Box::new(|_| last_word(Cause::Panic)));
    platform::catch_signals();
    set_deadline(deadline);
}

/// Moves the deadline.
pub fn set_deadline(deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    // The last word comes half a grace before the deadline, so that it is out and not under way when the time is over.
    platform::start_timer(left.saturating_sub(grace(left)), grace(left) / 2);
}

/// How long before the deadline the policy is interrupted and waits are given up.
pub fn grace(left: Duration) -> Duration {
    GRACE.min(left / 5)
}

/// Says what the last word would have to be from now on.
pub fn expect(waiting: Waiting) {
    WAITING.store(waiting as u8, Ordering::SeqCst);
}

/// Whatever happens from now on, the process ends with this code, and says nothing but what the log gets: in a process
/// that answers nobody.
pub fn answers_nobody(code: ExitCode) {
    CODE.store(code.byte(), Ordering::SeqCst);
    expect(Waiting::Nobody);
}

/// Where the last word blocks a call, a byte is written to this descriptor, which stays open until the process ends.
#[cfg(unix)]
pub fn tell_of_a_block(descriptor: std::os::fd::OwnedFd) {
    use std::os::fd::IntoRawFd as _;
    TOLD.store(descriptor.into_raw_fd(), Ordering::SeqCst);
}

#[cfg(unix)]
static TOLD: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);

/// Says on that descriptor that the call is blocked. Async-signal-safe.
pub fn blocked() {
    #[cfg(unix)]
    if let descriptor @ 0.. = TOLD.load(Ordering::SeqCst) {
        platform::write(descriptor, b"2");
    }
}

/// Whether the deadline is so near that nothing more should be begun.
pub fn too_late() -> bool {
    LATE.load(Ordering::SeqCst)
}

/// The first time, the policy is interrupted so that the host can answer in an orderly way; the second time there is no
/// more time for that. Async-signal-safe.
fn time_passed() {
    if LATE.swap(true, Ordering::SeqCst) {
        last_word(Cause::Deadline);
    }
    sandbox::interrupt();
}

/// Why the last word is spoken.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Deadline,
    Panic,
    Signal,
}

/// The deny, once as JSON and once as text. Written beforehand, since a signal handler cannot format.
macro_rules! deny {
    ($reason:literal) => {
        (
            concat!(
                "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",",
                "\"permissionDecisionReason\":\"",
                $reason,
                "\"}}\n"
            ),
            concat!($reason, "\n"),
        )
    };
}

/// Ends the process with the answer that fits what is waiting. Async-signal-safe.
fn last_word(cause: Cause) -> ! {
    let (json, text) = match cause {
        Cause::Deadline => deny!(
            "Holdpoint had no answer before its deadline, so this call does not run: no checkpoint was confirmed. Tell \
             the user."
        ),
        Cause::Panic => deny!(
            "Holdpoint itself failed while it judged this call, so the call does not run. This is a fault of the guard, \
             not of the call; tell the user."
        ),
        Cause::Signal => deny!(
            "Holdpoint was ended by a signal while it judged this call, so the call does not run. Tell the user."
        ),
    };
    let waiting = WAITING.load(Ordering::SeqCst);
    if waiting == Waiting::Nothing as u8 {
        platform::end(ExitCode::OK);
    }
    if waiting == Waiting::Nobody as u8 {
        let code = ExitCode::from_byte(CODE.load(Ordering::SeqCst));
        platform::end_soon(code);
        last_lines::append(cause);
        platform::end(code);
    }
    if waiting == Waiting::Call as u8 {
        platform::write(platform::STDOUT, json.as_bytes());
    }
    platform::write(platform::STDERR, text.as_bytes());
    blocked();
    // Last of all: a disk that hangs must not keep the answer back, nor the process alive.
    platform::end_soon(ExitCode::BLOCKED);
    last_lines::append(cause);
    platform::end(ExitCode::BLOCKED)
}
