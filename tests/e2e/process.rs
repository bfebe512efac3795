//! The process itself: signals, panics, deadlines, pipes that nobody reads and disks that take nothing.

use std::ffi::{OsStr, OsString};
use std::io::{PipeReader, PipeWriter, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_blocks, assert_denies, before};

/// A hook that has been started, whose standard input stays open.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) started: Instant,
}

impl Running {
    pub(crate) fn start(world: &World) -> Self {
        Self::start_program(world, HOLDPOINT)
    }

    /// The same for another build of the program.
    fn start_program(world: &World, program: impl AsRef<OsStr>) -> Self {
        let mut command = world.command(program);
        command.arg("hook");
        Self::from(command)
    }

    pub(crate) fn from(mut command: Command) -> Self {
        let started = Instant::now();
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        Self {
            child,
            stdin,
            started,
        }
    }

    pub(crate) fn with(world: &World, event: &Value) -> Self {
        let mut running = Self::start(world);
        running.stdin.write_all(event.to_string().as_bytes()).unwrap();
        running
    }

    /// Waits until the process waits for its event, with everything in place that comes before.
    pub(crate) fn reading(self) -> Self {
        let read = if cfg!(target_arch = "x86_64") {
            "0 0x0 "
        } else {
            "63 0x0 "
        };
        self.wait_for("syscall", |call| call.starts_with(read))
    }

    /// Waits until the process sleeps between two tries, as one does that waits for a lock.
    pub(crate) fn sleeping(self) -> Self {
        let sleep = if cfg!(target_arch = "x86_64") {
            "230 "
        } else {
            "115 "
        };
        self.wait_for("syscall", |call| call.starts_with(sleep))
    }

    fn wait_for(self, file: &str, reached: impl Fn(&str) -> bool) -> Self {
        let path = format!("/proc/{}/{file}", self.child.id());
        let until = Instant::now() + Duration::from_secs(20);
        while !reached(&std::fs::read_to_string(&path).unwrap()) {
            assert!(Instant::now() < until, "{path} never said so");
            std::thread::sleep(Duration::from_millis(2));
        }
        self
    }

    pub(crate) fn signal(self, signal: Signal) -> Self {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self
    }

    pub(crate) fn end(self) -> Outcome {
        let output = self.child.wait_with_output().unwrap();
        drop(self.stdin);
        Outcome {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code(),
            took: self.started.elapsed(),
        }
    }
}

/// Every signal whose default is to end the process, and that can be caught. The numbers are those of Linux.
fn deadly() -> impl Iterator<Item = Signal> {
    let harmless = [
        Signal::KILL,
        Signal::STOP,
        Signal::CHILD,
        Signal::CONT,
        Signal::TSTP,
        Signal::TTIN,
        Signal::TTOU,
        Signal::URG,
        Signal::WINCH,
        // What they stand for comes back as an error of the write, and the timer's is the deadline.
        Signal::PIPE,
        Signal::XFSZ,
        Signal::ALARM,
    ];
    (1..=31)
        .filter_map(Signal::from_named_raw)
        .filter(move |signal| !harmless.contains(signal))
}

fn mutating() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

pub(crate) fn asked() -> Value {
    before("mcp__nobody__knows", json!({}))
}

pub(crate) fn read_only() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

#[test]
fn a_real_time_signal_blocks_as_well() {
    let world = World::without_zvm();
    for number in [libc::SIGRTMIN(), libc::SIGRTMAX()] {
        let running = Running::start(&world).reading();
        let kill = format!("kill -{number} {}", running.child.id());
        let sent = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap();
        assert!(sent.success(), "{kill}");
        assert_blocks(&running.end(), "ended by a signal");
    }
}

