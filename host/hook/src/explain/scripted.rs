//! A world without a network: answers a policy as a ZVM in a certain state would, and writes down what it was asked.

use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_runtime::sandbox::capabilities::{
    Capabilities, CaptureResult, Checkpoint, Direction, Error, Tally, VmRow, VpgState,
};
use holdpoint_runtime::verdict::Fault;
use serde::Serialize;

use crate::log;

/// The most questions, and the most lines, that are kept of one run. A policy can go on without end.
const MOST: usize = 200;
/// The site of no VM.
const NOWHERE: &str = "00000000-0000-0000-0000-000000000000";

/// What Zerto and the session may say, as far as it makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// The VM is protected here, and its checkpoint comes.
    Seen,
    /// There is no such VM.
    Unknown,
    /// There are two.
    Several,
    /// The VM runs on another site.
    Elsewhere,
    /// Its VPG cannot take a checkpoint now.
    Unready,
    /// The insert is declined.
    Refused,
    /// The checkpoint does not come in time.
    NotSeen,
    /// Nobody answers.
    Unreachable,
    /// The log-in is turned down.
    Unauthorized,
    /// The VM is protected here and its checkpoint comes, and many of the session's calls have failed.
    Strained,
}

impl Case {
    /// Every case, beginning with the one that all others are variations of.
    pub const ALL: [Self; 10] = [
        Self::Seen,
        Self::Unknown,
        Self::Several,
        Self::Elsewhere,
        Self::Unready,
        Self::Refused,
        Self::NotSeen,
        Self::Unreachable,
        Self::Unauthorized,
        Self::Strained,
    ];

    /// The case in words, after "if".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Seen => "the checkpoint is seen in every VPG",
            Self::Unknown => "Zerto knows no such VM",
            Self::Several => "the name fits several VMs",
            Self::Elsewhere => "the VM runs on another site",
            Self::Unready => "a VPG takes no checkpoint now",
            Self::Refused => "Zerto refuses the checkpoint",
            Self::NotSeen => "the checkpoint is not seen in time",
            Self::Unreachable => "the ZVM cannot be reached",
            Self::Unauthorized => "the log-in is refused",
            Self::Strained => "… and the session's tally is at its highest level",
        }
    }
}

/// What a policy asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Asked {
    /// VMs by name.
    VmsByName {
        /// The name.
        name: String,
    },
    /// A VM by Zerto's identifier.
    VmByIdentifier {
        /// The identifier.
        identifier: String,
    },
    /// A VPG's state.
    Vpg {
        /// The VPG.
        vpg: String,
    },
    /// Checkpoints.
    Capture {
        /// In how many VPGs.
        vpgs: usize,
        /// Under which tag; the eight digits in it are fresh for every call.
        tag: String,
    },
    /// How far apart a VPG's checkpoints are.
    Cadence {
        /// The VPG.
        vpg: String,
    },
    /// The session's tally.
    Tally,
}

/// What was asked and noted in one run.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// In order.
    pub(super) asked: Vec<Asked>,
    /// The policy's lines for the log.
    pub(super) notes: Vec<String>,
}

/// The world of one case.
pub(super) struct Scripted {
    case: Case,
    time_left: u64,
    heard: Arc<Mutex<Heard>>,
}

impl Scripted {
    /// A world in which the policy is told that it has so many milliseconds.
    pub(super) fn new(case: Case, time_left: u64, heard: Arc<Mutex<Heard>>) -> Self {
        Self {
            case,
            time_left,
            heard,
        }
    }

    fn hear(&self, asked: Asked) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.asked.len() < MOST {
            heard.asked.push(asked);
        }
    }

    fn rows(&self, name: &str, identifier: Option<&str>) -> Result<Vec<VmRow>, Error> {
        let row = |number: u32| VmRow {
            vm_identifier: identifier.map_or_else(|| format!("{NOWHERE}.vm-{number}"), str::to_owned),
            vm_name: name.to_owned(),
            vpg_identifier: format!("vpg-{number}"),
            vpg_name: format!("VPG {number}"),
            // Zerto's "failing over"; 1 is "meeting its SLA".
            status: if self.case == Case::Unready { 5 } else { 1 },
            sub_status: 0,
            vm_exists: true,
            direction: if self.case == Case::Elsewhere {
                Direction::RecoveredHere
            } else {
                Direction::ProtectedHere
            },
            extras: "{}".into(),
        };
        match self.case {
            Case::Unknown => Ok(Vec::new()),
            Case::Several if identifier.is_none() => Ok(vec![row(1), row(2)]),
            Case::Unreachable => Err(Error::Unreachable("nobody answers".into())),
            Case::Unauthorized => Err(Error::Unauthorized("the ZVM's words".into())),
            _ => Ok(vec![row(1)]),
        }
    }
}

impl Capabilities for Scripted {
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, Error> {
        self.hear(Asked::VmsByName {
            name: name.to_owned(),
        });
        self.rows(name, None)
    }

    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<VmRow>, Error> {
        self.hear(Asked::VmByIdentifier {
            identifier: identifier.to_owned(),
        });
        self.rows(identifier, Some(identifier))
    }

    fn vpg(&mut self, identifier: &str) -> Result<VpgState, Error> {
        self.hear(Asked::Vpg {
            vpg: identifier.to_owned(),
        });
        let row = self.rows("", None)?.pop().ok_or(Error::NotFound)?;
        Ok(VpgState {
            vpg_identifier: identifier.to_owned(),
            vpg_name: row.vpg_name,
            status: row.status,
            sub_status: row.sub_status,
            description: String::new(),
        })
    }

    fn capture(&mut self, vpgs: Vec<String>, tag: String) -> Vec<CaptureResult> {
        self.hear(Asked::Capture {
            vpgs: vpgs.len(),
            tag: tag.clone(),
        });
        let outcome = |vpg: &str| match self.case {
            Case::Refused => Err(Error::Refused("Zerto's words".into())),
            Case::NotSeen => Err(Error::TimedOut("the longest wait is over".into())),
            Case::Unreachable => Err(Error::Unreachable("nobody answers".into())),
            Case::Unauthorized => Err(Error::Unauthorized("the ZVM's words".into())),
            _ => Ok(Checkpoint {
                identifier: "1".into(),
                vpg_identifier: vpg.to_owned(),
                tag: tag.clone(),
                time: log::now(),
            }),
        };
        vpgs.into_iter()
            .map(|vpg_identifier| CaptureResult {
                outcome: outcome(&vpg_identifier),
                vpg_identifier,
            })
            .collect()
    }

    fn cadence(&mut self, vpg: &str) -> Result<Option<u64>, Error> {
        self.hear(Asked::Cadence { vpg: vpg.to_owned() });
        self.rows("", None).map(|_| Some(5_000))
    }

    fn tally(&mut self) -> Result<Option<Tally>, Fault> {
        self.hear(Asked::Tally);
        Ok((self.case == Case::Strained).then_some(Tally {
            failures: 12,
            level: 4,
        }))
    }

    fn note(&mut self, line: String) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.notes.len() < MOST {
            heard.notes.push(line);
        }
    }

    fn time_left(&mut self) -> u64 {
        self.time_left
    }
}
