//! Hook entries that look right and do not guard, and right ones that look odd.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::broken_table::{case, examine};
use crate::installation::Installed;
use crate::support::chmod;

/// The gate as a line for a shell, with the hook in the place of `{}`.
fn line(installed: &mut Installed, line: &str) {
    let hook = format!(
        "{HOLDPOINT} hook --config {}",
        installed.world.path("config.toml").display()
    );
    let gate = installed.gate().as_object_mut().unwrap();
    gate.remove("args");
    gate.insert("command".into(), json!(line.replace("{}", &hook)));
}

/// The gate as a program and its arguments, in front of the hook's own.
fn words(installed: &mut Installed, program: &str, before: &[&str]) {
    let config = installed.world.path("config.toml").display().to_string();
    let args: Vec<&str> = [before, &[HOLDPOINT, "hook", "--config", &config]].concat();
    installed.gate()["args"] = json!(args);
    installed.gate()["command"] = json!(program);
}

/// Adds a group under an event.
fn beside(installed: &mut Installed, event: &str, group: Value) {
    let hooks = installed.settings["hooks"].as_object_mut().unwrap();
    let groups = hooks.entry(event).or_insert_with(|| json!([]));
    groups.as_array_mut().unwrap().push(group);
}

fn command(line: &str) -> Value {
    json!({ "type": "command", "command": line })
}

