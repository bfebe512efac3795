//! The way back: how to get from a checkpoint what a call has changed, in Zerto's words and with the identifiers filled in.
//!
//! Facts: the API's own description (10.0 U6) and help pages. What is written here is for a person to do, never done.

use serde::Serialize;
use serde_json::{Value, json};

use crate::body::{Checkpoint, Machine};

/// One way of getting back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// What it does.
    pub what: &'static str,
    /// The machine or group that it is for.
    pub subject: String,
    /// How a person does it in Zerto's user interface.
    pub by_hand: String,
    /// The same by the API: method, path and body, one after the other.
    pub by_api: Vec<(&'static str, String, Value)>,
}

/// The ways back to these checkpoints, gentlest first: files, a VM, and a test of the whole group beside the running one.
///
/// Files and a VM are restored into a VM that is there. After a deletion only the group is left to go back with, and a VM
/// of the same name is another one, so none of the steps that name a VM is given.
pub fn way_back(checkpoints: &[Checkpoint], machines: &[Machine], deleted: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for checkpoint in checkpoints {
        let members: Vec<&Machine> = machines
            .iter()
            .filter(|machine| machine.vpg == checkpoint.vpg)
            .collect();
        if deleted {
            steps.push(test_failover(checkpoint, &members));
            steps.push(clone_group(checkpoint, &members));
            continue;
        }
        for machine in &members {
            steps.push(files(checkpoint, machine));
        }
        for machine in &members {
            steps.push(machine_from_journal(checkpoint, machine));
        }
        steps.push(test_failover(checkpoint, &members));
    }
    steps
}

/// The checkpoint as a person finds it in a list.
fn in_words(checkpoint: &Checkpoint) -> String {
    match &checkpoint.tag {
        Some(tag) => format!(
            "the checkpoint tagged '{tag}' of {} (id {})",
            checkpoint.time, checkpoint.id
        ),
        None => format!("the checkpoint of {} (id {})", checkpoint.time, checkpoint.id),
    }
}

fn files(checkpoint: &Checkpoint, machine: &Machine) -> Step {
    Step {
        what: "restore files",
        subject: machine.name.clone(),
        by_hand: format!(
            "Restore > Files & Folders: choose the VM {}, then {}, and download what was changed",
            machine.name,
            in_words(checkpoint)
        ),
        by_api: vec![
            (
                "POST",
                "/v1/flrs".into(),
                json!({ "jflr": {
                    "vpgIdentifier": checkpoint.vpg,
                    "vmIdentifier": machine.vm,
                    "checkpointIdentifier": checkpoint.id,
                }}),
            ),
            (
                "POST",
                "/v1/flrs/SESSION/browse".into(),
                json!({ "path": "/", "pageNumber": 1, "pageSize": 100 }),
            ),
            (
                "POST",
                "/v1/flrs/SESSION/download".into(),
                json!({ "pathList": ["/PATH"] }),
            ),
            ("DELETE", "/v1/flrs/SESSION".into(), Value::Null),
        ],
    }
}

fn machine_from_journal(checkpoint: &Checkpoint, machine: &Machine) -> Step {
    let path = |verb: &str| format!("/v1/vms/{}/{verb}", machine.vm);
    Step {
        what: "restore the VM from the journal",
        subject: machine.name.clone(),
        by_hand: format!(
            "Restore > VM restore from journal: choose the VM {}, then {}; look at the restored VM before you commit",
            machine.name,
            in_words(checkpoint)
        ),
        by_api: vec![
            (
                "POST",
                path("Restore"),
                json!({
                    "vpgIdentifier": checkpoint.vpg,
                    "checkpointIdentifier": checkpoint.id,
                    "restoredVmName": format!("{} - restored", machine.name),
                }),
            ),
            ("POST", path("RestoreCommit"), Value::Null),
            ("POST", path("RestoreRollback"), Value::Null),
        ],
    }
}

