//! Which call a person means: by a receipt, the harness's ids, a checkpoint and its tag, a group or a machine.

use std::collections::BTreeMap;

use crate::calls::{CallRecord, Calls};
use crate::envelope::Receipt;
use crate::error::LogError;

/// The fewest letters of a digest or an id that find it.
const FEWEST: usize = 4;
/// How many letters of a session's id a checkpoint's tag shows.
const OF_A_SESSION: usize = 8;
/// The most candidates that are listed.
const MOST_LISTED: usize = 10;

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One call.
    Call(CallRecord),
    /// The calls that name a machine, a group, a checkpoint or a session, oldest first.
    Several(Vec<CallRecord>),
    /// Something that happened to the log.
    Event(Receipt),
}

/// What a name may be of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum As {
    Call,
    Tag,
    Checkpoint,
    Session,
    Group,
    Machine,
}

impl As {
    const fn words(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Tag => "tag",
            Self::Checkpoint => "checkpoint",
            Self::Session => "session",
            Self::Group => "VPG",
            Self::Machine => "machine",
        }
    }
}

impl Calls {
    /// What a name leads to: the digest of a receipt or its first digits, a receipt's number, a call's id, a checkpoint's
    /// tag or the nonce in it, a checkpoint's id, a VPG or a machine by name or identifier, or a session's id or the eight
    /// characters of it that tags show.
    ///
    /// # Errors
    ///
    /// Where it leads to nothing, or to several things of different kinds: then they are listed.
    pub fn find(&self, name: &str) -> Result<Found, LogError> {
        let mut named: BTreeMap<As, Vec<&CallRecord>> = BTreeMap::new();
        for call in &self.calls {
            for meaning in meanings(call, name) {
                named.entry(meaning).or_default().push(call);
            }
        }
        // Two calls can have the same id, where one was decided twice: the newest is meant.
        if let Some(call) = named.get(&As::Call).and_then(|calls| calls.last()) {
            return Ok(Found::Call((*call).clone()));
        }
        let mut by_digest = self.by_receipt(name);
        if named.is_empty() && by_digest.len() == 1 {
            return Ok(by_digest.remove(0));
        }
        let mut candidates: Vec<String> = by_digest.iter().map(digest_line).collect();
        for (meaning, calls) in &named {
            candidates.extend(
                calls
                    .iter()
                    .map(|call| format!("{}: {}", meaning.words(), line(call))),
            );
        }
        if candidates.is_empty() {
            return Err(LogError::NotFound(format!(
                "there is no receipt, call, tag, checkpoint, VPG, session or machine '{name}'; what there is: holdpoint \
                 receipts list"
            )));
        }
        let calls = in_one(&named).filter(|calls| by_digest.is_empty() && !several_sessions(&named, calls));
        match calls.as_deref() {
            None => Err(ambiguous(name, &candidates)),
            Some([call]) => Ok(Found::Call((*call).clone())),
            Some(calls) => Ok(Found::Several(calls.iter().copied().cloned().collect())),
        }
    }

    /// The calls and events whose receipts have this number, or a digest that begins like this.
    fn by_receipt(&self, name: &str) -> Vec<Found> {
        let digits = name.strip_prefix("sha256:").unwrap_or(name).to_ascii_lowercase();
        let number: Option<u64> = name.strip_prefix('#').and_then(|number| number.parse().ok());
        let is_it = |receipt: &Receipt| {
            number == Some(receipt.seq)
                || (digits.len() >= FEWEST && receipt.digest.hex().starts_with(&digits))
        };
        let calls = self
            .calls
            .iter()
            .filter(|call| call.decision.iter().chain(&call.observations).any(is_it))
            .map(|call| Found::Call(call.clone()));
        let events = self.events.iter().filter(|event| is_it(event));
        calls
            .chain(events.map(|event| Found::Event(event.clone())))
            .collect()
    }
}

/// What this name is of the call.
fn meanings(call: &CallRecord, name: &str) -> Vec<As> {
    let is_it = |text: &str| !name.is_empty() && text.eq_ignore_ascii_case(name);
    let about = call.call();
    let checkpoints = call.checkpoints();
    let session = about.session.as_deref().unwrap_or_default();
    let is_tag = |tag: &str| is_it(tag) || nonce(tag).is_some_and(is_it);
    let is_group = checkpoints.iter().any(|seen| is_it(&seen.vpg))
        || call
            .machines()
            .iter()
            .any(|vm| is_it(&vm.vpg) || is_it(&vm.vpg_name));
    let beginning = session.get(..OF_A_SESSION);
    [
        (about.id.as_deref().is_some_and(is_it), As::Call),
        (
            checkpoints
                .iter()
                .filter_map(|seen| seen.tag.as_deref())
                .any(is_tag),
            As::Tag,
        ),
        (checkpoints.iter().any(|seen| is_it(&seen.id)), As::Checkpoint),
        (is_it(session) || beginning.is_some_and(is_it), As::Session),
        (is_group, As::Group),
        (call.names(name), As::Machine),
    ]
    .into_iter()
    .filter_map(|(is_so, meaning)| is_so.then_some(meaning))
    .collect()
}

/// The eight digits in a tag that are fresh for every capture: `<agent> <session>-<call> <nonce> …`.
fn nonce(tag: &str) -> Option<&str> {
    tag.split(' ')
        .nth(2)
        .filter(|nonce| nonce.len() == 8 && nonce.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// The calls, where all that the name may mean are the same ones. A group may go by the name of its machine: then the
/// calls of both are meant.
fn in_one<'a>(named: &BTreeMap<As, Vec<&'a CallRecord>>) -> Option<Vec<&'a CallRecord>> {
    let largest = named.values().max_by_key(|calls| calls.len())?;
    let holds = |call: &CallRecord| largest.iter().any(|held| std::ptr::eq(*held, call));
    let alike = |(meaning, calls): (&As, &Vec<&'a CallRecord>)| {
        (calls.len() == largest.len() || *meaning >= As::Group) && calls.iter().all(|call| holds(call))
    };
    named.iter().all(alike).then(|| largest.clone())
}

/// Whether eight characters are the beginning of several sessions' ids.
fn several_sessions(named: &BTreeMap<As, Vec<&CallRecord>>, calls: &[&CallRecord]) -> bool {
    let session = |call: &CallRecord| call.call().session.clone();
    named.len() == 1
        && named.contains_key(&As::Session)
        && calls.iter().any(|call| session(call) != session(calls[0]))
}

/// A candidate, by which it can be told from the others.
fn line(call: &CallRecord) -> String {
    let receipt = call.receipt();
    let targets = call.decided().map(|decided| decided.targets.join(", "));
    format!(
        "#{} {} {} {}",
        receipt.seq,
        receipt.issued_at,
        call.call().tool,
        targets.unwrap_or_default()
    )
}

fn digest_line(found: &Found) -> String {
    match found {
        Found::Call(call) => format!("receipt: {}", line(call)),
        Found::Several(calls) => format!("receipts: {}", calls.len()),
        Found::Event(receipt) => format!("receipt: #{} {}", receipt.seq, receipt.issued_at),
    }
}

fn ambiguous(name: &str, candidates: &[String]) -> LogError {
    let mut text = format!(
        "'{name}' may be any of {}; give a number (#N) or more of it:",
        candidates.len()
    );
    for candidate in candidates.iter().take(MOST_LISTED) {
        text.push_str(&format!("\n  {candidate}"));
    }
    if let Some(more) = candidates.len().checked_sub(MOST_LISTED).filter(|more| *more > 0) {
        text.push_str(&format!("\n  and {more} more"));
    }
    LogError::NotFound(text)
}
