//! Which machines the arguments name, by kind.

use holdpoint_guest::model::{Call, Verdict};
use serde_json::{Value, json};

use crate::world::{VCENTER, asked, call, denied, holds, noted, row, site, under};

/// What Zerto is asked for a call: names and identifiers.
fn looked_up(call: &Call) -> (Vec<String>, Vec<String>) {
    let mut world = crate::world::Script::default();
    world.judge(call);
    (world.names, world.identifiers)
}

#[test]
fn patterns_ask_and_plain_names_do_not() {
    let patterns = [
        "web*",
        "all",
        "ALL",
        "ungrouped",
        "*",
        "db:&prod",
        "!web01",
        "web0?",
        "web[01:09]",
        "~web.*",
        "@retry",
        "{{ hosts }}",
        "web01 or db01",
        "G@os:Debian",
        "web01;db01",
        "web01|db01",
    ];
    for pattern in patterns {
        let mut world = site();
        let verdict = world.judge(&call(
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": pattern}),
        ));
        holds(&asked(verdict), &["pattern"]);
        assert!(world.captures.is_empty(), "{pattern}");
    }
    for names in ["web01", "web01,db01", " web01 , db01, ", "WEB01"] {
        noted(site().judge(&call(
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": names}),
        )));
    }
}

#[test]
fn an_empty_limit_asks_and_says_what_it_can_mean() {
    let empty = [
        json!({}),
        json!({"limit": ""}),
        json!({"limit": "  "}),
        json!({"limit": null}),
        json!({"limit": []}),
    ];
    for arguments in empty {
        let reason = asked(site().judge(&call("mcp__awx__run_ad_hoc_command", arguments)));
        holds(&reason, &["\"limit\"", "whole inventory"]);
    }
}

#[test]
fn values_are_texts_numbers_and_lists_of_them() {
    let tool = "mcp__mcp-ssh__runRemoteCommand";
    noted(site().judge(&call(tool, json!({"hostAlias": ["web01", "db01"]}))));
    for odd in [
        json!(true),
        json!({"name": "web01"}),
        json!(["web01", null]),
        json!(["web01", ""]),
        json!([["web01"]]),
    ] {
        holds(
            &asked(site().judge(&call(tool, json!({"hostAlias": odd})))),
            &["no name"],
        );
    }
    asked(site().judge(&call(tool, json!({"hostAlias": "x".repeat(300)}))));
}

#[test]
fn every_named_argument_counts_and_blanks_separate_only_where_the_catalog_says_so() {
    let both = json!({"vm": "web01", "_args": "db01"});
    let (names, _) = looked_up(&call("mcp__vmware-mcp__vm_migrate", both));
    assert_eq!(names, ["web01", "db01"]);
    let (names, _) = looked_up(&call("mcp__vmware-mcp__vm_power", json!({"_args": "web01 db01"})));
    assert_eq!(names, ["web01 db01", "web01", "db01"]);
    let (names, _) = looked_up(&call("mcp__esxi__powerOff", json!({"name": "My Server"})));
    assert_eq!(names, ["My Server"]);
}

#[test]
fn ids_ask_unless_the_operator_maps_them() {
    let cases = [
        (
            "mcp__defender__defender_isolate_machine",
            json!({"machineId": "1e5b"}),
            "1e5b",
        ),
        ("mcp__proxmox__execute_vm_command", json!({"vmid": 100}), "100"),
        ("mcp__proxmox__execute_vm_command", json!({"vmid": "100"}), "100"),
        ("mcp__awx__relaunch_job", json!({"job_id": 100}), "100"),
        ("mcp__vsphere__power_off_vm", json!({"vm_id": "vm-77"}), "vm-77"),
        (
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": "web*"}),
            "web*",
        ),
        (
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": "a,b"}),
            "a,b",
        ),
    ];
    for (tool, arguments, id) in cases {
        let mut world = site();
        asked(world.judge(&call(tool, arguments.clone())));
        assert!(world.captures.is_empty(), "{tool}");
        let mapped = under(call(tool, arguments), json!({"machines": {id: "web01"}}));
        noted(site().judge(&mapped));
    }
}

#[test]
fn the_map_is_read_whatever_the_case_and_asks_where_that_fits_twice() {
    let power_off = |name: &str, machines: Value| {
        under(
            call("mcp__esxi__powerOff", json!({"name": name})),
            json!({"machines": machines}),
        )
    };
    holds(
        &noted(site().judge(&power_off("Bastion", json!({"bastion": "db01"})))),
        &["db01"],
    );
    let twice = json!({"bastion": "db01", "BASTION": "web01"});
    holds(
        &noted(site().judge(&power_off("BASTION", twice.clone()))),
        &["web01"],
    );
    let mut world = site();
    holds(
        &asked(world.judge(&power_off("Bastion", twice))),
        &["several keys"],
    );
    assert!(world.names.is_empty());
}

