//! What a read-only call must not cost: watched from outside, by its system calls.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::HOLDPOINT;
use crate::support::{World, before, run};

const HEALTHY: &str = "[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

/// The system calls by which a process reaches the network, reads a file, starts a thread or waits as a runtime does.
/// Not every architecture has those with a question mark.
const WATCHED: &str = "network,openat,?open,clone,?clone3,?fork,?vfork,?epoll_create,epoll_create1,eventfd2";

/// Where strace is, found by the tests' own PATH, since the hook's environment is empty.
pub(crate) fn strace() -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .map(|directory| directory.join("strace"))
        .find(|strace| strace.is_file())
        .expect("strace; on Debian and Ubuntu: apt-get install strace")
}

/// The watched system calls of one hook process, one a line.
fn trace(strace: &Path, world: &World, tool: &str) -> Vec<String> {
    let trace = world.path("trace");
    let mut command: Command = world.command(strace);
    command
        .args([
            "-f",
            "-qq",
            "-e",
            &format!("trace={WATCHED}"),
            "-e",
            "signal=none",
            "-o",
        ])
        .arg(&trace)
        .args([HOLDPOINT, "hook"]);
    let event = before(tool, json!({ "name": "jp-ubuntu" }));
    let outcome = run(command, event.to_string().as_bytes());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let text = std::fs::read_to_string(trace).unwrap();
    // Each line begins with the process's number.
    let call = |line: &str| {
        line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
            .to_owned()
    };
    text.lines().map(call).collect()
}

fn opened(calls: &[String], path: &str) -> bool {
    calls
        .iter()
        .any(|call| call.starts_with("open") && call.contains(path))
}

fn others(calls: &[String]) -> Vec<&String> {
    calls.iter().filter(|call| !call.starts_with("open")).collect()
}

#[ignore = "needs strace"]
#[test]
fn a_read_only_call_opens_no_socket_reads_no_credential_and_starts_no_runtime() {
    let world = World::with_zvm(HEALTHY);
    let calls = trace(&strace(), &world, "mcp__esxi__listVMs");
    assert!(opened(&calls, "config.toml"), "{calls:#?}");
    assert!(!opened(&calls, "/password"), "{calls:#?}");
    assert!(!opened(&calls, "/ca.pem"), "{calls:#?}");
    assert!(others(&calls).is_empty(), "{calls:#?}");
}

#[ignore = "needs strace"]
#[test]
fn the_watch_sees_all_that_in_a_capture() {
    let world = World::with_zvm(HEALTHY);
    let calls = trace(&strace(), &world, "mcp__esxi__powerOff");
    assert!(
        opened(&calls, "/password") && opened(&calls, "/ca.pem"),
        "{calls:#?}"
    );
    for name in ["socket(", "connect(", "epoll_create1(", "clone"] {
        assert!(
            others(&calls).iter().any(|call| call.starts_with(name)),
            "{name} {calls:#?}"
        );
    }
}
