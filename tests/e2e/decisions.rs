//! Every row of the decision table: stdout bytes, stderr, exit code, and what the ZVM saw.

use serde_json::{Value, json};

use crate::HOLDPOINT;
use crate::support::{World, assert_asks, assert_denies, assert_silent, before};

/// A healthy site with one VM in one VPG whose tags surface at once.
const HEALTHY: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";

fn power_off(vm: &str) -> Value {
    before("mcp__esxi__powerOff", json!({ "name": vm }))
}

/// The inserts that the ZVM saw.
fn inserts(world: &World) -> usize {
    world
        .sim
        .as_ref()
        .unwrap()
        .requests()
        .iter()
        .filter(|request| request.method == "POST" && request.path.ends_with("/checkpoints"))
        .count()
}

#[test]
fn a_tool_that_only_reads_passes_in_silence() {
    let world = World::with_zvm(HEALTHY);
    assert_silent(&world.hook(HOLDPOINT, &before("mcp__esxi__listVMs", json!({}))));
    assert_eq!(world.sim.as_ref().unwrap().requests().len(), 0);
    assert_eq!(world.logged()["verdict"], "pass");
}

#[test]
fn a_change_passes_with_a_note_once_its_checkpoint_is_seen() {
    let world = World::with_zvm(HEALTHY);
    let outcome = world.hook(HOLDPOINT, &power_off("JP-Ubuntu"));
    let sim = world.sim.as_ref().unwrap();
    let [checkpoint] = sim.checkpoints().try_into().unwrap();
    assert_eq!(
        (outcome.decision().as_str(), outcome.stderr.as_str(), outcome.code),
        ("context", "", Some(0)),
        "{outcome:?}"
    );
    for part in [
        &checkpoint.checkpoint_identifier,
        &checkpoint.tag,
        "APP-VPG",
        "Restore",
    ] {
        assert!(outcome.text().contains(part), "{part}: {}", outcome.text());
    }
    assert!(
        checkpoint.tag.starts_with("claude-code 5569fb1c-abcdefgh "),
        "{}",
        checkpoint.tag
    );
    assert!(
        checkpoint.tag.contains("esxi/powerOff on jp-ubuntu"),
        "{}",
        checkpoint.tag
    );
    assert!(checkpoint.tag.is_ascii() && checkpoint.tag.len() < 100);
    let line = world.logged();
    assert_eq!(
        line["checkpoints"][0]["checkpoint"],
        *checkpoint.checkpoint_identifier
    );
    assert_eq!(line["targets"], json!(["JP-Ubuntu"]));
    assert_eq!(line["tag"], *checkpoint.tag);
}

#[test]
fn the_answer_is_one_object_and_a_line_break() {
    let world = World::without_zvm();
    let outcome = world.hook(HOLDPOINT, &before("mcp__nobody__knows", json!({})));
    assert!(outcome.stdout.starts_with("{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\""));
    assert!(outcome.stdout.ends_with("\"}}\n"));
    assert_eq!(outcome.stdout.lines().count(), 1);
}

#[test]
fn all_vpgs_of_a_vm_are_captured() {
    let vm = "vms = [{ name = 'db1', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-7' }]";
    let world = World::with_zvm(&format!(
        "[[vpgs]]\nname = 'A'\ninstant = true\n{vm}\n[[vpgs]]\nname = 'B'\ninstant = true\n{vm}"
    ));
    let outcome = world.hook(HOLDPOINT, &power_off("db1"));
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    let checkpoints = world.sim.as_ref().unwrap().checkpoints();
    assert_eq!(checkpoints.len(), 2);
    assert_eq!(checkpoints[0].tag, checkpoints[1].tag);
    assert_eq!(world.logged()["checkpoints"].as_array().unwrap().len(), 2);
}

#[test]
fn all_machines_of_a_call_are_captured() {
    let world = World::with_zvm(
        "[[vpgs]]\nname = 'A'\ninstant = true\nvms = [{ name = 'web01' }]\n[[vpgs]]\nname = 'B'\ninstant = true\nvms = [{ name = 'web02' }]",
    );
    let call = before(
        "mcp__ansible-mcp__ansible-remote-command",
        json!({ "host_pattern": "web01,web02", "command": "id" }),
    );
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "context");
    assert_eq!(inserts(&world), 2);
}