#[test]
fn a_signal_before_the_event_is_read_blocks() {
    let world = World::without_zvm();
    assert_eq!(deadly().count(), 19);
    for signal in deadly() {
        let outcome = Running::start(&world).reading().signal(signal).end();
        assert_blocks(&outcome, "ended by a signal");
    }
    assert_eq!(world.log().len(), 19);
    assert!(
        world
            .log()
            .iter()
            .all(|line| line["fault"] == "host" && line["verdict"] == "deny")
    );
}

#[test]
fn a_signal_while_a_call_waits_for_its_checkpoint_denies_it() {
    let world = World::with_zvm("[[vpgs]]\noutcome = 'never-surfaces'");
    let inserted = || {
        let requests = world.sim.as_ref().unwrap().requests();
        requests
            .iter()
            .filter(|seen| seen.method == "POST" && seen.path.ends_with("/checkpoints"))
            .count()
    };
    for (count, signal) in deadly().enumerate() {
        let running = Running::with(&world, &mutating());
        let until = Instant::now() + Duration::from_secs(20);
        while inserted() <= count {
            assert!(Instant::now() < until, "no checkpoint was inserted");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_denies(&running.signal(signal).end(), "ended by a signal");
    }
    for line in world.log() {
        assert_eq!(
            (line["fault"].as_str(), line["tool"].as_str()),
            (Some("host"), Some("mcp__esxi__powerOff"))
        );
    }
    assert_eq!(world.log().len(), 19);
}

pub(crate) fn make_pipe(world: &World, name: &str) {
    let path = world.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
}

#[test]
fn a_signal_while_nothing_waits_is_silent() {
    let world = World::without_zvm();
    world.configure("receipts.mode = 'audit'");
    let mut keygen = world.command(HOLDPOINT);
    keygen.args(["receipts", "keygen"]);
    assert_eq!(crate::support::run(keygen, b"").code, Some(0));
    // The receipt of what was seen waits for another process.
    let lock = std::fs::File::open(world.path("home/.local/state/holdpoint/receipts/lock")).unwrap();
    lock.lock().unwrap();
    let mut event = asked();
    event["hook_event_name"] = "PostToolUse".into();
    for signal in [Signal::TERM, Signal::INT, Signal::SEGV, Signal::ABORT] {
        let outcome = Running::with(&world, &event).sleeping().signal(signal).end();
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.code),
            ("", "", Some(0)),
            "{signal:?}"
        );
    }
}

#[test]
#[expect(unsafe_code, reason = "what runs between fork and exec can only be said so")]
fn the_deadline_holds_where_the_harness_has_blocked_all_signals() {
    use std::os::unix::process::CommandExt as _;
    let world = World::without_zvm();
    world.configure("deadline_seconds = 1");
    let mut command = world.command(HOLDPOINT);
    // SAFETY: both calls are async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
            Ok(())
        });
    }
    let running = Running::from(command);
    let pid = Pid::from_child(&running.child);
    std::thread::spawn(move || {
        // Long after the deadline, so that a failure does not hang for ever.
        std::thread::sleep(Duration::from_secs(20));
        let _ = kill_process(pid, Signal::KILL);
    });
    assert_blocks(&running.end(), "in time");
}

/// The hook under a shell that redirects what it inherits.
pub(crate) fn redirected(world: &World, redirection: &str, event: &Value) -> Outcome {
    let mut command = world.command("/bin/sh");
    command.args(["-c", &format!("exec \"$0\" hook {redirection}"), HOLDPOINT]);
    crate::support::run(command, event.to_string().as_bytes())
}

