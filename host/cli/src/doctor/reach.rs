//! Whether the users whom the hook guards may read what it reads: folders that root made under a strict umask are closed to
//! them, and every call of theirs is then denied.

use std::path::{Path, PathBuf};

use holdpoint_common::access;
use holdpoint_config::{Config, Places};

use super::finding::Finding;

const SECRET_FILE: &str = "zerto.secret_file";
const SECRET_COMMAND: &str = "zerto.secret_command";

/// What lets this user in, where the operating system does not.
pub(super) fn remedy(path: &Path) -> Option<String> {
    let closed = access::first_closed(path)?;
    let right = if closed.is_dir() { "a+rx" } else { "a+r" };
    Some(format!(
        "as the owner of {closed}: chmod {right} {closed}; or move {path} to where this user may read it",
        closed = closed.display(),
        path = path.display()
    ))
}

/// What root sees that other users would not get at. `is_for_all` is whether the hook is installed for them.
pub(super) fn judge(config: &Config, places: &Places, is_for_all: bool) -> Vec<Finding> {
    if !is_for_all || !access::is_root() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (key, path) in read_by_all(config, places) {
        // What lies in root's own home is each user's own for the others.
        let is_own = access::home_by_database().is_ok_and(|home| path.starts_with(home));
        let is_started = key == SECRET_COMMAND;
        let Some(closed) = access::closed_to_others(&path, is_started).filter(|_| !is_own) else {
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
                format!("chmod a+rx {place}"),
            )
        } else if key == SECRET_FILE {
            // One that others can read is refused.
            (
                format!("{place}, {key}, is closed to other users"),
                "set zerto.secret_file to a path that begins with ~/, so that each user has a file of their own, or \
                 use zerto.secret_command"
                    .into(),
            )
        } else {
            let right = if key == SECRET_COMMAND { "a+rx" } else { "a+r" };
            (
                format!("{place}, {key}, is closed to other users"),
                format!("chmod {right} {place}"),
            )
        };
        let matters = if [SECRET_FILE, SECRET_COMMAND].contains(&key) {
            "the hooks of other users cannot log in to the ZVM, and deny every change"
        } else {
            "the hooks of other users cannot read what is there, and deny every call; it was made under a strict umask"
        };
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
    let zerto = &config.zerto;
    paths.extend(zerto.secret_file.clone().map(|path| (SECRET_FILE, path)));
    let command = zerto.secret_command.as_ref().and_then(|command| command.first());
    paths.extend(command.map(|program| (SECRET_COMMAND, PathBuf::from(program))));
    paths.retain(|(_, path)| path.exists());
    paths
}
