//! Where `status` says armed and where it does not: right installations that look odd are no alarm, and one cause is told once.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::broken_entries::{as_plugin, beside, command, line, words};
use crate::installation::Installed;
use crate::support::chmod;

/// What `doctor` finds, apart from what is good and what is worth knowing, and whether `status` says armed.
fn troubles(installed: &Installed) -> (Vec<String>, bool) {
    let report = installed.doctor(&[]);
    let status = installed.run(&["status", "--json"]);
    let told: Value = serde_json::from_str(&status.stdout).unwrap_or_else(|_| panic!("{status:?}"));
    let armed = told["armed"] == true;
    assert_eq!(status.code, Some(if armed { 0 } else { 5 }), "{told:#}");
    let found = report
        .findings()
        .iter()
        .filter(|finding| report.troubles().contains(&finding["check"].as_str().unwrap()));
    let found = found.filter(|finding| finding["severity"] != "good" && finding["severity"] != "notice");
    (
        found
            .map(|finding| format!("{} {}", finding["check"], finding["found"]))
            .collect(),
        armed,
    )
}

#[test]
fn right_installations_that_look_odd_are_no_trouble() {
    type Variation = fn(&mut Installed);
    let variations: [(&str, Variation); 16] = [
        ("env", |installed| words(installed, "/usr/bin/env", &["A=b"])),
        ("nice", |installed| {
            words(installed, "/usr/bin/nice", &["-n", "5"]);
        }),
        ("timeout", |installed| {
            words(installed, "/usr/bin/timeout", &["400"]);
        }),
        ("a prefix", |installed| installed.matcher("^mcp__")),
        ("anchored", |installed| installed.matcher("^mcp__.+$")),
        ("one underscore", |installed| installed.matcher("mcp_.*")),
        ("look-ahead", |installed| installed.matcher("^(?!Bash)mcp__.*")),
        ("everything", |installed| installed.matcher("*")),
        ("nothing", |installed| installed.matcher("")),
        ("a link", |installed| {
            let link = installed.world.path("path/holdpoint");
            symlink(HOLDPOINT, &link).unwrap();
            installed.gate()["command"] = json!(link);
        }),
        ("a linter", |installed| {
            beside(
                installed,
                "PreToolUse",
                json!({ "matcher": "Bash|Edit", "hooks": [command("true")] }),
            );
        }),
        ("hooks not disabled", |installed| {
            installed.settings["disableAllHooks"] = json!(false);
        }),
        ("variables", |installed| {
            installed.settings["env"] = json!({ "CLAUDE_CODE_SIMPLE": "0", "FOO": "bar" });
        }),
        ("the same entry twice", |installed| {
            let group = installed.settings["hooks"]["PreToolUse"][0].clone();
            beside(installed, "PreToolUse", group);
        }),
        ("an hour", |installed| installed.gate()["timeout"] = json!(3_600)),
        ("a plugin", as_plugin),
    ];
    for (name, vary) in variations {
        let mut installed = Installed::new();
        vary(&mut installed);
        installed.write_settings();
        assert_eq!(troubles(&installed), (vec![], true), "{name}");
    }
}

#[test]
fn status_says_armed_only_where_calls_are_judged() {
    type Breaking = fn(&mut Installed);
    let breakings: [(&str, Breaking); 8] = [
        ("replaced by nothing", |installed| installed.wrap("exit 0")),
        ("the answer is swallowed", |installed| {
            installed.wrap(&format!("{HOLDPOINT} \"$@\" > /dev/null; exit 0"));
        }),
        ("only what can be read is swallowed", |installed| {
            installed.wrap(&format!("{HOLDPOINT} \"$@\" > \"$0.out\"; exit $?"));
        }),
        ("the exit code is lost", |installed| line(installed, "{} || true")),
        ("a matcher that is none", |installed| {
            installed.matcher("mcp__(.*");
        }),
        ("milliseconds", |installed| {
            installed.gate()["timeout"] = json!(3_600_000);
        }),
        ("dropped", |installed| installed.gate()["timeout"] = json!(0)),
        ("it hangs", |installed| {
            installed.wrap("exec sleep 60");
            installed.gate()["timeout"] = json!(1);
        }),
    ];
    for (name, breaking) in breakings {
        let mut installed = Installed::new();
        breaking(&mut installed);
        installed.write_settings();
        let (found, armed) = troubles(&installed);
        assert!(!armed && !found.is_empty(), "{name}: {found:?}");
    }
    // A guard that denies everything is armed.
    let installed = Installed::new();
    installed.write_settings();
    installed.world.configure("[zreto]");
    let (found, armed) = troubles(&installed);
    assert!(armed && found.len() == 1, "{found:?}");
}

/// The configuration in the place where it is looked for when no entry names it.
fn in_its_usual_place(installed: &Installed) {
    let folder = installed.world.path("home/.config/holdpoint");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(installed.world.path("config.toml"), folder.join("config.toml")).unwrap();
}

#[test]
fn one_cause_is_one_finding() {
    let found = |breaking: fn(&mut Installed)| {
        let mut installed = Installed::new();
        breaking(&mut installed);
        in_its_usual_place(&installed);
        installed.write_settings();
        let report = installed.doctor(&[]);
        report
            .troubles()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(|installed| installed.settings["hooks"] = json!({})),
        ["hook.missing"]
    );
    assert_eq!(
        found(|installed| installed.settings["disableAllHooks"] = json!(true)),
        ["hook.off"]
    );
    assert_eq!(
        found(|installed| installed.gate()["timeout"] = json!(0)),
        ["settings.schema"]
    );
    assert_eq!(
        found(|installed| installed.settings["permissions"] = json!({ "allow": 1 })),
        ["settings.skipped"]
    );
    assert_eq!(found(|installed| installed.matcher("mcp__(.*")), ["hook.matcher"]);
    assert_eq!(
        found(|installed| installed.wrap("exit 0")),
        ["hook.program", "selftest"]
    );
    assert_eq!(
        found(|installed| installed.gate()["if"] = json!("Bash(ls)")),
        ["hook.condition"]
    );
    let everywhere = |installed: &mut Installed| {
        for event in [
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PreCompact",
            "SessionStart",
        ] {
            installed.settings["hooks"][event][0]["hooks"][0]["command"] = json!("/nonexistent/holdpoint");
        }
    };
    assert_eq!(found(everywhere), ["hook.program"]);
    assert_eq!(
        found(|installed| installed.world.configure("[zreto]")),
        ["configuration"]
    );
    // The ZVM is there and would be asked.
    assert_eq!(
        found(|installed| chmod(&installed.world.path("password"), 0o644)),
        ["configuration.secret"]
    );
    assert_eq!(
        found(|installed| chmod(&installed.world.path("ca.pem"), 0o666)),
        ["configuration.authority"]
    );
}

/// With a plugin that the harness is started with beside its settings.
#[test]
fn a_plugin_for_one_start_is_looked_at_where_it_is_named() {
    let mut installed = Installed::new();
    let folder = installed.world.path("plugin");
    let made = installed.run(&[
        "init",
        "--plugin",
        folder.to_str().unwrap(),
        "--config",
        installed.world.path("config.toml").to_str().unwrap(),
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    installed.settings = json!({});
    installed.write_settings();
    in_its_usual_place(&installed);
    assert_eq!(installed.doctor(&[]).troubles(), ["hook.missing"]);
    let report = installed.doctor(&["--plugin", folder.to_str().unwrap()]);
    assert_eq!(report.troubles(), Vec::<&str>::new(), "{:#}", report.value);
}
