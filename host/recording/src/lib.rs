//! Records: what one decision was made of, in a form in which another policy can be asked the same.
//!
//! Off unless configured, since arguments can hold secrets. What a policy asks is kept by an [`exchange::Recorder`] that
//! stands between it and the host; the record is written once the answer is out, so that nothing about it can change a verdict.

pub mod change;
pub mod exchange;
mod files;
mod redact;

use holdpoint_artifact::Digest;
use holdpoint_runtime::sandbox::{Call, Server};
use holdpoint_runtime::verdict::{Fault, Verdict};
use serde::{Deserialize, Serialize};

pub use files::Files;
pub use redact::Rules;

use crate::exchange::Exchange;

/// The form of records that this program writes and reads.
pub const FORMAT: u32 = 1;

/// One decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorded {
    /// [`FORMAT`].
    pub format: u32,
    /// When it was decided, RFC 3339 in UTC.
    pub at: String,
    /// The host's version.
    pub host: String,
    /// The policy that decided.
    pub policy: Decider,
    /// What it was asked.
    pub call: RecordedCall,
    /// The time that it had, in milliseconds.
    pub time_left_ms: u64,
    /// What it asked and was answered.
    pub exchanges: Vec<Exchange>,
    /// Whether it asked for more than is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Its lines for the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// Its verdict.
    pub verdict: Said,
    /// What the harness was answered: an ask may have become a deny.
    pub answered: String,
    /// How many values were redacted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A policy that decided.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Decider {
    /// Where it came from.
    pub origin: String,
    /// Its digest.
    pub digest: Digest,
}

/// A verdict, or a fault, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// `pass`, `ask`, `deny` or `fault`.
    pub word: String,
    /// The note, the reason, or the fault's cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The kind of fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl From<&Result<Verdict, Fault>> for Said {
    fn from(verdict: &Result<Verdict, Fault>) -> Self {
        match verdict {
            Ok(verdict) => Self {
                word: verdict.word().to_owned(),
                text: verdict.text().to_owned(),
                fault: None,
            },
            Err(fault) => Self {
                word: "fault".into(),
                text: fault.cause.clone(),
                fault: Some(fault.kind.word().to_owned()),
            },
        }
    }
}

/// A call as the policy was told of it. Texts that hold JSON are kept byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the contract's, and explained there")]
pub struct RecordedCall {
    pub harness: String,
    pub session_id: String,
    pub call_id: String,
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<RecordedServer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    pub arguments: String,
    pub arguments_cut: bool,
    pub nonce: String,
    pub settings: String,
    pub extras: String,
}

/// The server that a call goes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the contract's, and explained there")]
pub struct RecordedServer {
    pub name: String,
    pub source: String,
}

impl From<Call> for RecordedCall {
    fn from(call: Call) -> Self {
        Self {
            harness: call.harness,
            session_id: call.session_id,
            call_id: call.call_id,
            tool: call.tool,
            server: call.server.map(|server| RecordedServer {
                name: server.name,
                source: server.source,
            }),
            permission_mode: call.permission_mode,
            arguments: call.arguments,
            arguments_cut: call.arguments_cut,
            nonce: call.nonce,
            settings: call.settings,
            extras: call.extras,
        }
    }
}

impl From<RecordedCall> for Call {
    fn from(call: RecordedCall) -> Self {
        Self {
            harness: call.harness,
            session_id: call.session_id,
            call_id: call.call_id,
            tool: call.tool,
            server: call.server.map(|server| Server {
                name: server.name,
                source: server.source,
            }),
            permission_mode: call.permission_mode,
            arguments: call.arguments,
            arguments_cut: call.arguments_cut,
            nonce: call.nonce,
            settings: call.settings,
            extras: call.extras,
        }
    }
}