#[test]
fn a_reference_becomes_an_identifier_where_the_vcenter_is_known() {
    let power_off = |id: &str| call("mcp__vsphere__power_off_vm", json!({"vm_id": id}));
    let vcenter = json!({"vcenter": VCENTER});
    assert_eq!(
        looked_up(&under(power_off("vm-38"), vcenter.clone())).1,
        [format!("{VCENTER}.vm-38")]
    );
    noted(site().judge(&under(power_off("vm-38"), vcenter.clone())));
    noted(site().judge(&power_off(&format!("{VCENTER}.vm-38"))));
    for odd in ["host-9", "vm-", "vm-3x", "web01", ".vm-38"] {
        let call = under(power_off(odd), vcenter.clone());
        asked(site().judge(&call));
        assert_eq!(looked_up(&call), (vec![], vec![]), "{odd}");
    }
}

#[test]
fn a_server_bound_tool_changes_the_machine_that_the_operator_named() {
    let run = call("mcp__windows-mcp__Powershell-Tool", json!({"command": "x"}));
    holds(&asked(site().judge(&run)), &["machine that its server runs on"]);
    noted(site().judge(&under(
        run,
        json!({"servers": {"windows-mcp": {"machine": "web01"}}}),
    )));
    let mine = call("mcp__my_desk__write_file", json!({}));
    let settings = json!({"servers": {"my desk": {"catalog": "desktop-commander", "machine": "db01"}}});
    holds(&noted(site().judge(&under(mine, settings))), &["\"db01\""]);
}

#[test]
fn the_other_form_of_a_name_is_tried_only_in_configured_domains() {
    let winrm = |name: &str| call("mcp__winrm__winrm_run_cmd", json!({"hostname": name}));
    let domains = |list: Value| json!({"domains": list});
    let names = |call: &Call| looked_up(call).0;
    assert_eq!(names(&winrm("web01.corp.local")), ["web01.corp.local"]);
    let corp = domains(json!(["Corp.Local"]));
    assert_eq!(
        names(&under(winrm("web01.CORP.local"), corp.clone())),
        ["web01.CORP.local", "web01"]
    );
    assert_eq!(
        names(&under(winrm("web01.lab.local"), corp.clone())),
        ["web01.lab.local"]
    );
    assert_eq!(
        names(&under(
            winrm("web01"),
            domains(json!(["corp.local", "lab.local"]))
        )),
        ["web01", "web01.corp.local", "web01.lab.local"]
    );
    noted(site().judge(&under(winrm("web01.corp.local"), corp)));

    let mut world = site();
    world.rows = vec![row("app.corp.local", 1, "A"), row("app.lab.local", 2, "B")];
    let two = under(winrm("app"), domains(json!(["corp.local", "lab.local"])));
    holds(&asked(world.judge(&two)), &["several VMs"]);
}

#[test]
fn what_the_zvm_answers_is_compared_again() {
    use holdpoint_guest::model::{CaptureResult, Tally, VmRow, World, ZertoError};
    /// A ZVM that ignores the filter.
    struct Everything(bool);
    impl World for Everything {
        fn find_vms_by_name(&mut self, _: &str) -> Result<Vec<VmRow>, ZertoError> {
            Ok(vec![row("db01", 39, "DB")])
        }
        fn find_vms_by_identifier(&mut self, _: &str) -> Result<Vec<VmRow>, ZertoError> {
            Ok(vec![row("db01", 39, "DB")])
        }
        fn capture(&mut self, _: &[String], _: &str) -> Vec<CaptureResult> {
            self.0 = true;
            Vec::new()
        }
        fn tally(&mut self) -> Option<Tally> {
            None
        }
        fn note(&mut self, _: &str) {}
    }
    let mut world = Everything(false);
    let call = call("mcp__esxi__powerOff", json!({"name": "web01"}));
    asked(holdpoint_guest::decide::before(&call, &mut world));
    assert!(!world.0);
}

#[test]
fn a_name_may_be_zertos_identifier() {
    noted(site().judge(&call(
        "mcp__esxi__powerOff",
        json!({"name": format!("{VCENTER}.VM-38")}),
    )));
}

#[test]
fn too_many_machines_ask_without_a_lookup() {
    let names: Vec<String> = (0..33).map(|n| format!("web{n}")).collect();
    let many = call("mcp__ansible-mcp__ansible-task", json!({"host_pattern": names}));
    holds(&asked(site().judge(&many)), &["more than 32"]);
    assert_eq!(looked_up(&many), (vec![], vec![]));
    let (names, _) = looked_up(&call(
        "mcp__ansible-mcp__ansible-task",
        json!({"host_pattern": names[..32]}),
    ));
    assert_eq!(names.len(), 32);
}