#[test]
fn an_answer_that_cannot_be_delivered_blocks() {
    for (redirection, event, code) in [
        (">&-", asked(), 2),
        (">/dev/null", asked(), 2),
        (">/dev/full", asked(), 2),
        (">&-", read_only(), 0),
        (">/dev/null", read_only(), 0),
        (">/dev/full", read_only(), 0),
        (">&-", json!({ "hook_event_name": "Stop" }), 0),
        (">/dev/full 2>/dev/full", asked(), 2),
        (">&- 2>&-", asked(), 2),
    ] {
        let world = World::without_zvm();
        let outcome = redirected(&world, redirection, &event);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.code),
            ("", Some(code)),
            "{redirection} {event}"
        );
        if code == 0 {
            assert_eq!(outcome.stderr, "");
            continue;
        }
        if !redirection.contains('2') {
            assert!(
                outcome.stderr.contains("he answer cannot be written"),
                "{outcome:?}"
            );
        }
        let line = world.log().pop().unwrap();
        assert_eq!(
            (&line["fault"], &line["tool"]),
            (&json!("answer"), &asked()["tool_name"]),
            "{line}"
        );
    }
}

#[test]
fn an_ask_into_whatever_cannot_be_written_blocks_and_says_so() {
    let closed = ["", "<&-", ">&-", "2>&-"];
    let mut cases: Vec<String> = vec![
        // Read-only: a file, a folder, a device.
        "1<$0".into(),
        "1<.".into(),
        "1</dev/zero".into(),
        ">/dev/null".into(),
        "1<>/dev/full".into(),
    ];
    for number in 0..8 {
        let of = |bit: usize| closed[if number >> bit & 1 == 1 { bit + 1 } else { 0 }];
        cases.push(format!("{} {} {}", of(0), of(1), of(2)));
    }
    for redirection in cases {
        for more in ["", "2>&-", "2<$0"] {
            let world = World::without_zvm();
            let redirection = format!("{redirection} {more}");
            let outcome = redirected(&world, &redirection, &asked());
            if !redirection.contains('1')
                && !redirection.contains("<&-")
                && !redirection.contains(" >&-")
                && !redirection.contains("/dev/null")
            {
                assert_eq!(
                    (outcome.decision().as_str(), outcome.code),
                    ("ask", Some(0)),
                    "{redirection}"
                );
                continue;
            }
            assert_eq!(
                (outcome.stdout.as_str(), outcome.code),
                ("", Some(2)),
                "{redirection}"
            );
            if !redirection.contains('2') {
                assert!(
                    !outcome.stderr.trim().is_empty(),
                    "{redirection}: nothing was said"
                );
            }
            // Nothing that was opened later took the place of a stream, and was written to for it.
            let log = world.log();
            assert_eq!(log.last().unwrap()["verdict"], "deny", "{redirection}");
        }
    }
}

#[test]
fn a_pipe_that_does_not_block_gets_the_whole_answer() {
    use std::io::Read as _;
    for room in [0, 1, 100] {
        let world = World::without_zvm();
        let (mut reader, writer) = full_pipe();
        let mut filled = vec![0; room];
        reader.read_exact(&mut filled).unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let mut command = world.command(HOLDPOINT);
        command.stdout(Stdio::from(writer));
        let mut running = Running::from(command);
        running.stdin.write_all(asked().to_string().as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        let begin = all.iter().position(|&byte| byte == b'{').unwrap();
        let answer: Value = serde_json::from_slice(&all[begin..]).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "ask");
        assert_eq!(running.end().code, Some(0));
    }
}

#[test]
fn a_pipe_that_does_not_block_and_that_nobody_reads_blocks_the_call() {
    let world = World::without_zvm();
    world.configure("deadline_seconds = 1");
    let (reader, writer) = full_pipe();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let mut command = world.command(HOLDPOINT);
    command.stdout(Stdio::from(writer));
    let mut running = Running::from(command);
    running.stdin.write_all(asked().to_string().as_bytes()).unwrap();
    let outcome = running.end();
    assert_blocks(&outcome, "answer");
    assert!(outcome.took < Duration::from_secs(3), "{outcome:?}");
    drop(reader);
}

/// The build that is published, where `HOLDPOINT_PUBLISHED` names it (an absolute path), else the program under test. The
/// published one has another C library, which has other signals of its own.
fn published() -> OsString {
    std::env::var_os("HOLDPOINT_PUBLISHED").unwrap_or_else(|| HOLDPOINT.into())
}

