//! Broken installations: `doctor` names each of them, and `--fix` mends those that it says it can.

use std::fs;

use serde_json::json;
use zvm_sim::Sim;

use crate::HOLDPOINT;
use crate::broken_table::{case, examine, of_zvm};
use crate::support::chmod;

#[test]
fn entries_that_do_not_guard_are_found() {
    examine(&[
        case(
            |installed| installed.gate()["command"] = json!("/nonexistent/holdpoint"),
            "hook.program",
            "broken",
            "not there",
        ),
        case(
            |installed| {
                installed.wrap("exit 0");
                chmod(&installed.world.path("path/holdpoint"), 0o644);
            },
            "hook.program",
            "broken",
            "cannot be executed",
        ),
        case(
            |installed| installed.gate()["command"] = json!("holdpoint"),
            "hook.program",
            "broken",
            "no absolute path",
        ),
        case(
            |installed| installed.gate()["async"] = json!(true),
            "hook.async",
            "broken",
            "async",
        ),
        case(
            |installed| installed.gate()["if"] = json!("mcp__esxi__powerOff"),
            "hook.condition",
            "broken",
            "powerOff",
        ),
        case(
            |installed| {
                installed.gate()["timeout"] = json!(60);
                installed.gate().as_object_mut().unwrap().remove("onFailure");
            },
            "hook.timeout",
            "broken",
            "60 s",
        ),
        case(
            |installed| installed.gate()["timeout"] = json!(60),
            "hook.timeout",
            "caution",
            "60 s",
        ),
        case(
            |installed| drop(installed.gate().as_object_mut().unwrap().remove("onFailure")),
            "hook.on-failure",
            "caution",
            "PreToolUse",
        ),
        case(
            |installed| {
                let entry = &mut installed.settings["hooks"]["PreCompact"][0]["hooks"][0];
                entry["onFailure"] = json!("block");
            },
            "hook.on-failure",
            "caution",
            "PreCompact",
        ),
        case(
            |installed| {
                let gate = installed.gate().as_object_mut().unwrap();
                gate.remove("args");
                gate["command"] = json!(format!("{HOLDPOINT} hook"));
            },
            "hook.shell",
            "caution",
            "shell",
        ),
        case(
            |installed| {
                let copy = installed.world.path("path/holdpoint");
                fs::copy(HOLDPOINT, &copy).unwrap();
                fs::OpenOptions::new()
                    .append(true)
                    .open(&copy)
                    .and_then(|mut file| std::io::Write::write_all(&mut file, b"another build"))
                    .unwrap();
                installed.gate()["command"] = json!(copy);
            },
            "hook.program",
            "caution",
            "another program",
        ),
    ]);
}

#[test]
fn matchers_that_miss_are_found() {
    examine(&[
        // A server alone is a whole name, and no tool has it.
        case(
            |installed| installed.matcher("mcp__esxi"),
            "hook.matcher",
            "broken",
            "mcp__.*",
        ),
        case(
            |installed| installed.matcher("MCP__.*"),
            "hook.matcher",
            "broken",
            "in the catalogs",
        ),
        case(
            |installed| {
                installed.matcher("mcp__esxi__.*");
                let servers = json!({ "mcpServers": { "my own": { "command": "x" } } });
                fs::write(installed.world.path("project/.mcp.json"), servers.to_string()).unwrap();
            },
            "hook.matcher",
            "broken",
            "configured here: my own",
        ),
        case(
            |installed| {
                let user = json!({ "mcpServers": { "jumphost": { "command": "x" } } });
                fs::write(installed.world.path("home/.claude.json"), user.to_string()).unwrap();
            },
            "servers.unknown",
            "notice",
            "jumphost",
        ),
        // Each as the client starts it: with a mark, half a surrogate pair, in a folder above, of one user's in a repository.
        case(
            |installed| {
                let text =
                    "\u{feff}{\"mcpServers\":{\"above\":{\"command\":\"x\"}},\"x\":\"\\ud83d\",\"y\":1e999}";
                fs::write(installed.world.path(".mcp.json"), text).unwrap();
            },
            "servers.unknown",
            "notice",
            "above",
        ),
        case(
            |installed| {
                let root = installed.world.path("");
                fs::create_dir(root.join(".git")).unwrap();
                let root = fs::canonicalize(root).unwrap();
                let user =
                    json!({ "projects": { root.to_str().unwrap(): { "mcpServers": { "mine": {} } } } });
                fs::write(installed.world.path("home/.claude.json"), user.to_string()).unwrap();
            },
            "servers.unknown",
            "notice",
            "mine",
        ),
        case(
            |installed| fs::write(installed.world.path("project/.mcp.json"), "{\"mcpServers\":").unwrap(),
            "servers.unreadable",
            "caution",
            "not JSON (line 1, column 15)",
        ),
    ]);
}

