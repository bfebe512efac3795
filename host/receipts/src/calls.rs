//! Calls: a decision and what was seen of the call afterwards, joined by the call's id.

use std::collections::HashMap;

use crate::body::{Body, Call, Checkpoint, Decision, Machine, Outcome, Verdict};
use crate::envelope::Receipt;
use crate::error::LogError;
use crate::files::Source;
use crate::moment::Moment;

/// Which calls are wanted. What is not set does not narrow.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this session.
    pub session: Option<String>,
    /// That name this machine, by name or identifier; capitals do not count.
    pub vm: Option<String>,
    /// With this verdict.
    pub verdict: Option<Verdict>,
    /// Not before.
    pub since: Option<Moment>,
    /// Not after.
    pub until: Option<Moment>,
}

/// One call, as far as there are receipts of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The decision's receipt; none where the call was only seen afterwards.
    pub decision: Option<Receipt>,
    /// The observations' receipts.
    pub observations: Vec<Receipt>,
}

/// How a call ended, as far as the receipts tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was denied, and nothing says that it ran.
    Denied,
    /// It was seen to end.
    Seen(Outcome),
    /// Nothing was seen of it: it is running, or somebody else denied it, or it was cancelled or crashed. No error.
    Pending,
}

impl Ending {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Denied => "not run",
            Self::Seen(outcome) => outcome.word(),
            Self::Pending => "pending",
        }
    }
}

impl CallRecord {
    /// The receipt that the call is named by: the decision's, else the first observation's.
    pub fn receipt(&self) -> &Receipt {
        let first = self.decision.as_ref().or_else(|| self.observations.first());
        first.expect("a record is made of a receipt")
    }

    /// The call.
    pub fn call(&self) -> &Call {
        self.receipt()
            .body
            .call()
            .expect("a record is made of a receipt of a call")
    }

    /// What was decided, where that is on record.
    pub fn decided(&self) -> Option<&Decision> {
        match &self.decision.as_ref()?.body {
            Body::Decision(_, decision) => Some(decision),
            _ => None,
        }
    }

    /// How it ended.
    pub fn ending(&self) -> Ending {
        let seen = self.observations.last().and_then(|receipt| match &receipt.body {
            Body::Observation(_, observation) => Some(observation.outcome),
            _ => None,
        });
        match (seen, self.decided().map(|decision| decision.verdict)) {
            (Some(outcome), _) => Ending::Seen(outcome),
            (None, Some(Verdict::Deny)) => Ending::Denied,
            (None, _) => Ending::Pending,
        }
    }

    /// The checkpoints to go back to.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        let receipts = self.decision.iter().chain(&self.observations);
        receipts
            .map(|receipt| receipt.body.checkpoints())
            .find(|checkpoints| !checkpoints.is_empty())
            .unwrap_or_default()
    }

    /// The machines that the decision knows of.
    pub fn machines(&self) -> &[Machine] {
        self.decided().map_or(&[], |decision| &decision.machines)
    }

    /// Whether it deletes or unregisters a VM, by the tool's name, or by the note where the tool carries a command.
    pub fn deletes(&self) -> bool {
        let tool = self.call().tool.to_ascii_lowercase();
        let tool = tool.rsplit("__").next().unwrap_or_default();
        let verbs = ["delete", "unregister", "destroy", "terminate"];
        let note = self.decided().and_then(|decided| decided.why.as_deref());
        (verbs.iter().any(|verb| tool.contains(verb)) && !tool.contains("snapshot"))
            || note.is_some_and(|note| note.contains("takes it out of protection"))
    }

    /// Whether it names this machine, by name or identifier.
    pub fn names(&self, vm: &str) -> bool {
        let is_it = |name: &str| name.eq_ignore_ascii_case(vm);
        self.decided().is_some_and(|decision| {
            decision.targets.iter().any(|target| is_it(target))
                || decision
                    .machines
                    .iter()
                    .any(|machine| is_it(&machine.name) || is_it(&machine.vm))
        })
    }
}

