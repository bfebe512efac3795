//! The command line, as people and harnesses use it.

use serde_json::json;

use crate::HOLDPOINT;
use crate::support::{Outcome, World, before, run};

fn with_arguments(arguments: &[&str]) -> Outcome {
    let world = World::without_zvm();
    let mut command = world.command(HOLDPOINT);
    command.args(arguments);
    run(
        command,
        before("mcp__nobody__knows", json!({})).to_string().as_bytes(),
    )
}

#[test]
fn without_arguments_it_is_the_hook() {
    for arguments in [&[][..], &["hook"], &["hook", "--harness", "claude-code"]] {
        let outcome = with_arguments(arguments);
        assert_eq!(
            (outcome.decision().as_str(), outcome.code),
            ("ask", Some(0)),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_named_configuration_is_used_and_has_to_be_there() {
    let world = World::without_zvm();
    world.write_private("strict.toml", "policy.unknown_tool = 'deny'");
    let run_with = |file: &str| {
        let mut command = world.command(HOLDPOINT);
        command.args(["hook", "--config"]).arg(world.path(file));
        run(
            command,
            before("mcp__nobody__knows", json!({})).to_string().as_bytes(),
        )
    };
    assert_eq!(run_with("strict.toml").decision(), "deny");
    let outcome = run_with("nowhere.toml");
    assert_eq!(outcome.decision(), "deny");
    assert!(outcome.text().contains("nowhere.toml"), "{}", outcome.text());
}

#[test]
fn a_wrong_command_line_blocks_and_says_what_is_wrong() {
    for arguments in [
        &["hok"][..],
        &["hook", "--harness", "emacs"],
        &["hook", "--confg", "x"],
        &["--nonsense"],
    ] {
        let outcome = with_arguments(arguments);
        assert_eq!(
            (outcome.stdout.as_str(), outcome.code),
            ("", Some(2)),
            "{arguments:?}"
        );
        assert!(
            outcome.stderr.contains(arguments.last().unwrap()) || outcome.stderr.contains(arguments[1]),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for (argument, words) in [("--help", "Example"), ("--version", env!("CARGO_PKG_VERSION"))] {
        let outcome = with_arguments(&[argument]);
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)));
        assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    }
    let outcome = with_arguments(&["hook", "--help"]);
    assert!(
        outcome.stdout.contains("Example") && outcome.code == Some(0),
        "{}",
        outcome.stdout
    );
}
