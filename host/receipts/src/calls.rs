//! Calls: a decision and what was seen of the call afterwards, joined by the call's id.

use std::collections::{HashMap, HashSet};

use holdpoint_artifact::Digest;

use crate::body::{
    Body, Call, Checkpoint, Decision, Deviation, DeviationKind, Machine, Observation, Outcome, Verdict,
};
use crate::envelope::Receipt;
use crate::error::LogError;
use crate::files::Source;
use crate::moment::Moment;
use crate::way_back::{Step, way_back};

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
    /// Of this tool: as the harness spells it, as tags do (`server/tool`) or the tool's own name; `*` stands for any
    /// letters, and capitals do not count.
    pub tool: Option<String>,
    /// Only those that were taken for changes: all but the ones that passed without any machine or checkpoint.
    pub changes: bool,
    /// The newest so many.
    pub limit: Option<usize>,
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

    /// What was seen of it, oldest first.
    fn observed(&self) -> impl Iterator<Item = (&Call, &Observation)> {
        self.observations
            .iter()
            .filter_map(|receipt| match &receipt.body {
                Body::Observation(call, observation) => Some((call, observation)),
                _ => None,
            })
    }

    /// How what ran differs from what was decided, as the hook found it at the call's end and as the receipts by
    /// themselves tell it.
    pub fn deviation(&self) -> Option<Deviation> {
        let mut all = Deviation::default();
        for (call, observation) in self.observed() {
            if let Some(found) = &observation.deviation {
                all.kinds.extend(&found.kinds);
                all.decided = all.decided.or(found.decided);
                for (names, more) in [(&mut all.checked, &found.checked), (&mut all.ran, &found.ran)] {
                    let new: Vec<_> = more
                        .iter()
                        .filter(|name| !names.contains(name))
                        .cloned()
                        .collect();
                    names.extend(new);
                }
            }
            if let Some(decided) = self.decided() {
                let about = self.call();
                let sides = (about.tool.as_str(), about.arguments.digest);
                all.kinds.extend(differences(sides, decided.verdict, call));
            }
        }
        if let (false, Some(decided)) = (all.kinds.is_empty(), self.decided()) {
            all.decided = all.decided.or_else(|| Some(self.call().arguments.digest));
            if all.checked.is_empty() {
                all.checked.clone_from(&decided.targets);
            }
        }
        (!all.kinds.is_empty()).then_some(all)
    }

    /// The digest of the arguments that ran, where they are not those that were decided on.
    pub fn ran_arguments(&self) -> Option<Digest> {
        let decided = self.call().arguments.digest;
        self.observed()
            .map(|(call, _)| call.arguments.digest)
            .find(|digest| *digest != decided)
    }

    /// How it ended, in words, with how what ran differs from what was decided in front.
    pub fn outcome(&self) -> String {
        let ended = self.ending();
        match self.deviation() {
            None => ended.word().to_owned(),
            Some(deviation) if ended == Ending::Seen(Outcome::Ran) => deviation.words(),
            Some(deviation) => format!("{}; {}", deviation.words(), ended.word()),
        }
    }

    /// Whether it was taken for a change: it named a machine, got a checkpoint, was asked about, denied, or ran otherwise
    /// than it was decided on.
    pub fn is_change(&self) -> bool {
        let reads = |decided: &Decision| {
            decided.verdict == Verdict::Pass && decided.targets.is_empty() && decided.checkpoints.is_empty()
        };
        !self.decided().is_some_and(reads) || self.deviation().is_some()
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

    /// The machines that it ran on, where those are known not to be the ones that were decided on.
    fn ran_on(&self) -> Option<Vec<String>> {
        let ran = self.deviation()?.ran;
        (!ran.is_empty()).then_some(ran)
    }

    /// The ways back to its checkpoints. A machine that the call did not run on has nothing to go back from.
    pub fn way_back(&self) -> Vec<Step> {
        let Some(ran) = self.ran_on() else {
            return way_back(self.checkpoints(), self.machines(), self.deletes());
        };
        let is_touched = |machine: &&Machine| ran.iter().any(|name| machine.is_called(name));
        let machines: Vec<Machine> = self.machines().iter().filter(is_touched).cloned().collect();
        let is_of_one = |seen: &&Checkpoint| machines.iter().any(|machine| machine.vpg == seen.vpg);
        let checkpoints: Vec<Checkpoint> = self.checkpoints().iter().filter(is_of_one).cloned().collect();
        way_back(&checkpoints, &machines, self.deletes())
    }

    /// The checkpoint of this machine's group, with the machine.
    fn checkpoint_of(&self, name: &str) -> Option<(&Machine, &Checkpoint)> {
        let machine = self.machines().iter().find(|machine| machine.is_called(name))?;
        let mut all = self.checkpoints().iter();
        Some((machine, all.find(|seen| seen.vpg == machine.vpg)?))
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
        let ran = self.observed().filter_map(|(_, seen)| seen.deviation.as_ref());
        let ran_on = ran.flat_map(|deviation| &deviation.ran).any(|name| is_it(name));
        ran_on
            || self.decided().is_some_and(|decision| {
                decision.targets.iter().any(|target| is_it(target))
                    || decision.machines.iter().any(|machine| machine.is_called(vm))
            })
    }
}

impl Machine {
    /// Whether this is its name or identifier; capitals do not count.
    fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) || self.vm.eq_ignore_ascii_case(name)
    }
}

