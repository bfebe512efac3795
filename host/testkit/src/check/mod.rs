//! Fixed probes for anybody's policy: what every policy has to stand, whatever it decides.

mod calls;
mod world;

use holdpoint_common::safe_text;
use holdpoint_recording::exchange::{Asked, Trouble};
use holdpoint_runtime::sandbox::Call;
use holdpoint_runtime::verdict::{FaultKind, Verdict};
use serde::Serialize;

use super::RunOutcome;
use crate::Runner;
use world::{Function, Oddity, World};

/// The time that a probe's decision has, in milliseconds.
const TIME: u64 = 300_000;
/// The most instructions of a probe's decision: more than an interpreter needs to start.
pub const MOST_FUEL: u64 = 2_000_000_000;
/// How many findings a probe tells.
const MOST_FINDINGS: usize = 5;

/// What came of one probe.
#[derive(Debug, Serialize)]
pub struct Probe {
    /// Its name.
    pub name: &'static str,
    /// What it looks for.
    pub about: &'static str,
    /// What it found.
    pub outcome: Outcome,
}

/// Pass, fail or not applicable.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The policy stands it; how many decisions say so.
    Pass(usize),
    /// It does not: what happened.
    Fail(Vec<String>),
    /// The probe has nothing to look at: why.
    NotApplicable(String),
}

/// A call of a probe, by its name.
type Named = (String, Call);

/// Tries a policy with every probe. `own` are calls of its author's, beside the fixed ones.
pub fn check(runner: &Runner, own: Vec<Named>) -> Vec<Probe> {
    let mut plain = calls::plain();
    plain.extend(own);
    let about = "usual calls, with a ZVM that knows every VM, end in a verdict and no fault";
    // What does not end the first time would not end in any of the others either.
    if let Err(fault) = cost(runner).verdict
        && fault.kind == FaultKind::Deadline
    {
        let mut probes = vec![probe("plain-calls", about, Outcome::Fail(vec![fault.cause]))];
        probes.extend(rest(|_| Outcome::NotApplicable("usual calls do not end".into())));
        return probes;
    }
    let mut probes = vec![probe("plain-calls", about, without_fault(runner, &plain))];
    let capturing: Vec<&Named> = plain
        .iter()
        .filter(|(_, call)| captures(&runner.ask(World::default(), TIME, call)))
        .collect();
    probes.extend(rest(|name| match name {
        "odd-calls" => without_fault(runner, &calls::odd()),
        "empty-calls" => without_fault(runner, &calls::empty()),
        "large-calls" => without_fault(runner, &calls::large()),
        "texts" => texts(runner, &plain),
        "log-lines" => log_lines(runner, &plain),
        "same-answer-twice" => same_twice(runner, &plain),
        "no-time" => no_time(runner, &plain),
        "odd-answers" => odd_answers(runner, &plain),
        "host-errors" => host_errors(runner, &capturing),
        _ => unconfirmed(runner, &capturing),
    }));
    probes
}

/// What one decision costs: about a tool that no policy knows, with nothing to ask for.
pub fn cost(runner: &Runner) -> RunOutcome {
    runner.ask(World::default(), TIME, &calls::unknown())
}

