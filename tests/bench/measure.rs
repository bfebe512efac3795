//! One measured process, from its start to its end.
//!
//! A process that is started shares its parent's memory until it executes its program, and the kernel counts that into
//! the child's peak. So what is measured is started by a small process of its own: this program again, with [`MODE`] as
//! its first argument, which never holds an event in memory.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::support::World;

/// The first argument of the small process.
pub(crate) const MODE: &str = "--measure-one";

/// What was measured of one process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// From just before the start to the end, in microseconds.
    pub(crate) wall_us: u64,
    /// Processor time, of the kernel for it too, in microseconds.
    pub(crate) cpu_us: u64,
    /// Page faults that needed no disk.
    pub(crate) faults: u64,
    /// The largest resident set, in KiB; never below that of the small process.
    pub(crate) peak_kib: u64,
    /// When it ended: microseconds since 1970.
    pub(crate) ended_us: u64,
    /// The exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
}

/// Runs a program in a world, with a file's bytes on its standard input.
pub(crate) fn measure(world: &World, event: &Path, program: &Path, arguments: &[&str]) -> Measured {
    measure_as(None, world, event, program, arguments)
}

/// The same, as another user if one is given; the world has to be open to that user.
pub(crate) fn measure_as(
    user: Option<u32>,
    world: &World,
    event: &Path,
    program: &Path,
    arguments: &[&str],
) -> Measured {
    let mut own = std::env::current_exe().expect("this program has a path");
    if user.is_some() {
        // Where it was built, nobody else may get to it.
        let copy = world.path("bin/measure");
        if !copy.exists() {
            std::fs::copy(&own, &copy).expect("a copy");
        }
        own = copy;
    }
    let mut command = world.command(own);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.arg(MODE).arg(event).arg(program).args(arguments);
    let output = command.output().expect("the small process starts");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The small process: the event's file, the program and its arguments are its own arguments.
pub(crate) fn small_process(mut arguments: impl Iterator<Item = OsString>) {
    let event = File::open(arguments.next().expect("an event")).expect("the event can be read");
    let mut command = Command::new(arguments.next().expect("a program"));
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let measured = run(command, event).expect("the program runs");
    serde_json::to_writer(io::stdout(), &measured).expect("somebody reads");
}

fn run(mut command: Command, mut event: File) -> io::Result<Measured> {
    let started = Instant::now();
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    // What does not read its input may end before it is written.
    let _ = io::copy(&mut event, &mut stdin);
    // The verbs of the session tally read to the end.
    drop(stdin);
    let (status, usage) = wait(child.id());
    let wall = started.elapsed();
    let ended = SystemTime::now();
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout)?;
    Ok(Measured {
        wall_us: micros(wall),
        cpu_us: of(usage.ru_utime) + of(usage.ru_stime),
        faults: usage.ru_minflt.unsigned_abs(),
        peak_kib: usage.ru_maxrss.unsigned_abs() / if cfg!(target_os = "macos") { 1024 } else { 1 },
        ended_us: since_1970(ended),
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        stdout,
    })
}

/// Waits for a child of ours and reads what it used.
#[expect(unsafe_code, reason = "the standard library gives no resource usage")]
fn wait(pid: u32) -> (libc::c_int, libc::rusage) {
    let mut status = 0;
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables that live through the call.
    let waited = unsafe { libc::wait4(pid.cast_signed(), &raw mut status, 0, &raw mut usage) };
    assert_eq!(waited, pid.cast_signed(), "the child can be waited for");
    (status, usage)
}

fn of(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or_default()
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Microseconds since 1970.
pub(crate) fn since_1970(time: SystemTime) -> u64 {
    micros(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}
