//! Only what a server enforces counts: calls that say one thing and do another.

use holdpoint_guest::model::Verdict;
use serde_json::{Value, json};

use crate::world::{Script, asked, call, denied, holds, noted, row, site, under};

/// A call that has to ask, and of which no checkpoint may be taken.
#[track_caller]
fn doubted(tool: &str, arguments: Value) -> String {
    let mut world = site();
    let reason = asked(world.judge(&call(tool, arguments)));
    assert!(world.captures.is_empty(), "{reason}");
    reason
}

#[test]
fn a_switch_of_a_command_line_is_true_false_or_absent() {
    let power = |off: Value| json!({"off": off, "_args": "web01"});
    for fine in [json!(true), json!(false), Value::Null] {
        noted(site().judge(&call("mcp__vmware-mcp__vm_power", power(fine))));
    }
    for odd in [
        json!("db01"),
        json!("true"),
        json!(""),
        json!(1),
        json!(["db01"]),
        json!({}),
    ] {
        let reason = doubted("mcp__vmware-mcp__vm_power", power(odd));
        holds(&reason, &["switch \"off\"", "neither true nor false"]);
    }
    let change = |more: Value| {
        let mut arguments = json!({"vm": "web01"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        arguments
    };
    noted(site().judge(&call(
        "mcp__vmware-mcp__vm_change",
        change(json!({"c": 4, "m": "2048"})),
    )));
    for more in [
        json!({"cpu-hot-add-enabled": "-vm=db01"}),
        json!({"c": "-vm=db01"}),
        json!({"annotation": " -vm=db01"}),
        json!({"annotation": ["x", "-vm=db01"]}),
        json!({"vm.uuid": "x"}),
        json!({"VM": "db01"}),
        json!({"-vm": "db01"}),
        json!({"u": "vcenter02"}),
    ] {
        doubted("mcp__vmware-mcp__vm_change", change(more));
    }
    for machine in [json!("-vm.uuid=x"), json!(["web01"]), json!(true)] {
        doubted("mcp__vmware-mcp__vm_change", json!({"vm": machine}));
    }
}

#[test]
fn a_reading_command_line_takes_no_option_in_disguise() {
    let read = |arguments: Value| site().judge(&call("mcp__vmware-mcp__vm_info", arguments));
    assert_eq!(
        read(json!({"r": true, "_args": "web01 db01"})),
        Verdict::Pass(None)
    );
    for odd in [
        json!({"r": "-u=https://vcenter02"}),
        json!({"_args": "-u=https://vcenter02 web01"}),
        json!({"_args": " '-u=x'"}),
        json!({"vm": "-u=x"}),
        json!({"k": true}),
    ] {
        asked(read(odd));
    }
    let run = |flags: Value| {
        let arguments = json!({"command": "vm.info", "flags": flags, "args": "web01"});
        site().judge(&call("mcp__vmware-mcp__govc_run", arguments))
    };
    assert_eq!(run(json!({"r": true, "vm": "web01"})), Verdict::Pass(None));
    for odd in [json!({"r": "-u=x"}), json!({"r": ["-u=x"]}), json!({"e": {}})] {
        asked(run(odd));
    }
}

#[test]
fn blanks_separate_only_where_the_server_splits() {
    doubted("mcp__vmware-mcp__vm_migrate", json!({"vm": "web01 db01"}));
    for odd in ["web01\tdb01", "'web01 x'", "web01\u{a0}db01"] {
        doubted("mcp__vmware-mcp__vm_power", json!({"off": true, "_args": odd}));
    }
    doubted(
        "mcp__vmware-mcp__govc_run",
        json!({"command": "vm.destroy", "args": "web01\u{a0}db01"}),
    );
    // The server knows no commas: this is one name, and no such VM is known.
    doubted(
        "mcp__vmware-mcp__vm_power",
        json!({"off": true, "_args": "web01,db01"}),
    );
}

#[test]
fn a_dry_run_that_only_the_program_promises_waits_for_a_checkpoint() {
    for module in [
        "include_role",
        "include_tasks",
        "ansible.builtin.import_tasks",
        "copy",
    ] {
        let arguments = json!({"host_pattern": "web01", "module": module, "check": true});
        noted(site().judge(&call("mcp__ansible-mcp__ansible-task", arguments.clone())));
        let mut world = site();
        world.rows.clear();
        asked(world.judge(&call("mcp__ansible-mcp__ansible-task", arguments)));
    }
    doubted(
        "mcp__ansible-mcp__ansible-task",
        json!({"host_pattern": "web01", "module": "ping", "check": "--check -i db01,"}),
    );
}

#[test]
fn an_allowlist_of_programs_is_no_reading() {
    for command in [
        "ifconfig eth0 down",
        "sort -o /etc/x y",
        "git branch -D x",
        "uptime",
    ] {
        let arguments = json!({"command": command, "profile": "web01"});
        noted(site().judge(&call("mcp__ssh-mcp__read-command", arguments)));
        doubted("mcp__ssh-mcp__read-command", json!({"command": command}));
    }
    let session = json!({"command": "id", "profile": "web01", "session": "s"});
    holds(&doubted("mcp__ssh-mcp__run-command", session), &["session"]);
    for command in ["zip", "memdump", "mount", "runme"] {
        doubted(
            "mcp__crowdstrike__rtr_execute_command",
            json!({"session_id": "s", "device_id": "d", "base_command": command, "command_string": command}),
        );
    }
    let falcon = |base: &str, line: &str| {
        let arguments =
            json!({"session_id": "s", "device_id": "d", "base_command": base, "command_string": line});
        site().judge(&call("mcp__crowdstrike__rtr_execute_command", arguments))
    };
    assert_eq!(falcon("ls", "ls C:\\Users"), Verdict::Pass(None));
    for (base, line) in [
        ("ls", "zip a b"),
        ("ls", "lsx"),
        ("reg query", "reg query HKLM"),
        ("ps", ""),
    ] {
        asked(falcon(base, line));
    }
    let screen = |more: &str| {
        let command = format!("aws ec2 get-console-screenshot --instance-id i-1{more}");
        site().judge(&call(
            "mcp__awslabs_aws-api-mcp-server__call_aws",
            json!({"cli_command": command}),
        ))
    };
    assert_eq!(screen(""), Verdict::Pass(None));
    for more in [
        " --wake-up",
        " --wake",
        " --wake-up=true",
        " --cli-input-json file://x",
    ] {
        asked(screen(more));
    }
}

#[test]
fn a_name_counts_only_at_the_place_that_the_server_reads() {
    let tool = "mcp__aap-mcp__inventories_ad_hoc_commands_create";
    let body = |limit: &str| json!({"id": 1, "requestBody": {"limit": limit, "module_name": "shell"}});
    let scoped = json!({"servers": {"aap-mcp": {"scopes": {"id": "1"}}}});
    holds(
        &noted(site().judge(&under(call(tool, body("web01")), scoped))),
        &["web01"],
    );
    doubted(tool, body("web01"));
    doubted(tool, body("all"));
    for odd in [
        json!({"limit": "web01", "requestBody": {"limit": "all"}}),
        json!({"limit": "db01", "requestBody": {"limit": "web01"}}),
        json!({"requestBody": {"limit": "web01", "Limit": "all"}}),
        json!({"requestBody": {"limit": "web01", "more": [{"LIMIT": "all"}]}}),
        json!({"RequestBody": {"limit": "web01"}}),
        json!({"limit": "web01"}),
    ] {
        doubted(tool, odd);
    }
    let reason = doubted(
        "mcp__esxi__powerOff",
        json!({"name": "web01", "options": {"NAME": "db01"}}),
    );
    holds(&reason, &["also stands at \"/options/NAME\""]);
    for tool in [
        "ad_hoc_commands_relaunch_create",
        "jobs_relaunch_create",
        "workflow_jobs_relaunch_create",
    ] {
        doubted(
            &format!("mcp__aap-mcp__{tool}"),
            json!({"id": 1, "requestBody": {"limit": "web01"}}),
        );
    }
}

#[test]
fn a_name_that_stands_twice_asks() {
    for (tool, text) in [
        ("mcp__esxi__powerOff", r#"{"name": "db01", "name": "web01"}"#),
        (
            "mcp__aap-mcp__ad_hoc_commands_create",
            r#"{"requestBody": {"limit": "all"}, "requestBody": {"limit": "web01"}}"#,
        ),
        (
            "mcp__aap-mcp__ad_hoc_commands_create",
            r#"{"requestBody": {"limit": "all", "limit": "web01"}}"#,
        ),
    ] {
        let mut twice = call(tool, json!({}));
        twice.arguments = text.into();
        let mut world = site();
        holds(&asked(world.judge(&twice)), &["stands there twice"]);
        assert!(world.captures.is_empty(), "{text}");
    }
    let mut read = call("mcp__esxi__vmStats", json!({}));
    read.arguments = r#"{"vm_name": "a", "vm_name": "b"}"#.into();
    assert_eq!(site().judge(&read), Verdict::Pass(None));
}

#[test]
fn a_launch_reaches_what_the_template_says() {
    let launches = [
        ("awx", "launch_job", json!({"template_id": 7, "limit": "web01"})),
        (
            "awx",
            "launch_workflow",
            json!({"template_id": 7, "limit": "web01"}),
        ),
        (
            "awx-local",
            "awx_job_launch",
            json!({"template_id": 7, "limit": "web01"}),
        ),
        ("ansible", "run_job", json!({"template_id": 7})),
        (
            "aap-mcp",
            "job_templates_launch_create",
            json!({"id": 7, "requestBody": {"limit": "web01"}}),
        ),
        (
            "aap-mcp",
            "workflow_job_templates_launch_create",
            json!({"id": "7"}),
        ),
    ];
    for (server, tool, arguments) in launches {
        let name = format!("mcp__{server}__{tool}");
        holds(&doubted(&name, arguments.clone()), &["template \"7\""]);
        let launch = call(&name, arguments);
        // An id of another server's, or of a machine, is not this template's.
        let other =
            json!({"machines": {"7": "web01"}, "servers": {"proxmox": {"templates": {"7": ["web01"]}}}});
        asked(site().judge(&under(launch.clone(), other)));
        let mapped = json!({"servers": {server: {"templates": {"7": ["web01", "db01"]}}}});
        let mut world = site();
        holds(
            &noted(world.judge(&under(launch.clone(), mapped))),
            &["web01", "db01"],
        );
        let gone = json!({"servers": {server: {"templates": {"7": ["web01", "app01"]}}}});
        asked(site().judge(&under(launch, gone)));
    }
    let mapped = json!({"servers": {"awx": {"templates": {"7": ["web01"]}}}});
    for more in ["inventory", "extra_vars", "credential", "scm_branch"] {
        let launch = call("mcp__awx__launch_job", json!({"template_id": 7, more: "x"}));
        asked(site().judge(&under(launch, mapped.clone())));
    }
    let bad = json!({"servers": {"awx": {"templates": {"7": []}}}});
    denied(site().judge(&under(
        call("mcp__awx__launch_job", json!({"template_id": 7})),
        bad,
    )));
}

/// A catalog of the operator's whose machines stand in a vCenter and a zone.
fn scoped(settings: Value, arguments: Value) -> holdpoint_guest::model::Call {
    let mut settings = settings;
    settings["catalogs"] = json!([{
        "server": {"aliases": ["clouds"]},
        "tools": [{
            "class": "machine", "names": ["stop"],
            "machine": {"arguments": ["id"], "kind": "opaque", "scope": ["hostname", "/where/zone"]},
        }],
    }]);
    under(call("mcp__clouds__stop", arguments), settings)
}

#[test]
fn a_name_in_another_scope_is_another_machine() {
    let map = json!({"machines": {"vm-1": "web01"}});
    noted(site().judge(&scoped(map.clone(), json!({"id": "vm-1"}))));
    for scope in [
        json!({"hostname": "vc2"}),
        json!({"where": {"zone": "b"}}),
        json!({"hostname": ["vc1"]}),
    ] {
        let mut arguments = json!({"id": "vm-1"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(scope.as_object().unwrap().clone());
        let mut world = site();
        holds(
            &asked(world.judge(&scoped(map.clone(), arguments))),
            &["is a name within"],
        );
        assert!(world.captures.is_empty());
    }
    // The operator says in which scope the names are Zerto's, or maps a name within another.
    let home = json!({"machines": {"vm-1": "web01"}, "servers": {"clouds": {"scopes": {"hostname": "VC1", "zone": "a"}}}});
    let at =
        |hostname: &str, zone: &str| json!({"id": "vm-1", "hostname": hostname, "where": {"zone": zone}});
    noted(site().judge(&scoped(home.clone(), at("vc1", "a"))));
    asked(site().judge(&scoped(home.clone(), at("vc2", "a"))));
    asked(site().judge(&scoped(home, at("vc1", "b"))));
    let within = json!({"machines": {"vm-1": "db01", "vc2/b/vm-1": "web01"}});
    let note = noted(site().judge(&scoped(within.clone(), at("vc2", "b"))));
    assert!(note.contains("web01") && !note.contains("db01"), "{note}");
    asked(site().judge(&scoped(within, at("vc2", "a"))));
}

#[test]
fn one_servers_ids_are_not_anothers() {
    let run = |server: &str, settings: Value| {
        let call = call(
            &format!("mcp__{server}__execute_vm_command"),
            json!({"vmid": 104, "command": "x"}),
        );
        site().judge(&under(call, settings))
    };
    let own = json!({"machines": {"104": "db01"}, "servers": {"proxmox": {"machines": {"104": "web01"}}}});
    let note = noted(run("proxmox", own));
    assert!(note.contains("web01") && !note.contains("db01"), "{note}");
    let other = json!({"machines": {"104": "db01"}, "servers": {"proxmox": {"machines": {"9": "web01"}}}});
    asked(run("proxmox", other));
}

/// Zerto knows these VMs.
fn knows(names: &[&str]) -> Script {
    Script {
        rows: names
            .iter()
            .zip(1..)
            .map(|(name, number)| row(name, number, &format!("V{number}")))
            .collect(),
        ..Script::default()
    }
}

#[test]
fn a_text_with_commas_is_one_name_first() {
    let off = |name: &str| call("mcp__esxi__powerOff", json!({"name": name}));
    let mut world = knows(&["web", "db", "web,db"]);
    noted(world.judge(&off("web,db")));
    assert_eq!(world.captures[0].0, ["V3-id"]);
    let mut world = knows(&["web", "db"]);
    noted(world.judge(&off("web,db")));
    assert_eq!(world.captures[0].0, ["V1-id", "V2-id"]);
    for (known, said) in [
        (&["web", "db", "app", "web,db"][..], "web,db,app"),
        (&["web", "db", "app", "db, app"], "web,db, app"),
        (&["web", "web,"], "web,,"),
        (&["web"], "web,db"),
        (&["a", "b", "c", "d", "e", "f", "g"], "a,b,c,d,e,f,g"),
    ] {
        let mut world = knows(known);
        asked(world.judge(&off(said)));
        assert!(world.captures.is_empty(), "{said}");
    }
    // A limit is split by Ansible, so a VM that is called like the whole of it is in doubt.
    let mut world = knows(&["web", "db", "web,db"]);
    let limit = call(
        "mcp__ansible-mcp__ansible-task",
        json!({"host_pattern": "web,db"}),
    );
    holds(&asked(world.judge(&limit)), &["a VM is called"]);
}

#[test]
fn no_other_character_separates_and_blanks_belong_to_a_name() {
    let off = |name: Value| call("mcp__esxi__powerOff", json!({"name": name}));
    for said in [
        "web01 db01",
        "web01;db01",
        "web01:db01",
        "web01|db01",
        "web01\ndb01",
        " web01",
        "web01 ",
        "web01\u{a0}",
    ] {
        let mut world = site();
        asked(world.judge(&off(json!(said))));
        assert!(world.captures.is_empty(), "{said:?}");
    }
    asked(site().judge(&off(json!([["web01"]]))));
    asked(knows(&["web01", "web01 "]).judge(&off(json!("web01 "))));
    let mut world = knows(&["web01 "]);
    noted(world.judge(&off(json!("web01 "))));
    for pattern in ["web0?", "web*", "web[01]", "{web01}"] {
        holds(
            &asked(knows(&[pattern]).judge(&off(json!(pattern)))),
            &["pattern"],
        );
    }
}

#[test]
fn a_look_alike_is_another_vm() {
    use holdpoint_guest::model::{CaptureResult, Tally, VmRow, World, ZertoError};
    /// A ZVM that compares as loosely as Unicode lets it.
    struct Loose;
    impl World for Loose {
        fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, ZertoError> {
            let rows = vec![row("WEBK", 38, "WEB")];
            Ok(rows
                .into_iter()
                .filter(|row| row.vm_name.to_lowercase() == name.to_lowercase())
                .collect())
        }
        fn find_vms_by_identifier(&mut self, _: &str) -> Result<Vec<VmRow>, ZertoError> {
            Ok(Vec::new())
        }
        fn capture(&mut self, _: &[String], _: &str) -> Vec<CaptureResult> {
            unreachable!("nothing may be captured")
        }
        fn tally(&mut self) -> Option<Tally> {
            None
        }
        fn note(&mut self, _: &str) {}
    }
    // The last letter is the Kelvin sign.
    let off = call("mcp__esxi__powerOff", json!({"name": "web\u{212a}"}));
    holds(
        &asked(holdpoint_guest::decide::before(&off, &mut Loose)),
        &["spelt with other letters"],
    );
}

#[test]
fn a_vm_named_like_anothers_identifier_asks() {
    let mut world = site();
    let identifier = world.rows[0].vm_identifier.clone();
    world.rows[1].vm_name.clone_from(&identifier);
    let off = call("mcp__esxi__powerOff", json!({"name": identifier}));
    holds(&asked(world.judge(&off)), &["several VMs"]);
}
