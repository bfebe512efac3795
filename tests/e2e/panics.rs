//! What happens when the host itself fails. The product has no switch for that, so this test program runs itself again
//! as a process that arms the watchdog and then fails.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdpoint_hook::watchdog::{self, Waiting};
use serde_json::Value;

/// The variable that makes this program the one that fails, and says how.
const HOW: &str = "HOLDPOINT_TEST_FAILS_BY";

/// Run by itself, this does nothing.
#[test]
fn fails_when_it_is_told_to() {
    let Ok(how) = std::env::var(HOW) else { return };
    let (how, waiting) = how.split_once(' ').unwrap();
    watchdog::arm(Instant::now() + Duration::from_secs(20));
    watchdog::expect(match waiting {
        "unknown" => Waiting::Unknown,
        "call" => Waiting::Call,
        "nothing" => Waiting::Nothing,
        "answer" => Waiting::Answer,
        other => panic!("{other}"),
    });
    match how {
        "panic" => panic!("as told"),
        "panic-in-thread" => drop(std::thread::spawn(|| panic!("as told")).join()),
        "panic-in-panic" => {
            let _panics = PanicsWhenDropped;
            panic!("as told");
        }
        "abort" => std::process::abort(),
        "overflow" => drop(overflow(&[0; 512])),
        "overflow-in-thread" => drop(std::thread::spawn(|| overflow(&[0; 512])).join()),
        "memory" => drop(std::hint::black_box(vec![1_u8; isize::MAX as usize])),
        "null" => read_nothing(),
        "late" => {
            watchdog::set_deadline(Instant::now() + Duration::from_millis(300));
            std::thread::sleep(Duration::from_secs(20));
        }
        other => panic!("{other}"),
    }
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("again");
    }
}

#[expect(unconditional_recursion, reason = "it has to overflow the stack")]
fn overflow(above: &[u8; 512]) -> u8 {
    let mut here = *above;
    here[std::hint::black_box(7)] += 1;
    overflow(std::hint::black_box(&here)).wrapping_add(here[8])
}

#[expect(unsafe_code, reason = "it has to fault")]
fn read_nothing() {
    // SAFETY: none; the fault is what is tested.
    let value =
        unsafe { std::ptr::read_volatile(std::hint::black_box(std::ptr::without_provenance::<u8>(16))) };
    std::hint::black_box(value);
}

/// Standard output after what the test harness itself writes, standard error, and the exit code.
fn fail(how: &str, waiting: &str) -> (String, String, Option<i32>) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "panics::fails_when_it_is_told_to",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(HOW, format!("{how} {waiting}"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let begin = stdout.find('{').unwrap_or(stdout.len());
    (
        stdout[begin..].to_owned(),
        String::from_utf8(output.stderr).unwrap(),
        output.status.code(),
    )
}

const WAYS: [(&str, &str); 9] = [
    ("panic", "itself failed"),
    ("panic-in-thread", "itself failed"),
    ("panic-in-panic", "itself failed"),
    ("abort", "ended by a signal"),
    ("overflow", "ended by a signal"),
    ("overflow-in-thread", "ended by a signal"),
    ("memory", "ended by a signal"),
    ("null", "ended by a signal"),
    ("late", "before its deadline"),
];

#[test]
fn a_host_that_fails_denies_the_call_that_waits() {
    for (how, words) in WAYS {
        let (stdout, stderr, code) = fail(how, "call");
        assert_eq!(code, Some(2), "{how}: {stderr}");
        let answer: Value = serde_json::from_str(&stdout).unwrap();
        let answer = &answer["hookSpecificOutput"];
        assert_eq!(
            (
                answer["hookEventName"].as_str(),
                answer["permissionDecision"].as_str()
            ),
            (Some("PreToolUse"), Some("deny"))
        );
        let reason = answer["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains(words), "{how}: {reason}");
        assert!(stderr.ends_with(&format!("{reason}\n")), "{how}: {stderr}");
    }
}

#[test]
fn a_host_that_fails_before_it_knows_the_event_blocks_without_an_object() {
    for (how, words) in WAYS {
        for waiting in ["unknown", "answer"] {
            let (stdout, stderr, code) = fail(how, waiting);
            assert_eq!((stdout.as_str(), code), ("", Some(2)), "{how}: {stderr}");
            assert!(stderr.contains(words), "{how}: {stderr}");
        }
    }
}

#[test]
fn a_host_that_fails_while_nothing_waits_is_silent() {
    for (how, _) in WAYS {
        let (stdout, stderr, code) = fail(how, "nothing");
        assert_eq!((stdout.as_str(), code), ("", Some(0)), "{how}: {stderr}");
        assert!(!stderr.contains("Holdpoint"), "{how}: {stderr}");
    }
}
