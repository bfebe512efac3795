//! Receipts, through the real process: the modes, what stands in them, and what fails.

use std::fs::{self, File};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_blocks, assert_denies, assert_silent, before, chmod, run};

const INSTANT: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

fn reads() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

fn changes() -> Value {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }))
}

fn ended(event: &Value, response: Value) -> Value {
    let mut event = event.clone();
    event["hook_event_name"] = "PostToolUse".into();
    event["tool_response"] = response;
    event
}

fn receipts(world: &World) -> PathBuf {
    world.path("home/.local/state/holdpoint/receipts")
}

fn holdpoint(world: &World, arguments: &[&str]) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.arg("receipts").args(arguments);
    run(command, b"")
}

/// What `holdpoint receipts list --json` says.
fn listed(world: &World) -> Vec<Value> {
    let outcome = holdpoint(world, &["list", "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn with_key(world: World, lines: &str) -> World {
    world.configure(lines);
    let made = holdpoint(&world, &["keygen"]);
    assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""), "{made:?}");
    world
}

#[test]
fn without_a_word_in_the_configuration_there_are_none() {
    let world = World::without_zvm();
    assert_silent(&world.hook(HOLDPOINT, &reads()));
    assert!(!receipts(&world).exists());
    assert!(world.logged().get("receipt").is_none());
}