/// Our entries as a plugin of the user's, which is enabled; the settings have none.
fn as_plugin(installed: &mut Installed) {
    let hooks = installed.settings["hooks"].take();
    let folder = installed
        .world
        .path("home/.claude/plugins/cache/shop/holdpoint/1.0.0");
    for folder in [folder.join("hooks"), folder.join(".claude-plugin")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(
        folder.join(".claude-plugin/plugin.json"),
        "{\"name\":\"holdpoint\"}",
    )
    .unwrap();
    fs::write(
        folder.join("hooks/hooks.json"),
        json!({ "hooks": hooks }).to_string(),
    )
    .unwrap();
    let registry = json!({ "version": 2, "plugins": { "holdpoint@shop": [{ "scope": "user", "installPath": folder }] } });
    fs::write(
        installed
            .world
            .path("home/.claude/plugins/installed_plugins.json"),
        registry.to_string(),
    )
    .unwrap();
    installed.settings = json!({ "enabledPlugins": { "holdpoint@shop": true } });
}

#[test]
fn what_stands_around_the_program_is_judged_by_what_it_does() {
    examine(&[
        case(
            |installed| line(installed, "{} || true"),
            "selftest",
            "broken",
            "the command line is",
        ),
        case(
            |installed| line(installed, "{}; exit 0"),
            "selftest",
            "broken",
            "the command line is",
        ),
        case(
            |installed| line(installed, "{} | cat"),
            "selftest",
            "broken",
            "the command line is",
        ),
        case(
            |installed| line(installed, "{} &"),
            "selftest",
            "broken",
            "is not stopped",
        ),
        case(
            |installed| line(installed, "{} > /dev/null"),
            "selftest",
            "broken",
            "held up",
        ),
        case(
            |installed| line(installed, "f=$(mktemp) && {} > $f; s=$?; rm -f $f; exit $s"),
            "selftest",
            "broken",
            "no objection",
        ),
        case(
            |installed| line(installed, "sh -c '{} || true'"),
            "selftest",
            "broken",
            "the command line is",
        ),
        case(
            |installed| line(installed, "echo guarded; {}"),
            "selftest",
            "broken",
            "the harness drops",
        ),
        case(
            |installed| {
                line(installed, "{} || true");
                let line = installed.gate()["command"].clone();
                installed.gate()["args"] = json!(["-c", line]);
                installed.gate()["command"] = json!("/bin/sh");
            },
            "selftest",
            "broken",
            "the command line is",
        ),
        case(
            |installed| words(installed, "/usr/bin/timeout", &["5"]),
            "hook.timeout",
            "caution",
            "has 5 s",
        ),
        case(
            |installed| {
                words(installed, "/usr/bin/timeout", &["-k", "1", "5"]);
                installed.gate().as_object_mut().unwrap().remove("onFailure");
            },
            "hook.timeout",
            "broken",
            "has 5 s",
        ),
        case(
            |installed| words(installed, "/nonexistent/env", &["A=b"]),
            "selftest",
            "broken",
            "cannot be started",
        ),
        case(
            |installed| {
                let gate = installed.gate();
                gate["command"] = json!("/usr/bin/env");
                gate["args"] = json!(["/nonexistent/holdpoint", "hook"]);
            },
            "hook.program",
            "broken",
            "not there",
        ),
    ]);
}

#[test]
fn programs_that_cannot_be_what_they_should_are_found() {
    examine(&[
        case(
            |installed| {
                installed.wrap("");
                fs::write(installed.world.path("path/holdpoint"), "").unwrap();
            },
            "hook.program",
            "broken",
            "is empty",
        ),
        case(
            |installed| {
                installed.wrap("");
                fs::write(
                    installed.world.path("path/holdpoint"),
                    "#!/nonexistent/sh\nexit 0\n",
                )
                .unwrap();
            },
            "hook.program",
            "broken",
            "/nonexistent/sh",
        ),
        case(
            |installed| {
                installed.wrap("");
                let mut program = fs::read(HOLDPOINT).unwrap();
                program[18..20].copy_from_slice(&243_u16.to_le_bytes());
                fs::write(installed.world.path("path/holdpoint"), program).unwrap();
            },
            "hook.program",
            "broken",
            "RISC-V",
        ),
        case(
            |installed| {
                installed.wrap("");
                fs::write(installed.world.path("path/holdpoint"), [0x00, 0x01, 0x02, 0x03]).unwrap();
            },
            "selftest",
            "broken",
            "played through",
        ),
        case(
            |installed| {
                installed.wrap(&format!("exec {HOLDPOINT} \"$@\""));
                chmod(&installed.world.path("path"), 0o777);
            },
            "hook.program",
            "caution",
            "can be changed by other users",
        ),
        case(
            |installed| {
                installed.wrap(&format!("exec {HOLDPOINT} \"$@\""));
                chmod(&installed.world.path("path/holdpoint"), 0o757);
            },
            "hook.program",
            "caution",
            "can be changed by other users",
        ),
        case(
            |installed| {
                installed.write_settings();
                chmod(&installed.world.path("home/.claude"), 0o777);
            },
            "settings.private",
            "caution",
            "home/.claude may be written by others",
        ),
        case(
            |installed| {
                installed.write_settings();
                let ours = installed.world.path("home/.config/holdpoint");
                fs::create_dir_all(&ours).unwrap();
                chmod(&ours, 0o777);
            },
            "settings.private",
            "caution",
            "holdpoint may be written by others",
        ),
    ]);
}

#[test]
fn matchers_that_look_right_are_held_against_tools_as_the_harness_does_it() {
    examine(&[
        case(
            |installed| installed.matcher("mcp__(.*"),
            "hook.matcher",
            "broken",
            "no regular expression",
        ),
        case(
            |installed| installed.matcher("mcp__.*)"),
            "hook.matcher",
            "broken",
            "no regular expression",
        ),
        case(
            |installed| installed.matcher("*mcp__.*"),
            "hook.matcher",
            "broken",
            "no regular expression",
        ),
        case(
            |installed| installed.matcher("(?i)mcp__.*"),
            "hook.matcher",
            "broken",
            "no regular expression",
        ),
        case(
            |installed| installed.matcher("^mcp$"),
            "hook.matcher",
            "broken",
            "in the catalogs",
        ),
        case(
            |installed| installed.matcher("mcp__esxi__.*"),
            "hook.matcher",
            "broken",
            "in the catalogs",
        ),
        case(
            |installed| installed.matcher("mcp__.*__get.*"),
            "hook.matcher",
            "broken",
            "all tools",
        ),
        case(
            |installed| installed.matcher("mcp__(?!.*powerOff).*"),
            "hook.matcher",
            "broken",
            "all tools",
        ),
        case(
            |installed| installed.matcher("(?i:mcp)__.*"),
            "hook.matcher",
            "caution",
            "cannot be told",
        ),
        case(
            |installed| installed.settings["hooks"]["PostToolUse"][0]["matcher"] = json!("mcp__(.*"),
            "hook.matcher",
            "caution",
            "does not hear",
        ),
        case(
            |installed| installed.settings["hooks"]["PostToolUse"][0]["matcher"] = json!("Bash"),
            "hook.matcher",
            "caution",
            "not on record",
        ),
    ]);
}

#[test]
fn values_that_turn_an_entry_off_are_found() {
    examine(&[
        case(
            |installed| installed.gate()["timeout"] = json!(3_600_000),
            "hook.timeout",
            "broken",
            "at once",
        ),
        case(
            |installed| installed.gate()["timeout"] = json!(1e300),
            "hook.timeout",
            "broken",
            "at once",
        ),
        case(
            |installed| installed.gate()["timeout"] = json!(360_000),
            "hook.timeout",
            "caution",
            "in seconds",
        ),
        case(
            |installed| installed.gate()["timeout"] = json!(0),
            "settings.schema",
            "broken",
            "no call is judged",
        ),
        case(
            |installed| installed.gate()["timeout"] = json!(-360),
            "settings.schema",
            "broken",
            "no call is judged",
        ),
        case(
            |installed| installed.gate()["timeout"] = json!("360"),
            "settings.schema",
            "broken",
            "no call is judged",
        ),
        case(
            |installed| installed.gate()["timeout"] = json!(null),
            "settings.schema",
            "broken",
            "no call is judged",
        ),
        case(
            |installed| installed.gate()["asyncRewake"] = json!(true),
            "hook.async",
            "broken",
            "async",
        ),
        case(
            |installed| installed.gate()["once"] = json!(true),
            "hook.once",
            "caution",
            "first call",
        ),
        case(
            |installed| {
                let folder = installed.world.path("project/.claude");
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join("settings.local.json"), "{\"disableAllHooks\":true}").unwrap();
            },
            "hook.off",
            "broken",
            "settings.local.json sets disableAllHooks",
        ),
        case(
            |installed| installed.settings["disableAllHooks"] = json!(true),
            "hook.off",
            "broken",
            "disableAllHooks",
        ),
        // The hook is started with the variables of the settings, and the entry names no configuration.
        case(
            |installed| {
                installed.gate()["args"] = json!(["hook"]);
                let broken = installed.world.path("other.toml");
                installed.world.write_private("other.toml", "[zreto]\n");
                installed.settings["env"] = json!({ "HOLDPOINT_CONFIG": broken });
            },
            "configuration",
            "broken",
            "zreto",
        ),
        case(
            |installed| {
                let other = installed.world.path("other.toml");
                installed.world.write_private("other.toml", "");
                let post = &mut installed.settings["hooks"]["PostToolUse"][0]["hooks"][0];
                post["args"] = json!(["hook", format!("--config={}", other.display())]);
            },
            "hook.configuration",
            "caution",
            "other.toml",
        ),
    ]);
}

