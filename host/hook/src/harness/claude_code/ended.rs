//! What the harness says of a call that has ended: `PostToolUse` and `PostToolUseFailure`.

use holdpoint_runtime::verdict::{Fault, FaultKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{evidence, field, harness_of, server};
use crate::event::{Ended, How, Origin};

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    hook_event_name: Option<&'a RawValue>,
    session_id: Option<&'a RawValue>,
    tool_use_id: Option<&'a RawValue>,
    tool_name: Option<&'a RawValue>,
    mcp_server: Option<&'a RawValue>,
    cwd: Option<&'a RawValue>,
    transcript_path: Option<&'a RawValue>,
    agent_id: Option<&'a RawValue>,
    agent_type: Option<&'a RawValue>,
    tool_input: Option<&'a RawValue>,
    tool_response: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    is_interrupt: Option<&'a RawValue>,
}

/// Reads what is known of a call that has ended; none where the event is another one.
///
/// # Errors
///
/// A fault where the event's fields cannot be read.
pub fn read_ended(bytes: &[u8]) -> Result<Option<Ended<'_>>, Fault> {
    let wire: Wire<'_> = serde_json::from_slice(bytes)
        .map_err(|error| Fault::new(FaultKind::Event, format!("the event cannot be read ({error})")))?;
    let name: Option<String> = field("hook_event_name", wire.hook_event_name)?;
    let (how, results) = match name.as_deref() {
        Some("PostToolUse") => (How::Ran, wire.tool_response),
        Some("PostToolUseFailure") => {
            let interrupted: Option<bool> = field("is_interrupt", wire.is_interrupt)?;
            let how = if interrupted == Some(true) {
                How::Interrupted
            } else {
                How::Failed
            };
            (how, wire.error)
        }
        _ => return Ok(None),
    };
    Ok(Some(Ended {
        session_id: field("session_id", wire.session_id)?.unwrap_or_default(),
        call_id: field("tool_use_id", wire.tool_use_id)?.unwrap_or_default(),
        tool: field("tool_name", wire.tool_name)?.unwrap_or_default(),
        server: wire.mcp_server.and_then(|value| server(value).ok().flatten()),
        origin: Origin {
            harness: harness_of(bytes),
            cwd: evidence(wire.cwd),
            transcript: evidence(wire.transcript_path),
            agent_id: evidence(wire.agent_id),
            agent_type: evidence(wire.agent_type),
        },
        arguments: wire.tool_input.unwrap_or(RawValue::NULL),
        how,
        results,
    }))
}

/// The ids of session and call in an event, for the evidence only; empty where it names none.
pub fn ids_of(event: &[u8]) -> (String, String) {
    let wire: Option<Wire<'_>> = serde_json::from_slice(event).ok();
    let ids = wire.map(|wire| (evidence(wire.session_id), evidence(wire.tool_use_id)));
    let (session, call) = ids.unwrap_or_default();
    (session.unwrap_or_default(), call.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_by_the_event_and_its_interrupt() {
        let how = |text: &str| read_ended(text.as_bytes()).unwrap().map(|ended| ended.how);
        assert_eq!(how(r#"{"hook_event_name":"PostToolUse"}"#), Some(How::Ran));
        assert_eq!(
            how(r#"{"hook_event_name":"PostToolUseFailure"}"#),
            Some(How::Failed)
        );
        assert_eq!(
            how(r#"{"hook_event_name":"PostToolUseFailure","is_interrupt":true}"#),
            Some(How::Interrupted)
        );
        assert_eq!(how(r#"{"hook_event_name":"PreCompact"}"#), None);
        assert!(read_ended(br#"{"hook_event_name":"PostToolUse","tool_name":1}"#).is_err());
    }
}
