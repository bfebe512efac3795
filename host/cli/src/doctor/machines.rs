//! Whether Zerto knows the machines that the configuration maps other names to.

use holdpoint_common::safe_text::clean_line;
use holdpoint_zerto::{Error, VmRow, Zvm};

use super::finding::Finding;

/// How many names are looked up.
const MOST: usize = 50;

/// A name that the configuration gives, and what Zerto says of it.
pub(super) struct Mapped {
    /// The key that gives it.
    key: String,
    vm: String,
    /// How many VMs have the name.
    known: usize,
}

/// Looks up the names that keys give, as a policy does: by name, then by identifier.
///
/// # Errors
///
/// Where the ZVM does not answer one of the questions.
pub(super) async fn look_up(zvm: &Zvm, names: &[(String, String)]) -> Result<Vec<Mapped>, Error> {
    let mut found: Vec<Mapped> = Vec::new();
    for (key, vm) in names.iter().take(MOST) {
        let asked = found.iter().find(|other| other.vm.eq_ignore_ascii_case(vm));
        let known = match asked {
            Some(asked) => asked.known,
            None => match many(&zvm.find_vms_by_name(vm).await?) {
                0 => many(&zvm.find_vms_by_identifier(vm).await?),
                known => known,
            },
        };
        found.push(Mapped {
            key: key.clone(),
            vm: vm.clone(),
            known,
        });
    }
    Ok(found)
}

/// How many different VMs these are: one that is in several VPGs has several rows.
fn many(rows: &[VmRow]) -> usize {
    let mut identifiers: Vec<&str> = rows.iter().map(|row| row.vm_identifier.as_str()).collect();
    identifiers.sort_unstable();
    identifiers.dedup();
    identifiers.len()
}

/// Judges what was found.
pub(super) fn judge(mapped: &[Mapped]) -> Vec<Finding> {
    let wrong = mapped.iter().filter(|mapped| mapped.known != 1);
    wrong
        .map(|Mapped { key, vm, known }| {
            let (key, vm) = (clean_line(key, 200), clean_line(vm, 200));
            let (found, mend) = match known {
                0 => (
                    format!("{key} maps to the VM '{vm}', which Zerto does not know"),
                    "write the VM's name as Zerto shows it, and see that it is in a VPG",
                ),
                many => (
                    format!("{key} maps to the VM '{vm}', and Zerto knows {many} VMs of that name"),
                    "write the VM's identifier in Zerto in the place of its name",
                ),
            };
            Finding::caution(
                "zvm.machines",
                found,
                "every change through that name asks a human",
            )
            .mended_by(mend)
        })
        .collect()
}
