//! What the machine's level means for a user's: files that only root can read, and hooks of its own only.

use serde_json::{Value, json};

use crate::managed::{PROGRAM, bad, home, own_secret, part, with_an_empty_etc};
use crate::support::World;

/// Settings with a gate.
fn gate() -> Value {
    let entry = json!({
        "type": "command", "command": PROGRAM, "args": ["hook", "--config", "/etc/holdpoint/config.toml"],
        "timeout": 360, "onFailure": "block"
    });
    json!({ "hooks": { "PreToolUse": [{ "matcher": "mcp__.*", "hooks": [entry] }] } })
}

/// Puts a machine's installation there.
fn installed(world: &World) -> String {
    format!(
        "{PROGRAM} init --level managed --url {url} --username admin --secret-file {password} --ca-file /etc/ca.pem > /dev/null; {own}",
        own = own_secret(world),
        url = world.sim.as_ref().unwrap().url(),
        password = world.path("password").display(),
    )
}

/// Examines as root and as another user, and says what `doctor` and `status` print.
fn examined(world: &World, before: &str) -> String {
    let script = format!(
        "cp {ca} /etc/ca.pem; chmod 644 /etc/ca.pem; mkdir -m 777 /var/lib/nobody\n{before}\n\
         as_nobody() {{ cd /; HOME=/var/lib/nobody setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"; }}\n\
         export PATH={path}:/usr/bin:/bin\n\
         echo \"== doctor root\"; {PROGRAM} doctor --json --offline || true; echo; echo \"==\"\n\
         echo \"== status root\"; {PROGRAM} status --json || true; echo; echo \"==\"\n\
         echo \"== doctor user\"; as_nobody {PROGRAM} doctor --json --offline || true; echo; echo \"==\"\n\
         echo \"== status user\"; as_nobody {PROGRAM} status --json || true; echo; echo \"==\"",
        ca = world.path("ca.pem").display(),
        path = world.path("path").display(),
    );
    let outcome = with_an_empty_etc(world, &script);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.stdout
}

fn report(told: &str, name: &str) -> Value {
    serde_json::from_str(part(told, name)).unwrap_or_else(|_| panic!("{name}: {told}"))
}

#[ignore = "needs root"]
#[test]
fn a_configuration_of_the_machine_that_users_cannot_read_is_found_by_root_and_by_others() {
    let world = home("2.1.332");
    let closed = format!("{}; chmod 600 /etc/holdpoint/config.toml", installed(&world));
    let told = examined(&world, &closed);
    for (name, check) in [
        ("doctor root", "policy.reach"),
        ("status root", "policy.reach"),
        ("doctor user", "configuration"),
        ("status user", "configuration"),
    ] {
        let report = report(&told, name);
        let broken: Vec<&Value> = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["severity"] == "broken")
            .collect();
        // One cause is one finding.
        let [finding] = broken.as_slice() else {
            panic!("{name}: {broken:#?}")
        };
        assert_eq!(finding["check"], check, "{name}: {finding:#}");
        assert!(
            finding["found"]
                .as_str()
                .unwrap()
                .contains("/etc/holdpoint/config.toml"),
            "{name}: {finding:#}"
        );
        assert!(
            finding["mend"]
                .as_str()
                .unwrap()
                .contains("chmod a+r /etc/holdpoint/config.toml"),
            "{name}: {finding:#}"
        );
    }
}

#[ignore = "needs root"]
#[test]
fn entries_of_users_and_projects_do_not_count_where_only_managed_hooks_run() {
    let world = home("2.1.332");
    let only = "mkdir -p /etc/claude-code; echo \"{\\\"allowManagedHooksOnly\\\": true}\" > \
                /etc/claude-code/managed-settings.json; chmod 644 /etc/claude-code/managed-settings.json";
    for file in [
        "home/.claude/settings.json",
        "project/.claude/settings.json",
        "project/.claude/settings.local.json",
    ] {
        let path = world.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        world.write_private(file, &gate().to_string());
        // The machine's configuration is there, and its hook is not.
        let script = |more: &str| format!("{}; rm -r /etc/claude-code; {more}", installed(&world));
        let told = examined(&world, &script("true"));
        assert_eq!(report(&told, "status root")["armed"], true, "{file}: {told}");
        let told = examined(&world, &script(only));
        assert_eq!(report(&told, "status root")["armed"], false, "{file}: {told}");
        let doctor = report(&told, "doctor root");
        let off: Vec<_> = bad(&doctor)
            .into_iter()
            .filter(|(check, _, _)| *check == "hook.off")
            .collect();
        let [(_, severity, text)] = off.as_slice() else {
            panic!("{file}: {doctor:#}")
        };
        assert_eq!(*severity, "broken");
        for words in [file, "managed-settings.json sets allowManagedHooksOnly"] {
            assert!(text.contains(words), "{file}: {text}");
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[ignore = "needs root"]
#[test]
fn a_users_other_hook_is_told_of_unless_only_managed_hooks_run() {
    let world = home("2.1.332");
    let linter = json!({ "type": "command", "command": "true" });
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "*", "hooks": [linter] }] } });
    world.write_private("home/.claude/settings.json", &settings.to_string());
    let only = "mkdir /etc/claude-code/managed-settings.d; echo \"{\\\"allowManagedHooksOnly\\\": true}\" > \
                /etc/claude-code/managed-settings.d/only.json; chmod -R a+rX /etc/claude-code";
    for (more, is_told) in [("true", true), (only, false)] {
        let before = format!("{}; {more}", installed(&world));
        let told = examined(&world, &before);
        let doctor = report(&told, "doctor root");
        let findings = doctor["findings"].as_array().unwrap().iter();
        let others = findings
            .filter(|finding| finding["check"] == "hook.others")
            .count();
        assert_eq!(others > 0, is_told, "{more}: {doctor:#}");
        assert_eq!(report(&told, "status root")["armed"], true, "{more}: {told}");
    }
}
