//! The operator's own catalogs: they add and tighten, and widen only where they are allowed to.

use holdpoint_guest::model::{Call, Verdict};
use serde_json::{Value, json};

use crate::world::{Script, asked, call, denied, holds, noted, row, site, under};

fn with(call: Call, class: &str, aliases: Value, name: &str, more: Value) -> Call {
    let mut group = json!({"class": class, "names": [name]});
    group
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    under(
        call,
        json!({"catalogs": [{"server": {"aliases": aliases}, "tools": [group]}]}),
    )
}

fn widening(mut call: Call) -> Call {
    let mut settings: Value = serde_json::from_str(&call.settings).unwrap();
    settings["allow_widening"] = json!(true);
    call.settings = settings.to_string();
    call
}

#[test]
fn they_add_servers_and_tools() {
    let own = call("mcp__in_house__restart", json!({"box": {"name": "web01"}}));
    let machine = json!({"machine": {"arguments": ["/box/name"], "kind": "vm-name"}});
    noted(site().judge(&with(
        own.clone(),
        "guest",
        json!(["in.house"]),
        "restart",
        machine,
    )));
    assert_eq!(
        site().judge(&with(own, "read", json!(["in.house"]), "restart", json!({}))),
        Verdict::Pass(None)
    );
    let new = call("mcp__esxi__reconfigureVM", json!({"name": "web01"}));
    let machine = json!({"machine": {"arguments": ["name"], "kind": "vm-name"}});
    noted(site().judge(&with(new, "machine", json!(["esxi"]), "reconfigureVM", machine)));
}

#[test]
fn they_tighten() {
    let read = call("mcp__esxi__listVMs", json!({"name": "web01"}));
    asked(site().judge(&with(
        read.clone(),
        "guest",
        json!(["esxi"]),
        "listVMs",
        json!({}),
    )));
    asked(site().judge(&with(read, "other", json!(["esxi"]), "listVMs", json!({}))));
    // Both machines then count.
    let machine = json!({"machine": {"arguments": ["second"], "kind": "vm-name"}});
    let power = call("mcp__esxi__powerOff", json!({"name": "web01", "second": "db01"}));
    let note = noted(site().judge(&with(power, "machine", json!(["esxi"]), "powerOff", machine)));
    holds(&note, &["web01", "db01"]);
}

#[test]
fn a_milder_entry_is_ignored_and_named_unless_widening_is_allowed() {
    let power = call("mcp__esxi__powerOff", json!({"name": "web01"}));
    let milder = with(power, "read", json!(["esxi"]), "powerOff", json!({}));
    let mut world = site();
    holds(&noted(world.judge(&milder)), &["was ignored", "7180"]);
    assert_eq!(world.captures.len(), 1);
    assert_eq!(site().judge(&widening(milder)), Verdict::Pass(None));
}

#[test]
fn a_machine_for_a_tool_that_names_none_widens_too() {
    let run = call("mcp__ansible__run_job", json!({"extra_vars": {"host": "web01"}}));
    let machine = json!({"machine": {"arguments": ["/extra_vars/host"], "kind": "name"}});
    let own = with(run, "guest", json!(["ansible"]), "run_job", machine);
    holds(&asked(site().judge(&own)), &["was ignored"]);
    noted(site().judge(&widening(own)));
}

#[test]
fn a_machine_change_that_the_shipped_catalog_takes_for_a_control_plane_asks_as_one() {
    let create = call("mcp__esxi__createVM", json!({"name": "web01"}));
    let machine = json!({"machine": {"arguments": ["name"], "kind": "vm-name"}});
    let own = with(create, "machine", json!(["esxi"]), "createVM", machine);
    holds(&asked(site().judge(&own)), &["control plane"]);
    noted(site().judge(&widening(own.clone())));
    let mut passing: Value = serde_json::from_str(&own.settings).unwrap();
    passing["control_plane"] = json!("pass");
    noted(site().judge(&under(own, passing)));
}

#[test]
fn tools_of_the_harness_are_judged_where_a_catalog_says_so() {
    let builtin = |class: &str| {
        json!({
            "catalogs": [{"server": {"aliases": ["claude-code"], "builtin": true}, "tools": [
                {"class": class, "names": ["Bash"], "machine": {"kind": "server-bound"}}
            ]}],
            "servers": {"claude-code": {"machine": "desk01"}},
        })
    };
    let bash = call("Bash", json!({"command": "make"}));
    let mut world = Script {
        rows: vec![row("desk01", 5, "DESK")],
        ..Script::default()
    };
    noted(world.judge(&under(bash.clone(), builtin("guest"))));
    assert!(
        world.captures[0].1.contains(" /Bash on desk01"),
        "{}",
        world.captures[0].1
    );
    assert_eq!(world.judge(&under(bash, builtin("read"))), Verdict::Pass(None));
    assert_eq!(
        world.judge(&under(call("Read", json!({})), builtin("guest"))),
        Verdict::Pass(None)
    );
    // Such a catalog does not speak of servers, nor another one of the harness's own tools.
    asked(world.judge(&under(call("mcp__claude-code__Bash", json!({})), builtin("read"))));
    let not_builtin = with(call("Bash", json!({})), "guest", json!(["x"]), "Bash", json!({}));
    assert_eq!(world.judge(&not_builtin), Verdict::Pass(None));
}

#[test]
fn a_catalog_with_a_fault_denies_and_says_which() {
    let faults = [
        (
            json!({"machine": {"arguments": ["a"], "kind": "hostname"}}),
            "hostname",
        ),
        (json!({"machine": {"arguments": [], "kind": "name"}}), "nowhere"),
        (
            json!({"machine": {"option": "--a", "kind": "name"}}),
            "dispatched commands",
        ),
        (
            json!({"rules": [{"argument": "a", "equals": true, "class": "machine", "because": "b"}]}),
            "milder",
        ),
        (
            json!({"rules": [{"argument": "a", "class": "read", "because": "b"}]}),
            "equals",
        ),
        (
            json!({"rules": [{"argument": "", "equals": 1, "class": "read", "because": "b"}]}),
            "no name",
        ),
        (json!({"dispatch": {"tool": "a", "arguments": "b"}}), "dispatch"),
        (json!({"klass": "read"}), "klass"),
    ];
    for (fault, named) in faults {
        let own = with(call("mcp__a__b", json!({})), "guest", json!(["a"]), "b", fault);
        holds(&denied(site().judge(&own)), &[named, "catalogs"]);
    }
    let twice = under(
        call("mcp__a__b", json!({})),
        json!({"catalogs": [{"server": {"aliases": ["a"]}, "tools": [
            {"class": "read", "names": ["b"]}, {"class": "guest", "names": ["b"]}
        ]}]}),
    );
    holds(&denied(site().judge(&twice)), &["twice"]);
}
