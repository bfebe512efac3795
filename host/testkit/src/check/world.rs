//! A ZVM that knows every VM and captures everything, apart from the one thing that a probe is about.

use std::fmt;

use holdpoint_recording::exchange::{
    Answer, Asked, Captured, Outcome, Row, Seen, Side, Source, State, Trouble,
};

use super::troubles;

/// The functions of the contract that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Name,
    Identifier,
    Vpg,
    Capture,
    Cadence,
    Session,
}

impl Function {
    pub(super) fn of(asked: &Asked) -> Option<Self> {
        Some(match asked {
            Asked::FindVmsByName { .. } => Self::Name,
            Asked::FindVmsByIdentifier { .. } => Self::Identifier,
            Asked::Vpg { .. } => Self::Vpg,
            Asked::Capture { .. } => Self::Capture,
            Asked::Cadence { .. } => Self::Cadence,
            Asked::Session => Self::Session,
            Asked::TimeLeft => return None,
        })
    }

    /// The errors that it can have. What a look-up finds nothing for is an empty list and no error.
    pub(super) fn errors(self) -> Vec<Trouble> {
        let all = troubles().into_iter();
        match self {
            Self::Name | Self::Identifier => all.filter(|error| *error != Trouble::NotFound).collect(),
            // A fault of the host's own, which has no kinds.
            Self::Session => all.take(1).collect(),
            _ => all.collect(),
        }
    }
}

/// What is odd about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A capture has no results.
    NoResults,
    /// Its results are for other VPGs.
    OtherVpgs,
    /// Its checkpoints have another tag, as those that another call inserted do.
    OtherTag,
    /// Its checkpoints have no identifier.
    NoCheckpoint,
    /// Every text of every answer is empty.
    Empty,
    /// A look-up has five hundred rows.
    ManyRows,
    /// A row's extras hold much, and no JSON.
    LongExtras,
    /// Names hold what acts on a terminal.
    Escapes,
    /// States and levels that nobody has heard of.
    Numbers,
}

impl Oddity {
    pub(super) const ALL: [Self; 9] = [
        Self::NoResults,
        Self::OtherVpgs,
        Self::OtherTag,
        Self::NoCheckpoint,
        Self::Empty,
        Self::ManyRows,
        Self::LongExtras,
        Self::Escapes,
        Self::Numbers,
    ];

    /// Those by which no checkpoint is confirmed.
    pub(super) const UNCONFIRMED: [Self; 3] = [Self::NoResults, Self::OtherVpgs, Self::NoCheckpoint];
}

/// The ZVM of one decision.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    failing: Option<(Function, Trouble)>,
    odd: Option<Oddity>,
}

impl World {
    pub(super) fn failing(function: Function, error: Trouble) -> Self {
        Self {
            failing: Some((function, error)),
            odd: None,
        }
    }

    pub(super) fn odd(oddity: Oddity) -> Self {
        Self {
            failing: None,
            odd: Some(oddity),
        }
    }

    fn rows(&self, name: &str, identifier: &str) -> Vec<Row> {
        let row = |vpg: &str| Row {
            vm_identifier: identifier.to_owned(),
            vm_name: name.to_owned(),
            vpg_identifier: format!("{vpg}-id"),
            vpg_name: vpg.to_owned(),
            status: 1,
            sub_status: 0,
            vm_exists: true,
            direction: Side::ProtectedHere,
            extras: "{}".into(),
        };
        match self.odd {
            Some(Oddity::ManyRows) => (0..500).map(|number| row(&format!("VPG{number}"))).collect(),
            Some(Oddity::Empty) => vec![Row {
                vm_identifier: String::new(),
                vm_name: String::new(),
                vpg_identifier: String::new(),
                vpg_name: String::new(),
                extras: String::new(),
                ..row("")
            }],
            Some(Oddity::LongExtras) => vec![Row {
                extras: "[".repeat(500_000),
                ..row("VPG")
            }],
            Some(Oddity::Escapes) => vec![row("VPG\u{1b}[31m\u{202e}\n\"'\\")],
            Some(Oddity::Numbers) => vec![Row {
                status: i32::MAX,
                sub_status: i32::MIN,
                direction: Side::Unknown,
                ..row("VPG")
            }],
            _ => vec![row("VPG")],
        }
    }

    fn captured(&self, vpgs: &[String], tag: &str) -> Vec<Captured> {
        let seen = |vpg: &String| {
            let mut seen = Seen {
                identifier: "7180".into(),
                vpg_identifier: vpg.clone(),
                tag: tag.to_owned(),
                time: "2026-11-29T21:09:19Z".into(),
            };
            let mut named = vpg.clone();
            match self.odd {
                Some(Oddity::OtherVpgs) => "another VPG".clone_into(&mut named),
                Some(Oddity::OtherTag) => "another tag".clone_into(&mut seen.tag),
                Some(Oddity::NoCheckpoint | Oddity::Empty) => seen.identifier.clear(),
                _ => {}
            }
            Captured {
                vpg: named,
                outcome: Outcome::Seen(seen),
            }
        };
        match self.odd {
            Some(Oddity::NoResults) => Vec::new(),
            _ => vpgs.iter().map(seen).collect(),
        }
    }

    fn failed(asked: &Asked, trouble: &Trouble) -> Answer {
        match asked {
            Asked::Session => Answer::Fault("the tally cannot be read".into()),
            _ => Answer::trouble(asked, trouble),
        }
    }
}

impl Source for World {
    fn answer(&mut self, asked: &Asked) -> Option<(Answer, u64)> {
        if let Some((function, trouble)) = &self.failing
            && Function::of(asked) == Some(*function)
        {
            return Some((Self::failed(asked, trouble), 0));
        }
        let answer = match asked {
            Asked::FindVmsByName { name } => {
                Answer::Rows(self.rows(name, "8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10.vm-38"))
            }
            Asked::FindVmsByIdentifier { identifier } => Answer::Rows(self.rows("web01", identifier)),
            Asked::Vpg { vpg } => Answer::State(State {
                vpg_identifier: vpg.clone(),
                vpg_name: "VPG".into(),
                status: 1,
                sub_status: 0,
                description: String::new(),
            }),
            Asked::Capture { vpgs, tag } => Answer::Captured(self.captured(vpgs, tag)),
            Asked::Cadence { .. } => Answer::Cadence(Some(5_000)),
            Asked::Session => Answer::Session(None),
            Asked::TimeLeft => return None,
        };
        Some((answer, 0))
    }
}

/// What is not as usual, for findings.
impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((function, trouble)) = &self.failing {
            let error = format!("{trouble:?}");
            let error = error.split('(').next().unwrap_or_default();
            write!(f, " ({function:?} fails: {error})")?;
        }
        match self.odd {
            Some(odd) => write!(f, " ({odd:?})"),
            None => Ok(()),
        }
    }
}
