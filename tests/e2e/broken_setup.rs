//! Installations whose entry, folders or names are wrong: `doctor` names each of them, and what chose the configuration.

use std::fs;

use serde_json::{Value, json};

use crate::broken_table::{case, examine};
use crate::installation::Installed;
use crate::support::{Outcome, before, chmod, run};
use crate::{HOLDPOINT, support};

#[test]
fn entries_and_configurations_that_a_variable_could_move_are_found() {
    examine(&[
        case(
            |installed| installed.gate()["args"] = json!(["hook"]),
            "configuration.entry",
            "caution",
            "names no configuration",
        ),
        // There is one to name, and it is.
        case(
            |installed| {
                fs::create_dir_all(installed.world.path("home/.config/holdpoint")).unwrap();
                let usual = installed.world.path("home/.config/holdpoint/config.toml");
                fs::copy(installed.world.path("config.toml"), usual).unwrap();
                installed.gate()["args"] = json!(["hook"]);
            },
            "configuration.entry",
            "caution",
            "doctor --fix",
        ),
        case(
            |installed| installed.gate()["args"] = json!(["hook", "--config", "config.toml"]),
            "configuration",
            "broken",
            "does not begin with '/'",
        ),
        case(
            |installed| {
                installed.world.name_places(false);
            },
            "configuration.places",
            "caution",
            "zerto.directory, policy.store, log.path, session.directory",
        ),
    ]);
}

#[test]
fn files_of_servers_that_name_none_are_found() {
    examine(&[
        case(
            |installed| fs::write(installed.world.path("project/.mcp.json"), "{ mcpServers: }").unwrap(),
            "servers.unreadable",
            "caution",
            "is not JSON (line 1, column 3)",
        ),
        case(
            |installed| fs::write(installed.world.path("home/.claude.json"), "[]").unwrap(),
            "servers.unreadable",
            "caution",
            ".claude.json is not a JSON object",
        ),
        case(
            |installed| fs::create_dir(installed.world.path("project/.mcp.json")).unwrap(),
            "servers.unreadable",
            "caution",
            "it is a folder",
        ),
    ]);
    // A byte order mark is none of it.
    let installed = Installed::new();
    installed.write_settings();
    fs::write(
        installed.world.path("project/.mcp.json"),
        "\u{feff}{\"mcpServers\":{}}",
    )
    .unwrap();
    assert_eq!(installed.doctor(&["--offline"]).troubles(), Vec::<&str>::new());
}

