//! Logs and bodies for tests.

#![allow(dead_code, reason = "every test takes what it needs")]

mod bodies;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_receipts::{Appended, Body, KeySet, Log, Manner, Report, Source, Trust, verify};

#[allow(unused_imports, reason = "every test takes what it needs")]
pub(crate) use bodies::{call, checkpoint, decision, observation};

/// For a test that is not about the disk.
pub(crate) const AUDIT: Manner = Manner {
    sync: false,
    wait: Duration::from_secs(60),
};

/// A log that was begun.
pub(crate) fn begun(directory: &Path, largest_segment: u64) -> Log {
    let log = at(directory, largest_segment);
    log.begin().expect("a log is begun");
    log
}

/// A log that is there.
pub(crate) fn at(directory: &Path, largest_segment: u64) -> Log {
    Log {
        directory: directory.join("receipts"),
        key: directory.join("receipts/key.pem"),
        largest_segment,
        host: "0.1.0".into(),
    }
}

pub(crate) fn append(log: &Log, body: &Body) -> Appended {
    log.append(body, AUDIT).expect("a receipt is appended")
}

/// What verification says without anything known from elsewhere.
pub(crate) fn report(log: &Log) -> Report {
    let source = Source::open(&log.directory).expect("a log");
    verify(&source, &Trust::default()).expect("a report")
}

/// The log's files, oldest first.
pub(crate) fn segments(log: &Log) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(&log.directory)
        .expect("the log can be read")
        .map(|entry| entry.expect("the log can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    paths
}

/// Its receipts, as they stand there.
pub(crate) fn lines(log: &Log) -> Vec<String> {
    let texts = segments(log)
        .into_iter()
        .map(|path| fs::read_to_string(path).expect("the log can be read"));
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The keys that lie beside it.
pub(crate) fn keys(log: &Log) -> KeySet {
    KeySet::read(&log.directory.join("keys.json")).expect("the log can be read")
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("a file can be written");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a file can be written");
    }
}
