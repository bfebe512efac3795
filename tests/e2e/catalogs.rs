//! The operator's own catalogs, and what the configuration tells the policy.

use serde_json::json;

use crate::HOLDPOINT;
use crate::support::{World, before, chmod, fixture};

const HEALTHY: &str =
    "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }, { name = 'a.corp.example' }]";

fn with_catalog(catalog: &str, lines: &str) -> World {
    let world = World::with_zvm(HEALTHY);
    world.write_private("own.toml", catalog);
    world.configure(&format!(
        "policy.catalogs = ['{}']\n{lines}",
        world.path("own.toml").display()
    ));
    world
}

#[test]
fn a_captured_event_of_the_real_harness_waits_for_its_checkpoint() {
    let catalog = std::fs::read_to_string(fixture("catalogs/falcon.toml")).unwrap();
    let world = with_catalog(&catalog, "policy.domains = ['corp.example']");
    let event = std::fs::read(fixture("claude-code-2.1.197/PreToolUse.mcp-run_command.json")).unwrap();
    let outcome = world.hook_bytes(HOLDPOINT, &event);
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    let [checkpoint] = world.sim.as_ref().unwrap().checkpoints().try_into().unwrap();
    assert!(
        checkpoint.tag.ends_with("falcon/run_command on a.corp.example"),
        "{}",
        checkpoint.tag
    );
}

#[test]
fn an_own_catalog_adds_and_tightens_but_does_not_widen() {
    let catalog = "[server]\naliases = ['esxi']\n\
        [[tools]]\nclass = 'guest'\nnames = ['listVMs']\nmachine = { arguments = ['vm'], kind = 'vm-name' }\n\
        [[tools]]\nclass = 'read'\nnames = ['powerOff', 'countVMs']";
    let added = before("mcp__esxi__countVMs", json!({}));
    let tightened = before("mcp__esxi__listVMs", json!({ "vm": "jp-ubuntu" }));
    let widened = before("mcp__esxi__powerOff", json!({ "name": "nowhere" }));

    let world = with_catalog(catalog, "");
    assert_eq!(world.hook(HOLDPOINT, &added).decision(), "silence");
    assert_eq!(world.hook(HOLDPOINT, &tightened).decision(), "context");
    let outcome = world.hook(HOLDPOINT, &widened);
    assert_eq!(outcome.decision(), "ask");
    assert!(outcome.text().contains("ignored"), "{}", outcome.text());

    let world = with_catalog(catalog, "policy.allow_widening = true");
    assert_eq!(world.hook(HOLDPOINT, &widened).decision(), "silence");
}

#[test]
fn a_tool_of_the_harness_is_judged_where_a_catalog_says_so() {
    let catalog = "[server]\naliases = ['harness']\nbuiltin = true\n\
        [[tools]]\nclass = 'guest'\nnames = ['Bash']\nmachine = { arguments = [], kind = 'server-bound' }";
    let world = with_catalog(catalog, "[policy.servers.harness]\nmachine = 'jp-ubuntu'");
    let outcome = world.hook(HOLDPOINT, &before("Bash", json!({ "command": "reboot" })));
    assert_eq!(outcome.decision(), "context", "{outcome:?}");
    assert_eq!(
        world.hook(HOLDPOINT, &before("Read", json!({}))).decision(),
        "silence"
    );
}

