//! Asking Zerto for the machines that a call names.

use crate::model::{VmRow, World, ZertoError};

/// What Zerto knows of a name or an identifier.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// The rows of the VMs that it can mean; empty where Zerto knows none.
    Rows(Vec<VmRow>),
    /// The name of a VM that is the same only where letters of other alphabets count as one another's.
    LookAlike(String),
}

/// What Zerto knows of a name.
///
/// First the exact name. Then, only within the domains that the operator configured, the other form of it: a full
/// name's first label, or a short name with the domain added. Last, the text as Zerto's identifier. No other guesses.
///
/// # Errors
/// Zerto could not be asked, so nothing can be said of the name.
pub fn by_any_form(world: &mut impl World, name: &str, domains: &[String]) -> Result<Known, ZertoError> {
    let mut forms = vec![name.to_owned()];
    let mut rows = by_name(world, name)?;
    if name.trim() != name {
        // Whether the server takes the blanks for a part of the name is not known: then both VMs are meant.
        if !rows.is_empty() {
            forms.push(name.trim().to_owned());
            rows.extend(by_name(world, name.trim())?);
        }
        return Ok(alike(&forms, rows));
    }
    if rows.is_empty() {
        for form in other_forms(name, domains) {
            rows.extend(by_name(world, &form)?);
            forms.push(form);
        }
    }
    let identified = if rows.is_empty() || looks_like_identifier(name) {
        by_identifier(world, name)?
    } else {
        Vec::new()
    };
    Ok(match alike(&forms, rows) {
        Known::Rows(mut rows) => {
            rows.extend(identified);
            Known::Rows(rows)
        }
        look_alike => look_alike,
    })
}

/// What Zerto knows of exactly this name.
///
/// # Errors
/// Zerto could not be asked.
pub fn by_exact_name(world: &mut impl World, name: &str) -> Result<Known, ZertoError> {
    by_name(world, name).map(|rows| alike(&[name.to_owned()], rows))
}

/// What Zerto knows of an identifier.
///
/// # Errors
/// Zerto could not be asked.
pub fn by_exact_identifier(world: &mut impl World, identifier: &str) -> Result<Known, ZertoError> {
    by_identifier(world, identifier).map(Known::Rows)
}

/// The rows, unless a letter in some name of them is only another alphabet's form of the one in the call: `K` and the
/// Kelvin sign. A server that compares exactly would reach another VM.
fn alike(forms: &[String], rows: Vec<VmRow>) -> Known {
    let is_exact = |row: &VmRow| forms.iter().any(|form| row.vm_name.eq_ignore_ascii_case(form));
    match rows.iter().find(|row| !is_exact(row)) {
        Some(row) => Known::LookAlike(row.vm_name.clone()),
        None => Known::Rows(rows),
    }
}

/// `vcenter-uuid.vm-38`; a VM may have such a name too.
fn looks_like_identifier(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, last)| last.to_ascii_lowercase().starts_with("vm-"))
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
