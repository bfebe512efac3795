//! An installation for a whole machine, in an `/etc` of its own: a mount that no other process sees.

use std::process::Command;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, before, chmod, run};

/// The program, where an administrator puts it.
pub(crate) const PROGRAM: &str = "/usr/local/bin/holdpoint";

/// Runs a script in which `/etc` and `/var/lib` are empty and may be written, root's home is the world's, and the program lies
/// in `/usr/local/bin`.
pub(crate) fn with_an_empty_etc(world: &World, script: &str) -> Outcome {
    let within = |script: &str| {
        let script = format!(
            "mount -t tmpfs -o mode=755 tmpfs /etc && echo 127.0.0.1 localhost > /etc/hosts && \
             mount -t tmpfs -o mode=755 tmpfs /usr/local/bin && cp {HOLDPOINT} /usr/local/bin/holdpoint && \
             mount -t tmpfs -o mode=755 tmpfs /var/lib && echo root:x:0:0::$HOME:/bin/sh > /etc/passwd && \
             echo nobody:x:65534:65534::/var/lib/nobody:/bin/sh >> /etc/passwd && exec sh -ec '{script}'"
        );
        let mut command: Command = world.command("/usr/bin/unshare");
        command.args(["--mount", "/bin/sh", "-c", &script]);
        command
            .env_remove("HOLDPOINT_CONFIG")
            .env("PATH", "/usr/bin:/bin");
        run(command, b"")
    };
    let may = within("true");
    assert_eq!(
        may.code,
        Some(0),
        "only root can give a process an /etc of its own: {may:?}"
    );
    within(script)
}

/// What stands between two lines `== NAME` and `==`.
pub(crate) fn part<'t>(told: &'t str, name: &str) -> &'t str {
    let (_, rest) = told
        .split_once(&format!("== {name}\n"))
        .unwrap_or_else(|| panic!("{name}: {told}"));
    rest.split_once("\n==").map_or(rest, |(part, _)| part)
}

#[ignore = "needs root"]
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
        "{PROGRAM} init --level managed --url {url} --username admin --secret-file {password} --ca-file {ca}\n\
         {own}\n\
         echo \"== modes\"; stat -c %a /etc/holdpoint/config.toml /etc/claude-code/managed-settings.json\n\
         echo \"== settings\"; cat /etc/claude-code/managed-settings.json; echo; echo \"==\"\n\
         echo \"== change\"; {PROGRAM} hook --config /etc/holdpoint/config.toml < {change}; echo; echo \"==\"\n\
         echo \"== unknown\"; {PROGRAM} hook --config /etc/holdpoint/config.toml < {unknown}; echo; echo \"==\"\n\
         echo \"== layered\"; {PROGRAM} hook < {unknown}; echo; echo \"==\"\n\
         echo \"== doctor\"; {PROGRAM} doctor --json --config /etc/holdpoint/config.toml || true; echo \"==\"\n\
         {PROGRAM} init --uninstall --level managed\n\
         echo \"== left\"; ls /etc/claude-code | wc -l; echo \"==\"",
        own = own_secret(&world),
        password = file("password"),
        ca = file("ca.pem"),
        change = file("change"),
        unknown = file("unknown"),
    );
    let outcome = with_an_empty_etc(&world, &script);
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

/// Gives root a secret of its own in place of one file for all: another user may not read root's.
pub(crate) fn own_secret(world: &World) -> String {
    let password = world.path("password").display().to_string();
    format!(
        "mkdir -p $HOME; cp {password} $HOME/zerto-secret; chmod 600 $HOME/zerto-secret; \
         sed -i s,{password},~/zerto-secret, /etc/holdpoint/config.toml"
    )
}

