//! Events of every kind and shape: exactly one object or nothing comes out, and never a code that lets a call through.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{self, Outcome, World, assert_silent, before, fixture};

/// As the harness counts: in UTF-16.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What holds for every event whatever: one object or nothing, 0 or 2, and nothing that acts on a terminal.
#[track_caller]
fn assert_well_formed(outcome: &Outcome) {
    assert!(matches!(outcome.code, Some(0 | 2)), "{outcome:?}");
    if outcome.code == Some(2) {
        assert!(!outcome.stderr.trim().is_empty(), "{outcome:?}");
    }
    let mut texts = vec![outcome.stderr.clone()];
    if !outcome.stdout.is_empty() {
        let object = outcome
            .stdout
            .strip_suffix('\n')
            .expect("a line break at the end");
        let answer: Value = serde_json::from_str(object).expect("one JSON object");
        assert!(answer.is_object());
        assert!(!object.contains(char::is_control), "{object:?}");
        texts.push(outcome.text());
    }
    for text in texts {
        assert!(length(&text) < 10_000, "{}", length(&text));
        for letter in text.trim_end_matches('\n').chars() {
            let acts = letter.is_control()
                || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
            assert!(!acts, "{letter:?} in {text:?}");
        }
    }
}

/// Blocked in the form that needs no knowledge of the event.
#[track_caller]
fn assert_blocks(outcome: &Outcome, words: &str) {
    assert_well_formed(outcome);
    support::assert_blocks(outcome, words);
}

#[test]
fn every_captured_event_that_cannot_be_gated_is_answered_with_silence() {
    let mut seen = 0;
    let mut logged = Vec::new();
    for file in std::fs::read_dir(fixture("claude-code-2.1.197")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // Each by itself: two failures of one session would be told.
        let world = World::without_zvm();
        let outcome = world.hook_bytes(HOLDPOINT, &std::fs::read(&path).unwrap());
        assert_well_formed(&outcome);
        if name.starts_with("PreToolUse.mcp") {
            // The server that they were captured with bears a name that a catalog has, and tools that it has not.
            assert_eq!(outcome.decision(), "ask", "{name}");
        } else {
            assert_silent(&outcome);
        }
        seen += 1;
        logged.extend(world.log().into_iter().map(|line| line["tool"].clone()));
    }
    assert!(seen > 20);
    assert!(
        logged
            .iter()
            .all(|tool| tool.as_str().unwrap().starts_with("mcp__") || tool == "Bash"),
        "{logged:?}"
    );
}

#[test]
fn an_event_that_cannot_be_gated_is_silent_whatever_is_broken() {
    let world = World::without_zvm();
    world.configure_bare("this is no TOML");
    for name in ["SessionStart", "PostToolUse", "PreCompact", "NoSuchEvent"] {
        assert_silent(&world.hook(
            HOLDPOINT,
            &json!({ "hook_event_name": name, "mcp_server": 5, "session_id": [] }),
        ));
    }
    for line in world.log() {
        assert_eq!(
            (line["verdict"].as_str(), line["fault"].as_str()),
            (Some("silent"), Some("configuration"))
        );
    }
    assert_eq!(world.log().len(), 4);
}

#[test]
fn a_call_of_another_harness_is_blocked_and_the_harness_is_named() {
    let world = World::without_zvm();
    let codex = std::fs::read(fixture("codex-0.171.0/PreToolUse.mcp-run_command.json")).unwrap();
    assert_blocks(&world.hook_bytes(HOLDPOINT, &codex), "comes from Codex");
    for (event, words) in [
        (
            json!({ "sessionId": "s", "toolName": "bash", "toolArgs": "{}" }),
            "Copilot",
        ),
        (
            json!({ "hook_event_name": "beforeShellExecution", "conversation_id": "c" }),
            "Cursor",
        ),
        (
            json!({ "hook_event_name": "BeforeTool", "tool_name": "x" }),
            "another harness",
        ),
    ] {
        assert_blocks(&world.hook(HOLDPOINT, &event), words);
    }
    assert!(
        world
            .log()
            .iter()
            .all(|line| line["fault"] == "harness" && line["verdict"] == "deny")
    );
}

