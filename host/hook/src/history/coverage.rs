//! Whether a log would have a decision if there had been one. That nothing is found says something only where nothing was
//! lost: a full disk tears a line or takes none, a rotation drops the oldest file, and others move a log away.

use std::fs;
use std::io;

use super::{Backwards, Decision, WINDOW};
use crate::log::{self, Log};

/// How long before its end a call was decided on, at most, in milliseconds: a dialog may stand open over night.
const LONGEST_CALL: u64 = 24 * 60 * 60 * 1000;

/// What of the time in which a call can have been decided on the log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Whether nothing in it can have been lost.
    pub whole: bool,
    /// Whether it has a decision of the call's session.
    pub knows_session: bool,
}

/// What the log has of the time before the end of a call of this session.
///
/// # Errors
///
/// Where the log is there and cannot be read back.
pub fn of(log: &Log, session: &str) -> io::Result<Coverage> {
    let session = log::name(session);
    let since = log::before_now(LONGEST_CALL);
    let mut lines = Backwards::of(log, WINDOW)?;
    let mut coverage = Coverage {
        whole: !log.missed_since(LONGEST_CALL),
        knows_session: false,
    };
    let mut reaches_back = false;
    while let Some(line) = lines.line().filter(|_| !reaches_back) {
        if line.is_empty() {
            continue;
        }
        let Ok(decision) = serde_json::from_slice::<Decision>(&line) else {
            // It may be what is left of the decision.
            coverage.whole = false;
            continue;
        };
        coverage.knows_session |= decision.session == session && decision.verdict != "silent";
        reaches_back = decision.at < since;
    }
    let begins_here = || !lines.is_cut() && !may_be_shortened(log);
    coverage.whole &= !lines.broken && (reaches_back || begins_here());
    Ok(coverage)
}

/// Whether older lines may have gone: by our own rotation, or moved away by somebody else.
pub fn may_be_shortened(log: &Log) -> bool {
    if log.keep == 0 || log.numbered(log.keep).exists() {
        return true;
    }
    let Some((folder, name)) = log.path.parent().zip(log.path.file_name()) else {
        return true;
    };
    let own: Vec<_> = log
        .all_names()
        .filter_map(|path| path.file_name().map(ToOwned::to_owned))
        .collect();
    let Ok(beside) = fs::read_dir(folder) else {
        return true;
    };
    beside.flatten().any(|entry| {
        let found = entry.file_name();
        let begins_alike = found.as_encoded_bytes().starts_with(name.as_encoded_bytes());
        begins_alike && !own.contains(&found)
    })
}
