//! What a harness's event says that a tally may know: identities, and whether a call failed.
//!
//! Only structured fields that the harness itself sets are believed, and only in their places: a command may well print
//! `{"status":"error"}` and have succeeded.

use crate::json::{self, Object, Text};
use crate::scope::{CallId, Scope};

/// The few facts of one event. Holds no prompt, argument, output or error text.
#[derive(Debug, Default)]
pub struct Payload {
    event: Option<Text>,
    session: Option<Text>,
    cwd: Option<Text>,
    tool: Option<Text>,
    call: Option<Text>,
    source: Option<Text>,
    interrupted: bool,
    response_failed: bool,
}

impl Payload {
    /// Reads an event as the harness wrote it. What is no JSON object is an event without any facts.
    pub fn read(bytes: &[u8]) -> Self {
        let object = std::str::from_utf8(bytes).ok().and_then(Object::parse);
        let Some(object) = object else {
            return Self::default();
        };
        Self {
            event: object.text("hook_event_name"),
            session: object.text("session_id"),
            cwd: object.text("cwd"),
            tool: object.text("tool_name"),
            call: object.text("tool_use_id"),
            source: object.text("source"),
            interrupted: object.get("is_interrupt").is_some_and(is_true),
            response_failed: object.get("tool_response").is_some_and(says_failure),
        }
    }

    /// The event's name.
    pub fn event(&self) -> Option<&str> {
        self.event.as_ref()?.as_str()
    }

    /// The tool's name.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_ref()?.as_str()
    }

    /// Why a session starts.
    pub fn source(&self) -> Option<&str> {
        self.source.as_ref()?.as_str()
    }

    /// Whether the harness says that the call failed. A call that a human interrupted did not.
    pub fn failed(&self) -> bool {
        match self.event() {
            Some("PostToolUseFailure") => !self.interrupted,
            Some("PostToolUse") => self.response_failed,
            _ => false,
        }
    }

    /// The session in the workspace that the event belongs to, or none where the harness did not say: a guess would mix
    /// sessions up. `cwd`, where it is not empty, takes the place of the harness's own.
    pub fn scope(&self, cwd: &str) -> Option<Scope> {
        let session = self.session.as_ref()?;
        let cwd = if cwd.is_empty() {
            self.cwd.as_ref()?.as_str()?
        } else {
            cwd
        };
        Scope::of_bytes(&session.0, cwd)
    }

    /// The call's id, or none: a call without one could be counted twice, so it is not counted.
    pub fn call(&self) -> Option<CallId> {
        CallId::of_bytes(&self.call.as_ref()?.0)
    }
}

/// The boolean, or the word in any case.
fn is_true(json: &str) -> bool {
    let word = || json::text(json).is_some_and(|text| text.0.eq_ignore_ascii_case(b"true"));
    json == "true" || word()
}

/// An exit code that is not zero, or an error flag, directly in the response.
fn says_failure(json: &str) -> bool {
    let Some(response) = Object::parse(json) else {
        return false;
    };
    let failed = |name| {
        response
            .get(name)
            .and_then(exit_code)
            .is_some_and(|code| code != 0)
    };
    failed("exit_code") || failed("exitCode") || response.get("is_error") == Some("true")
}

fn exit_code(json: &str) -> Option<i64> {
    json::whole_number(json).or_else(|| json::written_number(json::trim(json::text(json)?.as_str()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_surrogate_in_the_error_text_does_not_cost_the_count() {
        let payload = Payload::read(
            br#"{"hook_event_name":"PostToolUseFailure","tool_name":"Bash","error":"\ud83d","tool_use_id":"a"}"#,
        );
        assert!(payload.failed() && payload.call().is_some());
    }

    #[test]
    fn what_is_no_object_has_no_facts() {
        for bytes in [&b"[]"[..], b"", b"{", b"\xff{}", b"{}{}"] {
            let payload = Payload::read(bytes);
            assert!(payload.event().is_none() && !payload.failed() && payload.scope("/").is_none());
        }
    }
}