#[test]
fn what_is_no_event_is_blocked() {
    let world = World::without_zvm();
    let utf16: Vec<u8> = "\u{feff}{\"hook_event_name\":\"Stop\"}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let utf16_without_mark: Vec<u8> = "{\"hook_event_name\":\"Stop\"}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [&[u8]; 18] = [
        b"hello",
        b"[]",
        b"\"hook_event_name\"",
        b"null",
        b"{}",
        b"{]",
        b"{\"hook_event_name\":\"PreToolUse\"}",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"\"}",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":null}",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":7}",
        b"{\"hook_event_name\":7}",
        b"{\"hook_event_name\":\"Stop\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"x\"}",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"mcp__esxi__listVMs\",\"tool_input\":\"\xff\"}",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"\xff\"}",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"mcp__esxi__\\ud800\"}",
        b"\xef\xbb\xbf{\"hook_event_name\":\"Stop\"}",
        b"log line\n{\"hook_event_name\":\"Stop\"}",
        b"{\"hook_event_name\":\"Stop\" this is no JSON}",
    ];
    for bytes in cases
        .into_iter()
        .chain([utf16.as_slice(), utf16_without_mark.as_slice()])
    {
        println!("{:?}", String::from_utf8_lossy(bytes));
        assert_blocks(&world.hook_bytes(HOLDPOINT, bytes), "");
    }
    assert!(
        world
            .log()
            .iter()
            .all(|line| line["fault"] == "event" && line["verdict"] == "deny")
    );
}

#[test]
fn what_follows_the_object_is_left_alone() {
    let world = World::without_zvm();
    let two = "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"mcp__nobody__knows\"}{\"hook_event_name\":\"Stop\"}";
    assert_eq!(world.hook_bytes(HOLDPOINT, two.as_bytes()).decision(), "ask");
}

/// A tool's arguments in every shape: none makes a changing call run without its checkpoint.
#[test]
fn arguments_of_any_shape_never_let_a_change_through() {
    let world = World::without_zvm();
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested_wide = format!("{{\"name\":{}1{}}}", "{\"a\":".repeat(200), "}".repeat(200));
    for input in [
        "null",
        "[]",
        "\"jp-ubuntu\"",
        "17",
        "true",
        "{}",
        "{\"name\":null}",
        "{\"name\":[[]]}",
        "{\"name\":\"\"}",
        "{\"name\":\"\\ud800\"}",
        "{\"name\":\"jp-ubuntu\",\"name\":\"\"}",
        "{\"name\":1e400}",
        "{\"name\":\"a\\u0000b\\u001b[2J\\u202e\"}",
        nested.as_str(),
        nested_wide.as_str(),
    ] {
        let event = format!(
            "{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"mcp__esxi__powerOff\",\"tool_input\":{input}}}"
        );
        let outcome = world.hook_bytes(HOLDPOINT, event.as_bytes());
        assert_well_formed(&outcome);
        assert!(
            ["ask", "deny"].contains(&outcome.decision().as_str()),
            "{input:.60}: {outcome:?}"
        );
    }
    let absent = "{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"mcp__esxi__powerOff\"}";
    assert_eq!(world.hook_bytes(HOLDPOINT, absent.as_bytes()).decision(), "ask");
}

#[test]
fn names_that_act_on_a_terminal_are_shown_and_not_obeyed() {
    let world = World::without_zvm();
    let tricks =
        "\u{1b}[2J\u{1b}]0;t\u{7}\u{0}\u{202e}\u{2066}\u{200b}\r\n\u{85}\u{9b}31m\u{2028}\u{feff}\u{7f}";
    let names = [
        format!("mcp__esxi__{tricks}powerOff"),
        format!("mcp__{tricks}__powerOff"),
        tricks.to_owned(),
        format!("mcp__x__{}", "\u{1b}".repeat(20_000)),
        format!("mcp__x__{}", "😀".repeat(20_000)),
        format!("mcp__x__{}", "a".repeat(1 << 20)),
        "mcp__".to_owned(),
        "mcp____".to_owned(),
        "x\ny".to_owned(),
    ];
    for tool in &names {
        let mut event = before(tool, json!({ "name": format!("vm{tricks}"), tricks: tricks }));
        for field in ["session_id", "tool_use_id", "permission_mode"] {
            event[field] = tricks.into();
        }
        event["mcp_server"] = json!({ "name": tricks, "source": tricks });
        let outcome = world.hook(HOLDPOINT, &event);
        assert_well_formed(&outcome);
        assert!(
            tool == tricks || tool == "x\ny" || outcome.decision() == "ask",
            "{tool:.80?}: {outcome:?}"
        );
    }
    let log = std::fs::read_to_string(world.path("home/.local/state/holdpoint/decisions.log")).unwrap();
    assert_eq!(log.lines().count(), names.len());
    assert!(!log.contains(|letter: char| letter.is_control() && letter != '\n'));
    assert!(log.lines().all(|line| line.len() < 8_000));
}

#[test]
fn names_that_act_on_a_terminal_are_not_obeyed_in_a_deny_either() {
    let world = World::without_zvm();
    let machine = "web01\u{1b}[2J\u{202e}\r\n";
    let outcome = world.hook(
        HOLDPOINT,
        &before("mcp__esxi__powerOff", json!({ "name": machine })),
    );
    assert_well_formed(&outcome);
    assert!(
        ["ask", "deny"].contains(&outcome.decision().as_str()),
        "{outcome:?}"
    );
}

