//! What holds for every call.

use std::collections::BTreeSet;

use holdpoint_guest::arguments::Arguments;
use holdpoint_guest::classify::classify;
use holdpoint_guest::model::{Call, Direction, Verdict, VmRow, ZertoError};
use holdpoint_guest::reading::Reading;
use holdpoint_guest::settings::Settings;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{Script, call, row, under};

const TOOLS: [&str; 22] = [
    "mcp__esxi__powerOff",
    "mcp__esxi__deleteVM",
    "mcp__esxi__listVMs",
    "mcp__esxi__createVM",
    "mcp__vsphere__power_off_vm",
    "mcp__ansible-mcp__ansible-task",
    "mcp__ansible-mcp__ansible-auto-heal",
    "mcp__ansible-mcp__ansible-test-idempotence",
    "mcp__awx__run_ad_hoc_command",
    "mcp__mcp-ssh__runRemoteCommand",
    "mcp__winrm__winrm_run_ps",
    "mcp__vmware-mcp__vm_migrate",
    "mcp__vmware-mcp__govc_run",
    "mcp__awslabs_aws-api-mcp-server__call_aws",
    "mcp__gcloud__run_gcloud_command",
    "mcp__azure__compute",
    "mcp__falcon-mcp__falcon_execute_tool",
    "mcp__saltapi__execute_salt_command",
    "mcp__windows-mcp__Powershell-Tool",
    "mcp__plugin_x_esxi__powerOff",
    "mcp__nobody__knows",
    "Bash",
];

const KEYS: [&str; 18] = [
    "name",
    "hostname",
    "host",
    "hostAlias",
    "vm",
    "vm_id",
    "_args",
    "host_pattern",
    "limit",
    "target",
    "check",
    "dry_run",
    "command",
    "flags",
    "args",
    "cli_command",
    "parameters",
    "tool_name",
];

fn machine_name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("web01".to_owned()),
        Just("db01".to_owned()),
        Just("web01,db01".to_owned()),
        Just("app.corp.local".to_owned()),
        Just("vm-38".to_owned()),
        Just("all".to_owned()),
        Just("ec2 stop-instances --instance-ids web01".to_owned()),
        Just("vm.power".to_owned()),
        Just("vm_get".to_owned()),
        any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        machine_name().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..3).prop_map(|m| json!(m)),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(&KEYS[..]), value(), 0..6).prop_map(|map| json!(map))
}

fn rows() -> impl Strategy<Value = Vec<VmRow>> {
    let one = (0..3_u32, 0..3_u32, 0..9, 0..34, any::<bool>(), 0..6_usize).prop_map(
        |(vm, vpg, status, sub, exists, way)| {
            let name = ["web01", "db01", "app.corp.local"][vm as usize];
            VmRow {
                // Mostly healthy, so that captures happen.
                status: if status > 4 { status } else { 1 },
                sub_status: if sub > 28 { sub } else { 0 },
                vm_exists: exists || way > 1,
                direction: [Direction::RecoveredHere, Direction::Unknown]
                    .get(way)
                    .copied()
                    .unwrap_or(Direction::ProtectedHere),
                ..row(name, 38 + vm, &format!("VPG{vpg}"))
            }
        },
    );
    prop::collection::vec(one, 0..5)
}

fn failing() -> impl Strategy<Value = Vec<(String, ZertoError)>> {
    prop::collection::vec(
        (0..3_u32).prop_map(|n| (format!("VPG{n}-id"), ZertoError::Refused("no".into()))),
        0..2,
    )
}

fn own_catalogs() -> impl Strategy<Value = Value> {
    let class = prop::sample::select(&["read", "other", "guest", "machine"][..]);
    let tool = prop::sample::select(&TOOLS[..]);
    let argument = prop::sample::select(&KEYS[..]);
    let group = (class, tool, argument, any::<bool>(), any::<bool>());
    prop::collection::vec(group, 1..4).prop_map(|groups| {
        let catalogs: Vec<Value> = groups.into_iter().map(|(class, tool, argument, machine, rule)| {
            let (server, tool) = tool.strip_prefix("mcp__").and_then(|t| t.split_once("__")).unwrap_or(("esxi", tool));
            let mut group = json!({"class": class, "names": [tool]});
            if machine {
                group["machine"] = json!({"arguments": [argument], "kind": "name"});
            }
            if rule && class != "read" {
                group["rules"] = json!([{"argument": argument, "equals": true, "or_absent": true, "class": "read", "because": "x"}]);
            }
            json!({"server": {"aliases": [server]}, "tools": [group]})
        }).collect();
        json!(catalogs)
    })
}