#[test]
fn folders_that_cannot_be_used_are_found() {
    fn in_the_place_of(installed: &Installed, folder: &str) {
        let path = installed.world.path("home/.local/state/holdpoint").join(folder);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    examine(&[
        case(
            |installed| in_the_place_of(installed, "sessions"),
            "session",
            "caution",
            "not a directory",
        ),
        case(
            |installed| {
                installed.world.configure("policy.session_ask_level = 2");
                in_the_place_of(installed, "sessions");
            },
            "session",
            "broken",
            "every change is denied",
        ),
        case(
            |installed| {
                installed.world.configure("record.enabled = true");
                in_the_place_of(installed, "records");
            },
            "record",
            "caution",
            "not a directory",
        ),
        case(
            |installed| {
                let folder = installed.world.path("home/.local/state/holdpoint/zerto");
                fs::create_dir_all(&folder).unwrap();
                chmod(&folder, 0o755);
            },
            "zerto.directory",
            "caution",
            "share no checkpoints",
        ),
    ]);
}

#[test]
fn a_signer_without_an_account_and_unknown_machines_are_found() {
    fn with_signer(installed: &Installed, mode: &str) {
        let lines = format!("receipts.mode = '{mode}'\nreceipts.signer = 'asqav'");
        installed.world.configure(&lines);
        let config = installed.world.path("config.toml").display().to_string();
        assert_eq!(
            installed.run(&["receipts", "keygen", "--config", &config]).code,
            Some(0)
        );
    }
    examine(&[
        case(
            |installed| with_signer(installed, "audit"),
            "receipts.signer",
            "caution",
            "ASQAV_API_KEY and ASQAV_AGENT_ID",
        ),
        case(
            |installed| with_signer(installed, "gate"),
            "receipts.signer",
            "broken",
            "every call is denied",
        ),
        case(
            |installed| installed.world.configure("policy.machines.bastion = 'nosuch01'"),
            "zvm.machines",
            "caution",
            "policy.machines.bastion maps to the VM 'nosuch01', which Zerto does not know",
        ),
        case(
            |installed| {
                installed
                    .world
                    .configure("policy.servers.linux.machine = 'nosuch02'");
            },
            "zvm.machines",
            "caution",
            "policy.servers.linux.machine",
        ),
    ]);
    // One cause is one finding: what the gate denies for want of an account is not said again call by call.
    let installed = Installed::new();
    installed.write_settings();
    with_signer(&installed, "gate");
    let report = installed.doctor(&[]);
    assert_eq!(report.troubles(), ["receipts.signer"], "{:#}", report.value);
}

#[test]
fn a_name_of_several_machines_is_found_and_a_right_one_is_not() {
    let installed = Installed::with(
        "[[vpgs]]\nname = 'A'\ninstant = true\nvms = [{ name = 'web01' }, { name = 'twin', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-1' }]\n\
         [[vpgs]]\nname = 'B'\ninstant = true\nvms = [{ name = 'twin', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-2' }]",
    );
    installed.write_settings();
    installed
        .world
        .configure("policy.machines.one = 'WEB01'\npolicy.machines.two = 'twin'");
    let report = installed.doctor(&[]);
    let finding = report.trouble("zvm.machines", "policy.machines.two").unwrap();
    assert!(
        finding["found"].as_str().unwrap().contains("2 VMs"),
        "{finding:#}"
    );
    assert!(
        report.trouble("zvm.machines", "policy.machines.one").is_none(),
        "{:#}",
        report.value
    );
}

/// A world with two configurations: the usual one, and another, which the entry names.
fn with_another_configuration() -> Installed {
    let installed = Installed::new();
    installed.write_settings();
    installed
        .world
        .configure("receipts.mode = 'audit'\npolicy.unknown_tool = 'deny'");
    fs::create_dir_all(installed.world.path("home/.config/holdpoint")).unwrap();
    let elsewhere = installed.world.path("elsewhere").display().to_string();
    installed.world.write_private(
        "home/.config/holdpoint/config.toml",
        &format!(
            "receipts.directory = '{elsewhere}/receipts'\nsession.directory = '{elsewhere}/sessions'\n\
             policy.store = '{elsewhere}/policies'\nlog.path = '{elsewhere}/log'"
        ),
    );
    installed
}

fn told(outcome: &Outcome) -> String {
    format!("{}{}", outcome.stdout, outcome.stderr)
}

#[test]
fn every_command_uses_the_configuration_that_the_entry_names_and_says_so() {
    let installed = with_another_configuration();
    let config = installed.world.path("config.toml").display().to_string();
    let remark = format!("using the configuration {config}, which the hook entry in ");
    let state = installed.world.path("home/.local").display().to_string();
    let keygen = installed.run(&["receipts", "keygen"]);
    assert!(
        keygen.stdout.contains(&state) && keygen.stderr.contains(&remark),
        "{keygen:?}"
    );
    installed
        .world
        .hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({})));
    for (verb, words) in [
        (&["receipts", "list"][..], "listVMs"),
        (&["receipts", "verify"], "the last one is #"),
        (&["policy", "list"], "nothing is in force"),
        (&["session", "show", "--json"], state.as_str()),
    ] {
        let outcome = installed.run(verb);
        assert!(told(&outcome).contains(words), "{verb:?}: {outcome:?}");
        assert!(outcome.stderr.contains(&remark), "{verb:?}: {outcome:?}");
        // What is said on the command line wins.
        let usual = installed.world.path("home/.config/holdpoint/config.toml");
        let outcome = installed.run(&[verb, &["--config", usual.to_str().unwrap()]].concat());
        assert!(
            !told(&outcome).contains(&state) && !told(&outcome).contains(&remark),
            "{outcome:?}"
        );
    }
    let unlisted = before("mcp__nobody__knows", json!({})).to_string();
    let explained = run(installed.command(&["explain", "--json"]), unlisted.as_bytes());
    let value: Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(value["branches"][0]["verdict"], "deny", "{value:#}");
    assert!(explained.stderr.contains(&remark), "{explained:?}");
    let status: Value = serde_json::from_str(&installed.run(&["status", "--json"]).stdout).unwrap();
    assert_eq!(status["configuration"], config.as_str());
}

#[test]
fn an_entry_may_name_the_configuration_by_a_variable() {
    let mut installed = with_another_configuration();
    let config = installed.world.path("config.toml").display().to_string();
    let gate = installed.gate().as_object_mut().unwrap();
    gate.insert("args".into(), json!(["hook"]));
    installed.settings["env"] = json!({ "HOLDPOINT_CONFIG": config });
    installed.write_settings();
    let outcome = installed.run(&["policy", "list"]);
    assert!(outcome.stderr.contains(&config), "{outcome:?}");
}

#[test]
fn a_key_that_signs_nothing_yet_says_so() {
    let world = support::World::without_zvm();
    let keygen = |world: &support::World| {
        let mut command = world.command(HOLDPOINT);
        command.args(["receipts", "keygen"]);
        run(command, b"")
    };
    let outcome = keygen(&world);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome
            .stdout
            .contains("signs none yet, since receipts.mode is \"off\""),
        "{outcome:?}"
    );
    let world = support::World::without_zvm();
    world.configure("receipts.mode = 'audit'");
    assert!(keygen(&world).stdout.contains("signs receipts from now on"));
}