#[test]
fn an_odd_permission_mode_changes_nothing() {
    let world = World::without_zvm();
    world.configure("ask.deny_in_modes = ['bypassPermissions']");
    for (mode, decision) in [
        ("", "ask"),
        ("BYPASSPERMISSIONS", "ask"),
        ("*", "ask"),
        ("bypassPermissions", "deny"),
    ] {
        let mut event = before("mcp__nobody__knows", json!({}));
        event["permission_mode"] = mode.into();
        assert_eq!(world.hook(HOLDPOINT, &event).decision(), decision, "{mode}");
    }
    let mut event = before("mcp__nobody__knows", json!({}));
    event["permission_mode"] = json!(["bypassPermissions"]);
    assert_blocks(&world.hook(HOLDPOINT, &event), "permission_mode");
    world.configure("ask.deny_in_modes = ['*']");
    event["permission_mode"] = Value::Null;
    assert_eq!(world.hook(HOLDPOINT, &event).decision(), "deny");
}

/// The variable that makes this program the parent of one hook, and the hook's event.
const EVENT: &str = "HOLDPOINT_TEST_EVENT";

/// Run by itself, this does nothing. A process's peak memory counts from its parent's, and this program is a large one
/// once all tests run in it: so it runs itself again.
#[test]
#[expect(unsafe_code, reason = "resource usage has no safe interface")]
fn measures_when_it_is_told_to() {
    let Ok(event) = std::env::var(EVENT) else { return };
    let status = Command::new(HOLDPOINT)
        .arg("hook")
        .stdin(std::fs::File::open(event).unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    // SAFETY: the structure lives through the call, which fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    println!(
        "\nmeasured {} {}",
        usage.ru_maxrss * unit / (1 << 20),
        status.code().unwrap()
    );
}

/// The hook's peak memory in MiB, and its exit code.
fn measured(world: &World, event: &[u8]) -> (u64, i32) {
    std::fs::write(world.path("event"), event).unwrap();
    let output = world
        .command(std::env::current_exe().unwrap())
        .args(["--exact", "events::measures_when_it_is_told_to", "--nocapture"])
        .env(EVENT, world.path("event"))
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let line = stdout
        .lines()
        .find_map(|line| line.strip_prefix("measured "))
        .expect(&stdout);
    let (peak, code) = line.split_once(' ').unwrap();
    (peak.parse().unwrap(), code.parse().unwrap())
}

#[test]
fn a_read_only_decision_takes_little_memory() {
    let world = World::without_zvm();
    let (peak, code) = measured(
        &world,
        before("mcp__esxi__listVMs", json!({})).to_string().as_bytes(),
    );
    assert_eq!(code, 0);
    assert!(peak < 30, "{peak} MiB");
}

#[test]
fn a_huge_event_is_decided_in_bounded_memory() {
    let large = 20 << 20;
    let inputs = [
        format!("{{\"content\":\"{}\"}}", "x".repeat(large)),
        format!("{{\"content\":\"{}\"}}", "\\u001b\\n\\\"".repeat(large / 10)),
        format!("{{\"content\":[{}1]}}", "1,".repeat(large / 2)),
        format!("{{\"content\":[{}{{}}]}}", "{\"a\":[]},".repeat(large / 9)),
        format!("{{{}\"b\":1}}", "\"a\":1,".repeat(large / 6)),
        format!("{}{}", "[".repeat(large / 2), "]".repeat(large / 2)),
    ];
    for input in inputs {
        for (tool, decisions) in [
            ("mcp__esxi__listVMs", ["silence", "ask"]),
            ("mcp__esxi__powerOff", ["ask", "deny"]),
        ] {
            let event = format!(
                "{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"{tool}\",\"tool_input\":{input}}}"
            );
            let world = World::without_zvm();
            let (peak, _) = measured(&world, event.as_bytes());
            assert!(peak < 150, "{peak} MiB for {input:.40}");
            let outcome = world.hook_bytes(HOLDPOINT, event.as_bytes());
            assert_well_formed(&outcome);
            assert!(
                decisions.contains(&outcome.decision().as_str()),
                "{input:.40}: {outcome:?}"
            );
            assert!(outcome.took.as_secs() < 20, "{:?}", outcome.took);
        }
    }
}

#[test]
fn an_event_beyond_all_measure_is_blocked() {
    let world = World::without_zvm();
    let event = format!(
        "{{\"hook_event_name\":\"Stop\",\"x\":\"{}\"}}",
        "x".repeat(65 << 20)
    );
    assert_blocks(
        &world.hook_bytes(HOLDPOINT, event.as_bytes()),
        "larger than 64 MiB",
    );
}
