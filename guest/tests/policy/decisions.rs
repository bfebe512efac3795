//! The rows of the decision table.

use holdpoint_guest::model::{Call, Tally, Verdict, ZertoError};
use serde_json::json;

use crate::world::{Script, asked, call, denied, holds, noted, of_server, row, site, under};

#[test]
fn a_read_only_tool_passes_in_silence_and_asks_zerto_nothing() {
    let mut world = site();
    let verdict = world.judge(&call(
        "mcp__ansible-mcp__ansible-ping",
        json!({"host_pattern": "web01"}),
    ));
    assert_eq!(verdict, Verdict::Pass(None));
    assert!(world.names.is_empty() && world.identifiers.is_empty() && world.captures.is_empty());
}

#[test]
fn a_read_only_tool_passes_whatever_its_arguments_are() {
    for arguments in ["", "null", "{", "[]", "\"x\""] {
        let mut call = call("mcp__nutanix__vm_list", json!({}));
        call.arguments = arguments.into();
        assert_eq!(site().judge(&call), Verdict::Pass(None), "{arguments}");
    }
}

#[test]
fn a_change_passes_with_a_note_once_every_vpg_holds_the_checkpoint() {
    let mut world = Script {
        rows: vec![row("web01", 38, "WEB"), row("WEB01", 38, "ALL")],
        ..Script::default()
    };
    let note = noted(world.judge(&call("mcp__winrm__winrm_run_ps", json!({"hostname": "web01"}))));
    let tag = "claude-code 5569fb1c-abcdefgh 0badcafe winrm/winrm_run_ps on web01";
    assert_eq!(
        world.captures,
        [(vec!["WEB-id".to_owned(), "ALL-id".to_owned()], tag.to_owned())]
    );
    holds(
        &note,
        &[
            tag,
            "7180 in VPG \"WEB\"",
            "7181 in VPG \"ALL\"",
            "\"web01\"",
            "2026-11-29T21:09:19Z",
            "Restore",
        ],
    );
}

#[test]
fn several_machines_are_captured_at_once_each_vpg_once() {
    let rows = vec![
        row("web01", 38, "APP"),
        row("web02", 40, "APP"),
        row("db01", 39, "DB"),
    ];
    let mut world = Script {
        rows,
        ..Script::default()
    };
    let arguments = json!({"host_pattern": "web01, db01,web02,web01"});
    let note = noted(world.judge(&call("mcp__ansible-mcp__ansible-remote-command", arguments)));
    assert_eq!(world.captures.len(), 1);
    assert_eq!(world.captures[0].0, ["APP-id", "DB-id"]);
    assert!(
        world.captures[0].1.ends_with("on web01 +2"),
        "{}",
        world.captures[0].1
    );
    holds(&note, &["web01", "web02", "db01"]);
}

#[test]
fn a_failed_capture_denies_with_each_cause_in_words() {
    let causes = [
        (ZertoError::NotFound, "no longer knows"),
        (
            ZertoError::Refused("Exception occurred in API".into()),
            "Zerto refused (Exception occurred in API)",
        ),
        (
            ZertoError::Unauthorized("401".into()),
            "no log-in to Zerto succeeded (401)",
        ),
        (
            ZertoError::Unreachable("connection refused".into()),
            "Zerto could not be asked (connection refused)",
        ),
        (ZertoError::TimedOut("300 s".into()), "not confirmed in time"),
        (ZertoError::Malformed("no JSON".into()), "made no sense"),
    ];
    for (error, words) in causes {
        let mut world = Script {
            rows: vec![row("web01", 38, "WEB"), row("web01", 38, "ALL")],
            failing: vec![("ALL-id".into(), error)],
            ..Script::default()
        };
        let reason = denied(world.judge(&call("mcp__esxi__powerOff", json!({"name": "web01"}))));
        holds(
            &reason,
            &[
                words,
                "VPG \"ALL\"",
                "captured all the same: 7180 in VPG \"WEB\"",
                "Tell the user.",
            ],
        );
    }
}

