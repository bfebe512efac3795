//! Asking Zerto for the machines that a call names.

use crate::model::{VmRow, World, ZertoError};
use crate::target::{Target, Wanted};

/// The rows of the VMs that a target can mean; empty where Zerto answered and knows none.
///
/// First the exact name. Then, only within the domains that the operator configured, the other form of it: a full
/// name's first label, or a short name with the domain added. Last, the text as Zerto's identifier. No other guesses.
///
/// # Errors
/// Zerto could not be asked, so nothing can be said of the target.
pub fn rows(world: &mut impl World, target: &Target, domains: &[String]) -> Result<Vec<VmRow>, ZertoError> {
    let name = match &target.wanted {
        Wanted::Identifier(identifier) => return by_identifier(world, identifier),
        Wanted::Name(name) => name,
    };
    let mut rows = by_name(world, name)?;
    if rows.is_empty() {
        for form in other_forms(name, domains) {
            rows.extend(by_name(world, &form)?);
        }
    }
    if rows.is_empty() {
        by_identifier(world, name)
    } else {
        Ok(rows)
    }
}

fn other_forms(name: &str, domains: &[String]) -> Vec<String> {
    match name.split_once('.') {
        Some((label, domain)) => {
            let known = !label.is_empty() && domains.iter().any(|own| own.eq_ignore_ascii_case(domain));
            known.then(|| label.to_owned()).into_iter().collect()
        }
        None => domains.iter().map(|domain| format!("{name}.{domain}")).collect(),
    }
}

/// The ZVM ignores filters that it does not know, so what comes back is compared again.
fn by_name(world: &mut impl World, name: &str) -> Result<Vec<VmRow>, ZertoError> {
    let mut rows = answered(world.find_vms_by_name(name))?;
    rows.retain(|row| same(&row.vm_name, name));
    Ok(rows)
}

fn by_identifier(world: &mut impl World, identifier: &str) -> Result<Vec<VmRow>, ZertoError> {
    let mut rows = answered(world.find_vms_by_identifier(identifier))?;
    rows.retain(|row| same(&row.vm_identifier, identifier));
    Ok(rows)
}

fn answered(answer: Result<Vec<VmRow>, ZertoError>) -> Result<Vec<VmRow>, ZertoError> {
    match answer {
        Err(ZertoError::NotFound) => Ok(Vec::new()),
        answer => answer,
    }
}

/// Whether two names or identifiers are the same, whatever their case.
pub fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
