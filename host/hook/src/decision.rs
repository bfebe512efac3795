//! What was decided on a call: made once, and only read by what writes the log line, the receipts and the answer.

use holdpoint_runtime::policy::Identity;
use holdpoint_runtime::verdict::{Fault, Verdict};
use serde::Serialize;

use crate::record::Record;

/// One decision.
#[derive(Debug, Clone)]
pub struct Decided {
    /// What the harness is told. Of a fault, the deny that it becomes.
    pub verdict: Verdict,
    /// What went wrong, where something did.
    pub fault: Option<Fault>,
    /// What it was made of.
    pub record: Record,
    /// The policy that was asked; none where none could be loaded.
    pub policy: Option<Identity>,
    /// Where its time went.
    pub times: Times,
}

impl Decided {
    /// The decision that comes of a verdict, or of the fault in its place.
    pub fn new(outcome: Result<Verdict, Fault>) -> Self {
        let (verdict, fault) = match outcome {
            Ok(verdict) => (verdict, None),
            Err(fault) => (Verdict::Deny(fault.reason()), Some(fault)),
        };
        Self {
            verdict,
            fault,
            record: Record::default(),
            policy: None,
            times: Times::default(),
        }
    }

    /// The decision as it stands after something that is asked about every decision, which may put another outcome in the
    /// place of this one: a remote signer that denies, a receipt that cannot be written.
    #[must_use]
    pub fn unless(self, instead: Option<Result<Verdict, Fault>>) -> Self {
        match instead {
            None => self,
            Some(outcome) => {
                let Self { verdict, fault, .. } = Self::new(outcome);
                Self {
                    verdict,
                    fault,
                    ..self
                }
            }
        }
    }

    /// Whether the call must not run.
    pub fn is_deny(&self) -> bool {
        matches!(self.verdict, Verdict::Deny(_))
    }

    /// The fault's cause, else the note or the reason.
    pub fn why(&self) -> Option<&str> {
        match (&self.fault, &self.verdict) {
            (Some(fault), _) => Some(&fault.cause),
            (None, Verdict::Pass(note)) => note.as_deref(),
            (None, Verdict::Ask(reason) | Verdict::Deny(reason)) => Some(reason),
        }
    }
}

/// Where a decision's time went, in milliseconds since the process started.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct Times {
    /// Until the event was read, waiting for the harness included.
    pub read: f64,
    /// Until the policy was loaded.
    pub load: f64,
    /// How long of that the gate took: signature, digests, and whose the compiled code is. Zero for the shipped policy,
    /// which needs none.
    #[serde(skip_serializing_if = "is_zero")]
    pub gate: f64,
    /// Until it had decided; zero where the host was ended before that.
    pub total: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(ms: &f64) -> bool {
    *ms == 0.0
}