#[test]
fn a_catalog_that_cannot_be_used_denies_everything_and_names_the_file() {
    let reads = before("mcp__esxi__listVMs", json!({}));
    for (catalog, words) in [
        ("not toml", "own.toml"),
        (
            "[server]\naliases = ['x']\n[[tools]]\nclass = 'harmless'\nnames = ['y']",
            "harmless",
        ),
        ("[server]\naliases = ['x']\ntools = 3", "tools"),
        (
            "[server]\nalias = ['x']\n[[tools]]\nclass = 'read'\nnames = ['y']",
            "alias",
        ),
    ] {
        let outcome = with_catalog(catalog, "").hook(HOLDPOINT, &reads);
        assert_eq!(
            (outcome.decision().as_str(), outcome.code),
            ("deny", Some(2)),
            "{catalog}"
        );
        assert!(outcome.text().contains(words), "{}", outcome.text());
    }
    let world = with_catalog(
        "[server]\naliases = ['x']\n[[tools]]\nclass = 'read'\nnames = ['y']",
        "",
    );
    assert_eq!(world.hook(HOLDPOINT, &reads).decision(), "silence");
    chmod(&world.path("own.toml"), 0o666);
    let outcome = world.hook(HOLDPOINT, &reads);
    assert_eq!(outcome.decision(), "deny");
    assert!(outcome.text().contains("chmod go-w"), "{}", outcome.text());
    std::fs::remove_file(world.path("own.toml")).unwrap();
    assert_eq!(world.hook(HOLDPOINT, &reads).decision(), "deny");
}

#[test]
fn a_server_under_a_key_of_its_own_follows_the_catalog_that_it_is_given() {
    let world = World::with_zvm(HEALTHY);
    let call = before(
        "mcp__jumphost__ssh_execute",
        json!({ "server": "prod", "command": "id" }),
    );
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "ask");
    world.configure(
        "[policy.servers.jumphost]\ncatalog = 'ssh-manager'\n[policy.machines]\nprod = 'jp-ubuntu'",
    );
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "context");
}

#[test]
fn a_server_that_changes_its_own_machine_is_tied_to_a_vm() {
    let world = World::with_zvm(HEALTHY);
    let call = before(
        "mcp__windows-mcp__Powershell-Tool",
        json!({ "command": "Restart-Computer" }),
    );
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "ask");
    world.configure("[policy.servers.windows-mcp]\nmachine = 'jp-ubuntu'");
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "context");
}

#[test]
fn plugin_servers_and_servers_named_by_the_event_are_found() {
    let world = World::with_zvm(HEALTHY);
    let mut call = before("mcp__plugin_ops_esxi__powerOff", json!({ "name": "jp-ubuntu" }));
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "context");
    call["mcp_server"] = json!({ "name": "plugin:ops:esxi", "source": "plugin" });
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "context");
    // A tool name that does not agree with the server that the event names is nobody's.
    call["mcp_server"] = json!({ "name": "nutanix", "source": "user" });
    assert_eq!(world.hook(HOLDPOINT, &call).decision(), "ask");
}

#[test]
fn the_settings_of_names_reach_the_policy() {
    let world = World::with_zvm(HEALTHY);
    let short = before("mcp__esxi__powerOff", json!({ "name": "a" }));
    assert_eq!(world.hook(HOLDPOINT, &short).decision(), "ask");
    world.configure("policy.domains = ['corp.example']");
    assert_eq!(world.hook(HOLDPOINT, &short).decision(), "context");

    let vcenter = "8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10";
    let world = World::with_zvm(&format!(
        "[[vpgs]]\ninstant = true\nvms = [{{ name = 'x', identifier = '{vcenter}.vm-38' }}]"
    ));
    let moref = before(
        "mcp__vsphere__power_off_vm",
        json!({ "hostname": "vcenter01", "vm_id": "vm-38" }),
    );
    assert_eq!(world.hook(HOLDPOINT, &moref).decision(), "ask");
    // Another vCenter has a `vm-38` too: the operator says which one `hostname` may name.
    world.configure(&format!("policy.vcenter = '{vcenter}'"));
    assert_eq!(world.hook(HOLDPOINT, &moref).decision(), "ask");
    world.configure(&format!(
        "policy.vcenter = '{vcenter}'\npolicy.servers.vsphere.scopes.hostname = 'VCENTER01'"
    ));
    assert_eq!(world.hook(HOLDPOINT, &moref).decision(), "context");
    let other = before(
        "mcp__vsphere__power_off_vm",
        json!({ "hostname": "vcenter02", "vm_id": "vm-38" }),
    );
    assert_eq!(world.hook(HOLDPOINT, &other).decision(), "ask");
}