#[test]
fn hooks_that_are_missing_or_off_are_found() {
    examine(&[
        case(
            |installed| {
                drop(
                    installed.settings["hooks"]
                        .as_object_mut()
                        .unwrap()
                        .remove("PreToolUse"),
                );
            },
            "hook.missing",
            "broken",
            "PreToolUse",
        ),
        case(
            |installed| {
                let hooks = installed.settings["hooks"].as_object_mut().unwrap();
                hooks.remove("PostToolUseFailure");
            },
            "hook.missing",
            "caution",
            "PostToolUseFailure",
        ),
        case(
            |installed| {
                let folder = installed.world.path("project/.claude");
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join("settings.json"), "{\"disableAllHooks\":true}").unwrap();
            },
            "hook.off",
            "broken",
            "disableAllHooks",
        ),
        case(
            |installed| {
                let folder = installed.world.path("project/.claude");
                fs::create_dir(&folder).unwrap();
                let units = "{\"disableAllHooks\":true}"
                    .encode_utf16()
                    .flat_map(u16::to_le_bytes);
                let bytes: Vec<u8> = b"\xff\xfe".iter().copied().chain(units).collect();
                fs::write(folder.join("settings.json"), bytes).unwrap();
            },
            "hook.off",
            "broken",
            "disableAllHooks",
        ),
        case(
            |installed| {
                let folder = installed.world.path("project/.claude");
                fs::create_dir(&folder).unwrap();
                let text = format!(
                    "{{\"disableAllHooks\":true,\"x\":[\"\\ud83d\",1e999,{}{}]}}",
                    "[".repeat(130),
                    "]".repeat(130)
                );
                fs::write(folder.join("settings.local.json"), text).unwrap();
            },
            "hook.off",
            "broken",
            "disableAllHooks",
        ),
        case(
            |installed| {
                let folder = installed.world.path("project/.claude");
                fs::create_dir(&folder).unwrap();
                let text = format!(
                    "{{\"disableAllHooks\":true,\"x\":{}{}}}",
                    "[".repeat(50_000),
                    "]".repeat(50_000)
                );
                fs::write(folder.join("settings.json"), text).unwrap();
            },
            "settings.unreadable",
            "broken",
            "levels deep",
        ),
        case(
            |installed| installed.settings["env"] = json!({ "CLAUDE_CODE_SIMPLE": "1" }),
            "hook.off",
            "broken",
            "CLAUDE_CODE_SIMPLE",
        ),
        case(
            |installed| {
                installed.write_settings();
                let text = fs::read_to_string(installed.settings_path()).unwrap();
                fs::write(installed.settings_path(), format!("// mine\n{text}")).unwrap();
            },
            "settings.skipped",
            "broken",
            "comments",
        ),
        case(
            |installed| installed.settings["permissions"] = json!({ "allow": "everything" }),
            "settings.skipped",
            "broken",
            "permissions.allow",
        ),
        case(
            |installed| installed.settings["hooks"]["PostToolUse"][0]["hooks"][0]["timeout"] = json!("360"),
            "settings.schema",
            "caution",
            "timeout",
        ),
        case(
            |installed| {
                installed.write_settings();
                chmod(&installed.settings_path(), 0o666);
            },
            "settings.private",
            "caution",
            "written by others",
        ),
        case(
            |installed| {
                let folder = installed.world.path("project/.claude");
                fs::create_dir(&folder).unwrap();
                let mut other = installed.entry("PreToolUse");
                other["timeout"] = json!(400);
                let settings =
                    json!({ "hooks": { "PreToolUse": [{ "matcher": "mcp__.*", "hooks": [other] }] } });
                fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
            },
            "hook.twice",
            "caution",
            "project/.claude/settings.json",
        ),
    ]);
}

