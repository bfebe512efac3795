//! Passwords in addresses: they are refused with the key's name, and stand in nothing that any command prints or writes.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_denies, before, run};

const CANARY: &str = "c4nary-p4ssw0rd";

fn run_with(world: &World, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Outcome {
    let mut command = world.command(HOLDPOINT);
    command.args(arguments).envs(variables.iter().copied());
    run(command, input.as_bytes())
}

/// Whether any file below this folder holds the canary; the configuration does, of course.
fn written_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(written_below(&path));
        } else if path.file_name().is_some_and(|name| name != "config.toml")
            && fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(CANARY))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[track_caller]
fn assert_kept(world: &World, outcome: &Outcome) {
    for text in [&outcome.stdout, &outcome.stderr] {
        assert!(!text.contains(CANARY), "{text}");
    }
    assert_eq!(written_below(&world.path("")), Vec::<String>::new());
}

fn change() -> String {
    before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" })).to_string()
}

#[test]
fn a_password_in_an_address_is_refused_and_no_command_shows_it() {
    let addresses = [
        format!("https://admin:{CANARY}@zvm.example"),
        format!("https://{CANARY}@zvm.example"),
        format!("https://admin:{CANARY}/#?@zvm.example"),
    ];
    for address in &addresses {
        for (key, more) in [
            ("zerto.url", ""),
            (
                "receipts.asqav_url",
                "receipts.mode = 'gate'\nreceipts.signer = 'asqav'",
            ),
        ] {
            let world = World::without_zvm();
            world.configure_bare(&format!("{key} = \"{address}\"\n{more}\n"));
            let outcome = run_with(&world, &["hook"], &[], &change());
            assert_denies(&outcome, &format!("{key} holds a user or a password"));
            assert_kept(&world, &outcome);
            for verb in [
                &["doctor"][..],
                &["doctor", "--json"],
                &["doctor", "--fix"],
                &["status"],
                &["status", "--json"],
                &["explain"],
                &["explain", "--json"],
                &["policy", "list"],
                &["policy", "verify", "x.wasm"],
                &["receipts", "list"],
                &["receipts", "keygen"],
                &["receipts", "verify"],
                &["session", "show"],
                &["test", "shipped", "."],
                &["replay", "shipped", "."],
                &["init", "--level", "user"],
                &["init", "--uninstall"],
            ] {
                assert_kept(&world, &run_with(&world, verb, &[], &change()));
            }
        }
    }
}

#[test]
fn a_value_of_the_wrong_kind_is_not_quoted() {
    let address = format!("https://admin:{CANARY}@zvm.example");
    for lines in [
        format!("deadline_seconds = '{address}'"),
        format!("zerto = '{address}'"),
        format!("zerto.login = '{address}'"),
        format!("zerto.ca_file = '{address}'"),
        format!("zerto.secret_file = '{CANARY}'"),
        format!("zerto.secret_command = '{address}'"),
        format!("policy.shadow = '{address}'"),
        format!("policy.revoked = ['{address}']"),
        format!("policy.require.version = '{address}'"),
        format!("receipts.mode = '{address}'"),
        format!("log.path = '{address}'"),
        format!("zerto.url = '{address}"),
    ] {
        let world = World::without_zvm();
        world.configure_bare(&lines);
        for verb in [&["hook"][..], &["doctor", "--json"], &["status"], &["explain"]] {
            let outcome = run_with(&world, verb, &[], &change());
            assert!(
                !outcome.stdout.is_empty() || outcome.code == Some(2),
                "{lines}: {outcome:?}"
            );
            assert_kept(&world, &outcome);
        }
    }
}

#[test]
fn a_password_on_a_command_line_or_in_a_variable_is_refused_and_not_shown() {
    let address = format!("https://admin:{CANARY}@127.0.0.1:1/x");
    let world = World::without_zvm();
    for (verb, code) in [
        (
            &[
                "init",
                "--level",
                "user",
                "--username",
                "u",
                "--secret-env",
                "S",
                "--url",
                &address,
            ][..],
            3,
        ),
        (&["policy", "pull", &address], 3),
        (
            &[
                "policy",
                "pull",
                &format!("admin:{CANARY}@registry.example/a/b:1"),
            ],
            3,
        ),
        (&["receipts", "export", "--otlp", &address], 3),
        (
            &["receipts", "serve", "--token-file", "/t", "--listen", &address],
            2,
        ),
        (&["explain", "--nosuch", &address], 2),
    ] {
        let outcome = run_with(&world, verb, &[], "");
        assert_eq!(outcome.code, Some(code), "{verb:?}: {outcome:?}");
        assert_kept(&world, &outcome);
    }
    world.configure_bare("receipts.mode = 'gate'\nreceipts.signer = 'asqav'");
    assert_eq!(run_with(&world, &["receipts", "keygen"], &[], "").code, Some(0));
    let account = [
        ("ASQAV_API_KEY", "sk_test_x"),
        ("ASQAV_AGENT_ID", "a"),
        ("ASQAV_API_URL", address.as_str()),
    ];
    let read = before("mcp__esxi__listVMs", json!({})).to_string();
    let outcome = run_with(&world, &["hook"], &account, &read);
    assert_denies(&outcome, "ASQAV_API_URL");
    assert_kept(&world, &outcome);
    assert_kept(
        &world,
        &run_with(&world, &["doctor", "--json", "--offline"], &account, ""),
    );
}