#[test]
fn a_refused_capture_denies_in_zertos_own_words() {
    let world = World::with_zvm("[[vpgs]]\noutcome = 'refused'\nreason = 'The journal is full'");
    assert_denies(
        &world.hook(HOLDPOINT, &power_off("jp-ubuntu")),
        "The journal is full",
    );
}

#[test]
fn a_failed_task_denies_at_once() {
    let world = World::with_zvm("[[vpgs]]\noutcome = 'task-fails'\nreason = 'The VRA is down'");
    let outcome = world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    assert_denies(&outcome, "The VRA is down");
}

#[test]
fn a_checkpoint_that_is_not_seen_in_time_denies() {
    let world = World::with_zvm("[[vpgs]]\noutcome = 'never-surfaces'");
    world.configure("deadline_seconds = 3");
    let outcome = world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    assert_denies(&outcome, "not confirmed in time");
    assert_eq!(inserts(&world), 1);
    assert!(outcome.took.as_secs_f64() < 3.0, "{:?}", outcome.took);
}

#[test]
fn an_unreachable_zvm_denies() {
    let world = World::with_zvm(HEALTHY);
    let url = world.sim.as_ref().unwrap().url();
    let mut world = world;
    // Nobody listens on that port any more.
    drop(world.sim.take());
    world.configure_bare(&format!(
        "zerto.url = '{url}'\nzerto.username = 'admin'\nzerto.secret_file = '{}'",
        world.path("password").display()
    ));
    assert_denies(
        &world.hook(HOLDPOINT, &power_off("jp-ubuntu")),
        "could not be asked",
    );
}

#[test]
fn bad_credentials_deny() {
    let world = World::with_zvm(HEALTHY);
    world.write_private("password", "wrong");
    let outcome = world.hook(HOLDPOINT, &power_off("jp-ubuntu"));
    assert_denies(&outcome, "no log-in to Zerto succeeded");
    let requests = world.sim.as_ref().unwrap().requests();
    assert_eq!(
        requests.len(),
        1,
        "a refused log-in is not tried again: {requests:?}"
    );
}

#[test]
fn a_partly_captured_vm_denies_and_names_what_was_captured() {
    let vm = "vms = [{ name = 'db1', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-7' }]";
    let world = World::with_zvm(&format!(
        "[[vpgs]]\nname = 'GOOD'\ninstant = true\n{vm}\n[[vpgs]]\nname = 'BAD'\noutcome = 'refused'\nreason = 'no space'\n{vm}"
    ));
    let outcome = world.hook(HOLDPOINT, &power_off("db1"));
    assert_denies(&outcome, "no space");
    assert!(
        outcome.text().contains("GOOD") && outcome.text().contains("BAD"),
        "{}",
        outcome.text()
    );
}

#[test]
fn a_vpg_that_can_take_no_checkpoint_denies_without_an_insert() {
    let world = World::with_zvm("[[vpgs]]\nstatus = 6\nsub_status = 19");
    assert_denies(&world.hook(HOLDPOINT, &power_off("jp-ubuntu")), "moving");
    assert_eq!(inserts(&world), 0);
}

#[test]
fn statuses_3_and_4_both_take_a_checkpoint() {
    for status in [3, 4] {
        let world = World::with_zvm(&format!("[[vpgs]]\nstatus = {status}\ninstant = true"));
        assert_eq!(
            world.hook(HOLDPOINT, &power_off("jp-ubuntu")).decision(),
            "context"
        );
    }
}

#[test]
fn a_vm_that_zerto_does_not_know_asks() {
    let world = World::with_zvm(HEALTHY);
    assert_asks(&world.hook(HOLDPOINT, &power_off("nowhere")), "nowhere");
    assert_eq!(inserts(&world), 0);
}

#[test]
fn a_name_that_fits_several_vms_asks() {
    let world = World::with_zvm(
        "[[vpgs]]\nname = 'A'\nvms = [{ name = 'db1', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-1' }]\n\
         [[vpgs]]\nname = 'B'\nvms = [{ name = 'db1', identifier = '8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-2' }]",
    );
    assert_asks(&world.hook(HOLDPOINT, &power_off("db1")), "db1");
    assert_eq!(inserts(&world), 0);
}

