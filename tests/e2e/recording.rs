//! Records of decisions, replay, and cases made of records.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use test_policies::named;

use crate::HOLDPOINT;
use crate::cases::Bench;
use crate::support::{Outcome, World, assert_asks, assert_denies, assert_silent, before, run};

/// A world that records what is decided in it.
fn recording(scenario: &str, lines: &str) -> World {
    let world = World::with_zvm(scenario);
    world.configure(&format!("record.enabled = true\n{lines}"));
    world
}

fn folder(world: &World) -> std::path::PathBuf {
    world.path("home/.local/state/holdpoint/records")
}

fn records(world: &World) -> Vec<Value> {
    world.settle();
    let mut records = Vec::new();
    for file in fs::read_dir(folder(world)).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        records.extend(
            text.lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap()),
        );
    }
    // Each is written by a process of its own, after its answer.
    records.sort_by_key(|record| record["at"].as_str().unwrap_or_default().to_owned());
    records
}

fn holdpoint(world: &World, arguments: &[&str]) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.args(arguments);
    run(command, b"")
}

const SITE: &str = "[[vpgs]]";

fn power_off(name: &str, call: &str) -> Value {
    let mut event = before("mcp__esxi__powerOff", json!({ "name": name }));
    event["tool_use_id"] = call.into();
    event
}

#[test]
fn a_decision_leaves_a_record_that_comes_out_the_same_when_it_is_replayed() {
    let world = recording(SITE, "ask.deny_in_modes = ['bypassPermissions']");
    world.hook(HOLDPOINT, &power_off("jp-ubuntu", "first"));
    world.hook(HOLDPOINT, &power_off("nobody-knows", "second"));
    assert_silent(&world.hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({}))));
    let records = records(&world);
    assert_eq!(records.len(), 3);
    let (first, second) = (&records[0], &records[1]);
    assert_eq!(first["verdict"]["word"], "pass", "{first}");
    let asked: Vec<&str> = first["exchanges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|exchange| exchange["asked"]["call"].as_str().unwrap())
        .collect();
    assert_eq!(asked, ["find-vms-by-name", "capture"]);
    assert_eq!(first["exchanges"][0]["answer"]["rows"][0]["vm-name"], "jp-ubuntu");
    assert_eq!(first["policy"]["origin"], "shipped");
    assert_eq!(
        (second["verdict"]["word"].as_str(), second["answered"].as_str()),
        (Some("ask"), Some("deny"))
    );
    for (path, mode) in [(folder(&world), 0o700), (only_file(&world), 0o600)] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
    }

    let folder = folder(&world).to_str().unwrap().to_owned();
    let replayed = holdpoint(&world, &["replay", "shipped", &folder, "--deny-looser"]);
    assert_eq!(
        (replayed.code, replayed.stderr.as_str()),
        (Some(0), ""),
        "{replayed:?}"
    );
    assert!(
        replayed.stdout.contains("mcp__esxi__powerOff: 2 same\n"),
        "{replayed:?}"
    );
    assert!(replayed.stdout.contains("3 decisions: 3 same\n"), "{replayed:?}");

    for call in ["first", "second"] {
        let case = world.path(&format!("{call}.toml")).to_str().unwrap().to_owned();
        let made = holdpoint(&world, &["case", &folder, "--call", call, "--out", &case]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let tried = holdpoint(&world, &["test", "shipped", &case]);
        assert_eq!(
            tried.code,
            Some(0),
            "{tried:?} {}",
            fs::read_to_string(&case).unwrap()
        );
        // A file that is there is not written over.
        assert_eq!(
            holdpoint(&world, &["case", &folder, "--call", call, "--out", &case]).code,
            Some(3)
        );
    }
    assert_eq!(
        holdpoint(&world, &["case", &folder, "--call", "third"]).code,
        Some(3)
    );
}

fn only_file(world: &World) -> std::path::PathBuf {
    world.settle();
    let mut files = fs::read_dir(folder(world)).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    file
}

#[test]
fn every_trouble_with_zerto_is_replayed_and_makes_a_case() {
    for scenario in [
        "[[vpgs]]\noutcome = 'task-fails'",
        "[[vpgs]]\noutcome = 'refused'",
    ] {
        let world = recording(scenario, "");
        let outcome = world.hook(HOLDPOINT, &power_off("jp-ubuntu", "call"));
        assert_eq!(outcome.decision(), "deny", "{outcome:?}");
        assert_made_case(&world);
    }
    let world = World::without_zvm();
    world.configure("record.enabled = true");
    assert_denies(
        &world.hook(HOLDPOINT, &power_off("jp-ubuntu", "call")),
        "zerto.url",
    );
    assert_made_case(&world);
}

