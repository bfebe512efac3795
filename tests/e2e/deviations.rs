//! What ran is compared with what was decided, through the real process.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_denies, assert_silent, before, fixture, run};

const TWO: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]\n\n\
                   [[vpgs]]\nname = 'WEB-VPG'\ninstant = true\nvms = [{ name = 'web01' }]";

fn power_off(machine: &str) -> Value {
    before("mcp__esxi__powerOff", json!({ "name": machine }))
}

fn ended(event: &Value) -> Value {
    let mut event = event.clone();
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = json!([{ "type": "text", "text": "done" }]);
    event
}

fn failed(event: &Value) -> Value {
    let mut event = event.clone();
    event["hook_event_name"] = "PostToolUseFailure".into();
    event["error"] = "it failed".into();
    event
}

fn verb(world: &World, arguments: &[&str]) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.arg("receipts").args(arguments);
    run(command, b"")
}

fn with_receipts(world: World) -> World {
    world.configure("receipts.mode = 'audit'");
    assert_eq!(verb(&world, &["keygen"]).code, Some(0));
    world
}

/// The lines of the log about ends of calls.
fn deviations(world: &World) -> Vec<Value> {
    let lines = world.log();
    lines
        .into_iter()
        .filter(|line| !line["deviation"].is_null())
        .collect()
}

fn kinds(line: &Value) -> Vec<&str> {
    let kinds = line["deviation"]["kinds"].as_array().unwrap();
    kinds.iter().map(|kind| kind.as_str().unwrap()).collect()
}

