//! What the log says of one decision.

use std::io;

use holdpoint_artifact::Digest;
use holdpoint_common::safe_text;
use holdpoint_receipts::{Deviation, Environment};
use holdpoint_runtime::policy::Identity;
use holdpoint_runtime::verdict::FaultKind;
use serde::{Serialize, Serializer};

use super::now;
use crate::decision::{Decided, Times};
use crate::event::Call;
use crate::origin;
use crate::record::Record;

/// The longest reason that is kept, in characters.
const LONGEST_REASON: usize = 400;
/// The longest name that is kept, in characters.
const LONGEST_NAME: usize = 160;

/// One decision. Holds no arguments and no secrets: names of tools and machines, and what was decided.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// When it was decided, RFC 3339 in UTC; where the host was ended before that, when it began to.
    pub at: String,
    /// The session's id.
    pub session: String,
    /// The call's id.
    pub call: String,
    /// The tool, as the harness spells it. For an event that is no call, the event's name.
    pub tool: String,
    /// `pass`, `ask` or `deny`; for a fault in an event that cannot be gated, `silent`.
    pub verdict: &'static str,
    /// The kind of fault, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<&'static str>,
    /// The reason or note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The digest of an event that could not be read: all that is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Digest>,
    /// The digest of the arguments that were decided on: by it is seen at the call's end whether they are those that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Digest>,
    /// How what ran differs from what was decided; in a line of a call's end only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Deviation>,
    /// Where the call came from; safe to show already.
    #[serde(skip_serializing_if = "Environment::is_empty")]
    pub environment: Environment,
    /// What the decision was made of.
    #[serde(flatten)]
    pub record: Record,
    /// The policy that decided: where it came from and its digest.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_words")]
    pub policy: Option<Identity>,
    /// The receipt's number and digest, or why there is none; none where receipts are off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    /// The remote signer's receipt, or why there is none; none where there is no remote signer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Milliseconds by phase.
    pub ms: Times,
}

fn in_words<S: Serializer>(policy: &Option<Identity>, serializer: S) -> Result<S::Ok, S::Error> {
    match policy {
        Some(policy) => serializer.collect_str(policy),
        None => serializer.serialize_none(),
    }
}

impl Entry {
    /// An entry of which nothing is known but what it is about: no decision was made.
    pub fn new(session: &str, call: &str, tool: &str) -> Self {
        Self {
            at: now(),
            session: session.to_owned(),
            call: call.to_owned(),
            tool: tool.to_owned(),
            verdict: "silent",
            fault: None,
            why: None,
            event: None,
            arguments: None,
            deviation: None,
            environment: Environment::default(),
            record: Record::default(),
            policy: None,
            receipt: None,
            signer: None,
            ms: Times::default(),
        }
    }

    /// The entry of a call about which nothing is decided yet.
    pub fn of_call(call: &Call<'_>) -> Self {
        Self {
            environment: origin::of(&call.origin),
            ..Self::new(&call.session_id, &call.call_id, &call.tool)
        }
    }

    /// The entry of a call that was decided.
    pub fn decided(self, decided: Decided) -> Self {
        let why = decided.why().map(str::to_owned);
        Self {
            verdict: decided.verdict.word(),
            fault: decided.fault.map(|fault| fault.kind.word()),
            why,
            record: decided.record,
            policy: decided.policy,
            ms: decided.times,
            ..self
        }
    }

    /// The entry of what ended in a fault, with what became of it.
    pub fn failed(self, verdict: &'static str, fault: FaultKind, cause: &str) -> Self {
        Self {
            verdict,
            fault: Some(fault.word()),
            why: Some(cause.to_owned()),
            ..self
        }
    }

    /// The entry as the log has it: one line, safe to show.
    ///
    /// # Errors
    ///
    /// Never for the entries of this program; the type of its serialiser wants one.
    pub fn line(&mut self) -> io::Result<Vec<u8>> {
        self.clean();
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }

    /// The lines of an entry that could still fail in each of these ways, as [`failed`](Self::failed) and
    /// [`line`](Self::line) make them. It is made once and filled in, since every call needs these lines before it is
    /// decided on, and most never write one.
    pub fn lines_if_failed<const N: usize>(
        self,
        verdict: &'static str,
        faults: [(FaultKind, &str); N],
    ) -> [Vec<u8>; N] {
        let mut open = Self {
            verdict,
            fault: None,
            why: None,
            ..self
        };
        let line = String::from_utf8(open.line().unwrap_or_default()).unwrap_or_default();
        // A quotation mark inside a text is escaped, so the first place that reads like this is the member itself.
        let member = format!("\"verdict\":\"{verdict}\"");
        let end = line
            .find(&member)
            .map_or(line.len(), |start| start + member.len());
        let (before, after) = line.split_at(end);
        faults.map(|(fault, cause)| {
            let fault = serde_json::Value::from(fault.word());
            let why = serde_json::Value::from(safe_text::clean_line(cause, LONGEST_REASON));
            format!("{before},\"fault\":{fault},\"why\":{why}{after}").into_bytes()
        })
    }

    /// Makes every text safe to show and cuts it; the record is so already.
    fn clean(&mut self) {
        for text in [&mut self.session, &mut self.call, &mut self.tool] {
            *text = name(text);
        }
        for text in [&mut self.why, &mut self.receipt, &mut self.signer] {
            *text = text
                .take()
                .map(|text| safe_text::clean_line(&text, LONGEST_REASON));
        }
    }
}

/// A name as the log has it.
pub fn name(text: &str) -> String {
    safe_text::clean_line(text, LONGEST_NAME)
}
