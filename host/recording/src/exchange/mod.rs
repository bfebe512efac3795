//! What a policy asks its host and what it is answered, as data: what recorders write, scripts answer and reports show.

mod recorded_answers;
mod recorder;
mod stage;

use std::fmt;

pub use recorded_answers::RecordedAnswers;
pub use recorder::Recorder;
pub use stage::{Asking, Source, Stage};

use holdpoint_runtime::sandbox::capabilities::{
    self, CaptureResult, Checkpoint, Direction, Tally, VmRow, VpgState,
};
use serde::{Deserialize, Serialize};

/// One question of a policy. Lines for the log are no questions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Asked {
    /// VMs of this name.
    FindVmsByName {
        /// The name.
        name: String,
    },
    /// The rows of this VM.
    FindVmsByIdentifier {
        /// Zerto's identifier.
        identifier: String,
    },
    /// The state of a VPG.
    Vpg {
        /// Its identifier.
        vpg: String,
    },
    /// Checkpoints in all of these.
    Capture {
        /// Their identifiers, in the policy's order.
        vpgs: Vec<String>,
        /// The tag of them all.
        tag: String,
    },
    /// How far apart a VPG's checkpoints are.
    Cadence {
        /// Its identifier.
        vpg: String,
    },
    /// The session's tally.
    Session,
    /// The time that is left.
    TimeLeft,
}

/// As cases write it. The tag is left out: it holds what is new in each call.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FindVmsByName { name } => write!(f, "find-vms-by-name({name})"),
            Self::FindVmsByIdentifier { identifier } => write!(f, "find-vms-by-identifier({identifier})"),
            Self::Vpg { vpg } => write!(f, "vpg({vpg})"),
            Self::Capture { vpgs, .. } => write!(f, "capture({})", vpgs.join(", ")),
            Self::Cadence { vpg } => write!(f, "cadence({vpg})"),
            Self::Session => f.write_str("session()"),
            Self::TimeLeft => f.write_str("time-left()"),
        }
    }
}

/// What a question is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The rows of a look-up.
    Rows(Vec<Row>),
    /// The state of a VPG.
    State(State),
    /// What became of each VPG of a capture.
    Captured(Vec<Captured>),
    /// Milliseconds between checkpoints; none where the journal is too short to tell.
    Cadence(Option<u64>),
    /// The tally; none where nothing is known of the session.
    Session(Option<Count>),
    /// The time that is left, in milliseconds.
    TimeLeft(u64),
    /// Zerto could not be asked.
    Error(Trouble),
    /// A fault of the host, which ends the policy.
    Fault(String),
}

impl Answer {
    /// The same trouble for every VPG of a capture, or for the one thing that was asked.
    pub fn trouble(asked: &Asked, trouble: &Trouble) -> Self {
        match asked {
            Asked::Capture { vpgs, .. } => Self::Captured(
                vpgs.iter()
                    .map(|vpg| Captured {
                        vpg: vpg.clone(),
                        outcome: Outcome::Error(trouble.clone()),
                    })
                    .collect(),
            ),
            _ => Self::Error(trouble.clone()),
        }
    }
}

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What was asked.
    pub asked: Asked,
    /// What was answered.
    pub answer: Answer,
    /// How long the answer took, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ms: u64,
}

impl Exchange {
    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let asked = match &self.asked {
            Asked::FindVmsByName { name: text }
            | Asked::FindVmsByIdentifier { identifier: text }
            | Asked::Vpg { vpg: text }
            | Asked::Cadence { vpg: text } => text.len(),
            Asked::Capture { vpgs, tag } => tag.len() + vpgs.iter().map(String::len).sum::<usize>(),
            Asked::Session | Asked::TimeLeft => 0,
        };
        let answer = match &self.answer {
            Answer::Rows(rows) => rows.iter().map(|row| ROW + row.extras.len()).sum(),
            Answer::Captured(results) => ROW * results.len(),
            _ => 0,
        };
        size_of::<Self>() + asked + answer
    }
}

/// About how many bytes a row or a result takes beside what it may hold at length.
const ROW: usize = 300;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
}

/// Why Zerto could not be asked: the contract's `zerto.error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words are the contract's, and explained there")]
pub enum Trouble {
    NotFound,
    Refused(String),
    Unauthorized(String),
    Unreachable(String),
    TimedOut(String),
    Malformed(String),
}

/// A VM in a VPG: the contract's `zerto.vm-row`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the contract's, and explained there")]
pub struct Row {
    pub vm_identifier: String,
    pub vm_name: String,
    pub vpg_identifier: String,
    pub vpg_name: String,
    pub status: i32,
    pub sub_status: i32,
    pub vm_exists: bool,
    pub direction: Side,
    pub extras: String,
}

/// Which way a VM is replicated: the contract's `zerto.direction`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the words are the contract's, and explained there")]
pub enum Side {
    #[default]
    ProtectedHere,
    RecoveredHere,
    Unknown,
}