/// The probes after the first, in order.
fn rest(outcome: impl Fn(&'static str) -> Outcome) -> Vec<Probe> {
    [
        (
            "odd-calls",
            "odd tool names and arguments end in a verdict and no fault",
        ),
        ("empty-calls", "so do calls in which everything is empty"),
        (
            "large-calls",
            "so do calls as large as the host lets them be, and arguments that were cut",
        ),
        (
            "texts",
            "an ask and a deny have a reason, and no text is cut or escaped by the host",
        ),
        ("log-lines", "no line for the log is cut or left out by the host"),
        (
            "same-answer-twice",
            "the same call gets the same verdict, by the same questions",
        ),
        (
            "no-time",
            "where no time is left, there is a verdict and no fault",
        ),
        (
            "odd-answers",
            "answers that make no sense end in a verdict and no fault",
        ),
        (
            "host-errors",
            "a change asks or is denied after any error of the host before it",
        ),
        (
            "unconfirmed",
            "a change does not pass where its checkpoint is not confirmed",
        ),
    ]
    .into_iter()
    .map(|(name, about)| probe(name, about, outcome(name)))
    .collect()
}

fn probe(name: &'static str, about: &'static str, outcome: Outcome) -> Probe {
    Probe { name, about, outcome }
}

/// What was found, if anything was, in so many decisions.
fn found(findings: Vec<String>, decisions: usize) -> Outcome {
    match findings.as_slice() {
        [] => Outcome::Pass(decisions),
        _ => {
            let more = findings.len().saturating_sub(MOST_FINDINGS);
            let mut told: Vec<String> = findings.into_iter().take(MOST_FINDINGS).collect();
            if more > 0 {
                told.push(format!("and {more} more"));
            }
            Outcome::Fail(told)
        }
    }
}

/// Holds every decision against a demand.
fn all<'a>(
    runner: &Runner,
    calls: impl IntoIterator<Item = (&'a Named, World, u64)>,
    demand: impl Fn(&RunOutcome) -> Option<String>,
) -> Outcome {
    let mut decisions = 0;
    let mut findings = Vec::new();
    for ((name, call), world, time) in calls {
        decisions += 1;
        let odd = world.to_string();
        let outcome = runner.ask(world, time, call);
        findings.extend(demand(&outcome).map(|finding| format!("{name}{odd}: {finding}")));
    }
    found(findings, decisions)
}

fn fault(outcome: &RunOutcome) -> Option<String> {
    // The host's own fault is none of the policy's.
    let fault = outcome.verdict.as_ref().err()?;
    (fault.kind != FaultKind::Session).then(|| fault.cause.clone())
}

fn without_fault(runner: &Runner, calls: &[Named]) -> Outcome {
    let usual = calls.iter().map(|call| (call, World::default(), TIME));
    all(runner, usual, fault)
}

fn texts(runner: &Runner, calls: &[Named]) -> Outcome {
    let usual = calls.iter().map(|call| (call, World::default(), TIME));
    all(runner, usual, |outcome| match outcome.said.as_ref()? {
        Verdict::Ask(reason) | Verdict::Deny(reason) if reason.trim().is_empty() => {
            Some("it gives no reason".into())
        }
        Verdict::Pass(Some(note)) if note.trim().is_empty() => Some("it passes with an empty note".into()),
        said if *said != said.clone().cleaned() => {
            Some("its text is too long, or holds what acts on a terminal".into())
        }
        _ => None,
    })
}

fn log_lines(runner: &Runner, calls: &[Named]) -> Outcome {
    let usual = calls.iter().map(|call| (call, World::default(), TIME));
    all(runner, usual, |outcome| {
        let lines = &outcome.asking.lines;
        if lines.len() > 8 {
            return Some(format!("it adds {} lines, and 8 are kept", lines.len()));
        }
        let odd = lines
            .iter()
            .find(|line| **line != safe_text::clean_line(line, 200))?;
        Some(format!("a line is cut or escaped: {odd:.80?}"))
    })
}

fn same_twice(runner: &Runner, calls: &[Named]) -> Outcome {
    let mut findings = Vec::new();
    for (name, call) in calls {
        let [first, second] = [(); 2].map(|()| runner.ask(World::default(), TIME, call));
        if first.verdict != second.verdict || first.asking.exchanges != second.asking.exchanges {
            findings.push(format!(
                "{name}: first {} {:.80?}, then {} {:.80?}",
                first.word(),
                first.text(),
                second.word(),
                second.text()
            ));
        }
    }
    found(findings, 2 * calls.len())
}

fn no_time(runner: &Runner, calls: &[Named]) -> Outcome {
    let late = calls.iter().map(|call| (call, World::default(), 0));
    all(runner, late, fault)
}

fn odd_answers(runner: &Runner, calls: &[Named]) -> Outcome {
    let odd = calls
        .iter()
        .flat_map(|call| Oddity::ALL.map(|oddity| (call, World::odd(oddity), TIME)));
    all(runner, odd, fault)
}

const NO_CHANGE: &str =
    "none of the calls makes the policy capture anything; name one of your own with --call";

fn host_errors(runner: &Runner, capturing: &[&Named]) -> Outcome {
    if capturing.is_empty() {
        return Outcome::NotApplicable(NO_CHANGE.into());
    }
    let failing = capturing.iter().flat_map(|&call| {
        let asked = asked(&runner.ask(World::default(), TIME, &call.1));
        asked.into_iter().flat_map(move |function| {
            function
                .errors()
                .into_iter()
                .map(move |error| (call, World::failing(function, error), TIME))
        })
    });
    all(runner, failing.collect::<Vec<_>>(), no_pass)
}

/// The functions that a decision rests on.
fn asked(outcome: &RunOutcome) -> Vec<Function> {
    let mut functions = Vec::new();
    for exchange in &outcome.asking.exchanges {
        if let Some(function) = Function::of(&exchange.asked)
            && !functions.contains(&function)
        {
            functions.push(function);
        }
    }
    functions
}

fn unconfirmed(runner: &Runner, capturing: &[&Named]) -> Outcome {
    if capturing.is_empty() {
        return Outcome::NotApplicable(NO_CHANGE.into());
    }
    let odd = capturing
        .iter()
        .flat_map(|&call| Oddity::UNCONFIRMED.map(|oddity| (call, World::odd(oddity), TIME)));
    all(runner, odd, no_pass)
}

fn no_pass(outcome: &RunOutcome) -> Option<String> {
    match &outcome.verdict {
        Ok(Verdict::Pass(_)) => Some("it passes".into()),
        _ => fault(outcome),
    }
}

fn captures(outcome: &RunOutcome) -> bool {
    let mut exchanges = outcome.asking.exchanges.iter();
    exchanges.any(|exchange| matches!(exchange.asked, Asked::Capture { .. }))
}

/// Every error of the contract, with a text that a policy has to stand.
fn troubles() -> [Trouble; 6] {
    let said = || "what the ZVM said, \"in its words\": \u{1b}[31m\u{202e}".to_owned();
    [
        Trouble::NotFound,
        Trouble::Refused(said()),
        Trouble::Unauthorized(said()),
        Trouble::Unreachable(said()),
        Trouble::TimedOut(said()),
        Trouble::Malformed(said()),
    ]
}
