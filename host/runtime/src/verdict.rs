//! What is answered before a call, and what is not a verdict: a fault.

use holdpoint_common::safe_text;
use thiserror::Error;

/// A policy's answer before a call. There is no *allow*: a policy only tightens what the harness would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing against the call; the note, where there is one, is for the model.
    Pass(Option<String>),
    /// A human decides; the reason is for that human.
    Ask(String),
    /// The call must not run; the reason is for the model.
    Deny(String),
}

impl Verdict {
    /// The word for it in logs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pass(_) => "pass",
            Self::Ask(_) => "ask",
            Self::Deny(_) => "deny",
        }
    }

    /// The note or the reason; empty where there is none.
    pub fn text(&self) -> &str {
        match self {
            Self::Pass(note) => note.as_deref().unwrap_or_default(),
            Self::Ask(reason) | Self::Deny(reason) => reason,
        }
    }

    /// The same verdict with its text made safe to show and cut to what a harness takes. A policy is not trusted to
    /// have done so: its text can carry names from Zerto and from the call. Where a policy says nothing, a note is none,
    /// and a reason says so: harnesses take an empty one for an error.
    pub fn cleaned(self) -> Self {
        let said = |text: String| {
            Some(safe_text::clean(&text, safe_text::LONGEST)).filter(|text| !text.trim().is_empty())
        };
        let reason = |text| said(text).unwrap_or_else(|| "The policy gave no reason.".into());
        match self {
            Self::Pass(note) => Self::Pass(note.and_then(said)),
            Self::Ask(text) => Self::Ask(reason(text)),
            Self::Deny(text) => Self::Deny(reason(text)),
        }
    }
}

/// Something went wrong on our side. Never a verdict; what it becomes is the stance: before a call a deny, elsewhere
/// silence and a line in the log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{cause}")]
pub struct Fault {
    /// The row of the stance table that this belongs to, for logs and scripts.
    pub kind: FaultKind,
    /// What happened, and what to do about it.
    pub cause: String,
}

impl Fault {
    /// A fault of this kind with its cause in words.
    pub fn new(kind: FaultKind, cause: impl Into<String>) -> Self {
        Self {
            kind,
            cause: cause.into(),
        }
    }

    /// The reason that the harness gets where the fault blocks a call.
    pub fn reason(&self) -> String {
        let text = format!(
            "Holdpoint could not judge this call, so it does not run: {} This is a fault of the guard's set-up, not of \
             the call; tell the user.",
            sentence(&self.cause)
        );
        safe_text::clean(&text, safe_text::LONGEST)
    }
}

/// The kinds of fault: the rows of the table of faults in `docs/stances.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Standard input held no event that can be read.
    Event,
    /// The event comes from a harness that this hook was not told of.
    Harness,
    /// The configuration cannot be read or used.
    Configuration,
    /// The policy cannot be loaded.
    Policy,
    /// The policy trapped, or ran out of memory, fuel or handles.
    Trap,
    /// The deadline passed.
    Deadline,
    /// The session tally cannot be kept or read.
    Session,
    /// A decision's record cannot be written.
    Record,
    /// The shadow cannot decide.
    Shadow,
    /// The receipt cannot be written.
    Receipt,
    /// The answer cannot be delivered.
    Answer,
    /// The host itself failed: a panic, a signal.
    Host,
}

impl FaultKind {
    /// Every kind there is.
    pub const ALL: [Self; 12] = [
        Self::Event,
        Self::Harness,
        Self::Configuration,
        Self::Policy,
        Self::Trap,
        Self::Deadline,
        Self::Session,
        Self::Record,
        Self::Shadow,
        Self::Receipt,
        Self::Answer,
        Self::Host,
    ];

    /// The word for it in logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Harness => "harness",
            Self::Configuration => "configuration",
            Self::Policy => "policy",
            Self::Trap => "trap",
            Self::Deadline => "deadline",
            Self::Session => "session",
            Self::Record => "record",
            Self::Shadow => "shadow",
            Self::Receipt => "receipt",
            Self::Answer => "answer",
            Self::Host => "host",
        }
    }
}

/// The cause as a sentence: our error texts are lower-case fragments. One that begins with a key, a variable or a path
/// keeps it as it is written.
fn sentence(fragment: &str) -> String {
    let word = fragment.split(' ').next().unwrap_or_default();
    let end = if fragment.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    match fragment.chars().next() {
        Some(first) if word.chars().all(char::is_alphabetic) => {
            let rest = &fragment[first.len_utf8()..];
            format!("{}{rest}{end}", first.to_uppercase())
        }
        _ => format!("{fragment}{end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_as_a_sentence_with_a_cut_and_cleaned_cause() {
        let fault = Fault::new(
            FaultKind::Configuration,
            format!("bad \u{1b}[31m key {}", "x".repeat(20_000)),
        );
        let reason = fault.reason();
        assert!(reason.contains("Bad \\u{1b}[31m key"), "{reason}");
        assert!(reason.len() < 9_000);
        let told = Fault::new(FaultKind::Configuration, "deadline_seconds is 0").reason();
        assert!(told.contains(": deadline_seconds is 0."), "{told}");
    }
}
