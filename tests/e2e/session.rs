//! The session tally through the real process: the hook's events, and what a policy makes of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_silent, before, fixture, run};

/// A healthy site with one VM in one VPG whose tags surface at once.
const HEALTHY: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";
/// Stands in every text of an event that must never be written anywhere.
const PRIVATE: &str = "do-not-keep-this";
const SESSIONS: &str = "home/.local/state/holdpoint/sessions";

/// An event of the session and workspace that [`before`] has, too.
pub(crate) fn event(name: &str, more: Value) -> Value {
    let mut event = before(
        "mcp__esxi__powerOff",
        json!({ "name": "jp-ubuntu", "note": PRIVATE }),
    );
    event["hook_event_name"] = name.into();
    event["prompt"] = PRIVATE.into();
    for (key, value) in more.as_object().unwrap() {
        event[key] = value.clone();
    }
    event
}

pub(crate) fn failure(call: &str) -> Value {
    event(
        "PostToolUseFailure",
        json!({ "tool_use_id": call, "error": PRIVATE }),
    )
}

/// The event tells the model this, in an object with its own name.
#[track_caller]
fn assert_tells(outcome: &Outcome, event: &str, words: &str) {
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)));
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let told = answer["hookSpecificOutput"].as_object().unwrap();
    assert_eq!(told.len(), 2, "{answer}");
    assert_eq!(told["hookEventName"], event);
    assert!(
        told["additionalContext"].as_str().unwrap().contains(words),
        "{answer}"
    );
}

/// The log without the lines that say that nobody decided on a call: here only their ends are heard of.
fn logged(world: &World) -> Vec<Value> {
    let lines = world.log();
    lines
        .into_iter()
        .filter(|line| line["deviation"].is_null())
        .collect()
}

/// Counts so many calls, numbered from `first` on.
fn fail(world: &World, numbers: std::ops::RangeInclusive<u32>) -> Vec<Outcome> {
    numbers
        .map(|number| world.hook(HOLDPOINT, &failure(&format!("call-{number}"))))
        .collect()
}