fn strictness(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Pass(_) => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    }
}

/// The VPGs that a passed change needs: every one of every target's VM.
fn needed(call: &Call, rows: &[VmRow]) -> Option<BTreeSet<String>> {
    let settings = Settings::read(&call.settings).unwrap();
    let arguments = Arguments::new(&call.arguments, call.arguments_cut);
    let Reading::Change(change) = classify(call, &settings, &arguments).reading else {
        return None;
    };
    let mut vpgs = BTreeSet::new();
    assert!(
        change.found.doubts.is_empty() && !change.found.targets.is_empty(),
        "passed with doubts"
    );
    for target in change.found.targets {
        let rows: Vec<&VmRow> = rows
            .iter()
            .filter(|row| {
                let said = target.said.to_lowercase();
                row.vm_name.to_lowercase() == said || row.vm_identifier.ends_with(&said)
            })
            .collect();
        assert!(!rows.is_empty(), "passed with an unknown machine {target:?}");
        vpgs.extend(rows.iter().map(|row| row.vpg_identifier.clone()));
    }
    Some(vpgs)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(tool in any::<String>(), arguments in any::<String>(), settings in any::<String>(), cut in any::<bool>()) {
        let mut odd = call(&tool, json!({}));
        odd.arguments = arguments.clone();
        odd.arguments_cut = cut;
        Script::default().judge(&odd);
        odd.tool = format!("mcp__{tool}");
        Script::default().judge(&odd);
        odd.settings = settings;
        Script::default().judge(&odd);
        odd.settings = String::new();
        for known in TOOLS {
            odd.tool = known.into();
            Script::default().judge(&odd);
        }
    }

    #[test]
    fn a_change_passes_only_with_a_checkpoint_in_every_vpg(
        tool in prop::sample::select(&TOOLS[..]), arguments in arguments(), cut in any::<bool>(),
        rows in rows(), failing in failing(),
    ) {
        let mut call = call(tool, arguments);
        call.arguments_cut = cut;
        let mut world = Script { rows, failing, ..Script::default() };
        let verdict = world.judge(&call);
        if let Verdict::Pass(note) = verdict {
            if let Some(needed) = needed(&call, &world.rows) {
                prop_assert!(note.is_some());
                prop_assert_eq!(world.captures.len(), 1);
                let captured: BTreeSet<String> = world.captures[0].0.iter().cloned().collect();
                prop_assert_eq!(&captured, &needed);
                prop_assert!(world.failing.iter().all(|(vpg, _)| !captured.contains(vpg)));
            } else {
                prop_assert!(world.captures.is_empty());
            }
        }
    }

    #[test]
    fn an_operators_catalog_never_loosens(
        tool in prop::sample::select(&TOOLS[..]), arguments in arguments(), catalogs in own_catalogs(),
        rows in rows(), control_plane in prop::sample::select(&["ask", "deny", "pass"][..]),
    ) {
        let settings = json!({"control_plane": control_plane, "unknown_tool": "pass"});
        let plain = under(call(tool, arguments), settings.clone());
        let parsed = Settings::read(&plain.settings).unwrap();
        let listed = classify(&plain, &parsed, &Arguments::new(&plain.arguments, false)).reading;
        let mut world = Script { rows, ..Script::default() };
        let before = world.clone().judge(&plain);
        let mut with = settings;
        with["catalogs"] = catalogs;
        let after = world.judge(&under(plain, with));
        if listed != Reading::Unlisted {
            prop_assert!(strictness(&after) >= strictness(&before), "{before:?} became {after:?}");
        }
    }
}