/// A user's home with a client that says this version.
pub(crate) fn home(client: &str) -> World {
    let world = World::with_zvm("[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]");
    for folder in ["home/.claude", "home/.config/holdpoint", "path"] {
        std::fs::create_dir_all(world.path(folder)).unwrap();
    }
    std::fs::write(world.path("path/claude"), format!("#!/bin/sh\necho {client}\n")).unwrap();
    chmod(&world.path("path/claude"), 0o755);
    world
}

/// What `doctor` says there of a machine's installation, after these commands.
fn examined(world: &World, after: &str, variables: &str) -> Value {
    let script = format!(
        "{PROGRAM} init --level managed --url {url} --username admin --secret-file {password} --ca-file {ca} > /dev/null\n\
         {own}\n{after}\n\
         export PATH={path}:/usr/bin:/bin; {variables} {PROGRAM} doctor --json --offline || true",
        own = own_secret(world),
        url = world.sim.as_ref().unwrap().url(),
        password = world.path("password").display(),
        ca = world.path("ca.pem").display(),
        path = world.path("path").display(),
    );
    let outcome = with_an_empty_etc(world, &script);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{outcome:?}"))
}

/// The cautions and worse, each with its check.
pub(crate) fn bad(report: &Value) -> Vec<(&str, &str, &str)> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or_default();
            (text("check"), text("severity"), text("found"))
        })
        .filter(|(_, severity, _)| ["caution", "broken"].contains(severity))
        .collect()
}

#[ignore = "needs root"]
#[test]
fn a_program_that_users_cannot_start_or_could_replace_is_found() {
    // The entries of the managed settings then start the program from that folder.
    let moved = |folder: &str, more: &str| {
        format!(
            "mkdir -p {folder}; cp {PROGRAM} {folder}/holdpoint; {more}; \
             sed -i s,{PROGRAM},{folder}/holdpoint, /etc/claude-code/managed-settings.json"
        )
    };
    let cases = [
        (moved("/etc/fine/bin", "true"), None),
        (
            moved("/etc/closed/bin", "chmod 700 /etc/closed"),
            Some(("broken", "/etc/closed, which other users may not enter")),
        ),
        (
            moved("/etc/closed", "chmod 700 /etc/closed/holdpoint"),
            Some(("broken", "other users may not execute")),
        ),
        (
            moved("/etc/team", "chown 0:100 /etc/team; chmod 750 /etc/team"),
            Some(("caution", "/etc/team, which other users")),
        ),
        (
            format!(
                "mkdir -m 700 /etc/closed; {}",
                moved(
                    "/etc/closed/bin",
                    "mkdir /etc/open; ln -s /etc/closed/bin/holdpoint /etc/open/holdpoint"
                )
            ) + "; sed -i s,/etc/closed/bin,/etc/open, /etc/claude-code/managed-settings.json",
            Some(("broken", "/etc/closed, which other users may not enter")),
        ),
        (
            moved("/etc/open", "chmod 777 /etc/open"),
            Some(("caution", "/etc/open can be changed by users other than root")),
        ),
        (
            moved("/etc/user", "chown 1000 /etc/user"),
            Some(("caution", "/etc/user can be changed by users other than root")),
        ),
        (
            moved("/etc/user", "chown 1000 /etc/user/holdpoint"),
            Some(("caution", "holdpoint can be changed by users other than root")),
        ),
        (
            moved("/etc/noexec", "true").replace(
                "mkdir -p /etc/noexec;",
                "mkdir -p /etc/noexec; mount -t tmpfs -o mode=755,noexec tmpfs /etc/noexec;",
            ),
            Some(("broken", "noexec")),
        ),
    ];
    for (after, expected) in cases {
        let report = examined(&home("2.1.332"), &after, "");
        let found = bad(&report);
        match expected {
            None => assert_eq!(found, [], "{after}"),
            Some((severity, words)) => {
                let [(check, told, text)] = found.as_slice() else {
                    panic!("{after}: {found:#?}")
                };
                assert_eq!((*check, *told), ("hook.program", severity), "{after}: {text}");
                assert!(text.contains(words), "{after}: {text}");
            }
        }
    }
}

