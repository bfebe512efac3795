//! From a tool's name to servers and tools.

use holdpoint_guest::model::Verdict;
use holdpoint_guest::name::{Candidate, Named, read};
use serde_json::{Value, json};

use crate::world::{asked, call, holds, noted, of_server, site, under};

fn candidates(tool: &str) -> Vec<(Vec<String>, String)> {
    match read(&call(tool, json!({}))) {
        Named::Mcp(candidates) => candidates
            .into_iter()
            .map(|Candidate { servers, tool }| (servers, tool))
            .collect(),
        other => panic!("{tool}: {other:?}"),
    }
}

fn pair(servers: &[&str], tool: &str) -> (Vec<String>, String) {
    (servers.iter().map(ToString::to_string).collect(), tool.into())
}

#[test]
fn every_split_is_a_candidate() {
    assert_eq!(candidates("mcp__a__b"), [pair(&["a"], "b")]);
    assert_eq!(
        candidates("mcp__a__b__c"),
        [pair(&["a"], "b__c"), pair(&["a__b"], "c")]
    );
    assert_eq!(candidates("mcp__a___t"), [pair(&["a"], "_t"), pair(&["a_"], "t")]);
    assert_eq!(candidates("mcp__a"), []);
    assert_eq!(candidates("mcp____t"), []);
}

#[test]
fn plugins_and_connectors_are_known_by_their_own_names_too() {
    let plugin = pair(&["plugin_my_tools_ssh-mcp", "tools_ssh-mcp", "ssh-mcp"], "run");
    assert_eq!(candidates("mcp__plugin_my_tools_ssh-mcp__run"), [plugin]);
    assert_eq!(
        candidates("mcp__claude_ai_Slack__send"),
        [pair(&["claude_ai_Slack", "Slack"], "send")]
    );
}

#[test]
fn a_server_named_apart_decides_the_split() {
    let named = of_server(
        call("mcp__plugin_a_esxi__powerOff", json!({"name": "web01"})),
        "plugin:a:esxi",
    );
    let expected = Candidate {
        servers: vec!["plugin_a_esxi".into(), "esxi".into()],
        tool: "powerOff".into(),
    };
    assert_eq!(read(&named), Named::Mcp(vec![expected]));
    noted(site().judge(&named));

    let odd = of_server(
        call("mcp__github_com_canvrno_ProxmoxMCP__get_vms", json!({})),
        "github.com/canvrno/ProxmoxMCP",
    );
    assert_eq!(site().judge(&odd), Verdict::Pass(None));

    let connector = of_server(call("mcp__claude_ai_esxi__listVMs", json!({})), "claude.ai esxi");
    assert_eq!(site().judge(&connector), Verdict::Pass(None));
}

#[test]
fn odd_characters_of_a_key_are_compared_as_the_harness_spells_them() {
    assert_eq!(
        site().judge(&call("mcp__Linux_Tools__read_file", json!({}))),
        Verdict::Pass(None)
    );
    assert_eq!(
        site().judge(&call(
            "mcp__awslabs_aws-api-mcp-server__suggest_aws_commands",
            json!({})
        )),
        Verdict::Pass(None)
    );
    asked(site().judge(&call("mcp__linux_tools__read_file", json!({}))));
}

#[test]
fn a_bare_name_with_a_server_is_an_mcp_tool() {
    noted(site().judge(&of_server(call("powerOff", json!({"name": "web01"})), "esxi")));
    asked(site().judge(&of_server(call("Bash", json!({})), "esxi")));
}

#[test]
fn of_two_catalogs_with_one_alias_the_stricter_reading_counts() {
    // Two Proxmox servers share the key `proxmox`; only the tool's name tells them apart.
    assert_eq!(
        site().judge(&call("mcp__proxmox__proxmox_get_vms", json!({}))),
        Verdict::Pass(None)
    );
    asked(site().judge(&call("mcp__proxmox__execute_vm_command", json!({"vmid": 100}))));
    let mapped = json!({"servers": {"mine": {"catalog": "nutanix"}}, "catalogs": [
        {"server": {"aliases": ["mine"]}, "tools": [{"class": "guest", "names": ["vm_list"]}]}
    ]});
    asked(site().judge(&under(call("mcp__mine__vm_list", json!({})), mapped)));
}

#[test]
fn a_name_that_is_listed_in_some_of_its_readings_only_asks() {
    let passing = json!({"unknown_tool": "pass", "control_plane": "pass"});
    // The tool `listVMs` of a server `x__esxi`, or a tool `esxi__listVMs` of a server `x`, and the like.
    for tool in ["mcp__esxi__x__listVMs", "mcp__x__esxi__listVMs"] {
        assert_eq!(
            site().judge(&under(call(tool, json!({})), passing.clone())),
            Verdict::Pass(None),
            "{tool}"
        );
    }
    let own = |tools: Value| {
        let mut settings = passing.clone();
        settings["catalogs"] = tools;
        settings
    };
    let one =
        json!([{"server": {"aliases": ["esxi"]}, "tools": [{"class": "read", "names": ["x__listVMs"]}]}]);
    let tool = call("mcp__esxi__x__listVMs", json!({}));
    holds(
        &asked(site().judge(&under(tool.clone(), own(one.clone())))),
        &["taken apart in several ways"],
    );
    let mut both = one.clone();
    both.as_array_mut().unwrap().push(
        json!({"server": {"aliases": ["esxi__x"]}, "tools": [{"class": "read", "names": ["listVMs"]}]}),
    );
    assert_eq!(site().judge(&under(tool.clone(), own(both))), Verdict::Pass(None));
    let named = of_server(tool, "esxi");
    assert_eq!(site().judge(&under(named, own(one))), Verdict::Pass(None));
}

#[test]
fn a_plugins_server_is_not_the_one_whose_machine_the_operator_named() {
    let settings = json!({"servers": {"windows-mcp": {"machine": "web01"}}});
    let tool = "mcp__plugin_x_windows-mcp__Powershell-Tool";
    let mut world = site();
    asked(world.judge(&under(call(tool, json!({})), settings)));
    assert!(world.captures.is_empty());
    let whole = json!({"servers": {"plugin_x_windows-mcp": {"machine": "web01"}}});
    noted(site().judge(&under(call(tool, json!({})), whole)));
}

#[test]
fn a_name_that_only_looks_like_an_mcp_tools_asks() {
    for tool in [
        "MCP__esxi__powerOff",
        " mcp__esxi__powerOff",
        "mcp__esxi__listVMs ",
        "\u{feff}mcp__esxi__listVMs",
        "\tMcp__x__y\n",
    ] {
        let call = under(call(tool, json!({})), json!({"unknown_tool": "pass"}));
        holds(&asked(site().judge(&call)), &["may change machines"]);
    }
}

#[test]
fn a_name_that_no_harness_sends_is_not_taken_apart() {
    let long = format!("mcp__plugin_{}__x", "_".repeat(100_000));
    assert!(matches!(read(&call(&long, json!({}))), Named::Unclear(_)));
    asked(site().judge(&under(call(&long, json!({})), json!({"unknown_tool": "pass"}))));
}