#[test]
fn a_vm_that_is_protected_the_other_way_round_or_gone_asks() {
    let world = World::with_zvm(
        "[[vpgs]]\nname = 'FROM-EAST'\nvms = [{ name = 'db1', direction = 'recovered-here' }]",
    );
    assert_asks(&world.hook(HOLDPOINT, &power_off("db1")), "FROM-EAST");
    let world = World::with_zvm("[[vpgs]]\nvms = [{ name = 'db1', exists = false }]");
    assert_asks(&world.hook(HOLDPOINT, &power_off("db1")), "db1");
    assert_eq!(inserts(&world), 0);
}

#[test]
fn a_call_without_a_machine_asks_and_hints_at_a_likely_one() {
    let world = World::with_zvm(HEALTHY);
    let call = before("mcp__esxi__powerOff", json!({ "hostname": "jp-ubuntu" }));
    assert_asks(&world.hook(HOLDPOINT, &call), "jp-ubuntu");
    assert_eq!(
        world.sim.as_ref().unwrap().requests().len(),
        0,
        "a guess is never looked up"
    );
}

#[test]
fn a_pattern_an_empty_limit_and_an_opaque_id_ask() {
    let world = World::with_zvm(HEALTHY);
    let calls = [
        (
            "mcp__ansible-mcp__ansible-remote-command",
            json!({ "host_pattern": "web*" }),
        ),
        (
            "mcp__ansible-mcp__ansible-remote-command",
            json!({ "host_pattern": "all" }),
        ),
        (
            "mcp__ansible-mcp__ansible-remote-command",
            json!({ "host_pattern": "db:&prod" }),
        ),
        (
            "mcp__awx__run_ad_hoc_command",
            json!({ "limit": "", "inventory_id": 3 }),
        ),
        ("mcp__awx__run_ad_hoc_command", json!({ "inventory_id": 3 })),
        (
            "mcp__defender__defender_isolate_machine",
            json!({ "machineId": "0a1b2c" }),
        ),
    ];
    for (tool, input) in calls {
        let outcome = world.hook(HOLDPOINT, &before(tool, input.clone()));
        assert_eq!(outcome.decision(), "ask", "{tool} {input}: {outcome:?}");
    }
    assert_eq!(world.sim.as_ref().unwrap().requests().len(), 0);
}

#[test]
fn what_the_server_does_not_enforce_is_not_believed() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true\nvms = [{ name = 'web01' }, { name = 'db01' }]");
    let calls = [
        (
            "mcp__vmware-mcp__vm_power",
            json!({ "off": "db01", "_args": "web01" }),
        ),
        (
            "mcp__vmware-mcp__vm_change",
            json!({ "vm": "web01", "cpu-hot-add-enabled": "-vm=db01" }),
        ),
        (
            "mcp__aap-mcp__inventories_ad_hoc_commands_create",
            json!({ "id": 1, "limit": "web01", "requestBody": { "limit": "all" } }),
        ),
        (
            "mcp__aap-mcp__job_templates_launch_create",
            json!({ "id": 7, "requestBody": { "limit": "web01" } }),
        ),
        (
            "mcp__awx__launch_job",
            json!({ "template_id": 7, "limit": "web01" }),
        ),
        (
            "mcp__aap-mcp__jobs_relaunch_create",
            json!({ "id": 7, "requestBody": { "limit": "web01" } }),
        ),
        (
            "mcp__ssh-mcp__run-command",
            json!({ "command": "id", "profile": "web01", "session": "s" }),
        ),
    ];
    for (tool, input) in calls {
        let outcome = world.hook(HOLDPOINT, &before(tool, input.clone()));
        assert_eq!(outcome.decision(), "ask", "{tool} {input}: {outcome:?}");
    }
    assert_eq!(inserts(&world), 0);
    world.configure("[policy.servers.aap-mcp.scopes]\nid = '1'\n");
    for (tool, input) in [
        (
            "mcp__aap-mcp__inventories_ad_hoc_commands_create",
            json!({ "id": 1, "requestBody": { "limit": "web01" } }),
        ),
        (
            "mcp__ansible-mcp__ansible-task",
            json!({ "host_pattern": "web01", "module": "include_role", "check": true }),
        ),
        (
            "mcp__ssh-mcp__read-command",
            json!({ "profile": "web01", "command": "ifconfig eth0 down" }),
        ),
    ] {
        let outcome = world.hook(HOLDPOINT, &before(tool, input.clone()));
        assert_eq!(outcome.decision(), "context", "{tool} {input}: {outcome:?}");
    }
}

