//! What follows an answer: records and the shadow, in a process that the harness does not wait for and that cannot harm it.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_policies::named;

use crate::HOLDPOINT;
use crate::process::{Running, asked, redirected};
use crate::support::{World, assert_asks, before, chmod, run};

/// A world whose shadow is this policy, with these lines in its configuration.
fn world(shadow: &str, lines: &str) -> World {
    let world = World::without_zvm();
    let policy = named(shadow);
    for (name, bytes) in [
        ("shadow.wasm", policy.component),
        ("shadow.cwasm", policy.compiled),
    ] {
        std::fs::write(world.path(name), bytes).unwrap();
        chmod(&world.path(name), 0o600);
    }
    world.configure(&format!(
        "{lines}\n[policy]\nsignature = 'not-required'\nshadow = '{}'\nshadow_share = 0.5\n",
        world.path("shadow.wasm").display()
    ));
    world
}

/// Waits until so many processes follow the answers in this world, and have done so for long enough to be at their work.
fn following(world: &World, count: usize) -> Vec<u32> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let found = world.following();
        std::thread::sleep(Duration::from_millis(400));
        if found.len() == count && found == world.following() {
            return found;
        }
        assert!(Instant::now() < until, "{found:?}");
    }
}

fn of(process: u32, file: &str) -> String {
    let text = std::fs::read(format!("/proc/{process}/{file}")).unwrap();
    String::from_utf8(text).unwrap()
}

/// The number in a line of `/proc/PID/status` or `/proc/PID/limits`.
fn number(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    let mut words = line[name.len()..].split_whitespace();
    words.next().unwrap().parse().unwrap()
}

#[test]
fn the_hook_ends_with_its_answer_whatever_follows() {
    // Descriptors of the harness's that lead to the pipe as well.
    for more in ["", "3>&1 4>&2", "9>&1"] {
        let world = world("loops", "deadline_seconds = 20\nrecord.enabled = true");
        let started = Instant::now();
        let outcome = redirected(&world, more, &asked());
        // Also the end of the file: whoever waits for it waits no longer than for the process.
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{:?}",
            started.elapsed()
        );
        assert_asks(&outcome, "in no catalog");
        // One waits for the other, which runs the shadow.
        let processes = following(&world, 2);
        for &process in &processes {
            kill_process(Pid::from_raw(process.cast_signed()).unwrap(), Signal::KILL).unwrap();
        }
    }
}

#[test]
fn what_follows_has_limits_and_nothing_of_the_hooks() {
    let world = world("loops", "deadline_seconds = 20");
    let mut command = world.command(HOLDPOINT);
    command
        .arg("hook")
        .env("HOLDPOINT_SECRET", "told to nobody")
        .env("LD_LIBRARY_PATH", "/nowhere");
    assert_asks(&run(command, asked().to_string().as_bytes()), "in no catalog");
    let processes = following(&world, 2);
    let ours = of(std::process::id(), "stat");
    let session = |stat: &str| {
        stat.rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .nth(3)
            .unwrap()
            .to_owned()
    };
    for &process in &processes {
        assert_eq!(of(process, "comm").trim(), "holdpoint-after");
        let environment = of(process, "environ");
        assert!(
            environment.starts_with("HOME=") && environment.matches('\0').count() == 1,
            "{environment:?}"
        );
        assert_ne!(session(&of(process, "stat")), session(&ours));
        for descriptor in std::fs::read_dir(format!("/proc/{process}/fd")).unwrap() {
            let descriptor = descriptor.unwrap();
            let leads = std::fs::read_link(descriptor.path()).unwrap();
            let name = descriptor.file_name();
            // The pipe that ends with the hook is standard input; nobody writes to it any more.
            let fine = leads == std::path::Path::new("/dev/null") || name == *"0";
            assert!(fine, "{name:?} leads to {leads:?}");
        }
        assert_eq!(std::fs::read_link(format!("/proc/{process}/cwd")).unwrap(), *"/");
    }
    let limits: Vec<String> = processes.iter().map(|&process| of(process, "limits")).collect();
    let limited: Vec<&String> = limits
        .iter()
        .filter(|text| !text.contains("Max data size             unlimited"))
        .collect();
    assert_eq!(limited.len(), 1, "{limits:?}");
    for (name, most) in [
        ("Max cpu time", 30),
        ("Max data size", 1 << 30),
        ("Max open files", 64),
        ("Max core file size", 0),
        ("Max file size", 1 << 30),
    ] {
        assert!(number(limited[0], name) <= most, "{name}: {}", limited[0]);
    }
    let scores: Vec<String> = processes
        .iter()
        .map(|&process| of(process, "oom_score_adj"))
        .collect();
    assert!(scores.contains(&"1000\n".to_owned()), "{scores:?}");
    world.settle();
    let line = world.log().pop().unwrap();
    assert_eq!(line["shadow"]["change"], "fault", "{line}");
}

#[test]
fn the_log_hears_of_a_shadow_that_was_killed() {
    let world = world("loops", "deadline_seconds = 30");
    assert_asks(&world.hook(HOLDPOINT, &asked()), "in no catalog");
    let processes = following(&world, 2);
    // The child is the one whose parent is the other.
    let parent = |process: u32| number(&of(process, "status"), "PPid:") as u32;
    let child = processes
        .iter()
        .find(|&&process| processes.contains(&parent(process)))
        .unwrap();
    kill_process(Pid::from_raw(child.cast_signed()).unwrap(), Signal::KILL).unwrap();
    let log = world.log();
    assert_eq!(log.len(), 2, "{log:#?}");
    let told = &log[1]["shadow"];
    assert_eq!(
        (told["change"].as_str(), told["active"].as_str()),
        (Some("fault"), Some("ask")),
        "{told}"
    );
    assert!(told["why"].as_str().unwrap().contains("signal 9"), "{told}");
}

