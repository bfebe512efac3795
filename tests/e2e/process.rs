//! The process itself: signals, panics, deadlines, pipes that nobody reads and disks that take nothing.

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
        let mut command = world.command(HOLDPOINT);
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

    /// Waits until the process hangs in opening a file, as one does that opens a pipe which nobody reads.
    pub(crate) fn opening(self) -> Self {
        let open = if cfg!(target_arch = "x86_64") {
            "257 "
        } else {
            "56 "
        };
        self.wait_for("syscall", |call| call.starts_with(open))
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

fn read_only() -> Value {
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

fn make_pipe(world: &World, name: &str) {
    let path = world.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
}

#[test]
fn a_signal_while_nothing_waits_is_silent() {
    let world = World::without_zvm();
    // A configuration that cannot be used is logged, and the log hangs.
    world.configure("no_such_key = 1");
    make_pipe(&world, "home/.local/state/holdpoint/decisions.log");
    for signal in [Signal::TERM, Signal::INT, Signal::SEGV, Signal::ABORT] {
        let event = json!({ "hook_event_name": "SessionStart" });
        let outcome = Running::with(&world, &event).opening().signal(signal).end();
        assert_eq!(
            (outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.code),
            ("", "", Some(0)),
            "{signal:?}"
        );
    }
}

#[test]
fn a_log_that_hangs_ends_with_the_deadline() {
    let world = World::without_zvm();
    make_pipe(&world, "log");
    world.configure(&format!(
        "deadline_seconds = 1\nlog.path = '{}'",
        world.path("log").display()
    ));
    let outcome = Running::with(&world, &read_only()).end();
    assert_denies(&outcome, "before its deadline");
    assert!(outcome.took < Duration::from_secs(3), "{outcome:?}");
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
fn full_pipe() -> (PipeReader, PipeWriter) {
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
