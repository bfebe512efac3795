//! Signals and a timer, without a thread: a thread of its own costs a tenth of a decision.
#![expect(unsafe_code, reason = "signal handlers and timers have no safe interface")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use super::{Cause, last_word, time_passed};
use crate::exit::ExitCode;

pub(super) const STDOUT: libc::c_int = libc::STDOUT_FILENO;
pub(super) const STDERR: libc::c_int = libc::STDERR_FILENO;

/// Signals that would end the process in a way that a harness takes for "go on".
const FATAL: [libc::c_int; 16] = [
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGHUP,
    libc::SIGILL,
    libc::SIGINT,
    libc::SIGPROF,
    libc::SIGQUIT,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGTERM,
    libc::SIGTRAP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGVTALRM,
    libc::SIGXCPU,
];

/// Those that end a process on Linux only.
#[cfg(target_os = "linux")]
const ALSO_FATAL: [libc::c_int; 3] = [libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];
#[cfg(not(target_os = "linux"))]
const ALSO_FATAL: [libc::c_int; 0] = [];

/// Signals without a meaning of their own, which end a process all the same.
#[cfg(target_os = "linux")]
fn real_time() -> std::ops::RangeInclusive<libc::c_int> {
    libc::SIGRTMIN()..=libc::SIGRTMAX()
}
#[cfg(not(target_os = "linux"))]
fn real_time() -> [libc::c_int; 0] {
    []
}

/// Has to run before the engine starts: it keeps our handlers of memory faults for those that are not a policy's.
pub(super) fn catch_signals() {
    for signal in FATAL.into_iter().chain(ALSO_FATAL).chain(real_time()) {
        handle(signal, on_fatal, libc::SA_ONSTACK);
    }
    // Without SA_RESTART: a read of standard input has to end when the time has passed.
    handle(libc::SIGALRM, on_alarm, libc::SA_ONSTACK);
    // A write that two of these mean fails with an error instead. The others would stop the process, and the harness goes on
    // without one that is stopped for long enough.
    for ignored in [
        libc::SIGPIPE,
        libc::SIGXFSZ,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ] {
        // SAFETY: ignoring a signal touches no memory.
        unsafe { libc::signal(ignored, libc::SIG_IGN) };
    }
    #[cfg(target_os = "linux")]
    ignore_reserved();
    unblock();
}

/// Signals that the C library keeps for itself, 32 and 33 in glibc, 34 too in musl: its `sigaction` refuses them, and one
/// that comes unasked for ends the process. So the kernel is asked. A library that needs one of them, to cancel a thread
/// or to change its user, asks the kernel again before that.
#[cfg(target_os = "linux")]
fn ignore_reserved() {
    /// What the kernel calls a signal's action: handler, flags, restorer and mask.
    const IGNORE: [usize; 4] = [libc::SIG_IGN, 0, 0, 0];
    for signal in 32..libc::SIGRTMIN() {
        // SAFETY: the kernel reads the action, which is as large as it takes them, and writes nothing.
        unsafe {
            let nowhere = std::ptr::null_mut::<usize>();
            libc::syscall(libc::SYS_rt_sigaction, signal, IGNORE.as_ptr(), nowhere, 8_usize);
        }
    }
}

/// What the harness had blocked as it started us stays blocked, and a timer that is blocked is no deadline.
fn unblock() {
    // SAFETY: the set is initialised before it is used, and both live through the calls.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int), flags: libc::c_int) {
    // SAFETY: the handlers do nothing but store atomics, write and end the process; the structure is fully set.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        action.sa_flags = flags;
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn on_fatal(_: libc::c_int) {
    last_word(Cause::Signal);
}

extern "C" fn on_alarm(_: libc::c_int) {
    // SAFETY: reads and writes this thread's own errno, which the interrupted code may be about to look at.
    let saved = unsafe { *errno() };
    time_passed();
    // SAFETY: as above.
    unsafe { *errno() = saved };
}

#[cfg(any(target_os = "linux", target_os = "emscripten"))]
unsafe fn errno() -> *mut libc::c_int {
    // SAFETY: the caller keeps the pointer to its own thread.
    unsafe { libc::__errno_location() }
}

#[cfg(not(any(target_os = "linux", target_os = "emscripten")))]
unsafe fn errno() -> *mut libc::c_int {
    // SAFETY: the caller keeps the pointer to its own thread.
    unsafe { libc::__error() }
}

/// Fires once after `first` and again after `then`.
pub(super) fn start_timer(first: Duration, then: Duration) {
    let timer = libc::itimerval {
        it_value: timeval(first),
        it_interval: timeval(then),
    };
    // SAFETY: the structure lives through the call, and the handler is in place.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

/// Never zero, which would switch the timer off.
fn timeval(duration: Duration) -> libc::timeval {
    let duration = duration.max(Duration::from_millis(1));
    libc::timeval {
        // Not by the names of their types, which musl's are about to change.
        tv_sec: i32::try_from(duration.as_secs()).unwrap_or(i32::MAX).into(),
        tv_usec: duration.subsec_micros().cast_signed().into(),
    }
}

/// Writes what fits without waiting: a reader that does not read must not keep the process alive.
pub(super) fn write(descriptor: libc::c_int, bytes: &[u8]) {
    let mut ready = libc::pollfd {
        fd: descriptor,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: both calls are async-signal-safe, and the structure and the bytes live through them.
    unsafe {
        if libc::poll(&raw mut ready, 1, 0) == 1 && ready.revents & libc::POLLOUT != 0 {
            libc::write(descriptor, bytes.as_ptr().cast(), bytes.len());
        }
    }
}

/// A path as the operating system takes it.
pub(super) type LogPath = CString;

pub(super) fn log_path(path: &Path) -> Option<LogPath> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

/// Appends to a file, without waiting where it is a pipe.
pub(super) fn append(log: &LogPath, line: &[u8]) {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: both calls are async-signal-safe, and the path and the bytes live through them.
    unsafe {
        let file = libc::open(log.as_ptr(), flags, 0o600);
        if file >= 0 {
            libc::write(file, line.as_ptr().cast(), line.len());
        }
    }
}

pub(super) fn end(code: ExitCode) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(code.number()) }
}
