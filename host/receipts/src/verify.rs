//! Whether receipts hold: their integrity, whom their signatures are from, whether any is missing, and whether what they
//! say that ran is what they say was decided. Four questions, four answers, and none of them is "pass" for what was not
//! looked at.

mod as_decided;
mod chain;
mod workers;

use std::collections::BTreeSet;

use holdpoint_artifact::Digest;
use serde::Serialize;

use crate::error::LogError;
use crate::files::Source;
use crate::keyset::KeySet;
use crate::moment::Moment;

/// The most findings that are kept of a kind.
const MOST_FOUND: usize = 20;

/// What is known from elsewhere, and so can be checked against.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The keys that are trusted, from a place that who writes the log does not write. A key that one of them was
    /// changed for, in the log, is trusted as well.
    pub keys: Option<KeySet>,
    /// The digest of a receipt that has to be there: noted, or exported, when it was the last one.
    pub head: Option<Digest>,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// Everything was looked at, and is as it should be.
    Pass,
    /// Something is not as it should be.
    Fail,
    /// It could not be told, or not all of it.
    NotChecked,
}

impl Checked {
    /// The words for it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotChecked => "NOT CHECKED",
        }
    }
}

/// One of the four questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The answer.
    pub outcome: Checked,
    /// What it rests on, one finding a line.
    pub found: Vec<String>,
    /// How many more findings there are than are listed.
    pub more: u64,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many receipts there are.
    pub receipts: u64,
    /// How many of them are decisions.
    pub decisions: u64,
    /// How many of them are observations.
    pub observations: u64,
    /// The first one's number.
    pub first: Option<u64>,
    /// The last one's number.
    pub last: Option<u64>,
    /// When the last one was made.
    pub last_issued_at: Option<Moment>,
    /// The last one's digest: kept elsewhere, it shows later that nothing up to it was cut off.
    pub head: Option<Digest>,
    /// Whether every receipt is as it was signed, and follows the one before.
    pub integrity: Part,
    /// Whether the signatures are those of trusted keys, within the keys' dates.
    pub signer_trust: Part,
    /// Whether any receipt is missing.
    pub completeness: Part,
    /// Whether each call that was seen to end ran as it was decided. Nothing is wrong with the receipts where it did not.
    pub as_decided: Part,
    /// What is neither good nor bad, and worth knowing.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether a call ran otherwise than it was decided on.
    pub fn deviated(&self) -> bool {
        self.as_decided.outcome == Checked::Fail
    }

    /// Whether anything is wrong with the receipts themselves.
    pub fn failed(&self) -> bool {
        [&self.integrity, &self.signer_trust, &self.completeness]
            .into_iter()
            .any(|part| part.outcome == Checked::Fail)
    }
}

/// Verifies receipts, in one pass and in bounded memory.
///
/// # Errors
///
/// Where they cannot be read; what is wrong with what can be read is in the report.
pub fn verify(source: &Source, trust: &Trust) -> Result<Report, LogError> {
    // A key set that is missing is no failure: the keys may be known from elsewhere, or from the log.
    let own = match KeySet::read(source.key_set()) {
        Err(LogError::File { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => None,
        set => Some(set?),
    };
    let mut chain = chain::Chain::new(own.as_ref(), trust);
    workers::check(source, &chain.known_keys(), |line| chain.take(line))?;
    let files: BTreeSet<String> = source
        .set_aside()
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    Ok(chain.report(&files))
}

/// Findings on the way to an answer.
#[derive(Default)]
struct Findings {
    failed: Vec<String>,
    more_failed: u64,
    unchecked: Vec<String>,
    more_unchecked: u64,
}

impl Findings {
    fn fail(&mut self, finding: String) {
        keep(&mut self.failed, &mut self.more_failed, finding);
    }

    fn unchecked(&mut self, finding: String) {
        keep(&mut self.unchecked, &mut self.more_unchecked, finding);
    }

    fn part(self, passed: impl FnOnce() -> String) -> Part {
        let (outcome, found, more) = if !self.failed.is_empty() {
            (Checked::Fail, self.failed, self.more_failed)
        } else if !self.unchecked.is_empty() {
            (Checked::NotChecked, self.unchecked, self.more_unchecked)
        } else {
            (Checked::Pass, vec![passed()], 0)
        };
        Part { outcome, found, more }
    }
}

fn keep(kept: &mut Vec<String>, more: &mut u64, finding: String) {
    if kept.len() < MOST_FOUND {
        kept.push(finding);
    } else {
        *more += 1;
    }
}
