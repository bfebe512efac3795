//! Logs and bodies for tests.

#![allow(dead_code, reason = "every test takes what it needs")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_artifact::Digest;
use holdpoint_receipts::{
    Appended, Arguments, Body, Call, Checkpoint, Decision, KeySet, Log, Machine, Manner, Observation,
    Outcome, Policy, Report, Results, Source, Stance, Trust, Verdict, verify,
};
use serde_json::value::RawValue;

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

pub(crate) fn call(id: &str) -> Call {
    let tool = "mcp__falcon__run_command";
    let arguments = RawValue::from_string(r#"{"hostname":"web01","command":"reboot"}"#.into()).expect("JSON");
    Call {
        harness: "claude-code".into(),
        session: Some("session-1".into()),
        id: Some(id.into()),
        tool: tool.into(),
        arguments: Arguments::of(tool, &arguments, false),
    }
}

pub(crate) fn checkpoint() -> Checkpoint {
    Checkpoint {
        id: "4711".into(),
        vpg: "3b6f0a2e-1111-4c22-8f33-5a5a5a5a5a5a".into(),
        tag: Some("holdpoint claude-code 12345678".into()),
        time: "2027-01-31T12:00:00Z".into(),
    }
}

pub(crate) fn decision(id: &str, verdict: Verdict) -> Body {
    let facts = Decision {
        verdict,
        stance: Stance::Closed,
        fault: None,
        why: Some("a \"quoted\" note, \u{e9}, \u{1f512}".into()),
        permission_mode: Some("default".into()),
        policy: Some(Policy {
            digest: Digest::of(b"policy"),
            origin: "shipped".into(),
            version: Some("1.4.0".into()),
            signer: Some("team".into()),
            wit: "0.1.0".into(),
        }),
        targets: vec!["web01".into()],
        machines: vec![Machine {
            name: "web01".into(),
            vm: "8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-1042".into(),
            vpg: "3b6f0a2e-1111-4c22-8f33-5a5a5a5a5a5a".into(),
            vpg_name: "WEB".into(),
        }],
        checkpoints: vec![checkpoint()],
        troubles: Vec::new(),
    };
    Body::Decision(call(id), facts)
}

pub(crate) fn observation(id: &str, outcome: Outcome) -> Body {
    let results = RawValue::from_string(r#"[{"type":"text","text":"ran"}]"#.into()).expect("JSON");
    let facts = Observation {
        outcome,
        stance: Stance::Open,
        results: Some(Results::of(&results, false)),
        decision: None,
        checkpoints: vec![checkpoint()],
    };
    Body::Observation(call(id), facts)
}