#[test]
fn a_call_leaves_a_decision_and_an_observation_that_are_joined() {
    for mode in ["audit", "gate"] {
        let world = with_key(World::with_zvm(INSTANT), &format!("receipts.mode = '{mode}'"));
        let outcome = world.hook(HOLDPOINT, &changes());
        assert_eq!(outcome.decision(), "context", "{outcome:?}");
        assert!(
            world.log()[0]["receipt"]
                .as_str()
                .unwrap()
                .starts_with("#1 sha256:")
        );
        assert_eq!(listed(&world)[0]["outcome"], "pending");
        assert_silent(&world.hook(
            HOLDPOINT,
            &ended(&changes(), json!([{ "type": "text", "text": "ran" }])),
        ));

        let calls = listed(&world);
        assert_eq!(calls.len(), 1, "{calls:#?}");
        let (call, facts) = (&calls[0], &calls[0]["decision"]["facts"]);
        assert_eq!(
            (&call["outcome"], &facts["verdict"]),
            (&json!("ran"), &json!("pass"))
        );
        assert_eq!(call["call"], "toolu_00000001abcdefgh");
        assert_eq!(call["arguments"]["value"], Value::Null);
        assert_eq!(facts["policy"]["origin"], "shipped");
        assert_eq!(facts["policy"]["wit"], "0.1.0");
        assert_eq!(facts["targets"], json!(["jp-ubuntu"]));
        let seen = &call["observations"][0]["facts"];
        assert_eq!(seen["decision"], call["decision"]["receipt"]["digest"]);
        assert_eq!(seen["checkpoints"], facts["checkpoints"]);
        assert!(seen["results"]["digest"].as_str().unwrap().starts_with("sha256:"));

        let verified = holdpoint(&world, &["verify"]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
        for words in [
            "integrity     PASS",
            "signer trust  NOT CHECKED",
            "completeness  NOT CHECKED",
        ] {
            assert!(verified.stdout.contains(words), "{verified:?}");
        }
        // The way back, with every identifier.
        let checkpoint = facts["checkpoints"][0]["id"].as_str().unwrap();
        let vm = facts["machines"][0]["vm"].as_str().unwrap();
        let shown = holdpoint(&world, &["show", "JP-Ubuntu"]).stdout;
        for words in [
            "restore files",
            "restore the VM from the journal",
            "test a failover",
            checkpoint,
            vm,
            "/v1/flrs",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
}

#[test]
fn every_verdict_has_a_receipt_and_they_can_be_told_apart() {
    let world = with_key(
        World::without_zvm(),
        "receipts.mode = 'gate'\nreceipts.arguments = true",
    );
    assert_silent(&world.hook(HOLDPOINT, &reads()));
    assert_denies(&world.hook(HOLDPOINT, &changes()), "zerto.url");
    let asked = world.hook(HOLDPOINT, &before("mcp__nobody__knows", json!({ "n": 1.5 })));
    assert_eq!(asked.decision(), "ask");
    // No call is known of it; it is blocked all the same.
    assert_blocks(&world.hook_bytes(HOLDPOINT, b"[]"), "Standard input");
    let calls = listed(&world);
    let verdicts: Vec<_> = calls
        .iter()
        .map(|call| &call["decision"]["facts"]["verdict"])
        .collect();
    assert_eq!(verdicts, ["pass", "deny", "ask", "deny"]);
    assert_eq!(calls[2]["arguments"]["value"], json!({ "n": 1.5 }));
    assert_eq!(calls[3]["decision"]["facts"]["fault"], "event");
    let denied = holdpoint(&world, &["list", "--verdict", "deny"]).stdout;
    assert_eq!(denied.lines().count(), 2, "{denied}");
    assert!(
        denied.lines().all(|line| line.split('\t').count() == 7),
        "{denied}"
    );
}

/// What stands in the way of a receipt, how it is put there, and words of what is said of it.
type Obstacle = (&'static str, fn(&World), &'static str);

fn obstacles() -> [Obstacle; 4] {
    [
        (
            "no key",
            |world| fs::remove_file(receipts(world).join("key.pem")).unwrap(),
            "keygen",
        ),
        (
            "an exposed key",
            |world| chmod(&receipts(world).join("key.pem"), 0o644),
            "chmod 600",
        ),
        (
            "an exposed log",
            |world| chmod(&receipts(world), 0o777),
            "chmod go-w",
        ),
        (
            "a log that cannot be written",
            |world| {
                // Nobody, root included, appends to a folder.
                fs::create_dir(receipts(world).join("000000000001.jsonl")).unwrap();
            },
            "000000000001.jsonl",
        ),
    ]
}

#[test]
fn without_a_receipt_a_gated_call_does_not_run() {
    for (what, obstruct, words) in obstacles() {
        let world = with_key(World::without_zvm(), "receipts.mode = 'gate'");
        obstruct(&world);
        let outcome = world.hook(HOLDPOINT, &reads());
        assert_denies(&outcome, words);
        let logged = world.logged();
        assert_eq!(
            (&logged["verdict"], &logged["fault"]),
            (&json!("deny"), &json!("receipt")),
            "{what}"
        );
    }
}

#[test]
fn without_a_receipt_an_audited_call_runs_and_the_log_says_so() {
    for (what, obstruct, words) in obstacles() {
        let world = with_key(World::without_zvm(), "receipts.mode = 'audit'");
        obstruct(&world);
        assert_silent(&world.hook(HOLDPOINT, &reads()));
        let logged = world.logged();
        assert_eq!(logged["verdict"], "pass", "{what}");
        let told = logged["receipt"].as_str().unwrap();
        assert!(
            told.starts_with("none: ") && told.contains(words),
            "{what}: {told}"
        );
    }
}

#[test]
fn an_observation_that_cannot_be_written_is_silent_and_a_line_in_the_log() {
    for mode in ["audit", "gate"] {
        let world = with_key(World::without_zvm(), &format!("receipts.mode = '{mode}'"));
        fs::remove_file(receipts(&world).join("key.pem")).unwrap();
        assert_silent(&world.hook(HOLDPOINT, &ended(&reads(), json!("done"))));
        // Beside it stands that the call ran without a decision.
        let lines = world.log();
        let lost: Vec<_> = lines.iter().filter(|line| line["fault"] == "receipt").collect();
        assert_eq!((lines.len(), lost.len()), (2, 1), "{lines:#?}");
        assert_eq!(lost[0]["verdict"], "silent");
    }
}

/// A file that may not grow any more is what a full disk looks like to a writer.
#[test]
fn a_full_disk_denies_a_gated_call_and_leaves_the_log_whole() {
    let world = with_key(
        World::without_zvm(),
        "receipts.mode = 'gate'\nreceipts.arguments = true",
    );
    // The policy's memory is a file to the system, too. The log has to be larger, so that it alone meets the limit.
    let large = before("mcp__esxi__listVMs", json!({ "text": "x".repeat(200_000) }));
    for _ in 0..8 {
        assert_silent(&world.hook(HOLDPOINT, &large));
    }
    let segment = receipts(&world).join("000000000001.jsonl");
    let length = fs::metadata(&segment).unwrap().len();
    let mut command = world.command("/bin/bash");
    // SIGXFSZ is ignored, so that writing fails as on a full disk. The unit is 1,024 bytes: the line is cut in two.
    let script = format!(
        "trap '' XFSZ; ulimit -f {}; exec '{HOLDPOINT}' hook",
        length.div_ceil(1024)
    );
    command.args(["-c", &script]);
    let outcome = run(command, reads().to_string().as_bytes());
    assert_denies(&outcome, "No receipt could be written");
    assert_eq!(
        fs::metadata(&segment).unwrap().len(),
        length,
        "no half of a receipt stays"
    );
    assert_silent(&world.hook(HOLDPOINT, &reads()));
    assert!(
        holdpoint(&world, &["verify"])
            .stdout
            .contains("integrity     PASS")
    );
}

/// Another process has the log and does not let go.
#[test]
fn a_log_that_is_locked_denies_a_gated_call_at_the_deadline_and_costs_an_audited_one_the_receipt() {
    for mode in ["gate", "audit"] {
        let world = with_key(
            World::without_zvm(),
            &format!("deadline_seconds = 4\nreceipts.mode = '{mode}'"),
        );
        let lock = File::open(receipts(&world).join("lock")).unwrap();
        lock.lock().unwrap();
        let outcome = world.hook(HOLDPOINT, &reads());
        match mode {
            "gate" => assert_denies(&outcome, "locked for too long"),
            _ => assert_silent(&outcome),
        }
        assert!(
            world.logged()["receipt"]
                .as_str()
                .unwrap()
                .contains("locked for too long")
        );
    }
}

#[test]
fn a_torn_receipt_is_set_aside_and_the_log_says_so() {
    let world = with_key(World::without_zvm(), "receipts.mode = 'audit'");
    assert_silent(&world.hook(HOLDPOINT, &reads()));
    let segment = receipts(&world).join("000000000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap() + "{\"payload\":";
    fs::write(&segment, text).unwrap();
    assert_silent(&world.hook(HOLDPOINT, &reads()));
    let told = world.log()[1]["receipt"].as_str().unwrap().to_owned();
    assert!(told.contains("set aside as torn-"), "{told}");
    let verified = holdpoint(&world, &["verify"]).stdout;
    assert!(
        verified.contains("integrity     PASS") && verified.contains("note: torn-"),
        "{verified}"
    );
}

#[test]
fn tampering_fails_and_what_is_known_from_elsewhere_passes() {
    let world = with_key(World::without_zvm(), "receipts.mode = 'audit'");
    for _ in 0..3 {
        assert_silent(&world.hook(HOLDPOINT, &reads()));
    }
    let out = world.path("out.jsonl");
    let exported = holdpoint(&world, &["export", out.to_str().unwrap()]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let changed = holdpoint(&world, &["change-key"]);
    assert_eq!(changed.code, Some(0), "{changed:?}");
    assert_silent(&world.hook(HOLDPOINT, &reads()));
    let report: Value = serde_json::from_str(&holdpoint(&world, &["verify", "--json"]).stdout).unwrap();
    let head = report["head"].as_str().unwrap();
    let keys = world.path("out.keys.json");
    let known = ["verify", "--keys", keys.to_str().unwrap(), "--head", head];
    let checked = holdpoint(&world, &known);
    assert_eq!(checked.stdout.matches("PASS").count(), 3, "{checked:?}");

    let segment = receipts(&world).join("000000000001.jsonl");
    let text = fs::read_to_string(&segment).unwrap();
    let lines: Vec<_> = text.lines().collect();
    fs::write(&segment, [lines[0], lines[2], lines[3], lines[4], ""].join("\n")).unwrap();
    let removed = holdpoint(&world, &known);
    assert_eq!(removed.code, Some(3), "{removed:?}");
    assert!(removed.stdout.contains("receipt 2 is missing"), "{removed:?}");
}

#[test]
fn the_verbs_say_what_to_do_where_there_is_nothing() {
    let world = World::without_zvm();
    for verb in [&["list"][..], &["show", "x"], &["verify"], &["change-key"]] {
        let outcome = holdpoint(&world, verb);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.code),
            ("", Some(3)),
            "{outcome:?}"
        );
        assert!(
            outcome.stderr.contains("holdpoint receipts keygen"),
            "{outcome:?}"
        );
    }
    assert_eq!(holdpoint(&world, &["keygen"]).code, Some(0));
    let again = holdpoint(&world, &["keygen"]);
    assert!(
        again.code == Some(3) && again.stderr.contains("change-key"),
        "{again:?}"
    );
}