impl Filter {
    fn wants(&self, call: &CallRecord) -> bool {
        let at = call.receipt().issued_at;
        let session = &call.call().session;
        self.session
            .as_ref()
            .is_none_or(|wanted| session.as_ref() == Some(wanted))
            && self.vm.as_ref().is_none_or(|vm| call.names(vm))
            && self
                .verdict
                .is_none_or(|verdict| call.decided().is_some_and(|decided| decided.verdict == verdict))
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at <= until)
    }
}

/// The calls of a log.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// The calls, in the order of their decisions.
    pub calls: Vec<CallRecord>,
    /// What happened to the log itself.
    pub events: Vec<Receipt>,
    /// How many lines are no receipts: what `verify` tells more of.
    pub unreadable: u64,
}

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One call.
    Call(CallRecord),
    /// The calls that name a machine, oldest first.
    Machine(Vec<CallRecord>),
    /// Something that happened to the log.
    Event(Receipt),
}

impl Calls {
    /// Reads the calls that are wanted.
    ///
    /// # Errors
    ///
    /// Where the log cannot be read.
    pub fn read(source: &Source, filter: &Filter) -> Result<Self, LogError> {
        let mut calls = Self::default();
        // Decisions that wait for what comes after, by the call's session and id.
        let mut open: HashMap<(Option<String>, String), usize> = HashMap::new();
        for receipt in source.receipts() {
            let receipt = match receipt {
                Ok(receipt) => receipt,
                Err(LogError::Receipt(_)) => {
                    calls.unreadable += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let key = receipt
                .body
                .call()
                .and_then(|call| Some((call.session.clone(), call.id.clone()?)));
            let joined = match &receipt.body {
                Body::Event(_) => {
                    calls.events.push(receipt);
                    continue;
                }
                Body::Observation(..) => key.as_ref().and_then(|key| open.get(key)),
                Body::Decision(..) => None,
            };
            if let Some(index) = joined {
                calls.calls[*index].observations.push(receipt);
                continue;
            }
            let call = match receipt.body {
                Body::Decision(..) => CallRecord {
                    decision: Some(receipt),
                    observations: Vec::new(),
                },
                _ => CallRecord {
                    decision: None,
                    observations: vec![receipt],
                },
            };
            if filter.wants(&call) {
                if let Some(key) = key {
                    open.insert(key, calls.calls.len());
                }
                calls.calls.push(call);
            } else if let Some(key) = key {
                open.remove(&key);
            }
        }
        Ok(calls)
    }

    /// What a name leads to: the digest of a receipt or its first digits, a receipt's number, a call's id, or a machine.
    ///
    /// # Errors
    ///
    /// Where it leads to nothing, or to more than one receipt.
    pub fn find(&self, name: &str) -> Result<Found, LogError> {
        if let Some(call) = self
            .calls
            .iter()
            .rfind(|call| call.call().id.as_deref() == Some(name))
        {
            return Ok(Found::Call(call.clone()));
        }
        let machine: Vec<_> = self
            .calls
            .iter()
            .filter(|call| call.names(name))
            .cloned()
            .collect();
        if !machine.is_empty() {
            return Ok(Found::Machine(machine));
        }
        let digits = name.strip_prefix("sha256:").unwrap_or(name).to_ascii_lowercase();
        let number: Option<u64> = name.strip_prefix('#').and_then(|number| number.parse().ok());
        let is_it = |receipt: &Receipt| {
            number == Some(receipt.seq) || (digits.len() >= 4 && receipt.digest.hex().starts_with(&digits))
        };
        let calls = self
            .calls
            .iter()
            .filter(|call| call.decision.iter().chain(&call.observations).any(is_it))
            .map(|call| Found::Call(call.clone()));
        let events = self
            .events
            .iter()
            .filter(|event| is_it(event))
            .map(|event| Found::Event(event.clone()));
        let mut found = calls.chain(events);
        match (found.next(), found.next()) {
            (Some(found), None) => Ok(found),
            (None, _) => Err(LogError::NotFound(format!(
                "there is no receipt, call or machine '{name}'; what there is: holdpoint receipts list"
            ))),
            (Some(_), Some(_)) => Err(LogError::NotFound(format!(
                "'{name}' is the beginning of several receipts' digests; give more of it"
            ))),
        }
    }
}
