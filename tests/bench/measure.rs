//! One measured process, from its start to its end.
//!
//! A process that is started shares its parent's memory until it executes its program, and the kernel counts that into
//! the child's peak. So what is measured is started by a small process of its own: this program again, with [`MODE`] as
//! its first argument, which never holds an event in memory.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::support::{World, chmod};

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

/// What the small process is told to start: all of its environment is the world's.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    program: PathBuf,
    arguments: Vec<String>,
    /// What it gets on its standard input.
    event: PathBuf,
    home: PathBuf,
    config: PathBuf,
    directory: PathBuf,
}

/// The small process. It stays, so that starting it does not come before each of the processes that are measured and
/// leave them cold caches.
pub(crate) struct Launcher {
    child: Child,
    orders: ChildStdin,
    results: BufReader<ChildStdout>,
    /// Where the program lies that another user may start.
    _copy: Option<TempDir>,
}

impl Launcher {
    /// Of this user, or of another one.
    pub(crate) fn start(user: Option<u32>) -> Self {
        let mut program = std::env::current_exe().expect("this program has a path");
        let copy = user.map(|_| {
            // Where it was built, nobody else may get to it.
            let folder = tempfile::tempdir().expect("a temporary directory");
            chmod(folder.path(), 0o755);
            std::fs::copy(&program, folder.path().join("measure")).expect("a copy");
            program = folder.path().join("measure");
            folder
        });
        let mut command = Command::new(program);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command.arg(MODE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the small process starts");
        Self {
            orders: child.stdin.take().expect("a pipe"),
            results: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            _copy: copy,
        }
    }

    /// Runs a program in a world, with a file's bytes on its standard input.
    pub(crate) fn measure(
        &mut self,
        world: &World,
        event: &Path,
        program: &Path,
        arguments: &[&str],
    ) -> Measured {
        let order = Order {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            event: event.to_owned(),
            home: world.path("home"),
            config: world.path("config.toml"),
            directory: world.path("project"),
        };
        let order = serde_json::to_string(&order).expect("names");
        writeln!(self.orders, "{order}").expect("the small process listens");
        let mut result = String::new();
        self.results
            .read_line(&mut result)
            .expect("the small process answers");
        serde_json::from_str(&result).unwrap_or_else(|error| panic!("{error}: {order}"))
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // It has nothing to lose, and ends with its orders in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The small process: does as it is told until nobody tells it anything any more.
pub(crate) fn small_process() {
    for line in io::stdin().lines() {
        let order: Order = serde_json::from_str(&line.expect("text")).expect("an order");
        let event = File::open(order.event).expect("the event can be read");
        let mut command = Command::new(order.program);
        command
            .args(order.arguments)
            .env_clear()
            .env("HOME", order.home)
            .env("HOLDPOINT_CONFIG", order.config)
            .current_dir(order.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let measured = run(command, event).expect("the program runs");
        println!("{}", serde_json::to_string(&measured).expect("numbers and text"));
    }
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