/// The state of a VPG: the contract's `zerto.vpg-state`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the contract's, and explained there")]
pub struct State {
    pub vpg_identifier: String,
    pub vpg_name: String,
    pub status: i32,
    pub sub_status: i32,
    pub description: String,
}

/// What became of one VPG in a capture: the contract's `zerto.capture-result`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Captured {
    /// The VPG that the result names.
    pub vpg: String,
    /// Its checkpoint, or why there is none.
    pub outcome: Outcome,
}

/// A checkpoint, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was seen in the journal.
    Seen(Seen),
    /// It was not.
    Error(Trouble),
}

/// A checkpoint that was seen: the contract's `zerto.checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the contract's, and explained there")]
pub struct Seen {
    pub identifier: String,
    pub vpg_identifier: String,
    pub tag: String,
    pub time: String,
}

/// A session's tally: the contract's `session.tally`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the contract's, and explained there")]
pub struct Count {
    pub failures: u32,
    pub level: u8,
}

impl From<capabilities::Error> for Trouble {
    fn from(error: capabilities::Error) -> Self {
        use capabilities::Error;
        match error {
            Error::NotFound => Self::NotFound,
            Error::Refused(text) => Self::Refused(text),
            Error::Unauthorized(text) => Self::Unauthorized(text),
            Error::Unreachable(text) => Self::Unreachable(text),
            Error::TimedOut(text) => Self::TimedOut(text),
            Error::Malformed(text) => Self::Malformed(text),
        }
    }
}

impl From<Trouble> for capabilities::Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::NotFound => Self::NotFound,
            Trouble::Refused(text) => Self::Refused(text),
            Trouble::Unauthorized(text) => Self::Unauthorized(text),
            Trouble::Unreachable(text) => Self::Unreachable(text),
            Trouble::TimedOut(text) => Self::TimedOut(text),
            Trouble::Malformed(text) => Self::Malformed(text),
        }
    }
}

impl From<VmRow> for Row {
    fn from(row: VmRow) -> Self {
        Self {
            vm_identifier: row.vm_identifier,
            vm_name: row.vm_name,
            vpg_identifier: row.vpg_identifier,
            vpg_name: row.vpg_name,
            status: row.status,
            sub_status: row.sub_status,
            vm_exists: row.vm_exists,
            direction: match row.direction {
                Direction::ProtectedHere => Side::ProtectedHere,
                Direction::RecoveredHere => Side::RecoveredHere,
                Direction::Unknown => Side::Unknown,
            },
            extras: row.extras,
        }
    }
}

impl From<Row> for VmRow {
    fn from(row: Row) -> Self {
        Self {
            vm_identifier: row.vm_identifier,
            vm_name: row.vm_name,
            vpg_identifier: row.vpg_identifier,
            vpg_name: row.vpg_name,
            status: row.status,
            sub_status: row.sub_status,
            vm_exists: row.vm_exists,
            direction: match row.direction {
                Side::ProtectedHere => Direction::ProtectedHere,
                Side::RecoveredHere => Direction::RecoveredHere,
                Side::Unknown => Direction::Unknown,
            },
            extras: row.extras,
        }
    }
}

impl From<VpgState> for State {
    fn from(state: VpgState) -> Self {
        Self {
            vpg_identifier: state.vpg_identifier,
            vpg_name: state.vpg_name,
            status: state.status,
            sub_status: state.sub_status,
            description: state.description,
        }
    }
}

impl From<State> for VpgState {
    fn from(state: State) -> Self {
        Self {
            vpg_identifier: state.vpg_identifier,
            vpg_name: state.vpg_name,
            status: state.status,
            sub_status: state.sub_status,
            description: state.description,
        }
    }
}

impl From<CaptureResult> for Captured {
    fn from(result: CaptureResult) -> Self {
        Self {
            vpg: result.vpg_identifier,
            outcome: match result.outcome {
                Ok(seen) => Outcome::Seen(Seen {
                    identifier: seen.identifier,
                    vpg_identifier: seen.vpg_identifier,
                    tag: seen.tag,
                    time: seen.time,
                }),
                Err(error) => Outcome::Error(error.into()),
            },
        }
    }
}

impl From<Captured> for CaptureResult {
    fn from(captured: Captured) -> Self {
        Self {
            vpg_identifier: captured.vpg,
            outcome: match captured.outcome {
                Outcome::Seen(seen) => Ok(Checkpoint {
                    identifier: seen.identifier,
                    vpg_identifier: seen.vpg_identifier,
                    tag: seen.tag,
                    time: seen.time,
                }),
                Outcome::Error(trouble) => Err(trouble.into()),
            },
        }
    }
}

impl From<Tally> for Count {
    fn from(tally: Tally) -> Self {
        Self {
            failures: tally.failures,
            level: tally.level,
        }
    }
}

impl From<Count> for Tally {
    fn from(count: Count) -> Self {
        Self {
            failures: count.failures,
            level: count.level,
        }
    }
}
