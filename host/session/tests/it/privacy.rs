//! Nothing personal is kept, and what an event says about paths does nothing.

use std::fs;
use std::path::Path;

use holdpoint_session::verbs::{self, Options, Verb};
use serde_json::json;

use crate::{Home, failure, pre_compact, session_start};

/// All that lies below a directory: names and contents.
fn everything(path: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        all.push_str(path.file_name().unwrap().to_str().unwrap());
        all.push('\n');
        if path.is_dir() {
            all.push_str(&everything(&path));
        } else {
            all.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
    all
}

#[test]
fn no_text_of_a_session_is_ever_written() {
    let home = Home::new();
    let event = json!({
        "hook_event_name": "PostToolUseFailure", "session_id": "PRIVATE-session", "cwd": "/srv/PRIVATE-workspace",
        "transcript_path": "/PRIVATE/transcript", "prompt": "PRIVATE prompt", "tool_name": "Bash",
        "tool_use_id": "PRIVATE-call", "tool_input": { "command": "echo PRIVATE" },
        "tool_response": { "exit_code": 1, "stderr": "PRIVATE" }, "error": "PRIVATE error", "PRIVATE": "PRIVATE",
    });
    assert!(home.run(Verb::Record, &event).starts_with("updated"));
    let mut compact = event.clone();
    compact["hook_event_name"] = "PreCompact".into();
    compact["custom_instructions"] = "PRIVATE".into();
    assert!(home.run(Verb::Checkpoint, &compact).starts_with("saved"));
    let all = everything(home.path());
    assert!(all.contains("failure_count") && !all.contains("PRIVATE"), "{all}");
}

#[test]
fn a_path_in_an_event_does_nothing() {
    let (home, elsewhere) = (Home::new(), tempfile::tempdir().unwrap());
    let hostile = elsewhere.path().join("made");
    let mut event = failure("1");
    for key in [
        "state_dir",
        "home",
        "PUA_STATE_DIR",
        "scope",
        "scope_fingerprint",
        "path",
    ] {
        event[key] = hostile.to_str().into();
    }
    event["session_id"] = "../../../escape".into();
    event["tool_use_id"] = "../../escape".into();
    assert!(home.run(Verb::Record, &event).starts_with("updated"));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert_eq!(home.names().len(), 1);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn what_does_not_count_makes_no_directory() {
    let home = Home::new();
    let mut nameless = failure("1");
    nameless["session_id"] = json!(null);
    let mut other = failure("1");
    other["tool_name"] = "Read".into();
    for (verb, event) in [
        (Verb::Record, &nameless),
        (Verb::Record, &other),
        (Verb::Checkpoint, &nameless),
        (Verb::Restore, &session_start("resume")),
        (Verb::Clear, &session_start("clear")),
    ] {
        home.run(verb, event);
    }
    assert_eq!(home.store().read(&crate::scope()).unwrap(), None);
    assert!(home.store().overview().unwrap().scopes.is_empty());
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn where_states_lie_is_the_users_word() {
    let home = Home::new();
    let named = home.path().join("named");
    let variable = home.path().join("variable");
    let environment = |name: &str| (name == "PUA_STATE_DIR").then(|| variable.clone().into());
    let options = |state_dir: Option<&str>| Options {
        home: home.path().into(),
        state_dir: state_dir.map(Into::into),
        cwd: None,
    };
    let event = failure("1").to_string();
    let record = |options: &Options| {
        let line = verbs::run(Verb::Record, options, environment, event.as_bytes()).to_string();
        assert!(line.starts_with("updated\t1"), "{line}");
    };
    record(&options(None));
    assert!(variable.is_dir() && !home.path().join(".pua").exists());
    record(&options(named.to_str()));
    assert!(named.is_dir());
    record(&options(Some("")));
    assert!(home.states().is_dir());
    let homeless = Options::default();
    let line = verbs::run(Verb::Record, &homeless, environment, event.as_bytes());
    assert_eq!(line.to_string(), "ignored\t0\t0\t-");
}

#[test]
fn the_workspace_can_be_named() {
    let home = Home::new();
    let mut event = failure("1");
    event["cwd"] = json!(null);
    let options = Options {
        home: home.path().into(),
        state_dir: None,
        cwd: Some("/srv/hp-project".into()),
    };
    let line = verbs::run(Verb::Record, &options, |_| None, event.to_string().as_bytes());
    assert_eq!(line.scope.as_ref(), Some(&crate::scope()));
    assert!(home.run(Verb::Checkpoint, &pre_compact()).starts_with("saved\t1"));
}
