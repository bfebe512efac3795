//! Signals and a timer, without a thread: a thread of its own costs a tenth of a decision.
#![expect(unsafe_code, reason = "signal handlers and timers have no safe interface")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// Memory faults and aborts alone, before anything else: so early a stack that is too small ends the process in a way that a
/// harness takes for "go on".
pub(super) fn catch_faults() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT] {
        handle(signal, on_fatal, libc::SA_ONSTACK);
    }
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
    match is_due() {
        true => time_passed(),
        // Somebody sent it, and a process that gets it is meant to end.
        false => last_word(Cause::Signal),
    }
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

/// The moment that [`DUE`] counts from.
static BASE: OnceLock<Instant> = OnceLock::new();

/// When the timer fires first, in microseconds; never, until it is started.
static DUE: AtomicU64 = AtomicU64::new(u64::MAX);

/// How much earlier than that a timer may fire, in microseconds: it counts by another clock.
const EARLY: u64 = 10_000;

/// Whether an alarm is the timer's and nobody else's. Async-signal-safe: the base is there when the timer is.
fn is_due() -> bool {
    let due = DUE.load(Ordering::SeqCst).saturating_sub(EARLY);
    BASE.get()
        .is_some_and(|base| base.elapsed().as_micros() >= u128::from(due))
}

/// Fires once after `first` and again after `then`.
pub(super) fn start_timer(first: Duration, then: Duration) {
    let due = BASE.get_or_init(Instant::now).elapsed() + first;
    DUE.store(
        u64::try_from(due.as_micros()).unwrap_or(u64::MAX),
        Ordering::SeqCst,
    );
    set_timer(first, then);
}

fn set_timer(first: Duration, then: Duration) {
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

/// Appends to a file, without waiting where it is a pipe. Where the file's last line has no end, a line break comes first.
pub(super) fn append(log: &LogPath, line: &[u8]) {
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let part = |bytes: &[u8]| libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let parts = [part(b"\n"), part(line)];
    // SAFETY: all calls are async-signal-safe, the path and the bytes live through them, and a write reads the bytes only.
    unsafe {
        let file = libc::open(log.as_ptr(), flags, 0o600);
        if file >= 0 {
            match is_torn(log) {
                true => libc::writev(file, parts.as_ptr(), 2),
                false => libc::writev(file, parts[1..].as_ptr(), 1),
            };
        }
    }
}

/// Whether the file's last byte is there and is no line break. Async-signal-safe.
fn is_torn(log: &LogPath) -> bool {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let mut last = b'\n';
    // SAFETY: all calls are async-signal-safe, the path and the byte live through them, and a seek touches no memory. What
    // cannot be sought in, as a pipe, is not read.
    unsafe {
        let file = libc::open(log.as_ptr(), flags);
        if file >= 0 && libc::lseek(file, -1, libc::SEEK_END) >= 0 {
            libc::read(file, (&raw mut last).cast(), 1);
        }
    }
    last != b'\n'
}

/// Ends the process with this code when a second has passed, whatever it hangs in. Async-signal-safe.
pub(super) fn end_soon(code: ExitCode) {
    ENDS_WITH.store(code.number(), Ordering::SeqCst);
    handle(libc::SIGALRM, on_end, libc::SA_ONSTACK);
    set_timer(LAST_WAIT, LAST_WAIT);
    // No other signal: the last word is said once.
    // SAFETY: the set is initialised before it is used, and lives through the calls.
    unsafe {
        let mut alarm: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut alarm);
        libc::sigaddset(&raw mut alarm, libc::SIGALRM);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const alarm, std::ptr::null_mut());
    }
}

/// How long the last line may take.
const LAST_WAIT: Duration = Duration::from_secs(1);

static ENDS_WITH: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_end(_: libc::c_int) {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(ENDS_WITH.load(Ordering::SeqCst)) }
}

pub(super) fn end(code: ExitCode) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(code.number()) }
}
