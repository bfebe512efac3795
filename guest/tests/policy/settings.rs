//! The operator's settings: read whole, or not at all.

use holdpoint_guest::model::Verdict;
use holdpoint_guest::settings::{Settings, Stance};
use serde_json::json;

use crate::world::{call, denied, holds, noted, site, under};

#[test]
fn nothing_is_the_default() {
    for text in ["", " ", "{}", " {} ", "{ }"] {
        assert_eq!(Settings::read(text).unwrap(), Settings::default(), "{text:?}");
    }
    assert_eq!(Settings::default().unknown_tool, Stance::Ask);
    assert!(!Settings::default().allow_widening);
}

#[test]
fn a_setting_that_cannot_be_read_denies_everything_and_is_named() {
    let bad = [
        (json!({"unknown_tools": "pass"}), "unknown_tools"),
        (json!({"unknown_tool": "allow"}), "unknown_tool"),
        (json!({"unknown_tool": true}), "unknown_tool"),
        (json!({"control_plane": "prompt"}), "control_plane"),
        (json!({"domains": "corp.local"}), "domains"),
        (json!({"domains": [7]}), "domains"),
        (json!({"vcenter": "vc01"}), "vcenter"),
        (json!({"machines": ["web01"]}), "machines"),
        (json!({"machines": {"vm-9": 9}}), "vm-9"),
        (json!({"machines": {"vm-9": " "}}), "vm-9"),
        (json!({"servers": {"a": {"vm": "web01"}}}), "vm"),
        (json!({"servers": {"a": {"catalog": "no-such"}}}), "no-such"),
        (json!({"catalogs": {}}), "catalogs"),
        (json!({"catalogs": [{}]}), "catalogs"),
        (json!({"allow_widening": "true"}), "allow_widening"),
        (json!({"session_ask_level": 0}), "session_ask_level"),
        (json!({"session_ask_level": 5}), "session_ask_level"),
        (json!({"session_ask_level": "2"}), "session_ask_level"),
        (json!({"agent": ""}), "agent"),
        (json!([]), "no JSON object"),
    ];
    for (settings, named) in bad {
        for tool in ["mcp__nutanix__vm_list", "mcp__esxi__powerOff", "Bash"] {
            let mut world = site();
            let call = under(call(tool, json!({"name": "web01"})), settings.clone());
            holds(&denied(world.judge(&call)), &[named, "settings"]);
            assert!(world.captures.is_empty());
        }
    }
    let mut broken = call("Bash", json!({}));
    broken.settings = "{".into();
    denied(site().judge(&broken));
}

#[test]
fn the_agent_of_the_tag_can_be_named() {
    let mut world = site();
    let named = under(
        call("mcp__esxi__powerOff", json!({"name": "web01"})),
        json!({"agent": "night-shift"}),
    );
    noted(world.judge(&named));
    assert!(
        world.captures[0]
            .1
            .starts_with("night-shift 5569fb1c-abcdefgh 0badcafe "),
        "{}",
        world.captures[0].1
    );
}

#[test]
fn a_server_under_another_key_can_be_given_its_catalog() {
    let odd = call("mcp__my_box__powerOff", json!({"name": "web01"}));
    assert!(matches!(site().judge(&odd), Verdict::Ask(_)));
    noted(site().judge(&under(odd, json!({"servers": {"my.box": {"catalog": "esxi"}}}))));
}
