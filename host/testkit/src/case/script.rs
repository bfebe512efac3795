//! What a case's host answers.

use holdpoint_recording::exchange::{
    Answer, Asked, Captured, Count, Outcome, Row, Seen, Source, State, Trouble,
};

use super::format::{
    Cadence, Case, Checkpoint, ErrorWord, Fault, Function, Session, Vm, Vpg, WholeCheckpoint,
};

/// The vCenter in identifiers that a case leaves out.
const VCENTER: &str = "8f0e1c44-6a0b-4a57-9d0e-2f1c5b7d9a10";
/// When checkpoints were taken, where a case leaves it out.
const TAKEN: &str = "2026-11-29T21:09:19Z";

/// The host of one case.
#[derive(Debug, Clone)]
pub struct Script {
    vms: Vec<Row>,
    unknown: Vec<String>,
    vpgs: Vec<Vpg>,
    faults: Vec<Fault>,
    session: Option<Option<Count>>,
}

impl Script {
    pub(super) fn new(case: &Case) -> Self {
        Self {
            vms: case.vm.iter().map(row).collect(),
            unknown: case.unknown.clone(),
            vpgs: case.vpg.clone(),
            faults: case.fault.clone(),
            session: case.session.as_ref().map(|session| match session {
                Session::None(_) => None,
                Session::Tally(tally) => Some(Count {
                    failures: tally.failures,
                    level: tally.level,
                }),
            }),
        }
    }

    /// The first fault that counts for a call of this, about this.
    fn fault(&mut self, on: Function, of: &[&str]) -> Option<Fault> {
        let fits = |fault: &&mut Fault| {
            let about = |named: &String| of.iter().any(|of| same(of, named));
            fault.on == on && fault.times != Some(0) && fault.of.as_ref().is_none_or(about)
        };
        let fault = self.faults.iter_mut().find(fits)?;
        fault.times = fault.times.map(|times| times - 1);
        Some(fault.clone())
    }

    fn look_up(&mut self, on: Function, of: &str, key: fn(&Row) -> &str) -> Option<(Answer, u64)> {
        let fault = self.fault(on, &[of]);
        self.faulty(fault, |script| {
            let rows: Vec<Row> = script
                .vms
                .iter()
                .filter(|row| same(key(row), of))
                .cloned()
                .collect();
            let unknown = script.unknown.iter().any(|name| name == "*" || same(name, of));
            (unknown || !rows.is_empty()).then_some(Answer::Rows(rows))
        })
    }

    /// The fault's error, else the usual answer; late, where the fault says so.
    fn faulty(
        &self,
        fault: Option<Fault>,
        usual: impl FnOnce(&Self) -> Option<Answer>,
    ) -> Option<(Answer, u64)> {
        match fault {
            Some(Fault {
                error: Some(error),
                text,
                delay_ms,
                ..
            }) => Some((Answer::Error(trouble(error, text)), delay_ms)),
            late => usual(self).map(|answer| (answer, late.map_or(0, |fault| fault.delay_ms))),
        }
    }

    /// The first entry of a VPG that says this of it.
    fn vpg(&self, identifier: &str, says: fn(&Vpg) -> bool) -> Option<&Vpg> {
        self.vpgs
            .iter()
            .find(|vpg| same(&identifier_of(vpg), identifier) && says(vpg))
    }

    /// The names by which a case may mean a VPG.
    fn names(&self, identifier: &str) -> Vec<String> {
        let name = self.vpg(identifier, |_| true).map(|vpg| vpg.name.clone());
        name.into_iter().chain([identifier.to_owned()]).collect()
    }

    fn about_vpg(
        &mut self,
        on: Function,
        identifier: &str,
        says: fn(&Vpg) -> bool,
        usual: impl FnOnce(&Vpg) -> Option<Answer>,
    ) -> Option<(Answer, u64)> {
        let names = self.names(identifier);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fault = self.fault(on, &names);
        self.faulty(fault, |script| script.vpg(identifier, says).and_then(usual))
    }

    /// Every VPG has to be foreseen, and the slowest says how long it takes.
    fn capture(&mut self, vpgs: &[String], tag: &str) -> Option<(Answer, u64)> {
        let mut results = Vec::new();
        let mut slowest = 0;
        for identifier in vpgs {
            let (result, ms) = self.captured(identifier, tag)?;
            results.extend(result);
            slowest = slowest.max(ms);
        }
        Some((Answer::Captured(results), slowest))
    }

