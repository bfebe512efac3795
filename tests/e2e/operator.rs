//! Faults that an operator ran into, through the real process.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::installation::Installed;
use crate::managed::{PROGRAM, home, own_secret, part, with_an_empty_etc};
use crate::support::{Outcome, World, assert_blocks, before, chmod, run};

const TWO: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'web01' }]\n\n\
                   [[vpgs]]\nname = 'DB-VPG'\ninstant = true\nvms = [{ name = 'db01' }]";

fn fix(finding: &Value) -> &str {
    finding["mend"].as_str().unwrap_or_default()
}

#[test]
fn a_call_that_ran_elsewhere_is_of_both_machines_and_restores_neither_untouched_one() {
    let world = World::with_zvm(TWO);
    world.configure("receipts.mode = 'audit'");
    let receipts = |arguments: &[&str]| -> Outcome {
        let mut command = world.command(HOLDPOINT);
        command.arg("receipts").args(arguments);
        run(command, b"")
    };
    assert_eq!(receipts(&["keygen"]).code, Some(0));
    let call = |machine: &str, id: &str| {
        let mut event = before("mcp__esxi__powerOff", json!({ "name": machine }));
        event["tool_use_id"] = id.into();
        event
    };
    world.hook(HOLDPOINT, &call("db01", "toolu_earlier"));
    world.hook(HOLDPOINT, &call("web01", "toolu_changed"));
    let mut ended = call("db01", "toolu_changed");
    ended["hook_event_name"] = "PostToolUse".into();
    ended["tool_response"] = json!("done");
    world.hook(HOLDPOINT, &ended);
    for vm in ["web01", "db01"] {
        let listed = receipts(&["list", "--json", "--vm", vm]).stdout;
        assert!(listed.contains("toolu_changed"), "{vm}: {listed}");
    }
    let shown = receipts(&["show", "toolu_changed"]).stdout;
    assert!(shown.contains("db01 has no checkpoint of this call"), "{shown}");
    assert!(shown.contains("restore the VM from the journal: db01"), "{shown}");
    assert!(!shown.contains("journal: web01"), "{shown}");
}

#[test]
fn local_faults_of_the_zvm_are_found_offline_and_online_with_their_cause() {
    type Case = (fn(&Installed), &'static str, &'static str);
    let cases: [Case; 5] = [
        (
            |installed| fs::remove_file(installed.world.path("password")).unwrap(),
            "zvm.login",
            "password",
        ),
        (
            |installed| installed.world.write_private("password", ""),
            "zvm.login",
            "password",
        ),
        (
            |installed| fs::remove_file(installed.world.path("ca.pem")).unwrap(),
            "zvm.trust",
            "ca.pem",
        ),
        (
            |installed| {
                fs::write(installed.world.path("ca.pem"), "garbage").unwrap();
            },
            "zvm.trust",
            "ca.pem",
        ),
        (
            |installed| {
                installed.world.configure("zerto.login = 'client-credentials'");
            },
            "zvm.login",
            "zerto.client_id",
        ),
    ];
    for (broken, check, words) in cases {
        let installed = Installed::new();
        installed.write_settings();
        broken(&installed);
        for arguments in [&["--offline"][..], &[]] {
            let report = installed.doctor(arguments);
            let Some(finding) = report.trouble(check, words) else {
                panic!("{check} {words} {arguments:?}: {:#}", report.value)
            };
            assert_eq!(finding["severity"], "broken", "{finding:#}");
            assert!(fix(finding).contains(words), "{finding:#}");
        }
    }
}

#[test]
fn of_two_own_entries_in_one_file_one_is_left() {
    let mut installed = Installed::new();
    let mut other = installed.entry("PreToolUse");
    other["timeout"] = json!(400);
    let group = json!({ "matcher": "mcp__.*", "hooks": [other] });
    installed.settings["hooks"]["PreToolUse"]
        .as_array_mut()
        .unwrap()
        .push(group);
    installed.write_settings();
    let report = installed.doctor(&["--offline"]);
    let finding = report.trouble("hook.twice", "two entries").unwrap();
    assert!(fix(finding).contains("take out one of the two"), "{finding:#}");
}

