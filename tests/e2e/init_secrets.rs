//! Where the secret comes from, and what becomes of a call where it does not.

use std::fs;

use serde_json::json;

use crate::HOLDPOINT;
use crate::init::{HEALTHY, User, assert_done};
use crate::support::{World, before, chmod};

#[test]
fn a_secret_comes_from_a_program_or_says_why_it_does_not() {
    let user = User::new();
    let ca = user.ca_file();
    let script = |name: &str, text: &str| {
        let path = user.world.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        chmod(&path, 0o700);
        path.display().to_string()
    };
    let password = user.world.path("password").display().to_string();
    let good = script("good", "cat \"$1\"; echo");
    let url = user.url();
    let base = [
        "--level",
        "user",
        "--url",
        &url,
        "--username",
        "admin",
        "--ca-file",
        &ca,
    ];
    let with = |command: &str| user.init(&[&base[..], &["--secret-command", command]].concat());
    assert_done(&with(&format!("{good} {password}")));
    assert!(
        user.config().contains("secret_command = [\""),
        "{}",
        user.config()
    );
    assert_eq!(user.call().decision(), "context");

    for (command, words) in [
        (script("fails", "cat \"$0.none\"; exit 7"), "exit status: 7"),
        (script("silent", "true"), "printed nothing"),
        (user.world.path("missing").display().to_string(), "is not there"),
    ] {
        let outcome = with(&command);
        assert_done(&outcome);
        assert!(
            outcome.stdout.contains("cannot be read yet") && outcome.stdout.contains(words),
            "{outcome:?}"
        );
        let call = user.call();
        assert_eq!(call.decision(), "deny");
        assert!(
            call.text().contains(words) && call.text().contains("zerto.secret_command"),
            "{}",
            call.text()
        );
    }
    let open = script("open", "cat \"$1\"");
    chmod(&user.world.path("open"), 0o777);
    assert!(with(&open).stdout.contains("chmod go-w"));
}

#[test]
fn a_program_that_does_not_tell_the_secret_in_time_denies() {
    let world = World::with_zvm(HEALTHY);
    let slow = world.path("slow");
    fs::write(&slow, "#!/bin/sh\nsleep 600 & wait\n").unwrap();
    chmod(&slow, 0o700);
    let url = world.sim.as_ref().unwrap().url();
    world.configure_bare(&format!(
        "deadline_seconds = 3\nzerto.url = '{url}'\nzerto.username = 'admin'\nzerto.secret_command = ['{}']\nzerto.ca_file = '{}'\n",
        slow.display(),
        world.path("ca.pem").display()
    ));
    let outcome = world.hook(
        HOLDPOINT,
        &before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" })),
    );
    crate::support::assert_denies(&outcome, "was not done in time");
    assert!(world.sim.as_ref().unwrap().requests().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_keyring_that_is_not_there_denies_and_names_its_program() {
    let world = World::with_zvm(HEALTHY);
    let url = world.sim.as_ref().unwrap().url();
    world.configure_bare(&format!(
        "zerto.url = '{url}'\nzerto.username = 'admin'\nzerto.secret_keyring = 'zvm'\n"
    ));
    let outcome = world.hook(
        HOLDPOINT,
        &before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" })),
    );
    // Where the program is installed, there is no such item, and no session to ask.
    crate::support::assert_denies(&outcome, "/usr/bin/secret-tool");
}