/// Runs a command of the tally; its standard input ends, as the verbs need it.
pub(crate) fn command(world: &World, arguments: &[&str], payload: &str) -> Output {
    let mut child = world
        .command(HOLDPOINT)
        .arg("session")
        .args(arguments)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A wrong command line ends before it reads.
    let _ = stdin.write_all(payload.as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// What `session show --json` says of the scopes.
fn shown(world: &World) -> Vec<Value> {
    let output = command(world, &["show", "--json"], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let overview: Value = serde_json::from_slice(&output.stdout).unwrap();
    overview["scopes"].as_array().unwrap().clone()
}

/// The failures of the one scope that there is.
#[track_caller]
fn count(world: &World) -> u64 {
    let scopes = shown(world);
    assert_eq!(scopes.len(), 1, "{scopes:?}");
    scopes[0]["failures"].as_u64().unwrap()
}

#[test]
fn failed_calls_count_once_and_the_model_is_told_at_a_new_level() {
    let world = World::without_zvm();
    let outcomes = fail(&world, 1..=6);
    assert_silent(&outcomes[0]);
    for (outcome, words) in
        outcomes[1..5]
            .iter()
            .zip(["level 1 of 4", "level 2 of 4", "level 3 of 4", "level 4 of 4"])
    {
        assert_tells(outcome, "PostToolUseFailure", words);
    }
    assert_silent(&outcomes[5]);
    for again in fail(&world, 1..=6) {
        assert_silent(&again);
    }
    assert_eq!(count(&world), 6);
    assert_eq!(logged(&world), [] as [Value; 0]);
}

#[test]
fn what_is_no_failure_of_a_tool_that_counts_does_not_count() {
    let world = World::without_zvm();
    let ended = |tool: &str, response: Value| {
        event(
            "PostToolUse",
            json!({ "tool_name": tool, "tool_use_id": format!("{tool}-{response}"), "tool_response": response }),
        )
    };
    for event in [
        ended("Bash", json!({ "stdout": "{\"exit_code\": 1}" })),
        ended("Bash", json!({ "exit_code": 0 })),
        ended("Read", json!({ "is_error": true })),
        event("PostToolUseFailure", json!({ "is_interrupt": true })),
        event("PostToolUseFailure", json!({ "tool_use_id": null })),
        event("PostToolUseFailure", json!({ "session_id": "" })),
        // Another harness that runs the same hook entries.
        event("PostToolUseFailure", json!({ "turn_id": "t" })),
    ] {
        assert_silent(&world.hook(HOLDPOINT, &event));
    }
    assert_eq!(shown(&world), [] as [Value; 0]);
    assert!(!world.path(SESSIONS).exists());
    assert_silent(&world.hook(HOLDPOINT, &ended("Bash", json!({ "exit_code": 1 }))));
    let outcome = world.hook(HOLDPOINT, &ended("mcp__a__b", json!({ "is_error": true })));
    assert_tells(&outcome, "PostToolUse", "2 tool calls have failed");
}

#[test]
fn counting_needs_no_policy() {
    let world = World::without_zvm();
    world.configure("policy.path = '/nowhere/policy.wasm'");
    for outcome in fail(&world, 1..=1) {
        assert_silent(&outcome);
    }
    assert_eq!((count(&world), logged(&world).len()), (1, 0));
}

#[test]
fn a_compaction_is_survived() {
    let world = World::without_zvm();
    let start = |source: &str| world.hook(HOLDPOINT, &event("SessionStart", json!({ "source": source })));
    assert_silent(&start("startup"));
    fail(&world, 1..=3);
    assert_silent(&start("compact"));
    assert_silent(&world.hook(HOLDPOINT, &event("PreCompact", json!({ "trigger": "auto" }))));
    for source in ["compact", "resume"] {
        assert_tells(&start(source), "SessionStart", "3 tool calls had failed");
    }
    assert_tells(&fail(&world, 4..=4)[0], "PostToolUseFailure", "level 3");
}

#[test]
fn a_session_that_is_cleared_or_forked_starts_at_nothing() {
    for source in ["clear", "fork"] {
        let world = World::without_zvm();
        fail(&world, 1..=3);
        world.hook(HOLDPOINT, &event("PreCompact", json!({})));
        let start = event("SessionStart", json!({ "source": source }));
        assert_silent(&world.hook(HOLDPOINT, &start));
        assert_eq!(shown(&world), [] as [Value; 0]);
        assert_silent(&fail(&world, 4..=4)[0]);
    }
}

#[test]
fn configuration_says_whether_where_what_counts_and_whether_it_is_told() {
    let world = World::without_zvm();
    world.configure("session.enabled = false");
    fail(&world, 1..=3);
    assert!(!world.path(SESSIONS).exists());

    let directory = world.path("elsewhere");
    world.configure(&format!(
        "session.directory = '{}'\nsession.tell = false\nsession.tools = ['mcp__esxi__*', 'Write']",
        directory.display()
    ));
    for outcome in fail(&world, 1..=3) {
        assert_silent(&outcome);
    }
    let bash = event(
        "PostToolUseFailure",
        json!({ "tool_name": "Bash", "tool_use_id": "b" }),
    );
    assert_silent(&world.hook(HOLDPOINT, &bash));
    assert_eq!(count(&world), 3);
    assert!(directory.is_dir() && !world.path(SESSIONS).exists());

    for (line, words) in [
        ("session.directory = 'here'", "session.directory is 'here'"),
        ("session.tools = ['a*b']", "session.tools has 'a*b'"),
        ("policy.session_ask_level = 5", "policy.session_ask_level is 5"),
        (
            "policy.session_ask_level = 2\nsession.enabled = false",
            "session.enabled is false",
        ),
        ("session.tel = true", "did you mean 'session.tell'"),
    ] {
        world.configure(line);
        let outcome = world.hook(HOLDPOINT, &before("Read", json!({})));
        assert_eq!(outcome.decision(), "deny", "{line}");
        assert!(outcome.text().contains(words), "{}", outcome.text());
    }
}

/// What lies in the way of the tally, and what the log says of it.
const BROKEN: [&str; 3] = ["no directory", "a symbolic link", "no regular file"];

/// Makes the tally's directory one that cannot be used.
fn break_sessions(world: &World, what: &str) {
    let directory = world.path(SESSIONS);
    fs::create_dir_all(directory.parent().unwrap()).unwrap();
    match what {
        "no directory" => fs::write(directory, "").unwrap(),
        "a symbolic link" => {
            fs::create_dir(world.path("real")).unwrap();
            symlink(world.path("real"), directory).unwrap();
        }
        _ => fs::create_dir_all(directory.join(format!("{}.json", scope()))).unwrap(),
    }
}

/// The scope of every event here, as the tally's files are named.
fn scope() -> String {
    let event = before("x", json!({}));
    let text = |key: &str| event[key].as_str().unwrap().to_owned();
    let scope = holdpoint_session::Scope::new(&text("session_id"), &text("cwd")).unwrap();
    scope.as_str().to_owned()
}

#[test]
fn a_tally_that_cannot_be_kept_is_silent_and_a_line_in_the_log() {
    for words in BROKEN {
        let world = World::without_zvm();
        break_sessions(&world, words);
        assert_silent(&fail(&world, 1..=1)[0]);
        assert_silent(&world.hook(HOLDPOINT, &event("PreCompact", json!({}))));
        let log = logged(&world);
        assert_eq!(log.len(), 2, "{log:?}");
        for (line, tool) in log.iter().zip(["PostToolUseFailure", "PreCompact"]) {
            assert_eq!(
                (&line["verdict"], &line["fault"], &line["tool"]),
                (&json!("silent"), &json!("session"), &json!(tool))
            );
            assert!(line["why"].as_str().unwrap().contains(words), "{line}");
        }
        assert_nothing_private(&world);
        if let Ok(real) = fs::read_dir(world.path("real")) {
            assert_eq!(real.count(), 0);
        }
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_silent_and_a_line_in_the_log() {
    let world = World::without_zvm();
    // Nobody can make one there, the system's own user included.
    world.configure("session.directory = '/proc/holdpoint/sessions'");
    assert_silent(&fail(&world, 1..=1)[0]);
    let line = logged(&world).pop().unwrap();
    assert_eq!(
        (&line["verdict"], &line["fault"]),
        (&json!("silent"), &json!("session"))
    );
    assert!(line["why"].as_str().unwrap().contains("cannot be kept"), "{line}");
}

#[test]
fn a_note_that_cannot_be_delivered_is_silent_and_the_call_counts() {
    let world = World::without_zvm();
    fail(&world, 1..=1);
    let mut hook = world.command(HOLDPOINT);
    hook.arg("hook").stdout(File::create("/dev/full").unwrap());
    assert_silent(&run(hook, failure("call-2").to_string().as_bytes()));
    assert_eq!(count(&world), 2);
}

#[test]
fn nothing_personal_is_written() {
    let world = World::without_zvm();
    fail(&world, 1..=4);
    let failed = json!({ "exit_code": 1, "stdout": PRIVATE, "stderr": PRIVATE });
    for event in [
        event("PostToolUse", json!({ "tool_response": failed })),
        event("PreCompact", json!({ "custom_instructions": PRIVATE })),
        event(
            "SessionStart",
            json!({ "source": "compact", "state_dir": world.path(PRIVATE) }),
        ),
    ] {
        let outcome = world.hook(HOLDPOINT, &event);
        assert!(!outcome.stdout.contains(PRIVATE), "{outcome:?}");
    }
    assert_eq!(count(&world), 5);
    assert_nothing_private(&world);
    let state = fs::read_to_string(world.path(SESSIONS).join(format!("{}.json", scope()))).unwrap();
    for id in ["5569fb1c", "call-", "toolu_", "/home/dev"] {
        assert!(!state.contains(id), "{id} in {state}");
    }
    let show = String::from_utf8(command(&world, &["show"], "").stdout).unwrap();
    assert!(
        show.contains(&scope()[..12]) && !show.contains(&scope()),
        "{show}"
    );
}

/// No file of this world, nor its name, holds a text of an event; the tally's files are for their owner only.
#[track_caller]
fn assert_nothing_private(world: &World) {
    let mut files = BTreeMap::new();
    collect(&world.path(""), &mut files);
    assert!(!files.is_empty());
    for (path, bytes) in &files {
        let holds = |text: &[u8]| text.windows(PRIVATE.len()).any(|part| part == PRIVATE.as_bytes());
        assert!(!holds(bytes) && !holds(path.as_bytes()), "{path}");
        if path.contains("/sessions/") {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{path}");
        }
    }
}

fn collect(directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
}

#[test]
fn many_hooks_of_one_session_at_once_count_exactly() {
    let world = World::without_zvm();
    std::thread::scope(|threads| {
        for number in 0..32 {
            let world = &world;
            threads.spawn(move || world.hook(HOLDPOINT, &failure(&format!("call-{number}"))));
        }
    });
    assert_eq!(count(&world), 32);
    assert_eq!(logged(&world), [] as [Value; 0]);
    let left: Vec<_> = fs::read_dir(world.path(SESSIONS))
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .filter(|name| name != ".made-by-holdpoint")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

fn power_off(world: &World) -> Outcome {
    world.hook(
        HOLDPOINT,
        &before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" })),
    )
}

#[test]
fn from_the_configured_level_on_a_change_asks_and_names_its_checkpoint() {
    let world = World::with_zvm(HEALTHY);
    world.configure("policy.session_ask_level = 2");
    assert_eq!(power_off(&world).decision(), "context");
    fail(&world, 1..=2);
    assert_eq!(power_off(&world).decision(), "context");
    fail(&world, 3..=4);
    let outcome = power_off(&world);
    assert_eq!((outcome.decision().as_str(), outcome.code), ("ask", Some(0)));
    let log = logged(&world);
    let line = log.last().unwrap();
    for words in [
        "4 tool calls have failed",
        "level 3 of 4",
        "from level 2 on",
        line["tag"].as_str().unwrap(),
        line["checkpoints"][0]["checkpoint"].as_str().unwrap(),
    ] {
        assert!(outcome.text().contains(words), "{words}: {}", outcome.text());
    }
    // Of another session and of another workspace nothing is known; without the setting nobody asks.
    for (key, value) in [("session_id", "another"), ("cwd", "/elsewhere")] {
        let mut other = before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }));
        other[key] = value.into();
        assert_eq!(world.hook(HOLDPOINT, &other).decision(), "context", "{key}");
    }
    world.configure("");
    assert_eq!(power_off(&world).decision(), "context");
}

#[test]
fn a_tally_that_cannot_be_read_denies_where_a_decision_rests_on_it() {
    for words in BROKEN {
        let world = World::with_zvm(HEALTHY);
        break_sessions(&world, words);
        world.configure("policy.session_ask_level = 2");
        let outcome = power_off(&world);
        assert_eq!((outcome.decision().as_str(), outcome.code), ("deny", Some(2)));
        let line = logged(&world).pop().unwrap();
        assert_eq!((&line["fault"], &line["tag"]), (&json!("session"), &Value::Null));
        assert!(line["why"].as_str().unwrap().contains(words), "{line}");
        world.configure("");
        assert_eq!(power_off(&world).decision(), "context");
    }
}

#[test]
fn captured_failures_count() {
    let world = World::without_zvm();
    for (name, told) in [
        ("PostToolUseFailure.Bash.json", false),
        ("PostToolUseFailure.mcp-fails.json", true),
    ] {
        let bytes = fs::read(fixture("claude-code-2.1.197").join(name)).unwrap();
        let outcome = world.hook_bytes(HOLDPOINT, &bytes);
        assert_eq!(!outcome.stdout.is_empty(), told, "{name}");
    }
    assert_eq!(count(&world), 2);
}