/// Every signal that a process can do something about, at any moment after the first few of its start.
#[test]
fn no_signal_at_any_moment_lets_a_denied_call_through() {
    let world = World::without_zvm();
    world.configure("policy.unknown_tool = 'deny'");
    for round in 0..3_u64 {
        for number in (1..=64).filter(|number| ![libc::SIGKILL, libc::SIGSTOP].contains(number)) {
            let mut running = Running::start_program(&world, published()).reading();
            running.stdin.write_all(asked().to_string().as_bytes()).unwrap();
            // Some come while it decides, some while it answers, some as it ends.
            let micros = (number.unsigned_abs() as u64 * 7919 + round * 1301) % 2500;
            std::thread::sleep(Duration::from_micros(micros));
            signal(&running, number);
            let outcome = running.end();
            assert_eq!(
                outcome.code,
                Some(2),
                "signal {number} after {micros} us: {outcome:?}"
            );
            assert!(!outcome.stderr.is_empty(), "signal {number} after {micros} us");
        }
    }
}

/// Sends a signal that has no name in the library, too.
#[expect(unsafe_code, reason = "the C library's own signals have no safe interface")]
fn signal(running: &Running, number: i32) {
    // SAFETY: sends a signal to a child, and touches no memory.
    unsafe { libc::kill(running.child.id().cast_signed(), number) };
}

#[test]
fn a_signal_of_the_c_librarys_own_does_not_end_the_hook() {
    let world = World::without_zvm();
    for number in [32, 33] {
        let mut running = Running::start_program(&world, published()).reading();
        for _ in 0..3 {
            signal(&running, number);
        }
        running.stdin.write_all(asked().to_string().as_bytes()).unwrap();
        let outcome = running.end();
        assert_eq!(
            (outcome.decision().as_str(), outcome.code),
            ("ask", Some(0)),
            "{number}"
        );
    }
}

/// Whatever the process may not have, the call does not run for it: the usual answer comes, or a block.
#[test]
fn every_limit_of_a_resource_ends_in_the_answer_or_in_a_block() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]");
    let limited = |limit: &str, arguments: &str, event: &Value| {
        let mut command = world.command("/bin/sh");
        command.args(["-c", &format!("{limit} && exec \"$0\" {arguments}"), HOLDPOINT]);
        crate::support::run(command, event.to_string().as_bytes())
    };
    let mut limits: Vec<String> = [
        "-f 0", "-u 0", "-u 1", "-c 0", "-t 1", "-l 0", "-d 100", "-d 20000",
    ]
    .map(|limit| format!("ulimit {limit}"))
    .to_vec();
    limits.extend([4, 5, 6, 7, 8, 9, 10, 12, 16].map(|files| format!("ulimit -n {files}")));
    limits.extend([16, 64, 128, 256].map(|stack| format!("ulimit -s {stack}")));
    limits.extend(
        [40_000, 60_000, 100_000, 1_000_000, 4_300_000, 9_000_000]
            .map(|memory| format!("ulimit -v {memory}")),
    );
    let mut tried = 0;
    for limit in limits {
        // Where the system cannot even start the program, nothing can answer for it.
        if limited(&limit, "--version", &json!({})).code != Some(0) {
            continue;
        }
        tried += 1;
        for (event, usual) in [
            (asked(), "ask"),
            (mutating(), "context"),
            (read_only(), "silence"),
        ] {
            let outcome = limited(&limit, "hook", &event);
            match outcome.code {
                Some(0) => assert_eq!(outcome.decision(), usual, "{limit}: {outcome:?}"),
                Some(2) => assert!(!outcome.stderr.trim().is_empty(), "{limit}: {outcome:?}"),
                _ => panic!("{limit}: {outcome:?}"),
            }
        }
    }
    assert!(tried > 12, "{tried}");
}