#[test]
fn unknown_permission_modes_are_refused_with_the_known_ones() {
    let world = World::without_zvm();
    world.configure("ask.deny_in_modes = ['dontask']");
    let outcome = world.hook(HOLDPOINT, &before("mcp__nobody__knows", json!({})));
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    for words in ["'dontask'", "dontAsk", "bypassPermissions"] {
        assert!(outcome.stderr.contains(words), "{words}: {outcome:?}");
    }
}

#[test]
fn a_matcher_with_blanks_at_its_ends_is_not_broken() {
    let mut installed = Installed::new();
    installed.matcher("mcp__.* ");
    installed.write_settings();
    let report = installed.doctor(&["--offline"]);
    assert!(report.troubles().is_empty(), "{:#}", report.value);
}

#[test]
fn a_log_that_is_a_link_to_nowhere_cannot_be_written() {
    let installed = Installed::new();
    installed.write_settings();
    let folder = installed.world.path("home/.local/state/holdpoint");
    fs::create_dir_all(&folder).unwrap();
    symlink("/nonexistent/decisions.log", folder.join("decisions.log")).unwrap();
    let report = installed.doctor(&["--offline"]);
    let finding = report.trouble("log", "decisions.log leads nowhere").unwrap();
    assert!(fix(finding).contains("or set log.path"), "{finding:#}");
}

#[test]
fn settings_that_cannot_be_read_are_one_finding() {
    let installed = Installed::new();
    fs::create_dir(installed.settings_path()).unwrap();
    let report = installed.doctor(&["--offline"]);
    assert!(
        report.trouble("settings.unreadable", "settings.json").is_some(),
        "{:#}",
        report.value
    );
    assert!(report.trouble("hook.missing", "").is_none(), "{:#}", report.value);
}

#[test]
fn a_policy_store_that_others_may_write_is_fixed_by_its_mode() {
    let installed = Installed::new();
    installed.write_settings();
    let store = installed.world.path("home/.local/share/holdpoint/policies");
    fs::create_dir_all(&store).unwrap();
    chmod(&store, 0o777);
    let report = installed.doctor(&["--offline"]);
    let finding = report.trouble("policy", "policies").unwrap();
    assert!(fix(finding).starts_with("chmod go-w "), "{finding:#}");
}

#[ignore = "needs root"]
#[test]
fn files_of_the_machine_that_a_user_owns_are_found_and_its_configuration_is_refused() {
    let world = home("2.1.332");
    world.write_private("event", &before("mcp__nobody__knows", json!({})).to_string());
    let script = format!(
        "cp {ca} /etc/ca.pem; chmod 644 /etc/ca.pem; mkdir -m 777 /var/lib/nobody\n\
         {PROGRAM} init --level managed --url {url} --username admin --secret-file {password} --ca-file /etc/ca.pem > /dev/null\n\
         {own}\n\
         mkdir /etc/claude-code/managed-settings.d; cp {event} /etc/event; chmod 644 /etc/event\n\
         chown 65534 /etc/ca.pem /etc/claude-code/managed-settings.json /etc/claude-code/managed-settings.d\n\
         as_nobody() {{ cd /; HOME=/var/lib/nobody setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"; }}\n\
         echo \"== root\"; {PROGRAM} doctor --json --offline || true; echo; echo \"==\"\n\
         echo \"== user\"; as_nobody {PROGRAM} doctor --json --offline || true; echo; echo \"==\"\n\
         chown 65534 /etc/holdpoint/config.toml\n\
         as_nobody {PROGRAM} hook < /etc/event",
        ca = world.path("ca.pem").display(),
        url = world.sim.as_ref().unwrap().url(),
        password = world.path("password").display(),
        own = own_secret(&world),
        event = world.path("event").display(),
    );
    let outcome = with_an_empty_etc(&world, &script);
    for name in ["root", "user"] {
        let report: Value = serde_json::from_str(part(&outcome.stdout, name))
            .unwrap_or_else(|_| panic!("{name}: {outcome:?}"));
        for words in ["/etc/ca.pem", "managed-settings.json", "managed-settings.d"] {
            let findings = report["findings"].as_array().unwrap();
            let is_it = |finding: &&Value| {
                finding["found"].as_str().unwrap().contains(words) && fix(finding).contains("chown root")
            };
            assert!(
                findings.iter().any(|finding| is_it(&finding)),
                "{name} {words}: {report:#}"
            );
        }
    }
    let refused = Outcome {
        stdout: String::new(),
        ..outcome
    };
    assert_blocks(&refused, "chown root /etc/holdpoint/config.toml");
}
