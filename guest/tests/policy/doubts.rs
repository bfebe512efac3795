//! Arguments that make it uncertain what a call does, or to which machine.

use holdpoint_guest::arguments::Arguments;
use holdpoint_guest::model::Verdict;
use serde_json::{Value, json};

use crate::world::{asked, call, denied, holds, noted, site, under};

#[test]
fn an_argument_that_may_redirect_a_call_asks() {
    let cases = [
        ("mcp__ansible-mcp__ansible-task", "host_pattern", "inventory"),
        ("mcp__ansible-mcp__ansible-task", "host_pattern", "env"),
        ("mcp__ansible-mcp__ansible-task", "host_pattern", "connection"),
        ("mcp__ansible-mcp__ansible-playbook", "limit", "extra_vars"),
        ("mcp__ansible-mcp__ansible-role", "hosts", "vars"),
        (
            "mcp__ansible-mcp__ansible-remote-command",
            "host_pattern",
            "inventory_paths",
        ),
        ("mcp__saltapi__execute_salt_command", "target", "tgt_type"),
        ("mcp__awx__ansible_playbook", "limit", "inventory"),
    ];
    for (tool, machine, doubtful) in cases {
        let with = |value: Value| call(tool, json!({machine: "web01", doubtful: value}));
        noted(site().judge(&with(Value::Null)));
        let mut world = site();
        let reason = asked(world.judge(&with(json!({"ansible_host": "db01"}))));
        holds(&reason, &[doubtful, "which machine is reached"]);
        assert!(world.captures.is_empty());
        let mut cut = with(Value::Null);
        cut.arguments_cut = true;
        asked(site().judge(&cut));
    }
}

#[test]
fn a_doubtful_argument_of_a_reading_tool_asks_even_where_unknown_tools_pass() {
    let passing = json!({"unknown_tool": "pass", "control_plane": "pass"});
    for (tool, argument) in [
        ("mcp__ansible-mcp__ansible-inventory", "inventory"),
        ("mcp__ansible-mcp__ansible-ping", "inventory_paths"),
        ("mcp__ansible-mcp__vault-view", "password_file"),
        ("mcp__awx__ansible_inventory", "inventory"),
    ] {
        assert_eq!(
            site().judge(&call(tool, json!({}))),
            Verdict::Pass(None),
            "{tool}"
        );
        let doubted = call(tool, json!({argument: "/tmp/x.py"}));
        holds(
            &asked(site().judge(&under(doubted.clone(), passing.clone()))),
            &["may change machines", argument],
        );
        denied(site().judge(&under(doubted, json!({"unknown_tool": "deny"}))));
    }
}

#[test]
fn no_rule_applies_beside_a_doubtful_argument_or_a_template() {
    let check = |more: Value| {
        let mut arguments = json!({"host_pattern": "web01", "dry_run": true});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        call("mcp__ansible-mcp__ansible-auto-heal", arguments)
    };
    assert_eq!(site().judge(&check(json!({}))), Verdict::Pass(None));
    asked(site().judge(&check(json!({"inventory_paths": ["x,"]}))));
    asked(site().judge(&check(json!({"project_root": "/tmp"}))));
    for template in ["{{ lookup('pipe', 'id') }}", "{% raw %}"] {
        noted(site().judge(&check(json!({"args": {"_raw_params": [template]}}))));
    }
}

#[test]
fn ansible_on_the_servers_own_machine_names_no_machine() {
    for tool in ["mcp__awx__ansible_task", "mcp__awx__ansible_role"] {
        let mut world = site();
        asked(world.judge(&call(tool, json!({"hosts": "web01"}))));
        assert!(world.captures.is_empty());
    }
}

#[test]
fn spellings_are_counted_on_the_whole_way_to_an_argument() {
    let arguments = Arguments::new(
        r#"{"box": {}, "Box": {"name": 1}, "a": {"b": 1, "B": 2}, "C": {}}"#,
        false,
    );
    assert!(arguments.repeats("/box/name") && arguments.repeats("/a/b") && arguments.repeats("box"));
    assert!(!arguments.repeats("a") && !arguments.repeats("/a/c") && !arguments.repeats("/c/d"));
    assert!(arguments.lacks("/a/c") && !arguments.lacks("c") && !arguments.lacks("/box/name"));
}

#[test]
fn an_argument_in_two_spellings_asks() {
    for (tool, arguments) in [
        ("mcp__esxi__powerOff", json!({"name": "web01", "Name": "db01"})),
        (
            "mcp__crowdstrike__host_contain",
            json!({"confirm": false, "CONFIRM": true}),
        ),
        (
            "mcp__vmware-mcp__govc_run",
            json!({"command": "vm.info", "Command": "vm.destroy", "args": "web01"}),
        ),
        (
            "mcp__vmware-mcp__govc_run",
            json!({"command": "vm.change", "flags": {"vm": "web01", "VM": "db01"}}),
        ),
    ] {
        let mut world = site();
        holds(&asked(world.judge(&call(tool, arguments))), &["spellings"]);
        assert!(world.captures.is_empty());
    }
    // A default that another spelling could say otherwise is no default.
    asked(site().judge(&call("mcp__crowdstrike__host_contain", json!({"Confirm": true}))));
    let other = call(
        "mcp__vmware-mcp__govc_run",
        json!({"command": "vm.create", "Command": "vm.destroy"}),
    );
    denied(site().judge(&under(other, json!({"control_plane": "deny"}))));
}

#[test]
fn arguments_that_cannot_be_read_are_not_no_arguments() {
    let passing = json!({"unknown_tool": "pass", "control_plane": "pass"});
    for (text, cut, why) in [
        ("null", false, "not a JSON object"),
        ("\"inventory=/tmp/x.py\"", false, "not a JSON object"),
        ("[\"/tmp/x.py\"]", false, "not a JSON object"),
        ("7", false, "not a JSON object"),
        ("", false, "not a JSON object"),
        ("{\"inventory\":\"\\ud83d\"}", false, "not a JSON object"),
        ("{\"inventory\":null}", true, "cannot be read"),
        ("null", true, "cannot be read"),
    ] {
        let mut reads = call("mcp__ansible-mcp__ansible-inventory", json!({}));
        reads.arguments = text.into();
        reads.arguments_cut = cut;
        asked(site().judge(&under(reads.clone(), passing.clone())));
        denied(site().judge(&under(reads, json!({"unknown_tool": "deny"}))));
        let mut changes = call("mcp__esxi__powerOff", json!({}));
        changes.arguments = text.into();
        changes.arguments_cut = cut;
        let mut world = site();
        holds(&asked(world.judge(&changes)), &[why, "a machine may be missing"]);
        assert!(world.captures.is_empty());
        // What the arguments of a tool say that only reads, whatever they are, does not matter.
        let mut lists = call("mcp__esxi__listVMs", json!({}));
        lists.arguments = text.into();
        lists.arguments_cut = cut;
        assert_eq!(site().judge(&lists), Verdict::Pass(None), "{text}");
    }
}

#[test]
fn no_rule_applies_where_a_template_may_have_been_left_out() {
    let mut cut = call(
        "mcp__ansible-mcp__ansible-auto-heal",
        json!({"host_pattern": "web01", "dry_run": true}),
    );
    assert_eq!(site().judge(&cut), Verdict::Pass(None));
    cut.arguments_cut = true;
    asked(site().judge(&cut));
}