#[test]
fn programs_that_do_not_answer_as_they_have_to_are_found() {
    examine(&[
        case(
            |installed| installed.wrap("exit 101"),
            "selftest",
            "broken",
            "is not stopped",
        ),
        case(
            |installed| installed.wrap("kill -9 $$"),
            "selftest",
            "broken",
            "is not stopped",
        ),
        case(
            |installed| {
                installed.wrap(&format!("echo 'starting the guard'\nexec {HOLDPOINT} \"$@\""));
            },
            "selftest",
            "broken",
            "the harness drops",
        ),
        case(
            |installed| {
                let answer =
                    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"prompt"}}"#;
                installed.wrap(&format!("echo '{answer}'"));
            },
            "selftest",
            "broken",
            "the harness drops",
        ),
        case(
            |installed| installed.wrap("exit 0"),
            "selftest",
            "broken",
            "is not stopped",
        ),
        case(
            |installed| {
                installed.wrap("exec sleep 60");
                installed.gate()["timeout"] = json!(1);
            },
            "selftest",
            "broken",
            "within 1 s",
        ),
        // A typing error in the arguments blocks everything.
        case(
            |installed| installed.gate()["args"] = json!(["hook", "--confg", "x"]),
            "selftest",
            "broken",
            "held up",
        ),
        case(
            |installed| {
                installed.write_settings();
                installed.client("2.1.294 (Claude Code)");
            },
            "client.version",
            "caution",
            "2.1.294",
        ),
        case(
            |installed| {
                installed.write_settings();
                installed.client("2.1.85 (Claude Code)");
            },
            "client.version",
            "broken",
            "args",
        ),
        case(
            |installed| {
                fs::remove_file(installed.world.path("path/claude")).unwrap();
            },
            "client.version",
            "notice",
            "not on the PATH",
        ),
    ]);
}

#[test]
fn configurations_that_do_not_hold_are_found() {
    examine(&[
        case(
            |installed| chmod(&installed.world.path("config.toml"), 0o622),
            "configuration",
            "broken",
            "written by others",
        ),
        case(
            |installed| installed.world.configure("[zreto]\nurl = 'x'"),
            "configuration",
            "broken",
            "zreto",
        ),
        case(
            |installed| chmod(&installed.world.path("password"), 0o644),
            "configuration.secret",
            "broken",
            "read by others",
        ),
        case(
            |installed| chmod(&installed.world.path("ca.pem"), 0o666),
            "configuration.authority",
            "broken",
            "written by others",
        ),
        case(
            |installed| installed.world.configure_bare("deadline_seconds = 300"),
            "configuration.zvm",
            "broken",
            "no ZVM",
        ),
        case(
            |installed| {
                let url = installed.world.sim.as_ref().unwrap().url();
                installed.world.configure_bare(&format!(
                    "[zerto]\nurl = '{url}'\nusername = 'admin'\nsecret_file = '{}'\nverify = false",
                    installed.world.path("password").display()
                ));
            },
            "configuration.verify",
            "caution",
            "zerto.verify",
        ),
        case(
            |installed| installed.world.configure("policy.signature = 'not-required'"),
            "configuration.signature",
            "caution",
            "not-required",
        ),
        case(
            |installed| {
                installed
                    .world
                    .configure("policy.path = '/nonexistent/policy.wasm'");
            },
            "policy",
            "broken",
            "/nonexistent/policy.wasm",
        ),
        case(
            |installed| {
                installed
                    .world
                    .configure("policy.catalogs = ['/nonexistent/own.toml']");
            },
            "configuration",
            "broken",
            "own.toml",
        ),
    ]);
}

