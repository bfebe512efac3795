//! What the original answered, step by step.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Home, mode};

const VECTORS: &str = include_str!("../fixtures/session-state-vectors.json");

#[test]
fn every_step_is_answered_as_by_the_original() {
    let cases: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let mut steps = 0;
    for case in &cases {
        let home = Home::new();
        if let Some(before) = case["preexisting_state"].as_str() {
            fs::create_dir_all(home.states()).unwrap();
            fs::write(home.states().join(first_file(case)), before).unwrap();
        }
        for (number, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let name = format!("{} step {number}: {}", case["name"], step["stdin"]);
            let (exit, stdout) = run(&home, step);
            assert_eq!(i64::from(exit), step["exit"], "{name}");
            assert_eq!(stdout, step["stdout"], "{name}");
            steps += 1;
        }
        assert_eq!(files(&home.states()), case["files_after"], "{}", case["name"]);
    }
    assert_eq!(steps, 213);
}

/// The file that a case begins with is the one that it ends with.
fn first_file(case: &Value) -> &str {
    case["files_after"].as_object().unwrap().keys().next().unwrap()
}

fn run(home: &Home, step: &Value) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_session-verbs"))
        .arg(step["operation"].as_str().unwrap())
        .arg("--home")
        .arg(home.path())
        .env_remove("PUA_STATE_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = step["stdin"].as_str().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

/// All files with their contents, times left out, after a look at how they are written.
fn files(directory: &Path) -> Value {
    let Ok(entries) = fs::read_dir(directory) else {
        return Value::Object(serde_json::Map::new());
    };
    assert_eq!(mode(directory), 0o700);
    let mut files = serde_json::Map::new();
    for entry in entries {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600);
        let text = fs::read_to_string(&path).unwrap();
        let mut value: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(
            text,
            format!("{}\n", serde_json::to_string(&value).unwrap()),
            "sorted and compact"
        );
        for time in ["created_at", "updated_at"] {
            hide(value.get_mut(time).unwrap());
        }
        if let Some(checkpoint) = value.get_mut("checkpoint") {
            hide(&mut checkpoint["saved_at"]);
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        files.insert(name, serde_json::to_value(value).unwrap());
    }
    Value::Object(files)
}

fn hide(time: &mut Value) {
    let text = time.as_str().unwrap();
    assert!(text.len() == 20 && text.ends_with('Z'), "{text}");
    *time = "<time>".into();
}