#[test]
fn a_fault_in_a_lookup_denies_and_is_no_miss() {
    let faults = [
        ZertoError::Refused("x".into()),
        ZertoError::Unauthorized("x".into()),
        ZertoError::Unreachable("x".into()),
        ZertoError::TimedOut("x".into()),
        ZertoError::Malformed("x".into()),
    ];
    for error in faults {
        let mut world = Script {
            lookup_error: Some(error),
            ..site()
        };
        let reason = denied(world.judge(&call("mcp__esxi__powerOff", json!({"name": "web01"}))));
        holds(&reason, &["could not be found out"]);
        assert!(world.captures.is_empty());
    }
    let mut world = Script {
        lookup_error: Some(ZertoError::NotFound),
        ..site()
    };
    holds(
        &asked(world.judge(&call("mcp__esxi__powerOff", json!({"name": "web01"})))),
        &["knows no VM"],
    );
}

#[test]
fn an_unknown_vm_asks() {
    let mut world = site();
    let reason = asked(world.judge(&call("mcp__esxi__powerOff", json!({"name": "mail01"}))));
    holds(
        &reason,
        &[
            "esxi/powerOff",
            "Zerto knows no VM \"mail01\"",
            "No checkpoint was taken",
        ],
    );
    assert_eq!(
        (world.names, world.identifiers),
        (vec!["mail01".to_owned()], vec!["mail01".to_owned()])
    );
}

#[test]
fn one_unknown_vm_among_known_ones_asks_before_anything_is_captured() {
    let mut world = site();
    let arguments = json!({"host_pattern": "web01,mail01"});
    holds(
        &asked(world.judge(&call("mcp__ansible-mcp__ansible-task", arguments))),
        &["mail01"],
    );
    assert!(world.captures.is_empty());
}

#[test]
fn no_machine_in_the_arguments_asks_and_gives_a_hint_that_is_not_looked_up() {
    let mut world = site();
    let reason = asked(world.judge(&call(
        "mcp__ssh-mcp__run-command",
        json!({"host": "web01", "command": "ls"}),
    )));
    holds(
        &reason,
        &[
            "no machine stands in \"profile\"",
            "host \"web01\", which was not looked up",
        ],
    );
    assert!(world.names.is_empty() && world.identifiers.is_empty() && world.captures.is_empty());
}

#[test]
fn the_vcenter_is_never_taken_for_the_vm() {
    let mut world = Script {
        rows: vec![row("vcenter01", 1, "MGMT")],
        ..Script::default()
    };
    let arguments = json!({"hostname": "vcenter01", "vm_id": "vm-38"});
    asked(world.judge(&call("mcp__vsphere__power_off_vm", arguments)));
    assert!(world.names.is_empty() && world.captures.is_empty());
}

#[test]
fn tools_without_a_machine_argument_ask() {
    let reason = asked(site().judge(&call("mcp__vmware__execute_power_down_sequence", json!({}))));
    holds(&reason, &["none of its arguments names a machine"]);
}

#[test]
fn tools_that_change_machines_under_another_name_ask_even_where_control_planes_pass() {
    for (tool, arguments) in [
        ("mcp__vmware-mcp__vm_vnc", json!({"vm": "web01", "enable": true})),
        (
            "mcp__vmware-mcp__datastore_mv",
            json!({"_args": "a/a.vmdk b/b.vmdk"}),
        ),
        (
            "mcp__vmware-mcp__datastore_cp",
            json!({"_args": "a/a.vmdk b/b.vmdk"}),
        ),
        (
            "mcp__vmware-mcp__datastore_maintenance_enter",
            json!({"_args": "ds1"}),
        ),
        (
            "mcp__vmware-mcp__govc_run",
            json!({"command": "vm.vnc", "flags": {}, "args": "web01"}),
        ),
        (
            "mcp__ssh-manager__ssh_alias",
            json!({"alias": "web01", "server": "db01"}),
        ),
        ("mcp__ssh-manager__ssh_hooks", json!({"action": "enable"})),
        ("mcp__ansible__restart_activation", json!({"activation_id": 1})),
    ] {
        let mut world = site();
        let call = under(call(tool, arguments), json!({"control_plane": "pass"}));
        holds(
            &asked(world.judge(&call)),
            &["none of its arguments names a machine"],
        );
        assert!(world.captures.is_empty());
    }
}

