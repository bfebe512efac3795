//! The folders that the hook writes to beside its log and its receipts.

use std::path::Path;

use holdpoint_common::access;
use holdpoint_config::Config;
use holdpoint_hook::session;
use holdpoint_recording as recording;
use holdpoint_rendezvous::Directory;

use super::finding::{Finding, Severity};
use super::reach;

/// Looks at each folder that counts, and judges it.
pub(super) fn judge(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    if config.session.enabled() {
        findings.extend(of_sessions(config));
    }
    if config.record.enabled
        && let Ok(files) = recording::Files::of(&config.record)
        && let Some(why) = unusable(&files.directory)
    {
        findings.push(finding(
            Severity::Caution,
            "record",
            &files.directory,
            &why,
            "decisions stand, and leave no record",
            "record.directory",
        ));
    }
    if let Ok(directory) = config.zerto.directory()
        && let Some(why) = unusable(&directory).or_else(|| not_private(&directory))
    {
        findings.push(finding(
            Severity::Caution,
            "zerto.directory",
            &directory,
            &why,
            "calls share no checkpoints, and each logs in by itself",
            "zerto.directory",
        ));
    }
    findings
}

fn of_sessions(config: &Config) -> Option<Finding> {
    let store = session::store(&config.session).ok()?;
    let why = unusable(store.path()).or_else(|| Some(store.overview().err()?.to_string()))?;
    let (severity, matters) = if config.policy.asks_by_session() {
        (
            Severity::Broken,
            "failed calls are not counted, and with policy.session_ask_level every change is denied",
        )
    } else {
        (Severity::Caution, "failed calls are not counted")
    };
    Some(finding(
        severity,
        "session",
        store.path(),
        &why,
        matters,
        "session.directory",
    ))
}

fn finding(
    severity: Severity,
    check: &'static str,
    folder: &Path,
    why: &str,
    matters: &str,
    key: &str,
) -> Finding {
    let shown = folder.display();
    let found = format!("the folder {shown} cannot be used: {why}");
    Finding::new(severity, check, found, matters).mended_by(reach::remedy(folder).unwrap_or_else(|| {
        format!("give {shown} to this user alone (chown, chmod 700), or set {key} to another folder")
    }))
}

/// Why this user cannot keep files in a folder, or cannot make it.
fn unusable(folder: &Path) -> Option<String> {
    match std::fs::metadata(folder) {
        Ok(metadata) if !metadata.is_dir() => Some("it is not a directory".into()),
        Ok(_) => access::check_folder(folder).err().map(|error| error.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let there = folder.ancestors().find(|above| above.exists())?;
            access::check_folder(there)
                .err()
                .map(|error| format!("it cannot be made in {} ({error})", there.display()))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Why nothing is shared there, although it could be written.
fn not_private(folder: &Path) -> Option<String> {
    // Opening makes it where it is not there.
    folder.exists().then_some(())?;
    Directory::open(folder).err().map(|error| error.to_string())
}
