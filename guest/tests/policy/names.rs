//! From a tool's name to servers and tools.

use holdpoint_guest::model::Verdict;
use holdpoint_guest::name::{Candidate, Named, normalise, normalise_key, read};
use serde_json::{Value, json};

use crate::world::{asked, call, holds, noted, of_server, site, under};

fn candidates(tool: &str) -> Vec<(Vec<String>, String)> {
    match read(&call(tool, json!({}))) {
        Named::Mcp(candidates) => candidates
            .into_iter()
            .map(|Candidate { servers, tool, .. }| (servers, tool))
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
        connector: None,
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

/// Right values: what the client makes of such keys, which counts in UTF-16 and treats its connectors' keys in their own way.
#[test]
fn keys_are_spelt_as_the_harness_spells_them() {
    for (key, spelt) in [
        ("my ssh", "my_ssh"),
        ("lab \u{1f5a5}", "lab___"),
        ("\u{1f5a5}\u{1f5a5}", "____"),
        ("bücher", "b_cher"),
        ("a.b__c_", "a_b__c_"),
        ("claude.ai Slack", "claude_ai_Slack"),
        ("claude.ai ESXi (lab)", "claude_ai_ESXi_lab"),
        ("claude.ai  __x__ ", "claude_ai_x"),
        ("claude.ai \u{1f5a5} esxi", "claude_ai_esxi"),
        ("Claude.ai ESXi (lab)", "Claude_ai_ESXi__lab_"),
        ("claude.aiX (y)", "claude_aiX__y_"),
    ] {
        assert_eq!(normalise_key(key), spelt, "{key:?}");
    }
    assert_eq!(normalise("claude.ai ESXi (lab)"), "claude_ai_ESXi__lab_");
}

#[test]
fn a_change_of_a_mapped_server_is_one_however_odd_its_key() {
    for (key, spelt) in [
        ("lab \u{1f5a5}", "lab___"),
        ("claude.ai ESXi (lab)", "claude_ai_ESXi_lab"),
        ("claude.ai \u{1f5a5}esxi\u{1f5a5} lab", "claude_ai_esxi_lab"),
    ] {
        let settings = json!({"unknown_tool": "pass", "servers": {key: {"catalog": "esxi"}}});
        let change = call(&format!("mcp__{spelt}__powerOff"), json!({"name": "web01"}));
        noted(site().judge(&of_server(under(change.clone(), settings.clone()), key)));
        // Without the key beside it, a name with runs of `_` can be taken apart in several ways.
        let alone = site().judge(&under(change, settings.clone()));
        if spelt.contains("__") {
            asked(alone);
        } else {
            noted(alone);
        }
        let read = call(&format!("mcp__{spelt}__listVMs"), json!({}));
        let read = of_server(under(read, settings), key);
        assert_eq!(site().judge(&read), Verdict::Pass(None), "{key}");
    }
}

#[test]
fn a_connector_is_known_by_its_own_name_with_runs_too() {
    let tool = call("mcp__claude_ai_ESXi_lab__powerOff", json!({"name": "web01"}));
    let named = of_server(tool.clone(), "claude.ai ESXi (lab)");
    let mapped = json!({"unknown_tool": "pass", "servers": {"ESXi (lab)": {"catalog": "esxi"}}});
    let own = json!({"unknown_tool": "pass", "catalogs": [{"server": {"aliases": ["ESXi (lab)"]}, "tools": [
        {"class": "machine", "names": ["powerOff"], "machine": {"arguments": ["name"], "kind": "vm-name"}}
    ]}]});
    for settings in [mapped, own] {
        noted(site().judge(&under(tool.clone(), settings.clone())));
        noted(site().judge(&under(named.clone(), settings)));
    }
    // Another server, whose key is spelt with runs, is none of them.
    let other = json!({"servers": {"ESXi_lab": {"catalog": "esxi"}}});
    asked(site().judge(&under(
        call("mcp__ESXi__lab___powerOff", json!({"name": "web01"})),
        other,
    )));
}

#[test]
fn of_keys_that_are_spelt_alike_the_strictest_counts() {
    let passing =
        |servers: Value| json!({"unknown_tool": "pass", "control_plane": "pass", "servers": servers});
    let tool = call("mcp__my_server__vm_list", json!({}));
    let both = passing(json!({"my server": {"catalog": "nutanix"}, "my_server": {"catalog": "esxi"}}));
    assert_eq!(site().judge(&under(tool.clone(), both)), Verdict::Pass(None));
    let stricter = json!({"my server": {"catalog": "esxi"}, "my.server": {"catalog": "mine"}});
    let mut stricter = passing(stricter);
    stricter["catalogs"] =
        json!([{"server": {"aliases": ["mine"]}, "tools": [{"class": "machine", "names": ["listVMs"]}]}]);
    let reads = call("mcp__my_server__listVMs", json!({}));
    asked(site().judge(&under(reads.clone(), stricter.clone())));
    // The harness's word which of them it is decides.
    let named = of_server(under(reads, stricter), "my server");
    assert_eq!(site().judge(&named), Verdict::Pass(None));
    // One of them is no server that anything is known of.
    let half = passing(json!({"my server": {"catalog": "esxi"}, "my_server": {"machine": "web01"}}));
    let reads = call("mcp__my_server__listVMs", json!({}));
    holds(&asked(site().judge(&under(reads, half))), &["spells alike"]);
    let machines = passing(json!({
        "my server": {"catalog": "windows-mcp", "machine": "web01"},
        "my_server": {"catalog": "windows-mcp", "machine": "db01"}
    }));
    let runs = call("mcp__my_server__Powershell-Tool", json!({}));
    holds(
        &asked(site().judge(&under(runs.clone(), machines.clone()))),
        &["different things of servers that are spelt alike"],
    );
    noted(site().judge(&of_server(under(runs, machines), "my_server")));
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
