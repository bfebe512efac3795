//! An installation for a whole machine, in an `/etc` of its own: a mount that no other process sees.

use std::process::Command;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, before, run};

/// Runs a script in which `/etc` is empty and may be written; none where this user may not mount.
fn with_an_empty_etc(world: &World, script: &str) -> Option<Outcome> {
    let within = |script: &str| {
        let script = format!(
            "mount -t tmpfs -o mode=755 tmpfs /etc && echo 127.0.0.1 localhost > /etc/hosts && exec sh -ec '{script}'"
        );
        let mut command: Command = world.command("/usr/bin/unshare");
        command.args(["--mount", "/bin/sh", "-c", &script]);
        command
            .env_remove("HOLDPOINT_CONFIG")
            .env("PATH", "/usr/bin:/bin");
        run(command, b"")
    };
    let may = within("true").code == Some(0);
    if !may {
        eprintln!("NOT RUN: only root can give a process an /etc of its own");
    }
    may.then(|| within(script))
}

/// What stands between two lines `== NAME` and `==`.
fn part<'t>(told: &'t str, name: &str) -> &'t str {
    let (_, rest) = told
        .split_once(&format!("== {name}\n"))
        .unwrap_or_else(|| panic!("{name}: {told}"));
    rest.split_once("\n==").map_or(rest, |(part, _)| part)
}

#[test]
fn a_machines_installation_guards_a_user_who_wants_it_looser() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]");
    let url = world.sim.as_ref().unwrap().url();
    let file = |name: &str| world.path(name).display().to_string();
    // What a user would like better.
    std::fs::create_dir_all(world.path("home/.config/holdpoint")).unwrap();
    world.write_private(
        "home/.config/holdpoint/config.toml",
        "policy.unknown_tool = \"pass\"\nzerto.verify = false\nzerto.url = \"https://127.0.0.1:1\"\n",
    );
    world.write_private(
        "change",
        &before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" })).to_string(),
    );
    world.write_private("unknown", &before("mcp__nobody__knows", json!({})).to_string());
    let script = format!(
        "{HOLDPOINT} init --level managed --url {url} --username admin --secret-file {password} --ca-file {ca}\n\
         echo \"== modes\"; stat -c %a /etc/holdpoint/config.toml /etc/claude-code/managed-settings.json\n\
         echo \"== settings\"; cat /etc/claude-code/managed-settings.json; echo; echo \"==\"\n\
         echo \"== change\"; {HOLDPOINT} hook --config /etc/holdpoint/config.toml < {change}; echo; echo \"==\"\n\
         echo \"== unknown\"; {HOLDPOINT} hook --config /etc/holdpoint/config.toml < {unknown}; echo; echo \"==\"\n\
         echo \"== layered\"; {HOLDPOINT} hook < {unknown}; echo; echo \"==\"\n\
         echo \"== doctor\"; {HOLDPOINT} doctor --json --config /etc/holdpoint/config.toml || true; echo \"==\"\n\
         {HOLDPOINT} init --uninstall --level managed\n\
         echo \"== left\"; ls /etc/claude-code | wc -l; echo \"==\"",
        password = file("password"),
        ca = file("ca.pem"),
        change = file("change"),
        unknown = file("unknown"),
    );
    let Some(outcome) = with_an_empty_etc(&world, &script) else {
        return;
    };
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    world.assert_secret_kept(&outcome);
    let told = outcome.stdout.as_str();
    assert_eq!(
        part(told, "modes").lines().take(2).collect::<Vec<_>>(),
        ["644", "644"],
        "{told}"
    );
    let settings: Value = serde_json::from_str(part(told, "settings")).unwrap();
    let entry = &settings["hooks"]["PreToolUse"][0]["hooks"][0];
    assert_eq!(
        (&entry["args"], &entry["onFailure"]),
        (
            &json!(["hook", "--config", "/etc/holdpoint/config.toml"]),
            &json!("block")
        )
    );
    assert!(part(told, "change").contains("additionalContext"), "{told}");
    assert!(part(told, "unknown").contains("\"ask\""), "{told}");
    // Without a name of a configuration the user's counts too, under the machine's.
    assert!(part(told, "layered").contains("\"ask\""), "{told}");
    let doctor: Value = serde_json::from_str(part(told, "doctor")).unwrap();
    let broken: Vec<&Value> = doctor["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["severity"] == "broken")
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(part(told, "left").trim(), "0", "{told}");
}
