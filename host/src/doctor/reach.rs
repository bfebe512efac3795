//! Whether the users whom the hook guards may read what it reads: folders that root made under a strict umask are closed to
//! them, and every call of theirs is then denied.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::config::{Config, Places};
use crate::private;

/// What lets this user in, where the operating system does not.
pub(super) fn remedy(path: &Path) -> Option<String> {
    let closed = private::first_closed(path)?;
    let right = if closed.is_dir() { "a+rx" } else { "a+r" };
    Some(format!(
        "as the owner of {closed}: chmod {right} {closed}; or move {path} to where this user may read it",
        closed = closed.display(),
        path = path.display()
    ))
}

/// What root sees that other users would not get at. `is_for_all` is whether the hook is installed for them.
pub(super) fn judge(config: &Config, places: &Places, is_for_all: bool) -> Vec<Finding> {
    if !is_for_all || !private::is_root() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (key, path) in read_by_all(config, places) {
        // What lies in root's own home is each user's own for the others.
        let is_own = private::home_by_database().is_ok_and(|home| path.starts_with(home));
        let Some(closed) = private::closed_to_others(&path).filter(|_| !is_own) else {
            continue;
        };
        let place = closed.display();
        // One folder that is closed is one finding.
        if findings
            .iter()
            .any(|finding| finding.found.starts_with(&format!("{place},")))
        {
            continue;
        }
        let (found, fix) = if closed.is_dir() {
            (
                format!(
                    "{place}, on the way to {} ({key}), is closed to other users",
                    path.display()
                ),
                format!("chmod a+rx {place}, and what is in it: chmod -R a+rX {place}"),
            )
        } else {
            (
                format!("{place}, {key}, is closed to other users"),
                format!("chmod a+r {place}"),
            )
        };
        let matters = "the hooks of other users cannot read what is there, and deny every call; it was made under a strict umask";
        findings.push(Finding::broken("policy.reach", found, matters).mended_by(fix));
    }
    findings
}

fn read_by_all(config: &Config, places: &Places) -> Vec<(&'static str, PathBuf)> {
    let mut paths = vec![("the configuration", places.machine.clone())];
    paths.extend(config.policy.path.clone().map(|path| ("policy.path", path)));
    if config.policy.path.is_none() {
        paths.extend(config.policy.store().map(|path| ("policy.store", path)));
    }
    paths.extend(
        config
            .policy
            .catalog_files()
            .iter()
            .map(|path| ("policy.catalogs", path.clone())),
    );
    paths.extend(config.zerto.ca_file.clone().map(|path| ("zerto.ca_file", path)));
    paths.retain(|(_, path)| path.exists());
    paths
}
