//! What `doctor` says of a right installation, captures where it is told to, and mends.

use serde_json::{Value, json};
use std::fs;

use crate::HOLDPOINT;
use crate::installation::{Installed, Report};
use crate::support::before;

#[test]
fn a_right_installation_has_nothing_to_mend_and_nothing_is_captured() {
    let installed = Installed::new();
    installed.write_settings();
    let report = installed.doctor(&[]);
    assert_eq!(
        (report.troubles(), report.code),
        (vec![], 0),
        "{:#}",
        report.value
    );
    for check in [
        "configuration",
        "settings",
        "hook.matcher",
        "client.version",
        "policy",
        "zvm",
        "zvm.certificate",
        "zvm.clock",
        "zvm.role",
        "zvm.version",
        "zvm.vpgs",
        "log",
        "selftest",
    ] {
        let good = report
            .findings()
            .iter()
            .any(|finding| finding["check"] == check && finding["severity"] == "good");
        assert!(good, "{check}: {:#}", report.value);
    }
    assert_eq!(installed.world.sim.as_ref().unwrap().checkpoints(), []);
    let fixed = installed.doctor(&["--fix"]);
    assert_eq!(fixed.value["mended"], json!([]));
}

#[test]
fn a_capture_is_really_taken_and_timed() {
    let installed =
        Installed::with("[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = 2000\nvms = [{ name = 'jp-ubuntu' }]");
    installed.write_settings();
    let report = installed.doctor(&["--capture", "JP-Ubuntu"]);
    let finding = report
        .findings()
        .iter()
        .find(|finding| finding["check"] == "capture")
        .unwrap();
    let sim = installed.world.sim.as_ref().unwrap();
    let [checkpoint] = sim.checkpoints().try_into().unwrap();
    assert_eq!(finding["severity"], "good", "{finding:#}");
    for words in [
        checkpoint.tag.as_str(),
        checkpoint.checkpoint_identifier.as_str(),
        "APP-VPG",
        "every 2.0 s",
        "captured in",
    ] {
        assert!(
            finding["found"].as_str().unwrap().contains(words),
            "{words}: {finding:#}"
        );
    }
    let report = installed.doctor(&["--capture", "nobody"]);
    assert!(
        report.trouble("capture", "knows no such VM").is_some(),
        "{:#}",
        report.value
    );
    assert_eq!((sim.checkpoints().len(), report.code), (1, 5));
}

#[test]
fn offline_asks_the_zvm_nothing() {
    let installed = Installed::new();
    installed.write_settings();
    let report = installed.doctor(&["--offline"]);
    assert_eq!(report.troubles(), Vec::<&str>::new(), "{:#}", report.value);
    assert_eq!(installed.world.sim.as_ref().unwrap().requests(), []);
}

#[test]
fn a_person_gets_the_same_in_lines() {
    let mut installed = Installed::new();
    installed.gate()["timeout"] = json!(60);
    installed.write_settings();
    let outcome = installed.run(&["doctor", "--offline"]);
    assert_eq!(outcome.code, Some(4));
    for words in [
        "caution hook.timeout",
        "why ",
        "mend holdpoint doctor --fix",
        "0 broken, 1 cautions",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
    assert!(!outcome.stdout.contains('\u{1b}'), "a pipe gets plain text");
}

#[test]
fn the_fix_leaves_everything_else_in_the_settings() {
    let mut installed = Installed::new();
    installed.settings["hooks"]["PreToolUse"][0]["hooks"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "type": "command", "command": "/usr/bin/true", "timeout": 5 }));
    let before = installed.settings.clone();
    installed.gate()["timeout"] = json!(60);
    installed.write_settings();
    let report = installed.doctor(&["--fix", "--offline"]);
    assert_eq!(
        report.value["mended"].as_array().unwrap().len(),
        1,
        "{:#}",
        report.value
    );
    let text = fs::read_to_string(installed.settings_path()).unwrap();
    let after: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(after["model"], before["model"]);
    let handlers = after["hooks"]["PreToolUse"].as_array().unwrap();
    let handlers: Vec<_> = handlers
        .iter()
        .flat_map(|group| group["hooks"].as_array().unwrap())
        .collect();
    assert!(
        handlers
            .iter()
            .any(|handler| handler["command"] == "/usr/bin/true"),
        "{after:#}"
    );
    let ours = handlers
        .iter()
        .find(|handler| handler["command"] == HOLDPOINT)
        .unwrap();
    assert!(ours["timeout"].as_f64().unwrap() > 330.0, "{after:#}");
    assert_eq!(ours["onFailure"], "block");
    assert_eq!(ours["args"], installed.entry("PreToolUse")["args"]);
}

#[test]
fn what_cannot_be_mended_is_told() {
    let mut installed = Installed::new();
    installed.gate()["timeout"] = json!(60);
    installed.settings["hooks"]["SessionStart"] = json!("none");
    installed.write_settings();
    let report = installed.doctor(&["--fix", "--offline"]);
    assert_eq!(report.value["mended"], json!([]));
    let told = report.value["not_mended"].to_string();
    assert!(
        told.contains("hooks.SessionStart is no list"),
        "{:#}",
        report.value
    );
    assert!(
        report.trouble("hook.timeout", "60 s").is_some(),
        "{:#}",
        report.value
    );
}

/// What the self-test does is on record like any other call, and is taken for no life and for nobody's decision.
#[test]
fn the_self_test_is_told_from_real_calls() {
    let installed = Installed::new();
    installed.write_settings();
    installed.world.configure("receipts.mode = 'audit'");
    let config = installed.world.path("config.toml").display().to_string();
    let receipts = |verb: &[&str]| installed.run(&[&["receipts", "--config", &config], verb].concat());
    assert_eq!(receipts(&["keygen"]).code, Some(0));
    let status = || -> Value {
        let outcome = installed.run(&["status", "--json"]);
        serde_json::from_str(&outcome.stdout).unwrap()
    };
    let severity = |report: &Report, check: &str| {
        let found = report.findings().iter().find(|finding| finding["check"] == check);
        found.unwrap_or_else(|| panic!("{check}: {:#}", report.value))["severity"].clone()
    };
    installed.doctor(&[]);
    let logged = installed.world.log();
    assert_eq!(
        logged.iter().filter(|line| line["session"] == "").count(),
        2,
        "{logged:#?}"
    );
    // Nor does what has no session count as life: an event that nobody could read.
    installed.world.hook_bytes(HOLDPOINT, b"[]");
    let report = installed.doctor(&[]);
    assert_eq!(severity(&report, "liveness"), "notice");
    assert_eq!(severity(&report, "receipts"), "good");
    let decisions = status()["decisions"].clone();
    assert_eq!(decisions.as_array().unwrap().len(), 1, "{decisions:#}");
    assert_eq!(decisions[0]["fault"], "event");

    installed
        .world
        .hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({})));
    assert_eq!(severity(&installed.doctor(&["--offline"]), "liveness"), "good");
    assert_eq!(status()["decisions"].as_array().unwrap().len(), 2);
    let listed: Value = serde_json::from_str(&receipts(&["list", "--json"]).stdout).unwrap();
    let real = listed
        .as_array()
        .unwrap()
        .iter()
        .filter(|call| call["self_test"] == false);
    assert_eq!(real.count(), 2, "{listed:#}");
    let page = installed.world.path("page.html").display().to_string();
    assert!(receipts(&["report", &page]).stdout.contains("shows 2 calls"));
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("of doctor") && !page.contains("holdpoint-doctor-no-such-vm"),
        "{page}"
    );
}