/// A machine that a call ran on without a checkpoint of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncovered {
    /// The machine, as the call named it.
    pub machine: String,
    /// The last checkpoint of it before the call, with what the call that it was taken for knew of the machine.
    pub earlier: Option<(Machine, Checkpoint)>,
}

impl Uncovered {
    /// In words.
    pub fn words(&self) -> String {
        let missing = format!("{} has no checkpoint of this call", self.machine);
        match &self.earlier {
            None => format!("{missing}, and no earlier one is on record"),
            Some((_, seen)) => {
                let tag = seen.tag.as_deref().unwrap_or("without a tag");
                format!(
                    "{missing}; its last one before it: {} of {}, {tag}",
                    seen.id, seen.time
                )
            }
        }
    }

    /// The ways back to the earlier checkpoint, of this machine alone.
    pub fn way_back(&self) -> Vec<Step> {
        self.earlier.as_ref().map_or_else(Vec::new, |(machine, seen)| {
            way_back(std::slice::from_ref(seen), std::slice::from_ref(machine), false)
        })
    }
}

/// How a call that ended differs from the one that was decided on, as far as two receipts tell.
pub(crate) fn differences(
    (tool, arguments): (&str, Digest),
    verdict: Verdict,
    ended: &Call,
) -> impl Iterator<Item = DeviationKind> + use<> {
    let other_tool = tool != ended.tool;
    [
        (
            !other_tool && arguments != ended.arguments.digest,
            DeviationKind::OtherArguments,
        ),
        (other_tool, DeviationKind::OtherTool),
        (verdict == Verdict::Deny, DeviationKind::Denied),
    ]
    .into_iter()
    .filter_map(|(is_so, kind)| is_so.then_some(kind))
}

/// Whether a tool goes by this name: see [`Filter::tool`].
pub fn is_tool(tool: &str, wanted: &str) -> bool {
    let (tool, wanted) = (tool.to_lowercase(), wanted.to_lowercase());
    let short = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    let tagged = short.map(|(server, name)| format!("{server}/{name}"));
    let names = [
        Some(tool.as_str()),
        tagged.as_deref(),
        short.map(|(_, name)| name),
    ];
    names.into_iter().flatten().any(|name| fits(name, &wanted))
}

/// Whether a name fits a pattern in which `*` stands for any letters.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((beginning, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(mut left) = name.strip_prefix(beginning) else {
        return false;
    };
    let mut parts: Vec<_> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(end)
}

impl Filter {
    /// Whether a call's first receipt is wanted. Which machines it names is told by its end too: see [`Calls::read`].
    fn wants(&self, call: &CallRecord) -> bool {
        let at = call.receipt().issued_at;
        let session = &call.call().session;
        self.session
            .as_ref()
            .is_none_or(|wanted| session.as_ref() == Some(wanted))
            && self
                .tool
                .as_ref()
                .is_none_or(|tool| is_tool(&call.call().tool, tool))
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

impl Calls {
    /// The machines that a call ran on and that no checkpoint was taken of for it.
    pub fn uncovered(&self, call: &CallRecord) -> Vec<Uncovered> {
        let at = call.receipt().seq;
        let earlier = |name: &str| {
            let before = self.calls.iter().filter(|other| other.receipt().seq < at);
            let mut newest_first = before.rev();
            let (machine, seen) = newest_first.find_map(|other| other.checkpoint_of(name))?;
            Some((machine.clone(), seen.clone()))
        };
        let ran = call.ran_on().unwrap_or_default().into_iter();
        ran.filter(|name| call.checkpoint_of(name).is_none())
            .map(|machine| Uncovered {
                earlier: earlier(&machine),
                machine,
            })
            .collect()
    }

    /// Reads the calls that are wanted.
    ///
    /// # Errors
    ///
    /// Where the log cannot be read.
    pub fn read(source: &Source, filter: &Filter) -> Result<Self, LogError> {
        let mut calls = Self::default();
        // Decisions that wait for what comes after, by the call's session and id.
        let mut open: HashMap<(Option<String>, String), usize> = HashMap::new();
        // Those of decisions that are not wanted: then what was seen of the call is not, either.
        let mut unwanted: HashSet<(Option<String>, String)> = HashSet::new();
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
            if matches!(receipt.body, Body::Observation(..))
                && key.as_ref().is_some_and(|key| unwanted.contains(key))
            {
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
                    unwanted.remove(&key);
                    open.insert(key, calls.calls.len());
                }
                calls.calls.push(call);
            } else if let Some(key) = key {
                open.remove(&key);
                unwanted.insert(key);
            }
        }
        if let Some(vm) = &filter.vm {
            calls.calls.retain(|call| call.names(vm));
        }
        if filter.changes {
            calls.calls.retain(CallRecord::is_change);
        }
        if let Some(limit) = filter.limit {
            let older = calls.calls.len().saturating_sub(limit);
            calls.calls.drain(..older);
        }
        Ok(calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_goes_by_three_names_and_by_patterns() {
        let tool = "mcp__esxi__powerOff";
        for wanted in [
            tool,
            "esxi/poweroff",
            "powerOff",
            "power*",
            "*off",
            "esxi/*",
            "mcp__*__p*f",
            "*",
        ] {
            assert!(is_tool(tool, wanted), "{wanted}");
        }
        for wanted in ["esxi", "power", "off*", "esxi/", "powerOffx", "*z*", "p*ff*ff"] {
            assert!(!is_tool(tool, wanted), "{wanted}");
        }
        assert!(is_tool("Bash", "bash") && !is_tool("Bash", "Bash/"));
    }
}