#[test]
fn the_settings_of_a_server_say_what_its_templates_and_scopes_are() {
    let world = World::with_zvm("[[vpgs]]\ninstant = true\nvms = [{ name = 'web01' }, { name = 'db01' }]");
    let launch = before("mcp__awx__launch_job", json!({ "template_id": 7 }));
    assert_asks(&world.hook(HOLDPOINT, &launch), "template");
    world.configure("[policy.servers.awx]\ntemplates = { 7 = ['web01', 'db01'] }\nscopes = { zone = 'a' }\nmachines = { 1 = 'x' }");
    assert_eq!(world.hook(HOLDPOINT, &launch).decision(), "context");
}

#[test]
fn a_name_with_a_comma_is_one_vm_where_there_is_one() {
    let world = World::with_zvm(
        "[[vpgs]]\nname = 'BOTH'\ninstant = true\nvms = [{ name = 'web' }, { name = 'db' }]\n[[vpgs]]\nname = 'ONE'\ninstant = true\nvms = [{ name = 'web,db' }]",
    );
    let outcome = world.hook(HOLDPOINT, &power_off("web,db"));
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    assert!(format!("{outcome:?}").contains("ONE") && !format!("{outcome:?}").contains("BOTH"));
}

#[test]
fn every_ask_ends_with_the_question_and_says_what_a_headless_run_means() {
    let world = World::with_zvm(HEALTHY);
    for (tool, input) in [
        ("mcp__nobody__knows", json!({})),
        ("mcp__esxi__createVM", json!({})),
        ("mcp__esxi__powerOff", json!({})),
        ("mcp__esxi__powerOff", json!({ "name": "nobody" })),
    ] {
        let outcome = world.hook(HOLDPOINT, &before(tool, input));
        assert_asks(&outcome, "Allow it?");
        assert_asks(&outcome, "the call did not run: tell the user.");
    }
}

#[test]
fn an_id_that_the_operator_has_mapped_is_captured() {
    let world = World::with_zvm(HEALTHY);
    world.configure("[policy.machines]\n0a1b2c = 'jp-ubuntu'");
    let call = before(
        "mcp__defender__defender_isolate_machine",
        json!({ "machineId": "0a1b2c" }),
    );
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "context");
}

#[test]
fn an_unlisted_tool_asks_denies_or_passes_as_configured() {
    for (choice, decision) in [("ask", "ask"), ("deny", "deny"), ("pass", "silence")] {
        let world = World::without_zvm();
        world.configure(&format!("policy.unknown_tool = '{choice}'"));
        assert_eq!(
            world
                .hook(HOLDPOINT, &before("mcp__nobody__knows", json!({})))
                .decision(),
            decision
        );
    }
}

#[test]
fn a_tool_that_changes_a_control_plane_asks_denies_or_passes_as_configured() {
    for (choice, decision) in [("ask", "ask"), ("deny", "deny"), ("pass", "silence")] {
        let world = World::without_zvm();
        world.configure(&format!("policy.control_plane = '{choice}'"));
        assert_eq!(
            world
                .hook(HOLDPOINT, &before("mcp__esxi__createVM", json!({})))
                .decision(),
            decision
        );
    }
}

#[test]
fn a_tool_of_the_harness_itself_passes_in_silence() {
    let world = World::with_zvm(HEALTHY);
    assert_silent(&world.hook(HOLDPOINT, &before("Bash", json!({ "command": "rm -rf /" }))));
}

#[test]
fn an_ask_becomes_a_deny_in_the_configured_permission_modes() {
    let world = World::without_zvm();
    world.configure("ask.deny_in_modes = ['bypassPermissions']");
    let mut call = before("mcp__nobody__knows", json!({}));
    assert_denies(&world.hook(HOLDPOINT, &call), "permission mode");
    call["permission_mode"] = "default".into();
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "ask");
}