#[test]
fn an_unlisted_tool_goes_by_its_setting() {
    let unlisted = call("mcp__somewhere__do_it", json!({"host": "web01"}));
    holds(
        &asked(site().judge(&unlisted)),
        &["somewhere/do_it is in no catalog", "Allow it?"],
    );
    let denying = under(unlisted.clone(), json!({"unknown_tool": "deny"}));
    holds(
        &denied(site().judge(&denying)),
        &["is in no catalog", "Tell the user."],
    );
    let passing = under(unlisted, json!({"unknown_tool": "pass"}));
    assert_eq!(site().judge(&passing), Verdict::Pass(None));
}

#[test]
fn a_new_tool_of_a_known_server_is_unlisted_too() {
    asked(site().judge(&call("mcp__esxi__reconfigureVM", json!({"name": "web01"}))));
}

#[test]
fn a_control_plane_tool_goes_by_its_setting() {
    let other = call("mcp__esxi__createVM", json!({"name": "web01"}));
    let mut world = site();
    holds(&asked(world.judge(&other)), &["control plane", "Allow it?"]);
    denied(world.judge(&under(other.clone(), json!({"control_plane": "deny"}))));
    assert_eq!(
        world.judge(&under(other, json!({"control_plane": "pass"}))),
        Verdict::Pass(None)
    );
    assert!(world.captures.is_empty());
}

#[test]
fn what_is_no_mcp_tool_passes_in_silence() {
    assert_eq!(
        site().judge(&call("Bash", json!({"command": "rm -rf /"}))),
        Verdict::Pass(None)
    );
}

#[test]
fn a_name_that_does_not_belong_to_its_server_asks_even_where_unknown_tools_pass() {
    let foreign = of_server(call("mcp__nutanix__vm_list", json!({})), "esxi");
    holds(
        &asked(site().judge(&under(foreign, json!({"unknown_tool": "pass"})))),
        &["does not belong", "esxi"],
    );
}

#[test]
fn a_deny_weighs_more_than_an_ask() {
    let mut blocked = row("web01", 38, "WEB");
    blocked.sub_status = 24;
    let mut world = Script {
        rows: vec![blocked],
        ..Script::default()
    };
    let arguments = json!({"host_pattern": "db*,mail01,web01"});
    let reason = denied(world.judge(&call("mcp__ansible-mcp__ansible-task", arguments)));
    holds(&reason, &["disconnected from its peer"]);
    assert!(world.captures.is_empty());
}

#[test]
fn deleting_warns_that_protection_ends() {
    let note = noted(site().judge(&call("mcp__esxi__deleteVM", json!({"name": "web01"}))));
    holds(
        &note,
        &["out of protection", "fail the VPG over", "is another one"],
    );
    assert!(!note.contains("VM restore"), "{note}");
    let note = noted(site().judge(&call("mcp__esxi__powerOff", json!({"name": "web01"}))));
    assert!(!note.contains("out of protection"), "{note}");
}