    fn captured(&mut self, identifier: &str, tag: &str) -> Option<(Option<Captured>, u64)> {
        let names = self.names(identifier);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fault = self.fault(Function::Capture, &names);
        let vpg = self.vpg(identifier, captures);
        let delay = fault.as_ref().map_or(0, |fault| fault.delay_ms) + vpg.map_or(0, |vpg| vpg.delay_ms);
        let error = match &fault {
            Some(Fault {
                error: Some(error),
                text,
                ..
            }) => Some(trouble(*error, text.clone())),
            _ => vpg.and_then(|vpg| Some(trouble(vpg.error?, vpg.text.clone()))),
        };
        let answers_for = vpg
            .and_then(|vpg| vpg.answers_for.clone())
            .unwrap_or_else(|| identifier.to_owned());
        let outcome = match (error, vpg) {
            (Some(error), _) => Outcome::Error(error),
            (None, Some(Vpg { no_result: true, .. })) => return Some((None, delay)),
            (None, vpg) => Outcome::Seen(seen(vpg?.checkpoint.as_ref()?, identifier, tag)),
        };
        let captured = Captured {
            vpg: answers_for,
            outcome,
        };
        Some((Some(captured), delay))
    }

    fn session(&mut self) -> Option<(Answer, u64)> {
        match self.fault(Function::Session, &[]) {
            Some(fault) => Some((Answer::Fault(text(fault.text)), fault.delay_ms)),
            None => self.session.map(|count| (Answer::Session(count), 0)),
        }
    }
}

impl Source for Script {
    fn answer(&mut self, asked: &Asked) -> Option<(Answer, u64)> {
        match asked {
            Asked::FindVmsByName { name } => self.look_up(Function::FindVmsByName, name, |row| &row.vm_name),
            Asked::FindVmsByIdentifier { identifier } => {
                self.look_up(Function::FindVmsByIdentifier, identifier, |row| {
                    &row.vm_identifier
                })
            }
            Asked::Vpg { vpg } => self.about_vpg(Function::Vpg, vpg, has_state, |vpg| {
                Some(Answer::State(State {
                    vpg_identifier: identifier_of(vpg),
                    vpg_name: vpg.name.clone(),
                    status: vpg.status?,
                    sub_status: vpg.sub_status,
                    description: vpg.description.clone(),
                }))
            }),
            Asked::Cadence { vpg } => self.about_vpg(Function::Cadence, vpg, has_cadence, |vpg| {
                Some(Answer::Cadence(match vpg.cadence_ms? {
                    Cadence::Milliseconds(ms) => Some(ms),
                    Cadence::None(_) => None,
                }))
            }),
            Asked::Capture { vpgs, tag } => self.capture(vpgs, tag),
            Asked::Session => self.session(),
            Asked::TimeLeft => None,
        }
    }
}

/// Names are the same whatever their case, as Zerto's filters take them.
fn same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
}

fn captures(vpg: &Vpg) -> bool {
    vpg.checkpoint.is_some() || vpg.error.is_some() || vpg.no_result
}

fn has_state(vpg: &Vpg) -> bool {
    vpg.status.is_some()
}

fn has_cadence(vpg: &Vpg) -> bool {
    vpg.cadence_ms.is_some()
}

fn identifier_of(vpg: &Vpg) -> String {
    let made = || format!("{}-id", vpg.name);
    vpg.identifier.clone().unwrap_or_else(made)
}

fn row(vm: &Vm) -> Row {
    let made = || format!("{VCENTER}.{}", vm.name);
    Row {
        vm_identifier: vm.identifier.clone().unwrap_or_else(made),
        vm_name: vm.name.clone(),
        vpg_identifier: vm
            .vpg_identifier
            .clone()
            .unwrap_or_else(|| format!("{}-id", vm.vpg)),
        vpg_name: vm.vpg.clone(),
        status: vm.status,
        sub_status: vm.sub_status,
        vm_exists: vm.exists,
        direction: vm.direction,
        extras: serde_json::Value::from(vm.extras.clone()).to_string(),
    }
}

fn seen(checkpoint: &Checkpoint, vpg: &str, tag: &str) -> Seen {
    let whole = match checkpoint {
        Checkpoint::Whole(whole) => whole.clone(),
        Checkpoint::Identifier(identifier) => WholeCheckpoint {
            identifier: identifier.clone(),
            tag: None,
            time: None,
            vpg_identifier: None,
        },
    };
    Seen {
        identifier: whole.identifier,
        vpg_identifier: whole.vpg_identifier.unwrap_or_else(|| vpg.to_owned()),
        tag: whole.tag.unwrap_or_else(|| tag.to_owned()),
        time: whole.time.unwrap_or_else(|| TAKEN.to_owned()),
    }
}

fn trouble(error: ErrorWord, words: Option<String>) -> Trouble {
    let words = text(words);
    match error {
        ErrorWord::NotFound => Trouble::NotFound,
        ErrorWord::Refused => Trouble::Refused(words),
        ErrorWord::Unauthorized => Trouble::Unauthorized(words),
        ErrorWord::Unreachable => Trouble::Unreachable(words),
        ErrorWord::TimedOut => Trouble::TimedOut(words),
        ErrorWord::Malformed => Trouble::Malformed(words),
    }
}

fn text(words: Option<String>) -> String {
    words.unwrap_or_else(|| "as the case says".into())
}
