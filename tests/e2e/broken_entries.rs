//! Hook entries that look right and do not guard.

use std::fs;

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::broken_table::{case, examine};
use crate::installation::Installed;
use crate::support::chmod;

/// The gate as a line for a shell, with the hook in the place of `{}`.
pub(crate) fn line(installed: &mut Installed, line: &str) {
    let hook = format!(
        "{HOLDPOINT} hook --config {}",
        installed.world.path("config.toml").display()
    );
    let gate = installed.gate().as_object_mut().unwrap();
    gate.remove("args");
    gate.insert("command".into(), json!(line.replace("{}", &hook)));
}

/// The gate as a program and its arguments, in front of the hook's own.
pub(crate) fn words(installed: &mut Installed, program: &str, before: &[&str]) {
    let config = installed.world.path("config.toml").display().to_string();
    let args: Vec<&str> = [before, &[HOLDPOINT, "hook", "--config", &config]].concat();
    installed.gate()["args"] = json!(args);
    installed.gate()["command"] = json!(program);
}

/// Adds a group under an event.
pub(crate) fn beside(installed: &mut Installed, event: &str, group: Value) {
    let hooks = installed.settings["hooks"].as_object_mut().unwrap();
    let groups = hooks.entry(event).or_insert_with(|| json!([]));
    groups.as_array_mut().unwrap().push(group);
}

pub(crate) fn command(line: &str) -> Value {
    json!({ "type": "command", "command": line })
}

/// Our entries as a plugin of the user's, which is enabled; the settings have none.
pub(crate) fn as_plugin(installed: &mut Installed) {
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
