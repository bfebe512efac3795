//! `liveness`: the calls in the harness's transcripts, compared one by one with the decision log.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::installation::{Installed, Report};
use crate::support::before;

const MAIN: &str = "home/.claude/projects/-p/s.jsonl";

/// An installation whose settings are an hour old.
fn installed() -> Installed {
    let installed = Installed::new();
    installed.write_settings();
    age(&installed.settings_path(), 3_600);
    installed
}

fn age(path: &PathBuf, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(then)
        .unwrap();
}

/// A call through the hook.
fn judged(installed: &Installed, id: &str) {
    judged_in(installed, "5569fb1c", id);
}

fn judged_in(installed: &Installed, session: &str, id: &str) {
    let mut event = before("mcp__esxi__listVMs", json!({}));
    event["tool_use_id"] = json!(id);
    event["session_id"] = json!(session);
    assert_eq!(installed.world.hook(HOLDPOINT, &event).code, Some(0));
}

fn call_at(at: &str, id: &str, tool: &str) -> Value {
    json!({
        "type": "assistant", "timestamp": at, "sessionId": "s",
        "message": { "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": tool, "input": {} }] }
    })
}

fn call(id: &str, tool: &str) -> Value {
    call_at(&holdpoint_hook::log::now(), id, tool)
}

fn result(id: &str, said: &str, failed: bool) -> Value {
    json!({
        "type": "user", "timestamp": holdpoint_hook::log::now(), "sessionId": "s",
        "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "is_error": failed, "content": said }
        ] }
    })
}

/// Calls that ran, as a transcript has them.
fn ran(ids: &[&str]) -> Vec<Value> {
    let both = |id: &&str| [call(id, "mcp__esxi__powerOff"), result(id, "done", false)];
    ids.iter().flat_map(both).collect()
}

fn write(installed: &Installed, name: &str, lines: &[Value]) {
    let path = installed.world.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).unwrap();
}

fn liveness(installed: &Installed) -> Value {
    of(&installed.doctor(&["--offline"]))
}

fn of(report: &Report) -> Value {
    let found = report
        .findings()
        .iter()
        .find(|finding| finding["check"] == "liveness");
    found.unwrap_or_else(|| panic!("{:#}", report.value)).clone()
}

fn assert_good(finding: &Value) {
    assert_eq!(finding["severity"], "good", "{finding:#}");
}

fn assert_missed(finding: &Value, severity: &str, words: &[&str]) {
    assert_eq!(finding["severity"], severity, "{finding:#}");
    for words in words {
        assert!(
            finding["found"].as_str().unwrap().contains(words),
            "{words}: {finding:#}"
        );
    }
}

#[test]
fn calls_that_were_never_judged_are_counted_and_the_newest_is_named() {
    let installed = installed();
    for id in ["toolu_1", "toolu_2"] {
        judged(&installed, id);
    }
    write(&installed, MAIN, &ran(&["toolu_1", "toolu_2"]));
    assert_good(&liveness(&installed));
    let status = installed.run(&["status", "--json"]);
    assert_eq!(status.code, Some(0), "{status:?}");

    // One call of a subagent of a newer client, one of an older, and the last decision is newer than both.
    write(
        &installed,
        "home/.claude/projects/-p/s/subagents/agent-1.jsonl",
        &ran(&["toolu_3"]),
    );
    write(
        &installed,
        "home/.claude/projects/-p/s/subagents/workflows/wf_1/agent-2.jsonl",
        &ran(&["toolu_4"]),
    );
    let mut newest = call_at("2999-01-01T00:00:00.000Z", "toolu_5", "mcp__esxi__deleteVM");
    newest["isSidechain"] = json!(true);
    write(
        &installed,
        "home/.claude/projects/-p/agent-3.jsonl",
        &[newest, result("toolu_5", "done", false)],
    );
    judged(&installed, "toolu_6");
    let finding = liveness(&installed);
    assert_missed(
        &finding,
        "broken",
        &[
            "3 of 5 calls were never judged",
            "mcp__esxi__deleteVM (toolu_5)",
            "agent-3.jsonl",
        ],
    );
    let status = installed.run(&["status", "--json"]);
    let value: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(
        (status.code, &value["armed"]),
        (Some(5), &json!(false)),
        "{value:#}"
    );
}

#[test]
fn calls_that_start_no_hook_or_have_not_ended_are_no_alarm() {
    let installed = installed();
    judged(&installed, "toolu_1");
    let mut lines = ran(&["toolu_1"]);
    let refused = "<tool_use_error>Error: No such tool available: mcp__esxi__nosuch</tool_use_error>";
    lines.extend([
        call("toolu_2", "mcp__esxi__nosuch"),
        result("toolu_2", refused, true),
        call("toolu_3", "mcp__esxi__powerOff"),
        result(
            "toolu_3",
            "<tool_use_error>InputValidationError: name is missing</tool_use_error>",
            true,
        ),
        // The matcher is for MCP servers.
        call("toolu_4", "Bash"),
        result("toolu_4", "done", false),
        // It was made before the hook was there.
        call_at("2020-01-01T00:00:00.000Z", "toolu_5", "mcp__esxi__powerOff"),
        result("toolu_5", "done", false),
        call("toolu_6", "mcp__esxi__powerOff"),
    ]);
    write(&installed, MAIN, &lines);
    assert_good(&liveness(&installed));
    // The last one ends, and was not judged.
    lines.push(result("toolu_6", "done", false));
    write(&installed, MAIN, &lines);
    assert_missed(
        &liveness(&installed),
        "broken",
        &["1 of 2 calls was never judged", "toolu_6"],
    );
}

