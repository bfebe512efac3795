//! Calls of other harnesses, told by the name of the harness or by how a tool is spelt.

use holdpoint_guest::model::{Call, Verdict};
use serde_json::{Value, json};

use crate::world::{call, denied, holds, of_server, site, under};

fn from(harness: &str, tool: &str) -> Call {
    Call {
        harness: harness.into(),
        ..under(call(tool, json!({"name": "web01"})), passing())
    }
}

fn passing() -> Value {
    json!({
        "unknown_tool": "pass",
        "servers": {"my lab": {"catalog": "esxi"}},
        "catalogs": [{"server": {"aliases": ["own.srv"]}, "tools": [{"class": "machine", "names": ["wipe_all"]}]}]
    })
}

#[test]
fn what_looks_like_a_servers_tool_is_denied_whoever_sends_it() {
    for (tool, server) in [
        ("mcp_esxi_powerOff", "esxi"),
        ("MCP_ESXI_powerOff", "esxi"),
        ("mcp-esxi-powerOff", "esxi"),
        ("mcp_nobody_knows", "nobody"),
        ("esxi-powerOff", "esxi"),
        ("esxi__powerOff", "esxi"),
        ("esxi/powerOff", "esxi"),
        ("esxi.powerOff", "esxi"),
        ("Esxi_powerOff", "esxi"),
        ("ssh_mcp_run_command", "ssh_mcp"),
        ("my-lab-powerOff", "my_lab"),
        ("my_lab__powerOff", "my_lab"),
        ("own_srv_wipe_all", "own_srv"),
        // A server that nothing is known of, with a tool that a catalog has.
        ("jumphost-powerOff", "jumphost"),
        ("jumphost/powerOff", "jumphost"),
        ("jumphost__powerOff", "jumphost"),
        ("x-wipe_all", "x"),
    ] {
        for harness in ["claude-code", "copilot-cli", "another-harness"] {
            let mut world = site();
            let reason = denied(world.judge(&from(harness, tool)));
            holds(&reason, &[server, "other harnesses"]);
            assert!(world.names.is_empty(), "{tool}");
        }
    }
}

#[test]
fn an_editors_own_tools_are_let_pass() {
    for tool in [
        "Bash",
        "Read",
        "Edit",
        "Write",
        "MultiEdit",
        "WebFetch",
        "Task",
        "view",
        "create",
        "bash",
        "read_file",
        "write_file",
        "run_in_terminal",
        "run_shell_command",
        "run_commands",
        "apply_patch",
        "replace_string_in_file",
        "execute_command",
        "list_directory",
        "search_files",
        "str_replace_editor",
        "read_bash",
        "list_dir",
        "get_errors",
        "grep_search",
        "web_fetch",
        "save_memory",
        "todo_write",
    ] {
        for harness in ["claude-code", "copilot-cli", "qwen-code", "vs-code"] {
            assert_eq!(
                site().judge(&from(harness, tool)),
                Verdict::Pass(None),
                "{harness}: {tool}"
            );
        }
    }
}

#[test]
fn another_harness_is_not_served_however_well_it_spells() {
    for tool in [
        "mcp__esxi__powerOff",
        "mcp__esxi__listVMs",
        "mcp__nobody__knows",
        "MCP__esxi__x",
        "foo__bar",
        "foo/bar",
    ] {
        let call = from("qwen-code", tool);
        denied(site().judge(&call));
        denied(site().judge(&of_server(call, "esxi")));
    }
    for tool in ["get-esxi-vms", "tools_esxi_powerOff"] {
        holds(&denied(site().judge(&from("vs-code", tool))), &["esxi"]);
        assert_eq!(site().judge(&from("claude-code", tool)), Verdict::Pass(None));
    }
}

#[test]
fn a_tool_that_the_operator_lists_as_the_harnesss_own_is_one() {
    let settings = json!({"catalogs": [
        {"server": {"aliases": ["editor"], "builtin": true}, "tools": [{"class": "read", "names": ["azure_look"]}]}
    ]});
    let listed = under(call("azure_look", json!({})), settings);
    assert_eq!(site().judge(&listed), Verdict::Pass(None));
    denied(site().judge(&call("azure_look", json!({}))));
}
