//! Whether a machine can be rewound, from the rows that Zerto gave for it.

use crate::lookup::same;
use crate::model::{Direction, VmRow};
use crate::state;
use crate::text::{listed, quoted};

/// A VM of which a checkpoint can be taken in all its VPGs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The name in the hypervisor's inventory.
    pub name: String,
    /// Zerto's identifier of the VM.
    pub identifier: String,
    /// Its VPGs.
    pub vpgs: Vec<Vpg>,
}

/// A VPG that is to hold a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vpg {
    /// Zerto's identifier.
    pub identifier: String,
    /// Its name.
    pub name: String,
}

/// What the rows of one target mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// A checkpoint can be taken.
    Capture(Machine),
    /// A human has to decide, because Zerto knows nothing here that it could rewind, or cannot tell which VM is meant.
    Ask(String),
    /// The VM is protected here, but a checkpoint cannot be taken in every VPG of it.
    Deny(String),
}

/// Judges the rows of one target.
///
/// The change may go on only with a checkpoint in *every* VPG of the VM, so one VPG that cannot take any denies it,
/// whatever the others can do: which of the journals will be used for the way back is not known now. Where no row can
/// be rewound from here at all, because the VM runs on another site or is gone, Zerto simply does not protect what
/// would be changed, and a human decides, as for a VM that it has never heard of.
pub fn judge(said: &str, rows: &[VmRow]) -> Judgement {
    let Some(first) = rows.first() else {
        return Judgement::Ask(format!("Zerto knows no VM {}", quoted(said)));
    };
    if rows
        .iter()
        .any(|row| !same(&row.vm_identifier, &first.vm_identifier))
    {
        return Judgement::Ask(ambiguous(said, rows));
    }
    let unfit: Vec<String> = rows.iter().filter_map(unfit).collect();
    if unfit.is_empty() {
        return Judgement::Capture(machine(rows));
    }
    let name = quoted(&first.vm_name);
    if rows.iter().all(is_not_here) {
        return Judgement::Ask(format!(
            "Zerto has nothing here to rewind {name} with: {}",
            listed(&unfit)
        ));
    }
    Judgement::Deny(format!(
        "a checkpoint of {name} cannot be taken in every VPG: {}",
        listed(&unfit)
    ))
}

fn is_not_here(row: &VmRow) -> bool {
    !row.vm_exists || row.direction == Direction::RecoveredHere
}

/// Why no checkpoint can be taken by this row.
fn unfit(row: &VmRow) -> Option<String> {
    let vpg = quoted(&row.vpg_name);
    if !row.vm_exists {
        return Some(format!(
            "in VPG {vpg} the VM is gone from the hypervisor's inventory"
        ));
    }
    if row.direction == Direction::RecoveredHere {
        return Some(format!("VPG {vpg} replicates it from another site to this one"));
    }
    if row.vpg_identifier.is_empty() || row.vm_identifier.is_empty() {
        return Some(format!("Zerto gave no identifier for VPG {vpg}"));
    }
    let ready = state::takes_checkpoints(row.status, row.sub_status);
    (!ready).then(|| {
        format!(
            "VPG {vpg} takes no checkpoint in its state ({})",
            state::words(row.status, row.sub_status)
        )
    })
}

fn ambiguous(said: &str, rows: &[VmRow]) -> String {
    let mut vms: Vec<String> = Vec::new();
    for row in rows {
        let side = match (row.vm_exists, row.direction) {
            (false, _) => ", gone",
            (true, Direction::RecoveredHere) => ", replicated from another site",
            (true, _) => "",
        };
        let vm = format!(
            "{} in VPG {}{side}",
            quoted(&row.vm_identifier),
            quoted(&row.vpg_name)
        );
        if !vms.contains(&vm) {
            vms.push(vm);
        }
    }
    format!("the name {} fits several VMs: {}", quoted(said), listed(&vms))
}

fn machine(rows: &[VmRow]) -> Machine {
    let mut vpgs: Vec<Vpg> = Vec::new();
    for row in rows {
        if !vpgs.iter().any(|vpg| same(&vpg.identifier, &row.vpg_identifier)) {
            vpgs.push(Vpg {
                identifier: row.vpg_identifier.clone(),
                name: row.vpg_name.clone(),
            });
        }
    }
    Machine {
        name: rows[0].vm_name.clone(),
        identifier: rows[0].vm_identifier.clone(),
        vpgs,
    }
}