#[test]
fn zvms_that_would_not_do_are_found() {
    examine(&[
        case(
            |installed| {
                // Nobody listens there once it is gone.
                let gone = Sim::start(zvm_sim::Scenario::default()).unwrap().url();
                installed.world.configure_bare(&format!(
                    "[zerto]\nurl = '{gone}'\nusername = 'admin'\nsecret_file = '{}'\nca_file = '{}'",
                    installed.world.path("password").display(),
                    installed.world.path("ca.pem").display()
                ));
            },
            "zvm.reach",
            "broken",
            "unreachable",
        ),
        case(
            |installed| {
                let other = Sim::start(zvm_sim::Scenario::default()).unwrap();
                fs::write(installed.world.path("ca.pem"), other.ca_pem()).unwrap();
            },
            "zvm.trust",
            "broken",
            "its digest is sha256:",
        ),
        of_zvm(
            "certificate.days_left = -2",
            "zvm.certificate",
            "broken",
            "ended 2 days ago",
        ),
        of_zvm(
            "certificate.days_left = 10",
            "zvm.certificate",
            "caution",
            "ends in",
        ),
        of_zvm(
            "site.clock_offset_seconds = 1800",
            "zvm.clock",
            "caution",
            "ahead of",
        ),
        of_zvm(
            "site.clock_offset_seconds = -1800",
            "zvm.clock",
            "caution",
            "behind",
        ),
        of_zvm("login.may_insert = false", "zvm.role", "broken", "may not insert"),
        of_zvm("login.token_seconds = 8", "zvm.token", "caution", "8 seconds"),
        case(
            |installed| installed.world.write_private("password", "wrong"),
            "zvm.login",
            "broken",
            "unauthorized",
        ),
        of_zvm(
            "[[vpgs]]\nname = 'ILL'\nstatus = 2",
            "zvm.vpg",
            "caution",
            "VPG ILL",
        ),
        of_zvm(
            "[[vpgs]]\nname = 'SLOW'\ncadence_ms = 400000\nvms = [{ name = 'a' }]",
            "zvm.cadence",
            "broken",
            "VPG SLOW has a checkpoint every 400 s",
        ),
        of_zvm(
            "[[vpgs]]\nname = 'SLOW'\ncadence_ms = 250000\nvms = [{ name = 'a' }]",
            "zvm.cadence",
            "caution",
            "VPG SLOW",
        ),
        case(
            |installed| installed.world.configure("zerto.longest_wait_seconds = 4"),
            "zvm.cadence",
            "broken",
            "every 5 s",
        ),
        case(
            |installed| installed.world.configure("deadline_seconds = 9"),
            "zvm.cadence",
            "broken",
            "every 5 s",
        ),
        of_zvm(
            "[[vpgs]]\nname = 'A'\nvms = [{ name = 'a', direction = 'recovered-here' }]",
            "zvm.site",
            "caution",
            "recovery site: all 1 VMs",
        ),
        of_zvm(
            "[[vpgs]]\nname = 'A'\nvms = [{ name = 'a', direction = 'recovered-here' }]\n[[vpgs]]\nname = 'B'\nvms = [{ name = 'b' }]",
            "zvm.site",
            "notice",
            "1 of the 2 VMs",
        ),
        of_zvm("vpgs = []", "zvm.vpgs", "caution", "no VPG"),
        of_zvm(
            "[[troubles]]\non = 'GET /v1/vpgs'\nstatus = 500",
            "zvm.vpgs",
            "caution",
            "could not be asked",
        ),
    ]);
}