#[test]
fn arguments_that_were_cut_are_never_complete() {
    let mut cut = call("mcp__esxi__powerOff", json!({"name": null}));
    cut.arguments_cut = true;
    holds(&asked(site().judge(&cut)), &["too large"]);
    // A second place may have named a second machine.
    let mut cut = call("mcp__vmware-mcp__vm_migrate", json!({"vm": "web01"}));
    noted(site().judge(&cut));
    cut.arguments_cut = true;
    holds(&asked(site().judge(&cut)), &["too large"]);
    // What was left out may have said otherwise than its default.
    let mut heal = call(
        "mcp__ansible-mcp__ansible-auto-heal",
        json!({"host_pattern": "web01"}),
    );
    assert_eq!(site().judge(&heal), Verdict::Pass(None));
    heal.arguments_cut = true;
    asked(site().judge(&heal));
}

#[test]
fn rules_make_a_call_milder_only_by_the_exact_value() {
    let cases = [
        (
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": "web01", "check": true}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": "web01", "check": "true"}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-task",
            json!({"host_pattern": "web01"}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-playbook",
            json!({"limit": "web01", "check": true}),
            false,
        ),
        (
            "mcp__ansible-mcp__project-run-playbook",
            json!({"limit": "web01", "check": false}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-service-manager",
            json!({"host_pattern": "web01", "action": "status"}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-service-manager",
            json!({"host_pattern": "web01", "action": "restart"}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-auto-heal",
            json!({"host_pattern": "web01"}),
            true,
        ),
        (
            "mcp__ansible-mcp__ansible-auto-heal",
            json!({"host_pattern": "web01", "dry_run": true}),
            true,
        ),
        (
            "mcp__ansible-mcp__ansible-auto-heal",
            json!({"host_pattern": "web01", "dry_run": false}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-auto-heal",
            json!({"host_pattern": "web01", "dry_run": null}),
            false,
        ),
        (
            "mcp__awx__ansible_playbook",
            json!({"limit": "web01", "check_mode": true}),
            false,
        ),
        (
            "mcp__awx__project_run_playbook",
            json!({"limit": "web01", "check_mode": true}),
            false,
        ),
        (
            "mcp__ansible-mcp__project-run-playbook",
            json!({"limit": "web01", "check": true}),
            false,
        ),
        (
            "mcp__ansible-mcp__ansible-network-matrix",
            json!({"host_patterns": ["web01"], "target_hosts": ["x; id"]}),
            false,
        ),
        (
            "mcp__saltapi__execute_salt_command",
            json!({"target": "web01", "function": "test.ping"}),
            true,
        ),
        (
            "mcp__saltapi__execute_salt_command",
            json!({"target": "web01", "function": "cmd.run"}),
            false,
        ),
        (
            "mcp__saltapi__execute_salt_command",
            json!({"target": "web01", "function": "test.ping,cmd.run"}),
            false,
        ),
        (
            "mcp__linux-mcp-server__run_script_interactive",
            json!({"host": "web01", "readonly": true}),
            false,
        ),
    ];
    for (tool, arguments, reads) in cases {
        let verdict = site().judge(&call(tool, arguments.clone()));
        assert_eq!(
            verdict == Verdict::Pass(None),
            reads,
            "{tool} {arguments}: {verdict:?}"
        );
    }
    let contain = |arguments| call("mcp__crowdstrike__host_contain", arguments);
    assert_eq!(
        site().judge(&contain(json!({"device_id": "x"}))),
        Verdict::Pass(None)
    );
    assert_eq!(
        site().judge(&contain(json!({"device_id": "x", "confirm": false}))),
        Verdict::Pass(None)
    );
    asked(site().judge(&contain(json!({"device_id": "x", "confirm": true}))));
}

#[test]
fn an_absent_argument_is_not_absent_where_the_arguments_are_unreadable() {
    let mut heal = call("mcp__ansible-mcp__ansible-auto-heal", json!({}));
    for text in ["", "{", "null", "[]"] {
        heal.arguments = text.into();
        asked(site().judge(&heal));
    }
}

#[test]
fn one_blocked_machine_denies_for_all() {
    let mut world = site();
    world.rows[1].status = 7;
    let both = call(
        "mcp__mcp-ssh__uploadFile",
        json!({"hostAlias": ["web01", "db01"]}),
    );
    holds(&denied(world.judge(&both)), &["\"db01\"", "deleting"]);
    assert!(world.captures.is_empty());
}