#[test]
fn a_signal_to_what_follows_is_told_and_touches_no_answer() {
    for signal in [Signal::TERM, Signal::SEGV, Signal::XCPU] {
        let world = world("loops", "deadline_seconds = 30");
        assert_asks(&world.hook(HOLDPOINT, &asked()), "in no catalog");
        for process in following(&world, 2) {
            let _ = kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal);
        }
        let until = Instant::now() + Duration::from_secs(20);
        while world.log().len() < 2 {
            assert!(Instant::now() < until, "{signal:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(world.log()[1]["shadow"]["change"], "fault");
    }
}

#[test]
fn what_cannot_be_started_costs_a_line_and_no_answer() {
    let world = world("passes", "record.enabled = true");
    let program = world.path("holdpoint");
    std::fs::copy(HOLDPOINT, &program).unwrap();
    chmod(&program, 0o700);
    let mut command = world.command(&program);
    command.arg("hook");
    let mut running = Running::from(command).reading();
    chmod(&program, 0o600);
    std::io::Write::write_all(&mut running.stdin, asked().to_string().as_bytes()).unwrap();
    assert_asks(&running.end(), "in no catalog");
    let log = world.log();
    assert_eq!(
        (log.len(), log[1]["fault"].as_str()),
        (2, Some("record")),
        "{log:#?}"
    );
    assert!(
        log[1]["why"].as_str().unwrap().contains("cannot be started"),
        "{log:#?}"
    );
}

#[test]
fn a_disk_that_takes_no_records_is_told() {
    let world = World::without_zvm();
    world.configure("record.enabled = true");
    let folder = world.path("home/.local/state/holdpoint/records");
    std::fs::create_dir_all(&folder).unwrap();
    let today = holdpoint_hook::log::now()[..10].to_owned();
    std::os::unix::fs::symlink("/dev/full", folder.join(format!("{today}.1.jsonl"))).unwrap();
    assert_asks(&world.hook(HOLDPOINT, &asked()), "in no catalog");
    let log = world.log();
    assert_eq!(
        (log.len(), log[1]["fault"].as_str()),
        (2, Some("record")),
        "{log:#?}"
    );
}

#[test]
fn an_answer_that_nobody_took_is_recorded_as_a_deny() {
    let answered = |outcome_of: &dyn Fn(&World)| {
        let world = World::without_zvm();
        world.configure("record.enabled = true\ndeadline_seconds = 1");
        outcome_of(&world);
        world.settle();
        let folder = world.path("home/.local/state/holdpoint/records");
        let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let record: Value = serde_json::from_str(std::fs::read_to_string(file).unwrap().trim()).unwrap();
        record["answered"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        answered(&|world| {
            assert_eq!(redirected(world, ">/dev/full", &asked()).code, Some(2));
        }),
        "deny"
    );
    // The deadline's last word.
    assert_eq!(
        answered(&|world| {
            let (reader, writer) = crate::process::full_pipe();
            let mut command = world.command(HOLDPOINT);
            command.stdout(Stdio::from(writer));
            let mut running = Running::from(command);
            std::io::Write::write_all(&mut running.stdin, asked().to_string().as_bytes()).unwrap();
            assert_eq!(running.end().code, Some(2));
            drop(reader);
        }),
        "deny"
    );
    assert_eq!(
        answered(&|world| assert_asks(&world.hook(HOLDPOINT, &asked()), "in no catalog")),
        "ask"
    );
}

#[ignore = "needs strace"]
#[test]
fn nothing_follows_where_nothing_is_configured() {
    let world = World::without_zvm();
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-qq",
        "-e",
        "trace=clone,clone3,fork,vfork",
        "-e",
        "signal=none",
        "-o",
    ]);
    command
        .arg(world.path("trace"))
        .args([HOLDPOINT, "hook"])
        .env("HOME", world.path("home"))
        .env("HOLDPOINT_CONFIG", world.path("config.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let event = before("mcp__esxi__listVMs", json!({}));
    assert_eq!(run(command, event.to_string().as_bytes()).code, Some(0));
    let mut traced = String::new();
    std::fs::File::open(world.path("trace"))
        .unwrap()
        .read_to_string(&mut traced)
        .unwrap();
    assert_eq!(traced, "");
}

#[test]
fn the_command_is_of_no_use_to_anybody_else() {
    let world = World::without_zvm();
    for stdin in ["", "{}", "nonsense"] {
        let mut command = world.command(HOLDPOINT);
        command.arg("follow-answer");
        let outcome = run(command, stdin.as_bytes());
        assert_eq!(
            (outcome.stdout.as_str(), outcome.code),
            ("", Some(3)),
            "{outcome:?}"
        );
        assert!(outcome.stderr.contains("nothing was handed over"), "{outcome:?}");
    }
    let mut command = world.command(HOLDPOINT);
    command.arg("--help");
    assert!(!run(command, b"").stdout.contains("follow-answer"));
}