#[test]
fn other_guards_hooks_and_agents_are_told_of() {
    examine(&[
        case(
            |installed| {
                let python = command("/opt/venv/bin/python /opt/hooks/zerto_guard_hook.py");
                beside(
                    installed,
                    "PreToolUse",
                    json!({ "matcher": "mcp__.*", "hooks": [python] }),
                );
            },
            "hook.beside",
            "caution",
            "original Zerto hook",
        ),
        case(
            |installed| {
                beside(
                    installed,
                    "PreToolUse",
                    json!({ "hooks": [command("asqav hook pretool")] }),
                );
            },
            "hook.beside",
            "caution",
            "asqav",
        ),
        case(
            |installed| {
                beside(
                    installed,
                    "PostToolUse",
                    json!({ "hooks": [command("/opt/venv/bin/asqav hook posttool")] }),
                );
            },
            "hook.beside",
            "caution",
            "asqav",
        ),
        case(
            |installed| {
                beside(
                    installed,
                    "PreToolUse",
                    json!({ "matcher": "mcp__esxi__powerOff", "hooks": [command("true")] }),
                );
            },
            "hook.others",
            "notice",
            "updatedInput",
        ),
        case(
            |installed| {
                beside(
                    installed,
                    "PermissionRequest",
                    json!({ "hooks": [command("true")] }),
                );
            },
            "hook.others",
            "notice",
            "PermissionRequest",
        ),
        case(
            |installed| {
                let tool = json!({ "type": "mcp_tool", "server": "esxi", "tool": "powerOff" });
                beside(installed, "Stop", json!({ "hooks": [tool] }));
            },
            "hook.mcp-tool",
            "caution",
            "calls powerOff",
        ),
        case(
            |installed| {
                let tool = json!({ "type": "mcp_tool", "server": "esxi", "tool": "powerOff" });
                beside(
                    installed,
                    "PreToolUse",
                    json!({ "matcher": "Bash", "hooks": [tool] }),
                );
            },
            "hook.mcp-tool",
            "caution",
            "calls powerOff",
        ),
        case(
            |installed| {
                fs::write(installed.world.path("path/codex"), "").unwrap();
            },
            "agents",
            "notice",
            "Codex is on this machine",
        ),
        case(
            |installed| {
                fs::create_dir(installed.world.path("home/.codex")).unwrap();
                let config = "[mcp_servers.esxi]\ncommand = 'esxi-mcp'\n";
                fs::write(installed.world.path("home/.codex/config.toml"), config).unwrap();
            },
            "agents",
            "caution",
            "esxi in",
        ),
        case(
            |installed| {
                fs::create_dir(installed.world.path("home/.gemini")).unwrap();
                let config = json!({ "mcpServers": { "notes": { "command": "x" } } });
                fs::write(
                    installed.world.path("home/.gemini/settings.json"),
                    config.to_string(),
                )
                .unwrap();
            },
            "agents",
            "notice",
            "Gemini CLI",
        ),
        case(
            |installed| {
                as_plugin(installed);
                installed.settings["enabledPlugins"]["holdpoint@shop"] = json!(false);
            },
            "hook.missing",
            "broken",
            "PreToolUse",
        ),
    ]);
}

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