#[test]
fn a_deny_stands_where_standard_error_is_closed() {
    let world = World::without_zvm();
    world.configure("policy.unknown_tool = 'deny'");
    for redirection in ["2>&-", "2>/dev/full"] {
        let outcome = redirected(&world, redirection, &asked());
        assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
    }
}

#[test]
fn a_reader_that_has_gone_blocks() {
    let world = World::without_zvm();
    let mut running = Running::start(&world);
    drop(running.child.stdout.take());
    running.stdin.write_all(asked().to_string().as_bytes()).unwrap();
    assert_blocks(&running.end(), "cannot be written");
}

/// A pipe that takes nothing more.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while (&writer).write(&[b' '; 4096]).is_ok() {}
    while (&writer).write(b" ").is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

#[test]
fn a_full_pipe_that_nobody_reads_ends_with_the_deadline() {
    let world = World::without_zvm();
    world.configure("deadline_seconds = 1");
    for stream in [1, 2] {
        let (reader, writer) = full_pipe();
        let mut command = world.command(HOLDPOINT);
        let mut event = asked();
        if stream == 1 {
            command.stdout(Stdio::from(writer));
        } else {
            command.stderr(Stdio::from(writer));
            event["tool_name"] = Value::Null;
        }
        let mut running = Running::from(command);
        running.stdin.write_all(event.to_string().as_bytes()).unwrap();
        let outcome = running.end();
        assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(2)));
        assert!(outcome.took < Duration::from_secs(3), "{outcome:?}");
        drop(reader);
    }
}

#[test]
fn a_log_that_cannot_be_written_changes_no_decision_and_is_told() {
    for path in ["/dev/full", "project", "config.toml/decisions.log"] {
        let world = World::without_zvm();
        world.configure(&format!("log.path = '{}'", world.path(path).display()));
        for (event, decision, code) in [(read_only(), "silence", 0), (asked(), "ask", 0)] {
            let outcome = world.hook(HOLDPOINT, &event);
            assert_eq!(
                (outcome.decision().as_str(), outcome.code),
                (decision, Some(code))
            );
            assert!(
                outcome.stderr.starts_with("holdpoint: the decision log "),
                "{outcome:?}"
            );
        }
        world.configure(&format!(
            "log.path = '{}'\npolicy.unknown_tool = 'deny'",
            world.path(path).display()
        ));
        let outcome = world.hook(HOLDPOINT, &asked());
        assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
        assert!(
            outcome.stderr.contains("\nholdpoint: the decision log "),
            "{outcome:?}"
        );
    }
}

#[test]
fn without_a_home_directory_the_decision_stands() {
    let world = World::without_zvm();
    let mut command = world.command(HOLDPOINT);
    command.env_remove("HOME");
    let outcome = crate::support::run(command, asked().to_string().as_bytes());
    assert_eq!((outcome.decision().as_str(), outcome.code), ("ask", Some(0)));
    assert!(outcome.stderr.contains("log.path has to be set"), "{outcome:?}");
}

#[test]
fn many_processes_at_once_leave_a_line_each() {
    let world = World::without_zvm();
    world.configure("log.largest_bytes = 100000000\n[policy.servers.other]\ncatalog = 'esxi'");
    std::thread::scope(|scope| {
        for number in 0..50 {
            let world = &world;
            scope.spawn(move || {
                let (mut event, decision) =
                    [(read_only(), "silence"), (asked(), "ask"), (mutating(), "deny")][number % 3].clone();
                event["tool_use_id"] = number.to_string().into();
                assert_eq!(world.hook(HOLDPOINT, &event).decision(), decision);
            });
        }
    });
    let mut seen: Vec<(usize, String)> = world
        .log()
        .iter()
        .map(|line| {
            (
                line["call"].as_str().unwrap().parse().unwrap(),
                line["verdict"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    seen.sort();
    let wanted: Vec<(usize, String)> = (0..50)
        .map(|number| (number, ["pass", "ask", "deny"][number % 3].to_owned()))
        .collect();
    assert_eq!(seen, wanted);
}
