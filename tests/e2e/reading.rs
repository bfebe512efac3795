//! Events and arguments as the harness's own parser reads them, and events of other harnesses in Claude Code's spelling.

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{Outcome, World, assert_blocks, assert_silent, fixture};

fn before(tool: &str, input: &str) -> String {
    format!(
        "{{\"session_id\":\"s\",\"transcript_path\":\"/t\",\"cwd\":\"/\",\"hook_event_name\":\"PreToolUse\",\
         \"tool_name\":\"{tool}\",\"tool_use_id\":\"toolu_1\",\"tool_input\":{input}}}"
    )
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Arguments of which nobody can say what they hold.
fn doubtful() -> Vec<String> {
    let mut inputs: Vec<String> = [
        "null",
        "[]",
        "\"/tmp/x.py\"",
        "17",
        "true",
        "[{\"inventory\":\"/tmp/x.py\"}]",
        "\"{\\\"inventory\\\":\\\"/tmp/x.py\\\"}\"",
        "{\"inventory\":\"/tmp/x.py\",\"note\":\"\\ud83d\"}",
        "{\"inventory\":\"/tmp/x\\ud83d.py\"}",
        "{\"inventory\":\"/tmp/x.py\",\"\\ud83d\":1}",
        "{\"inventory\":\"/tmp/x.py\",\"note\":1e999}",
        "{\"inventory\":1e999}",
    ]
    .map(str::to_owned)
    .to_vec();
    for depth in [130, 5_000] {
        inputs.push(format!(
            "{{\"inventory\":\"/tmp/x.py\",\"note\":{}}}",
            nested(depth)
        ));
        inputs.push(format!("{{\"inventory\":{}}}", nested(depth)));
    }
    inputs
}

#[test]
fn a_read_with_arguments_that_cannot_be_read_is_not_let_pass() {
    let world = World::without_zvm();
    for input in doubtful() {
        let event = before("mcp__ansible-mcp__ansible-inventory", &input);
        let outcome = world.hook_bytes(HOLDPOINT, event.as_bytes());
        assert_eq!(outcome.decision(), "ask", "{input:.80}: {outcome:?}");
    }
    let missing = r#"{"hook_event_name":"PreToolUse","tool_name":"mcp__ansible-mcp__ansible-inventory"}"#;
    assert_eq!(world.hook_bytes(HOLDPOINT, missing.as_bytes()).decision(), "ask");
    // What cannot be a doubt of this tool's stays without a word.
    assert_silent(&world.hook_bytes(
        HOLDPOINT,
        before("mcp__ansible-mcp__ansible-inventory", "{}").as_bytes(),
    ));
    world.configure("policy.unknown_tool = 'deny'");
    for input in doubtful() {
        let event = before("mcp__ansible-mcp__ansible-inventory", &input);
        assert_eq!(
            world.hook_bytes(HOLDPOINT, event.as_bytes()).decision(),
            "deny",
            "{input:.80}"
        );
    }
}

#[test]
fn a_change_with_arguments_that_cannot_be_read_asks_for_the_true_reason() {
    let world = World::without_zvm();
    for (input, why) in [
        ("\"web01\"".to_owned(), "cannot be read"),
        ("[\"web01\"]".to_owned(), "cannot be read"),
        ("{\"name\":\"\\ud83d\"}".to_owned(), "cannot be read"),
        ("{\"name\":1e999}".to_owned(), "cannot be read"),
        (
            format!("{{\"name\":{}}}", nested(130)),
            "something that is no name",
        ),
    ] {
        let outcome = world.hook_bytes(HOLDPOINT, before("mcp__esxi__powerOff", &input).as_bytes());
        assert_eq!(outcome.decision(), "ask");
        assert!(outcome.text().contains(why), "{}", outcome.text());
    }
}

#[test]
fn what_is_odd_elsewhere_in_an_event_does_not_matter() {
    let world = World::without_zvm();
    for more in [
        "\"x\":\"\\ud83d\"".to_owned(),
        "\"x\":1e999".to_owned(),
        format!("\"x\":{}", nested(100_000)),
        "\"mcp_server\":{\"name\":\"esxi\",\"source\":\"user\",\"more\":\"\\ud83d\"}".to_owned(),
    ] {
        let event = before("mcp__esxi__listVMs", "{}");
        let event = format!("{},{more}}}", &event[..event.len() - 1]);
        assert_silent(&world.hook_bytes(HOLDPOINT, event.as_bytes()));
        let after = event.replace("PreToolUse", "PostToolUse");
        assert_silent(&world.hook_bytes(HOLDPOINT, after.as_bytes()));
    }
    for field in ["tool_name", "session_id", "permission_mode"] {
        let event = format!(
            "{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"mcp__esxi__listVMs\",\"{field}\":\"mcp__esxi__\\ud83d\"}}"
        );
        assert_blocks(&world.hook_bytes(HOLDPOINT, event.as_bytes()), "");
    }
}

fn played(world: &World, event: &Value) -> Outcome {
    world.hook(HOLDPOINT, event)
}

/// Shapes as they were captured, or as their documentation has them, with a tool put in.
fn shapes(tool: &str) -> Vec<(&'static str, Value)> {
    let call = json!({"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": tool,
        "tool_input": {"name": "web01"}, "timestamp": "2026-11-30T23:17:42.444Z"});
    let with = |more: Value| {
        let mut event = call.clone();
        event
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        event
    };
    vec![
        ("Copilot CLI", call.clone()),
        (
            "Qwen Code",
            with(
                json!({"transcript_path": "/t", "prompt_id": "p", "permission_mode": "yolo",
            "tool_use_id": "toolu_1", "tool_call_id": "call_0"}),
            ),
        ),
        (
            "VS Code",
            json!({"timestamp": "2026-11-30T23:17:42.444Z", "cwd": "/", "sessionId": "s",
            "hookEventName": "PreToolUse", "transcript_path": "/t", "tool_name": tool,
            "tool_input": {"name": "web01"}, "tool_use_id": "t"}),
        ),
        (
            "Gemini CLI",
            with(json!({"transcript_path": "/t", "mcp_context": {"server_name": "esxi"}})),
        ),
        (
            "another harness",
            with(json!({"transcript_path": "/t", "tool_use_id": "toolu_1"})),
        ),
    ]
}

#[test]
fn a_servers_call_from_another_harness_in_claudes_spelling_is_blocked_with_its_name() {
    let world = World::without_zvm();
    world.configure("policy.unknown_tool = 'pass'\n[policy.servers.'my lab']\ncatalog = 'esxi'");
    for tool in [
        "mcp_esxi_powerOff",
        "esxi-powerOff",
        "esxi__powerOff",
        "esxi/powerOff",
        "mcp__esxi__powerOff",
        "mcp__esxi__listVMs",
        "my_lab-powerOff",
        "jumphost-powerOff",
        "mcp_nobody_knows",
    ] {
        for (harness, event) in shapes(tool) {
            assert_blocks(&played(&world, &event), &format!("comes from {harness}"));
        }
    }
    assert!(
        world
            .log()
            .iter()
            .all(|line| line["fault"] == "harness" && line["verdict"] == "deny")
    );
}

#[test]
fn an_editors_own_tools_are_not_stopped() {
    let world = World::without_zvm();
    for tool in [
        "Read",
        "Edit",
        "Bash",
        "bash",
        "view",
        "read_file",
        "run_in_terminal",
        "run_shell_command",
        "apply_patch",
    ] {
        // An event with the context of a server is a server's call.
        let own = shapes(tool)
            .into_iter()
            .filter(|(_, event)| event["mcp_context"].is_null());
        for (harness, event) in own {
            let outcome = played(&world, &event);
            assert_eq!(
                (outcome.code, outcome.decision().as_str()),
                (Some(0), "silence"),
                "{harness}: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_name_in_another_harnesss_spelling_is_denied_without_its_other_fields_too() {
    let world = World::without_zvm();
    world.configure("policy.unknown_tool = 'pass'");
    for tool in [
        "mcp_esxi_powerOff",
        "esxi-powerOff",
        "esxi__powerOff",
        "Mcp-esxi-powerOff",
    ] {
        let outcome = world.hook_bytes(HOLDPOINT, before(tool, "{\"name\":\"web01\"}").as_bytes());
        assert_eq!(
            (outcome.code, outcome.decision().as_str()),
            (Some(2), "deny"),
            "{tool}: {outcome:?}"
        );
        assert!(outcome.stderr.contains("harness"), "{outcome:?}");
    }
}

#[test]
fn captured_events_of_other_harnesses_are_blocked_where_a_server_is_called() {
    let world = World::without_zvm();
    for (file, harness) in [
        ("copilot-1.0.102/PreToolUse.mcp-pascal.json", Some("Copilot CLI")),
        ("copilot-1.0.102/PreToolUse.shell-pascal.json", None),
        ("qwen-code-0.24.4/PreToolUse.mcp.json", Some("Qwen Code")),
        ("qwen-code-0.24.4/PreToolUse.shell.json", None),
        ("cline-3.0.65/PreToolUse.mcp.json", Some("Cline")),
    ] {
        let outcome = world.hook_bytes(HOLDPOINT, &std::fs::read(fixture(file)).unwrap());
        match harness {
            Some(harness) => assert_blocks(&outcome, harness),
            None => assert_silent(&outcome),
        }
    }
}

#[test]
fn a_change_of_a_mapped_server_is_judged_however_odd_its_key() {
    let world = World::without_zvm();
    world.configure(
        "policy.unknown_tool = 'pass'\n[policy.servers.'lab \u{1f5a5}']\ncatalog = 'esxi'\n\
         [policy.servers.'claude.ai ESXi (lab)']\ncatalog = 'esxi'",
    );
    for (key, spelt) in [
        ("lab \u{1f5a5}", "lab___"),
        ("claude.ai ESXi (lab)", "claude_ai_ESXi_lab"),
    ] {
        let mut event: Value =
            serde_json::from_str(&before(&format!("mcp__{spelt}__powerOff"), "{}")).unwrap();
        assert_eq!(played(&world, &event).decision(), "ask", "{key}");
        event["mcp_server"] = json!({"name": key, "source": "user"});
        assert_eq!(played(&world, &event).decision(), "ask", "{key}");
        event["tool_name"] = format!("mcp__{spelt}__listVMs").into();
        assert_silent(&played(&world, &event));
    }
}
