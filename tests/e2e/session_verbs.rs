//! The original helper's verbs through the real process.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::session::{command, event, failure};
use crate::support::World;

const VECTORS: &str = include_str!("../../host/session/tests/fixtures/session-state-vectors.json");

#[test]
fn the_verbs_answer_every_step_as_the_original_did() {
    let cases: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let mut steps = 0;
    for case in &cases {
        let world = World::without_zvm();
        let (home, states) = (world.path("home"), world.path("home/.pua/runtime-state"));
        let after = case["files_after"].as_object().unwrap();
        if let Some(before) = case["preexisting_state"].as_str() {
            fs::create_dir_all(&states).unwrap();
            fs::write(states.join(after.keys().next().unwrap()), before).unwrap();
        }
        for step in case["steps"].as_array().unwrap() {
            let arguments = [
                step["operation"].as_str().unwrap(),
                "--home",
                home.to_str().unwrap(),
            ];
            let output = command(&world, &arguments, step["stdin"].as_str().unwrap());
            assert_eq!(
                (
                    output.status.code().map(i64::from),
                    String::from_utf8(output.stdout).unwrap()
                ),
                (step["exit"].as_i64(), step["stdout"].as_str().unwrap().to_owned()),
                "{}: {step}",
                case["name"]
            );
            steps += 1;
        }
        assert_eq!(&files_without_times(&states), after, "{}", case["name"]);
    }
    assert_eq!(steps, 213);
}

fn files_without_times(directory: &Path) -> serde_json::Map<String, Value> {
    let mut files = serde_json::Map::new();
    for file in fs::read_dir(directory).into_iter().flatten() {
        let path = file.unwrap().path();
        let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for pointer in ["/created_at", "/updated_at", "/checkpoint/saved_at"] {
            if let Some(time) = state.pointer_mut(pointer) {
                *time = "<time>".into();
            }
        }
        files.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), state);
    }
    files
}

#[test]
fn a_wrong_command_line_of_a_verb_ends_as_the_originals_did() {
    let world = World::without_zvm();
    let home = world.path("home");
    let home = home.to_str().unwrap();
    let payload = failure("call-1").to_string();
    for arguments in [
        &["record"][..],
        &["record", "--home"],
        &["forget", "--home", home],
    ] {
        let output = command(&world, arguments, &payload);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(2), &b""[..])
        );
    }
    // The last one of an option that is given twice, values after an equals sign, and an empty home.
    let bash = event("PostToolUseFailure", json!({ "tool_name": "Bash" })).to_string();
    let equals = format!("--home={home}");
    let output = command(
        &world,
        &["record", "--home", "/nowhere", &equals, "--cwd", ""],
        &bash,
    );
    assert!(output.stdout.starts_with(b"updated\t1\t0\t"), "{output:?}");
    for (arguments, payload) in [
        (["record", "--home", ""], bash.as_str()),
        (["record", "--home", home], "{"),
    ] {
        let output = command(&world, &arguments, payload);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(0), &b"ignored\t0\t0\t-\n"[..])
        );
    }
}

/// As Python's `argparse` reads them, with which the original was written.
#[test]
fn options_stand_before_the_verb_and_are_abbreviated_as_the_originals_were() {
    let world = World::without_zvm();
    let home = world.path("home");
    let home = home.to_str().unwrap();
    for (number, arguments) in [
        vec!["--home", home, "record"],
        vec!["--ho", home, "record", "--cw", ""],
        vec!["--cwd=", "record", &format!("--hom={home}")],
        vec!["--home", "/nowhere", "record", "--home", home],
    ]
    .into_iter()
    .enumerate()
    {
        let mut payload = event("PostToolUseFailure", json!({ "tool_name": "Bash" }));
        payload["tool_use_id"] = format!("call-{number}").into();
        let output = command(&world, &arguments, &payload.to_string());
        let line = String::from_utf8(output.stdout).unwrap();
        assert!(
            line.starts_with(&format!("updated\t{}\t", number + 1)),
            "{arguments:?}: {line}"
        );
    }
}