#[track_caller]
fn assert_made_case(world: &World) {
    world.settle();
    let folder = folder(world).to_str().unwrap().to_owned();
    let replayed = holdpoint(world, &["replay", "shipped", &folder]);
    assert!(replayed.stdout.contains("1 decision: 1 same\n"), "{replayed:?}");
    let case = world.path("case.toml").to_str().unwrap().to_owned();
    let made = holdpoint(world, &["case", &folder, "--call", "call", "--out", &case]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let tried = holdpoint(world, &["test", "shipped", &case]);
    assert_eq!(
        tried.code,
        Some(0),
        "{tried:?} {}",
        fs::read_to_string(&case).unwrap()
    );
}

#[test]
fn nothing_is_recorded_unless_it_is_switched_on() {
    let world = World::without_zvm();
    world.hook(HOLDPOINT, &power_off("web01", "call"));
    assert!(!folder(&world).exists());
}

#[test]
fn what_a_rule_names_is_in_no_record() {
    let world = World::without_zvm();
    world.configure("record.enabled = true\nrecord.redact_words = ['AKIA*']");
    let event = before(
        "mcp__nobody__knows",
        json!({ "auth": { "Db_Password": "hunter2-\"secret" }, "run": "use hunter2-\"secret and AKIA012345" }),
    );
    world.hook(HOLDPOINT, &event);
    let text = fs::read_to_string(only_file(&world)).unwrap();
    assert!(
        !text.contains("hunter2") && !text.contains("AKIA012345"),
        "{text}"
    );
    assert_eq!(records(&world)[0]["redacted"], 2);
}

#[test]
fn a_record_that_cannot_be_written_changes_no_decision_and_is_told() {
    let world = World::without_zvm();
    fs::write(world.path("records"), "a file").unwrap();
    let lines = format!(
        "record.enabled = true\nrecord.directory = '{}'",
        world.path("records").display()
    );
    world.configure(&lines);
    assert_asks(
        &world.hook(HOLDPOINT, &before("mcp__nobody__knows", json!({}))),
        "in no catalog",
    );
    let log = world.log();
    assert_eq!(
        (log[0]["verdict"].as_str(), log[0]["fault"].as_str()),
        (Some("ask"), None)
    );
    assert_eq!(
        (log[1]["verdict"].as_str(), log[1]["fault"].as_str()),
        (Some("silent"), Some("record"))
    );
    world.configure(&format!("{lines}\npolicy.unknown_tool = 'deny'"));
    assert_denies(
        &world.hook(HOLDPOINT, &before("mcp__nobody__knows", json!({}))),
        "in no catalog",
    );
}

#[test]
fn a_policy_that_fails_leaves_its_record_too() {
    let world = World::without_zvm();
    for (name, bytes) in [
        ("policy.wasm", named("traps").component),
        ("policy.cwasm", named("traps").compiled),
    ] {
        fs::write(world.path(name), bytes).unwrap();
        crate::support::chmod(&world.path(name), 0o600);
    }
    world.configure_bare(&format!(
        "record.enabled = true\npolicy.signature = 'not-required'\npolicy.path = '{}'",
        world.path("policy.wasm").display()
    ));
    assert_denies(&world.hook(HOLDPOINT, &before("x", json!({}))), "unreachable");
    let record = &records(&world)[0];
    assert_eq!(record["verdict"]["fault"], "trap", "{record}");
    assert_eq!(record["answered"], "deny");
}

#[test]
fn replay_says_what_a_candidate_would_change() {
    let bench = Bench::new();
    let world = &bench.world;
    world.configure("record.enabled = true");
    world.hook(HOLDPOINT, &before("mcp__nobody__knows", json!({})));
    world.hook(HOLDPOINT, &before("Bash", json!({})));
    let folder = folder(world).to_str().unwrap().to_owned();
    for (name, code, words) in [
        ("passes", 1, "looser: mcp__nobody__knows"),
        ("denies-for-nothing", 0, "stricter: Bash"),
        ("traps", 0, "fault: Bash"),
        (
            "looks-up",
            1,
            "the record has no answer to find-vms-by-name(web01)",
        ),
    ] {
        let policy = bench.policy(named(name));
        let outcome = bench.run(&["replay", &policy, &folder, "--deny-looser"]);
        assert_eq!(outcome.code, Some(code), "{name}: {outcome:?}");
        assert!(outcome.stdout.contains(words), "{name}: {outcome:?}");
        let outcome = bench.run(&["replay", &policy, &folder, "--json"]);
        assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
        let last: Value = serde_json::from_str(outcome.stdout.lines().last().unwrap()).unwrap();
        let counts = last["summary"]["all"].as_object().unwrap();
        assert_eq!(
            counts.values().filter_map(Value::as_u64).sum::<u64>(),
            2,
            "{last}"
        );
    }
}

#[test]
fn a_line_that_is_no_record_is_an_error_with_its_place() {
    let bench = Bench::new();
    let path = bench.write("records.jsonl", "{}\n");
    let outcome = bench.run(&["replay", "shipped", &path]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.stderr.contains("records.jsonl, line 1"), "{outcome:?}");
}