#[test]
fn a_built_in_tool_counts_where_the_matcher_covers_it() {
    let mut installed = Installed::new();
    installed.matcher("*");
    installed.write_settings();
    age(&installed.settings_path(), 3_600);
    judged(&installed, "toolu_1");
    let mut lines = ran(&["toolu_1"]);
    lines.extend([call("toolu_2", "Bash"), result("toolu_2", "done", false)]);
    write(&installed, MAIN, &lines);
    assert_missed(&liveness(&installed), "broken", &["1 of 2", "Bash (toolu_2)"]);
}

#[test]
fn neither_the_self_test_nor_a_try_stands_in_for_a_call() {
    let installed = installed();
    write(&installed, MAIN, &ran(&["toolu_1", "toolu_holdpoint_doctor"]));
    judged_in(&installed, "try-1", "toolu_1");
    judged_in(&installed, "holdpoint-doctor", "toolu_holdpoint_doctor");
    assert_missed(&of(&installed.doctor(&[])), "broken", &["2 of 2"]);
    assert_missed(&liveness(&installed), "broken", &["2 of 2"]);
}

#[test]
fn after_a_change_of_the_settings_an_older_miss_is_a_caution() {
    let installed = installed();
    write(&installed, MAIN, &ran(&["toolu_1"]));
    // As init leaves it beside the settings.
    let backup = installed
        .world
        .path("home/.claude/settings.json.before-holdpoint");
    fs::write(&backup, "{}").unwrap();
    age(&backup, 7_200);
    assert_missed(&liveness(&installed), "broken", &["1 of 1"]);
    let later = SystemTime::now() + Duration::from_secs(60);
    File::options()
        .write(true)
        .open(installed.settings_path())
        .unwrap()
        .set_modified(later)
        .unwrap();
    assert_missed(&liveness(&installed), "caution", &["1 of 1"]);
}

#[test]
fn what_is_not_in_the_log_any_more_is_no_alarm() {
    let installed = installed();
    let log = installed.world.path("home/.local/state/holdpoint/decisions.log");
    judged(&installed, "toolu_1");
    write(&installed, MAIN, &ran(&["toolu_1"]));
    std::thread::sleep(Duration::from_millis(1_100));
    // Its own rotation is read on into the older file.
    fs::rename(&log, log.with_extension("log.1")).unwrap();
    assert_good(&liveness(&installed));
    // Another program's took it away.
    fs::rename(log.with_extension("log.1"), log.with_extension("log-20261201")).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    let finding = liveness(&installed);
    assert_eq!(finding["severity"], "notice", "{finding:#}");
    std::thread::sleep(Duration::from_millis(1_100));
    judged(&installed, "toolu_2");
    assert_good(&liveness(&installed));
    // And what comes after that counts again.
    std::thread::sleep(Duration::from_millis(1_100));
    write(&installed, "home/.claude/projects/-p/t.jsonl", &ran(&["toolu_3"]));
    assert_missed(&liveness(&installed), "broken", &["1 of 1", "toolu_3"]);
    // A log that cannot be written tells nothing, and that is one finding.
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    let report = installed.doctor(&["--offline"]);
    assert_eq!(of(&report)["severity"], "notice", "{:#}", report.value);
    assert_eq!(report.troubles(), ["log"]);
}

#[test]
fn a_project_that_has_no_entry_is_not_looked_at_for_another_ones() {
    let mut installed = Installed::new();
    let project = installed.world.path("project");
    let project = fs::canonicalize(project).unwrap();
    let settings = installed.settings.take();
    fs::create_dir(project.join(".claude")).unwrap();
    let path = project.join(".claude/settings.local.json");
    fs::write(&path, settings.to_string()).unwrap();
    age(&path, 3_600);
    judged(&installed, "toolu_1");
    write(
        &installed,
        "home/.claude/projects/-elsewhere/s.jsonl",
        &ran(&["toolu_2"]),
    );
    let name: String = project
        .to_str()
        .unwrap()
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    write(
        &installed,
        &format!("home/.claude/projects/{name}/s.jsonl"),
        &ran(&["toolu_1"]),
    );
    assert_good(&liveness(&installed));
    write(
        &installed,
        &format!("home/.claude/projects/{name}/t.jsonl"),
        &ran(&["toolu_3"]),
    );
    assert_missed(&liveness(&installed), "broken", &["1 of 2", "toolu_3"]);
}

#[test]
fn hostile_transcripts_neither_hold_the_doctor_up_nor_hide_a_call() {
    let installed = installed();
    judged(&installed, "toolu_1");
    write(&installed, MAIN, &ran(&["toolu_1", "toolu_2"]));
    let folder = installed.world.path("home/.claude/projects/-p");
    let mkfifo = std::process::Command::new("mkfifo")
        .arg(folder.join("pipe.jsonl"))
        .status();
    assert!(mkfifo.unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.jsonl")).unwrap();
    std::os::unix::fs::symlink(&folder, folder.join("round")).unwrap();
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    File::create(folder.join("sparse.jsonl"))
        .unwrap()
        .set_len(3 << 30)
        .unwrap();
    let odd = format!(
        "{}\n",
        r#"{"timestamp":7,"message":{"content":[{"type":"tool_use"}]}}"#
    );
    fs::write(
        folder.join("odd.jsonl"),
        [odd.as_bytes(), b"\xff\xfe tool_use \n{\"tool_use\""].concat(),
    )
    .unwrap();
    let deep = "[".repeat(100_000);
    fs::write(
        folder.join("deep.jsonl"),
        format!("{{\"timestamp\":\"2026-12-01T00:00:00Z\",\"tool_use\":{deep}\n"),
    )
    .unwrap();
    let started = std::time::Instant::now();
    assert_missed(&liveness(&installed), "broken", &["1 of 2", "toolu_2"]);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}