/// The name of a checkpoint's group, where a machine of it tells.
fn group<'a>(checkpoint: &'a Checkpoint, members: &[&'a Machine]) -> &'a str {
    members
        .first()
        .map_or(checkpoint.vpg.as_str(), |machine| machine.vpg_name.as_str())
}

fn clone_group(checkpoint: &Checkpoint, members: &[&Machine]) -> Step {
    let name = group(checkpoint, members);
    let mut body = json!({ "checkpointId": checkpoint.id, "datastoreIdentifier": "DATASTORE" });
    if !members.is_empty() {
        body["vmIdentifiers"] = members.iter().map(|machine| machine.vm.as_str()).collect();
    }
    Step {
        what: "bring the deleted VM back as a copy",
        subject: name.to_owned(),
        by_hand: format!(
            "the VM was deleted: leave the VPG {name} as it is, since its journal goes with it, and do not restore into a VM \
             of the same name, which is another one. Clone the VPG: choose {}, and bring the copy back from the recovery \
             site",
            in_words(checkpoint)
        ),
        by_api: vec![("POST", format!("/v1/vpgs/{}/CloneStart", checkpoint.vpg), body)],
    }
}

fn test_failover(checkpoint: &Checkpoint, members: &[&Machine]) -> Step {
    let name = group(checkpoint, members);
    let mut body = json!({ "checkpointIdentifier": checkpoint.id });
    if !members.is_empty() {
        body["vmIdentifiers"] = members.iter().map(|machine| machine.vm.as_str()).collect();
    }
    Step {
        what: "test a failover, beside what is running",
        subject: name.to_owned(),
        by_hand: format!(
            "switch Failover to Test: choose the VPG {name}, then {}; stop the test when you have seen enough",
            in_words(checkpoint)
        ),
        by_api: vec![
            ("POST", format!("/v1/vpgs/{}/FailoverTest", checkpoint.vpg), body),
            (
                "POST",
                format!("/v1/vpgs/{}/FailoverTestStop", checkpoint.vpg),
                json!({ "failoverTestSuccess": true }),
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::test_bodies::decision;

    #[test]
    fn every_identifier_is_filled_in() {
        let Body::Decision(_, decided) = decision("c", crate::Verdict::Pass) else {
            unreachable!()
        };
        let steps = way_back(&decided.checkpoints, &decided.machines, false);
        assert_eq!(
            steps.iter().map(|step| step.what).collect::<Vec<_>>(),
            [
                "restore files",
                "restore the VM from the journal",
                "test a failover, beside what is running"
            ]
        );
        let (checkpoint, machine) = (&decided.checkpoints[0], &decided.machines[0]);
        for step in &steps {
            let text = serde_json::to_string(step).unwrap();
            for identifier in [&checkpoint.id, &checkpoint.vpg, &machine.vm] {
                assert!(text.contains(identifier), "{text}");
            }
            assert!(step.by_hand.contains(checkpoint.tag.as_ref().unwrap()));
        }
        // A checkpoint of a group of which no machine is known: the group is all that there is to name.
        let alone = way_back(&decided.checkpoints, &[], false);
        assert_eq!(
            (alone.len(), alone[0].subject.as_str()),
            (1, checkpoint.vpg.as_str())
        );
    }

    #[test]
    fn a_deleted_vm_gets_no_step_that_needs_a_vm() {
        let Body::Decision(_, decided) = decision("c", crate::Verdict::Pass) else {
            unreachable!()
        };
        let steps = way_back(&decided.checkpoints, &decided.machines, true);
        assert_eq!(
            steps.iter().map(|step| step.what).collect::<Vec<_>>(),
            [
                "test a failover, beside what is running",
                "bring the deleted VM back as a copy"
            ]
        );
        let text = serde_json::to_string(&steps).unwrap();
        for step in ["/v1/flrs", "/Restore", "Restore >"] {
            assert!(!text.contains(step), "{text}");
        }
        assert!(text.contains("/CloneStart") && text.contains("is another one"));
    }
}
