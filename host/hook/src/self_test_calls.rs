//! The calls of doctor's self-test, and how they are told from real ones afterwards.
//!
//! They are judged, logged and put on record as any other: a hook that knew them would not be the one that is tested. Only
//! the remote signer is not asked about them: it is another's record, of calls that somebody made. What is told of them is told from what a harness never writes: its sessions have ids of its own making, and an event that
//! cannot be read is known by its whole text. So nobody who makes real calls can have one taken for a test.

use holdpoint_artifact::Digest;
use holdpoint_receipts::CallRecord;

use crate::history::Decision;

/// The session of the calls.
pub const SESSION: &str = "holdpoint-doctor";
/// The id of each call.
pub const CALL: &str = "toolu_holdpoint_doctor";
/// A name that no VM has.
pub const NO_VM: &str = "holdpoint-doctor-no-such-vm";

/// An event that cannot be read.
pub const UNREADABLE: &str =
    r#"{"session_id":"holdpoint-doctor","hook_event_name":"PreToolUse","tool_name":}"#;
/// A call of another harness, which cannot be taken for one of this.
pub const FOREIGN: &str = concat!(
    r#"{"session_id":"holdpoint-doctor","transcript_path":"/nonexistent","cwd":"/","permission_mode":"default","#,
    r#""hook_event_name":"PreToolUse","tool_name":"mcp__esxi__powerOff","#,
    r#""tool_input":{"name":"holdpoint-doctor-no-such-vm"},"tool_use_id":"toolu_holdpoint_doctor","#,
    r#""turn_id":"another harness's"}"#
);

/// Whether an event of which nothing but its text is known is one of the self-test's.
fn is_text_of_ours(digest: &str) -> bool {
    let is_it = |event: &str| digest == Digest::of(event.as_bytes()).to_string();
    is_it(UNREADABLE) || is_it(FOREIGN)
}

/// Whether a call is one of the self-test's.
pub fn is_call(session: &str, call: &str) -> bool {
    session == SESSION && call == CALL
}

/// Whether a line of the decision log is the self-test's.
pub fn decided(decision: &Decision) -> bool {
    is_call(&decision.session, &decision.call) || decision.event.as_deref().is_some_and(is_text_of_ours)
}

/// Whether a receipt is the self-test's.
pub fn on_record(record: &CallRecord) -> bool {
    let call = record.call();
    match (&call.session, &call.id) {
        (Some(session), Some(id)) => is_call(session, id),
        (None, None) => is_text_of_ours(&call.arguments.digest.to_string()),
        _ => false,
    }
}