/// The model is told this, at this event.
#[track_caller]
fn assert_told(outcome: &Outcome, event: &str, words: &[&str]) {
    assert_eq!(
        (outcome.stderr.as_str(), outcome.code),
        ("", Some(0)),
        "{outcome:?}"
    );
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], event);
    let told = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    for word in words {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[test]
fn arguments_that_were_changed_after_the_decision_are_told_with_and_without_receipts() {
    for receipts in [false, true] {
        for (name, end) in [
            ("PostToolUse", ended as fn(&Value) -> Value),
            ("PostToolUseFailure", failed),
        ] {
            let world = World::with_zvm(TWO);
            let world = if receipts { with_receipts(world) } else { world };
            assert_eq!(
                world.hook(HOLDPOINT, &power_off("jp-ubuntu")).decision(),
                "context"
            );
            let outcome = world.hook(HOLDPOINT, &end(&power_off("web01")));
            assert_told(
                &outcome,
                name,
                &["ran with other arguments", "checked jp-ubuntu, ran on web01"],
            );
            let lines = deviations(&world);
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert_eq!(kinds(&lines[0]), ["other_arguments"]);
            assert_eq!(lines[0]["deviation"]["checked"], json!(["jp-ubuntu"]));
            assert_eq!(lines[0]["deviation"]["ran"], json!(["web01"]));
            assert_eq!(lines[0]["tool"], "mcp__esxi__powerOff");
            assert_eq!(lines[0]["verdict"], "silent");
        }
    }
}

#[test]
fn a_deviation_stands_in_front_everywhere_and_verify_ends_with_a_code_of_its_own() {
    let world = with_receipts(World::with_zvm(TWO));
    world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    world.hook(HOLDPOINT, &ended(&power_off("web01")));
    let calls: Vec<Value> = serde_json::from_str(&verb(&world, &["list", "--json"]).stdout).unwrap();
    assert_eq!(calls[0]["outcome"], "ran with other arguments");
    assert_eq!(calls[0]["deviation"]["ran"], json!(["web01"]));
    let row = verb(&world, &["list"]).stdout;
    assert!(row.trim_end().ends_with("\tran with other arguments"), "{row}");
    for what in ["jp-ubuntu", "web01", "toolu_00000001abcdefgh"] {
        let shown = verb(&world, &["show", what]).stdout;
        let first = shown.lines().next().unwrap();
        assert!(
            first.starts_with("ATTENTION") && first.contains("checked jp-ubuntu, ran on web01"),
            "{shown}"
        );
    }
    let verified = verb(&world, &["verify"]);
    assert_eq!(verified.code, Some(6), "{verified:?}");
    assert!(verified.stdout.contains("integrity     PASS"), "{verified:?}");
    assert!(
        verified.stdout.contains("as decided    FAIL")
            && verified.stdout.contains("checked jp-ubuntu, ran on web01"),
        "{verified:?}"
    );
    let page = world.path("page.html");
    assert_eq!(verb(&world, &["report", page.to_str().unwrap()]).code, Some(0));
    let html = fs::read_to_string(page).unwrap();
    for words in [
        "1 calls did not run as they were decided",
        "ran with other arguments",
        "checked jp-ubuntu, ran on web01",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn what_is_written_otherwise_and_means_the_same_is_no_deviation() {
    let world = with_receipts(World::without_zvm());
    let event = |input: &str, end: bool| {
        let (name, more) = if end {
            ("PostToolUse", r#","tool_response":"x""#)
        } else {
            ("PreToolUse", "")
        };
        format!(
            r#"{{"session_id":"s","cwd":"/","hook_event_name":"{name}","tool_name":"mcp__esxi__listVMs","tool_use_id":"c-{input_id}","tool_input":{input}{more}}}"#,
            input_id = 1
        )
    };
    let decided = r#"{"a":1.0,"b":{"x":"\u00e4\ud83d\ude00","y":[1,2]},"n":-0}"#;
    assert_silent(&world.hook_bytes(HOLDPOINT, event(decided, false).as_bytes()));
    let same = "{ \"n\": 0, \"b\": {\"y\":[1.0,2],\"x\":\"ä😀\"}, \"a\":1}";
    assert_silent(&world.hook_bytes(HOLDPOINT, event(same, true).as_bytes()));
    assert_eq!(deviations(&world), [] as [Value; 0]);
    assert!(verb(&world, &["verify"]).stdout.contains("as decided    PASS"));
    let other = event(&decided.replace("[1,2]", "[2,1]"), true);
    let outcome = world.hook_bytes(HOLDPOINT, other.as_bytes());
    assert_told(&outcome, "PostToolUse", &["ran with other arguments"]);
}

/// What cannot be brought into canonical form is compared as the harness wrote it.
#[test]
fn arguments_without_a_canonical_form_are_compared_as_text() {
    let world = World::without_zvm();
    let event = |name: &str, text: &str| {
        format!(
            r#"{{"session_id":"s","hook_event_name":"{name}","tool_name":"mcp__esxi__listVMs","tool_use_id":"c","tool_input":{{"a":{text}}}}}"#
        )
    };
    world.hook_bytes(HOLDPOINT, event("PreToolUse", r#""\ud83d""#).as_bytes());
    world.hook_bytes(HOLDPOINT, event("PostToolUse", r#""\ud83d""#).as_bytes());
    assert_eq!(deviations(&world), [] as [Value; 0]);
    world.hook_bytes(HOLDPOINT, event("PostToolUse", r#""\ud83e""#).as_bytes());
    assert_eq!(kinds(&deviations(&world)[0]), ["other_arguments"]);
}

#[test]
fn captured_calls_of_the_real_client_deviate_in_nothing() {
    let folder = fixture("claude-code-2.1.197");
    let world = with_receipts(World::without_zvm());
    let mut ends = 0;
    for (before, after) in [
        (
            "PreToolUse.mcp-run_command.json",
            "PostToolUse.mcp-run_command.json",
        ),
        (
            "PreToolUse.mcp-run_command.1.json",
            "PostToolUse.mcp-run_command.1.json",
        ),
        ("PreToolUse.Bash.1.json", "PostToolUse.Bash.json"),
        ("PreToolUse.Bash.json", "PostToolUseFailure.Bash.json"),
    ] {
        let read = |name: &str| fs::read(Path::new(&folder).join(name)).unwrap();
        // An ask that a person allows, where nothing can be captured.
        let mut event: Value = serde_json::from_slice(&read(before)).unwrap();
        if event["tool_name"] == "mcp__falcon__run_command" {
            event["tool_name"] = "mcp__nobody__knows".into();
        }
        let mut end: Value = serde_json::from_slice(&read(after)).unwrap();
        end["tool_name"] = event["tool_name"].clone();
        world.hook(HOLDPOINT, &event);
        world.hook(HOLDPOINT, &end);
        ends += 1;
    }
    assert_eq!(deviations(&world), [] as [Value; 0]);
    let verified = verb(&world, &["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(
        verified.stdout.contains(&format!("{ends} ends of calls")),
        "{verified:?}"
    );
}

#[test]
fn a_call_that_was_denied_or_never_decided_or_decided_twice_is_told_when_it_ran() {
    for receipts in [false, true] {
        let world = World::without_zvm();
        let world = if receipts { with_receipts(world) } else { world };
        assert_denies(&world.hook(HOLDPOINT, &power_off("jp-ubuntu")), "zerto.url");
        let outcome = world.hook(HOLDPOINT, &ended(&power_off("jp-ubuntu")));
        assert_told(
            &outcome,
            "PostToolUse",
            &["ran although denied", "ran on jp-ubuntu"],
        );

        // No decision: the log has it, and the model is told nothing.
        let mut never = ended(&power_off("web01"));
        never["tool_use_id"] = "toolu_never".into();
        assert_silent(&world.hook(HOLDPOINT, &never));
        let mut shell = ended(&before("Bash", json!({ "command": "ls" })));
        shell["tool_use_id"] = "toolu_shell".into();
        assert_silent(&world.hook(HOLDPOINT, &shell));

        let mut twice = before("mcp__esxi__listVMs", json!({ "a": 1 }));
        twice["tool_use_id"] = "toolu_twice".into();
        world.hook(HOLDPOINT, &twice);
        world.hook(HOLDPOINT, &twice);
        assert_silent(&world.hook(HOLDPOINT, &ended(&twice)));
        twice["tool_input"] = json!({ "a": 2 });
        world.hook(HOLDPOINT, &twice);
        assert_told(
            &world.hook(HOLDPOINT, &ended(&twice)),
            "PostToolUse",
            &["decided more than once"],
        );

        let lines = deviations(&world);
        let all: Vec<_> = lines.iter().map(kinds).collect();
        assert_eq!(all, [vec!["denied"], vec!["undecided"], vec!["decided_twice"]]);
        assert_eq!(lines[1]["deviation"]["ran"], json!(["web01"]));
        if receipts {
            let verified = verb(&world, &["verify"]);
            assert_eq!(verified.code, Some(6));
            for words in [
                "ran although denied",
                "ran without a decision",
                "decided more than once",
            ] {
                assert!(verified.stdout.contains(words), "{words}: {verified:?}");
            }
        }
    }
}

#[test]
fn a_log_that_cannot_be_read_back_makes_no_false_alarm() {
    let world = World::without_zvm();
    world.configure("log.path = '/dev/null'");
    assert_silent(&world.hook(HOLDPOINT, &ended(&power_off("web01"))));
}

#[test]
fn the_log_and_receipts_say_where_a_call_came_from_and_which_zvm_was_asked() {
    let world = with_receipts(World::with_zvm(TWO));
    let mut event = power_off("jp-ubuntu");
    event["cwd"] = format!("/home/\u{1b}[31m{}", "x".repeat(1 << 20)).into();
    event["transcript_path"] = "/home/dev/t\u{202e}.jsonl".into();
    event["agent_id"] = "agent-7".into();
    event["agent_type"] = "Explore".into();
    assert_eq!(world.hook(HOLDPOINT, &event).decision(), "context");
    let line = world.logged();
    let calls: Vec<Value> = serde_json::from_str(&verb(&world, &["list", "--json"]).stdout).unwrap();
    for environment in [&line["environment"], &calls[0]["environment"]] {
        let cwd = environment["cwd"].as_str().unwrap();
        assert!(
            cwd.starts_with("/home/\\u{1b}[31mx") && cwd.len() < 1_100,
            "{}",
            cwd.len()
        );
        assert_eq!(environment["transcript"], "/home/dev/t\\u{202e}.jsonl");
        assert_eq!(environment["agent_id"], "agent-7");
        assert_eq!(environment["agent_type"], "Explore");
        assert!(environment["user"].as_str().is_some_and(|user| !user.is_empty()));
        assert!(
            environment["host_name"]
                .as_str()
                .is_some_and(|name| !name.is_empty())
        );
    }
    let facts = &calls[0]["decision"]["facts"]["zvm"];
    assert_eq!(&line["zvm"], facts);
    assert!(facts["url"].as_str().unwrap().starts_with("https://"), "{facts}");
    assert!(line["arguments"].as_str().unwrap().starts_with("sha256:"));
    // Fields of a new shape are no reason to stop a call.
    let mut odd = before("mcp__esxi__listVMs", json!({}));
    odd["transcript_path"] = json!({ "new": 1 });
    assert_silent(&world.hook(HOLDPOINT, &odd));
}

#[test]
fn show_finds_a_call_by_all_that_a_person_has_of_it() {
    let world = with_receipts(World::with_zvm(TWO));
    world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    let mut other = power_off("web01");
    other["tool_use_id"] = "toolu_other".into();
    world.hook(HOLDPOINT, &other);
    let calls: Vec<Value> = serde_json::from_str(&verb(&world, &["list", "--json"]).stdout).unwrap();
    let checkpoint = &calls[0]["checkpoints"][0];
    let tag = checkpoint["tag"].as_str().unwrap();
    let nonce = tag.split(' ').nth(2).unwrap();
    let digest = calls[0]["decision"]["receipt"]["digest"].as_str().unwrap();
    for name in [
        tag,
        nonce,
        &nonce.to_uppercase(),
        checkpoint["vpg"].as_str().unwrap(),
        "APP-VPG",
        "app-vpg",
        "toolu_00000001abcdefgh",
        digest,
        &digest[..20],
        "#1",
        "jp-ubuntu",
    ] {
        let shown: Vec<Value> =
            serde_json::from_str(&verb(&world, &["show", name, "--json"]).stdout).unwrap();
        assert_eq!(shown.len(), 1, "{name}");
        assert_eq!(shown[0]["call"], calls[0]["call"], "{name}");
    }
    // A checkpoint's id is one of its VPG: two VPGs may have the same.
    let id = checkpoint["id"].as_str().unwrap();
    let shown: Vec<Value> = serde_json::from_str(&verb(&world, &["show", id, "--json"]).stdout).unwrap();
    assert!(
        !shown.is_empty() && shown.iter().all(|call| call["checkpoints"][0]["id"] == id),
        "{id}"
    );
    let session = calls[0]["session"].as_str().unwrap().to_owned();
    for name in [session.as_str(), &session[..8]] {
        let shown: Vec<Value> =
            serde_json::from_str(&verb(&world, &["show", name, "--json"]).stdout).unwrap();
        assert_eq!(shown.len(), 2, "{name}");
    }
    // Another session whose tags look the same.
    let mut third = before("mcp__esxi__listVMs", json!({}));
    third["session_id"] = format!("{}-another", &session[..8]).into();
    world.hook(HOLDPOINT, &third);
    let outcome = verb(&world, &["show", &session[..8]]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(3), ""));
    assert!(
        outcome.stderr.contains("may be any of 3") && outcome.stderr.contains("#3 "),
        "{outcome:?}"
    );
    assert_eq!(verb(&world, &["show", "nothing-of-the-kind"]).code, Some(3));
}

#[test]
fn lists_are_narrowed_by_time_tool_change_and_number() {
    let world = with_receipts(World::with_zvm(TWO));
    world.hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({})));
    let mut off = power_off("jp-ubuntu");
    off["tool_use_id"] = "toolu_off".into();
    world.hook(HOLDPOINT, &off);
    let mut again = power_off("web01");
    again["tool_use_id"] = "toolu_again".into();
    world.hook(HOLDPOINT, &again);
    let count = |arguments: &[&str]| {
        let outcome = verb(&world, &[&["list"], arguments].concat());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout.lines().count()
    };
    assert_eq!(count(&["--since", "2h"]), 3);
    assert_eq!(count(&["--until", "2h"]), 0);
    assert_eq!(count(&["--tool", "powerOff"]), 2);
    assert_eq!(count(&["--tool", "esxi/list*"]), 1);
    assert_eq!(count(&["--changes"]), 2);
    assert_eq!(count(&["--limit", "1"]), 1);
    assert!(verb(&world, &["list", "--limit", "1"]).stdout.contains("web01"));
    let wrong = verb(&world, &["list", "--since", "yesterday"]);
    assert!(
        wrong.code == Some(2) && wrong.stderr.contains("2h, 3d"),
        "{wrong:?}"
    );
    let file = world.path("out.jsonl");
    let narrowed = verb(&world, &["export", file.to_str().unwrap(), "--changes"]);
    assert!(narrowed.code == Some(3) && !file.exists(), "{narrowed:?}");
    let mut command = world.command(HOLDPOINT);
    command.args(["status", "--json", "--changes", "--limit", "1", "--since", "1h"]);
    let status: Value = serde_json::from_str(&run(command, b"").stdout).unwrap();
    assert_eq!(status["decisions"].as_array().unwrap().len(), 1);
    assert_eq!(status["verdicts"]["pass"], 2);
}

#[test]
fn an_archive_and_the_log_behind_it_verify_together_and_the_log_alone_begins_at_a_base() {
    let world = with_receipts(World::without_zvm());
    let call = |number: u32| {
        let mut event = before("mcp__esxi__listVMs", json!({}));
        event["tool_use_id"] = format!("toolu_{number}").into();
        event
    };
    for number in 0..3 {
        assert_silent(&world.hook(HOLDPOINT, &call(number)));
    }
    let archive = world.path("old.jsonl");
    let archive = archive.to_str().unwrap();
    let none = verb(&world, &["archive", archive, "--before", "1h"]);
    assert!(
        none.code == Some(3) && none.stderr.contains("nothing to archive"),
        "{none:?}"
    );
    let done = verb(&world, &["archive", archive]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for number in 3..5 {
        assert_silent(&world.hook(HOLDPOINT, &call(number)));
    }
    let alone = verb(&world, &["verify"]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(alone.stdout.contains("completeness  NOT CHECKED"), "{alone:?}");
    assert!(
        alone.stdout.contains("begins at a base") && alone.stdout.contains("receipts 1 to 3"),
        "{alone:?}"
    );
    let together = verb(&world, &["verify", "--archive", archive, "--json"]);
    let report: Value = serde_json::from_str(&together.stdout).unwrap();
    assert_eq!(
        (&report["first"], &report["last"]),
        (&json!(1), &json!(6)),
        "{report}"
    );
    assert_eq!(report["integrity"]["outcome"], "pass");
    assert!(!together.stdout.contains("base"), "{report}");
    let only = verb(&world, &["verify", archive]);
    assert!(
        only.code == Some(0) && only.stdout.contains("3 receipts"),
        "{only:?}"
    );
    let listed = verb(&world, &["list", "--archive", archive]).stdout;
    assert_eq!(listed.lines().count(), 5, "{listed}");
    let again = verb(&world, &["archive", archive]);
    assert!(
        again.code == Some(3) && again.stderr.contains("is there already"),
        "{again:?}"
    );
}