#[ignore = "needs root"]
#[test]
fn managed_hooks_run_where_hooks_are_skipped_in_clients_that_do_that() {
    for (client, variables, expected) in [
        ("2.1.281", "CLAUDE_CODE_SIMPLE=1", vec!["client.version"]),
        ("2.1.332", "CLAUDE_CODE_SAFE_MODE=1", vec![]),
        ("2.1.280", "CLAUDE_CODE_SIMPLE=0", vec!["client.version"]),
        (
            "2.1.280",
            "CLAUDE_CODE_SIMPLE=1",
            vec!["client.version", "client.switch"],
        ),
        ("nothing", "CLAUDE_CODE_SIMPLE=1", vec!["client.switch"]),
    ] {
        let report = examined(&home(client), "true", variables);
        let checks: Vec<&str> = bad(&report).into_iter().map(|(check, _, _)| check).collect();
        assert_eq!(checks, expected, "{client} {variables}: {report:#}");
    }
}

#[ignore = "needs root"]
#[test]
fn a_table_of_the_machines_that_hides_a_users_is_named() {
    let world = home("2.1.332");
    world.write_private(
        "home/.config/holdpoint/config.toml",
        "[ask]\ndeny_in_modes = []\n[zerto]\nurl = 'https://x'\nlongest_wait_seconds = 60\n",
    );
    // Entries that name no configuration: the user's file counts under the machine's.
    let entry = json!({ "type": "command", "command": PROGRAM, "args": ["hook"], "timeout": 360, "onFailure": "block" });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "mcp__.*", "hooks": [entry] }] } });
    world.write_private("managed.json", &settings.to_string());
    let after = format!(
        "cp {} /etc/claude-code/managed-settings.json; chmod 644 /etc/claude-code/managed-settings.json",
        world.path("managed.json").display()
    );
    let report = examined(&world, &after, "");
    let found = bad(&report);
    let hidden: Vec<_> = found
        .iter()
        .filter(|(check, _, _)| *check == "configuration.hidden")
        .collect();
    let [(_, severity, text)] = hidden.as_slice() else {
        panic!("{report:#}")
    };
    assert_eq!(*severity, "caution");
    for words in [
        "zerto in /etc/holdpoint/config.toml replaces your zerto table",
        "longest_wait_seconds then stand nowhere",
    ] {
        assert!(text.contains(words), "{text}");
    }
}