#[test]
fn results_that_do_not_belong_to_the_question_are_no_checkpoint() {
    use holdpoint_guest::model::{CaptureResult, Checkpoint, VmRow, World};
    struct Liar(Vec<CaptureResult>);
    impl World for Liar {
        fn find_vms_by_name(&mut self, _: &str) -> Result<Vec<VmRow>, ZertoError> {
            Ok(vec![row("web01", 38, "WEB")])
        }
        fn find_vms_by_identifier(&mut self, _: &str) -> Result<Vec<VmRow>, ZertoError> {
            Ok(Vec::new())
        }
        fn capture(&mut self, _: &[String], _: &str) -> Vec<CaptureResult> {
            self.0.clone()
        }
        fn tally(&mut self) -> Option<Tally> {
            None
        }
        fn note(&mut self, _: &str) {}
    }
    let result = |vpg: &str, identifier: &str, tag: &str| CaptureResult {
        vpg_identifier: vpg.into(),
        outcome: Ok(Checkpoint {
            identifier: identifier.into(),
            tag: tag.into(),
            time: String::new(),
        }),
    };
    let call = call("mcp__esxi__powerOff", json!({"name": "web01"}));
    for answer in [
        vec![],
        vec![result("OTHER-id", "1", "a tag")],
        vec![result("WEB-id", "", "a tag")],
        vec![result("WEB-id", "1", "")],
    ] {
        denied(holdpoint_guest::decide::before(&call, &mut Liar(answer)));
    }
    // A checkpoint that another call has inserted is found again by that call's tag.
    let shared = vec![result("WEB-id", "1", "another's tag")];
    let note = noted(holdpoint_guest::decide::before(&call, &mut Liar(shared)));
    holds(&note, &["tag \"another's tag\"", "Checkpoint 1 in VPG \"WEB\""]);
    assert!(!note.contains("5569fb1c"), "not by its own: {note}");
}

#[test]
fn from_the_configured_level_on_a_change_asks_although_its_checkpoint_was_taken() {
    let change = call("mcp__esxi__powerOff", json!({"name": "web01"}));
    let strict = under(change.clone(), json!({"session_ask_level": 2}));
    let strained = |failures, level| Script {
        tally: Some(Tally { failures, level }),
        ..site()
    };
    for (failures, level) in [(3, 2), (9, 4)] {
        let mut world = strained(failures, level);
        let reason = asked(world.judge(&strict));
        let tag = &world.captures[0].1;
        holds(
            &reason,
            &[&format!("{failures} tool calls"), "from level 2 on", "7180", tag],
        );
    }
    noted(strained(2, 1).judge(&strict));
    noted(site().judge(&strict));
    let mut unconfigured = strained(9, 4);
    noted(unconfigured.judge(&change));
    assert_eq!(unconfigured.tallies, 0);
}

#[test]
fn the_level_softens_nothing_and_is_for_changes_only() {
    let under = |call| under(call, json!({"session_ask_level": 1}));
    let mut world = Script {
        tally: Some(Tally {
            failures: 5,
            level: 4,
        }),
        failing: vec![("WEB-id".into(), ZertoError::Refused("no".into()))],
        ..site()
    };
    denied(world.judge(&under(call("mcp__esxi__powerOff", json!({"name": "web01"})))));
    let read = world.judge(&under(call("mcp__esxi__listVMs", json!({}))));
    assert_eq!((read, world.tallies), (Verdict::Pass(None), 1));
}

#[test]
fn the_log_is_told_how_a_call_was_read_and_by_which_catalogs() {
    let notes = |call: Call| {
        let mut world = site();
        world.judge(&call);
        world.notes
    };
    let off = notes(call("mcp__esxi__powerOff", json!({"name": "web01"})));
    assert_eq!(
        off,
        ["esxi/powerOff changes machines: \"web01\" (by bright8192/esxi-mcp-server)"]
    );
    let read = notes(call("mcp__nutanix__vm_list", json!({})));
    assert_eq!(
        read,
        ["nutanix/vm_list only reads (by thunderboltsid/mcp-nutanix)"]
    );
    let nobody = notes(call("mcp__nobody__knows", json!({})));
    assert_eq!(nobody, ["nobody/knows is in no catalog"]);
    let own = json!({"catalogs": [{"server": {"aliases": ["mine"]}, "tools": [
        {"class": "other", "names": ["file"]}
    ]}]});
    let own = notes(under(call("mcp__mine__file", json!({})), own));
    assert_eq!(
        own,
        ["mine/file changes a control plane (by the operator's catalog of mine)"]
    );
    assert!(notes(call("Bash", json!({"command": "ls"}))).is_empty());
}
