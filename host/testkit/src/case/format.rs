//! The format of case files: `docs/cases.md`.

use std::path::PathBuf;

use holdpoint_recording::exchange::Side;
use serde::Deserialize;
use serde_json::{Map, Value};

/// One case as it is written, its file's common part joined to it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(default)]
    pub(super) name: String,
    pub(super) event: Event,
    #[serde(default)]
    pub(super) settings: Map<String, Value>,
    #[serde(default)]
    pub(super) catalogs: Vec<PathBuf>,
    pub(super) nonce: Option<String>,
    pub(super) arguments_cut: Option<bool>,
    #[serde(default)]
    pub(super) vm: Vec<Vm>,
    #[serde(default)]
    pub(super) unknown: Vec<String>,
    #[serde(default)]
    pub(super) vpg: Vec<Vpg>,
    #[serde(default)]
    pub(super) fault: Vec<Fault>,
    pub(super) session: Option<Session>,
    pub(super) time_left_ms: Option<u64>,
    pub(super) expect: Expect,
}

/// An event: a captured one's path, or the harness's own fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Event {
    Captured(PathBuf),
    Written(Map<String, Value>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Vm {
    pub(super) name: String,
    pub(super) identifier: Option<String>,
    pub(super) vpg: String,
    pub(super) vpg_identifier: Option<String>,
    #[serde(default = "meeting_its_sla")]
    pub(super) status: i32,
    #[serde(default)]
    pub(super) sub_status: i32,
    #[serde(default = "yes")]
    pub(super) exists: bool,
    #[serde(default)]
    pub(super) direction: Side,
    #[serde(default)]
    pub(super) extras: Map<String, Value>,
}

fn meeting_its_sla() -> i32 {
    1
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Vpg {
    pub(super) name: String,
    pub(super) identifier: Option<String>,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) error: Option<ErrorWord>,
    pub(super) text: Option<String>,
    pub(super) answers_for: Option<String>,
    #[serde(default)]
    pub(super) no_result: bool,
    #[serde(default)]
    pub(super) delay_ms: u64,
    pub(super) status: Option<i32>,
    #[serde(default)]
    pub(super) sub_status: i32,
    #[serde(default)]
    pub(super) description: String,
    pub(super) cadence_ms: Option<Cadence>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Checkpoint {
    Identifier(String),
    Whole(WholeCheckpoint),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WholeCheckpoint {
    pub(super) identifier: String,
    pub(super) tag: Option<String>,
    pub(super) time: Option<String>,
    pub(super) vpg_identifier: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum Cadence {
    Milliseconds(u64),
    None(NoneWord),
}

/// The word for what there is none of, where leaving the key out means something else.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NoneWord {
    None,
}

/// The errors of the contract, by their names there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ErrorWord {
    NotFound,
    Refused,
    Unauthorized,
    Unreachable,
    TimedOut,
    Malformed,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) on: Function,
    pub(super) of: Option<String>,
    pub(super) error: Option<ErrorWord>,
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) delay_ms: u64,
    pub(super) times: Option<u32>,
}

/// The functions that can fail, by their names in the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Function {
    FindVmsByName,
    FindVmsByIdentifier,
    Vpg,
    Capture,
    Cadence,
    Session,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Session {
    Tally(Tally),
    None(NoneWord),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tally {
    pub(super) failures: u32,
    pub(super) level: u8,
}

/// What has to come out.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) verdict: Option<VerdictWord>,
    #[serde(default)]
    pub(super) holds: Vec<String>,
    #[serde(default)]
    pub(super) lacks: Vec<String>,
    #[serde(default)]
    pub(super) silent: bool,
    pub(super) fault: Option<String>,
    pub(super) calls: Option<Vec<String>>,
    #[serde(default)]
    pub(super) tag: Vec<String>,
    #[serde(default)]
    pub(super) logs: Vec<String>,
    pub(super) fuel: Option<u64>,
    pub(super) memory: Option<u64>,
    #[serde(default)]
    pub(super) golden: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum VerdictWord {
    Pass,
    Ask,
    Deny,
    Fault,
}

impl VerdictWord {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Fault => "fault",
        }
    }
}