#[ignore = "needs root"]
#[test]
fn managed_settings_that_users_cannot_read_are_found() {
    for (after, words) in [
        (
            "chmod 600 /etc/claude-code/managed-settings.json",
            "managed-settings.json is closed",
        ),
        ("chmod 700 /etc/claude-code", "/etc/claude-code is closed"),
    ] {
        let report = examined(&home("2.1.332"), after, "");
        let found = bad(&report);
        let [(check, severity, text)] = found.as_slice() else {
            panic!("{after}: {found:#?}")
        };
        assert_eq!((*check, *severity), ("settings.unreadable", "broken"), "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[ignore = "needs root"]
#[test]
fn the_machines_deadline_counts_before_a_users_file_is_read() {
    let world = World::without_zvm();
    // Standard input is a pipe that is open for writing as well, so that the event never comes and never ends.
    let script = format!(
        "mkdir /etc/holdpoint; echo \"deadline_seconds = 1\" > /etc/holdpoint/config.toml\n\
         mkfifo {pipe} {stdin}; exec 9<>{stdin}; export HOLDPOINT_CONFIG={pipe}\n\
         echo \"== told\"; {HOLDPOINT} hook <&9 2>&1 || echo \" code $?\"; echo \"==\"\n",
        pipe = world.path("pipe").display(),
        stdin = world.path("stdin").display()
    );
    let outcome = with_an_empty_etc(&world, &script);
    // At the machine's deadline, and not at the default's 330 s.
    assert!(part(&outcome.stdout, "told").contains("code 2"), "{outcome:?}");
    assert!(
        outcome.took < std::time::Duration::from_secs(10),
        "{:?}",
        outcome.took
    );
}

/// What root makes under a strict umask is closed to everybody else, whose hooks then deny every call.
#[ignore = "needs root"]
#[test]
fn a_policy_store_that_only_root_can_enter_is_found_by_root_and_by_others() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]");
    let script = format!(
        "cp {ca} /etc/ca.pem; chmod 644 /etc/ca.pem; mkdir /var/lib/nobody; chown 65534 /var/lib/nobody\n\
         {PROGRAM} init --level managed --url {url} --username admin --secret-file {password} --ca-file /etc/ca.pem\n\
         {own}; cp {password} /var/lib/nobody/zerto-secret; chown 65534 /var/lib/nobody/zerto-secret\n\
         echo \"== config\"; cat /etc/holdpoint/config.toml; echo \"==\"\n\
         as_nobody() {{ cd /; HOME=/var/lib/nobody setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"; }}\n\
         mkdir -p /var/lib/holdpoint/policies; chmod 755 /var/lib/holdpoint/policies\n\
         echo \"== open root\"; {PROGRAM} doctor --json --offline || true; echo \"==\"\n\
         echo \"== open user\"; as_nobody {PROGRAM} doctor --json --offline || true; echo \"==\"\n\
         chmod 700 /var/lib/holdpoint/policies\n\
         echo \"== closed root\"; {PROGRAM} doctor --json --offline || true; echo \"==\"\n\
         echo \"== closed user\"; as_nobody {PROGRAM} doctor --json --offline || true; echo \"==\"\n\
         chmod 750 /etc/holdpoint\n\
         echo \"== config root\"; {PROGRAM} doctor --json --offline || true; echo \"==\"\n\
         echo \"== config user\"; as_nobody {PROGRAM} doctor --json --offline || true; echo \"==\"",
        own = own_secret(&world),
        ca = world.path("ca.pem").display(),
        password = world.path("password").display(),
        url = world.sim.as_ref().unwrap().url(),
    );
    let outcome = with_an_empty_etc(&world, &script);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let told = outcome.stdout.as_str();
    let config = part(told, "config");
    for words in [
        "\"~/.local/state/holdpoint/decisions.log\"",
        "\"~/.local/state/holdpoint/receipts\"",
        "\"/var/lib/holdpoint/policies\"",
    ] {
        assert!(config.contains(words), "{words}: {config}");
    }
    let found = |name: &str, check: &str| -> Vec<Value> {
        let report: Value =
            serde_json::from_str(part(told, name)).unwrap_or_else(|_| panic!("{name}: {told}"));
        let findings = report["findings"].as_array().unwrap().iter();
        let bad = findings.filter(|finding| finding["severity"] == "broken");
        bad.filter(|finding| check.is_empty() || finding["check"] == check)
            .cloned()
            .collect()
    };
    for name in ["open root", "open user"] {
        assert_eq!(found(name, ""), Vec::<Value>::new(), "{name}");
    }
    for (name, check, fix) in [
        (
            "closed root",
            "policy.reach",
            "chmod a+rx /var/lib/holdpoint/policies",
        ),
        ("closed user", "policy", "chmod a+rx /var/lib/holdpoint/policies"),
        ("config root", "policy.reach", "chmod a+rx /etc/holdpoint"),
        ("config user", "configuration", "chmod a+rx /etc/holdpoint"),
    ] {
        let findings = found(name, check);
        let mend = |finding: &Value| finding["mend"].as_str().is_some_and(|mend| mend.contains(fix));
        assert!(findings.iter().any(mend), "{name}: {findings:#?}");
        // One cause is one finding: the calls that are held up by it are not listed again.
        assert!(found(name, "selftest").is_empty(), "{name}: {told}");
    }
}
