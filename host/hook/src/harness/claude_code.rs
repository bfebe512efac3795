//! Claude Code: hook events on stdin, one JSON object or nothing on stdout.
//!
//! Facts: the hooks reference of the harness, and what was seen in 2.1.85, 2.1.197 and 2.1.332. A JSON deny together
//! with the reason on stderr and exit code 2 blocks in every one of them, whichever of the three the harness reads.

mod answer;
mod ended;

use holdpoint_runtime::verdict::{Fault, FaultKind};
use holdpoint_setup::json::{self, Limits};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::event::{Call, Event, Origin, Server};

pub use answer::{block, tell, write};
pub use ended::{ids_of, read_ended};

/// The harness's name, in logs, tags and calls.
pub const NAME: &str = "claude-code";

/// What an event's reason calls a harness that is not this one, and that no field names.
const UNKNOWN: &str = "another harness";

/// The one event that this harness lets a hook gate and that we gate.
const GATE: &str = "PreToolUse";

/// The events that the session tally is kept by.
const TALLIED: [&str; 4] = ["PostToolUse", "PostToolUseFailure", "PreCompact", "SessionStart"];

/// Events by which other harnesses ask before a call. Some of them run hooks from Claude Code's settings, with payloads
/// of their own; silence would let their calls through.
const FOREIGN_GATES: [&str; 12] = [
    "BeforeTool",
    "beforeMCPExecution",
    "beforeReadFile",
    "beforeShellExecution",
    "before_tool_call",
    "preToolUse",
    "pre_mcp_tool_use",
    "pre_run_command",
    "pre_tool_call",
    "pre_tool_use",
    "pre_write_code",
    "tool.execute.before",
];

/// Tools by which other harnesses call a tool of any MCP server: which one stands in the arguments only. Claude Code has none
/// of these; its servers' tools are named `mcp__…`.
const FOREIGN_CALLERS: [&str; 3] = ["use_mcp_tool", "call_mcp_tool", "CallMcpTool"];

/// The fields that we read. Others are allowed: the harness adds some with every few releases. None is looked into before
/// it is needed, since a field of a new shape must not make a fault of an event that nothing waits for.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    hook_event_name: Option<&'a RawValue>,
    session_id: Option<&'a RawValue>,
    cwd: Option<&'a RawValue>,
    transcript_path: Option<&'a RawValue>,
    tool_name: Option<&'a RawValue>,
    tool_input: Option<&'a RawValue>,
    tool_use_id: Option<&'a RawValue>,
    permission_mode: Option<&'a RawValue>,
    mcp_server: Option<&'a RawValue>,
    agent_id: Option<&'a RawValue>,
    agent_type: Option<&'a RawValue>,
    // What only other harnesses send: see `foreign`.
    turn_id: Option<&'a RawValue>,
    conversation_id: Option<&'a RawValue>,
    cursor_version: Option<&'a RawValue>,
    agent_action_name: Option<&'a RawValue>,
    #[serde(rename = "toolName")]
    tool_name_in_camel_case: Option<&'a RawValue>,
    #[serde(rename = "hookEventName")]
    hook_event_name_in_camel_case: Option<&'a RawValue>,
    #[serde(rename = "clineVersion")]
    cline_version: Option<&'a RawValue>,
    timestamp: Option<&'a RawValue>,
    tool_call_id: Option<&'a RawValue>,
    mcp_context: Option<&'a RawValue>,
}

/// A field of the event, where it is there.
fn field<'a, T: Deserialize<'a>>(name: &str, value: Option<&'a RawValue>) -> Result<Option<T>, Fault> {
    value
        .map(|value| serde_json::from_str(value.get()))
        .transpose()
        .map_err(|error| {
            Fault::new(
                FaultKind::Event,
                format!("the event's {name} cannot be read ({error})"),
            )
        })
}

/// The server that the harness names beside the tool. Its key is whatever stands in somebody's file: half a surrogate pair
/// in it is one character, of which the harness makes one `_` as we do.
fn server(value: &RawValue) -> Result<Option<Server>, Fault> {
    let unreadable = || Fault::new(FaultKind::Event, "the event's mcp_server cannot be read");
    let server = json::parse(value.get(), Limits::FILE)
        .map_err(|_| unreadable())?
        .value;
    let text = |key: &str| server.get(key).and_then(Value::as_str).map(str::to_owned);
    match server {
        Value::Null => Ok(None),
        _ => Ok(Some(Server {
            name: text("name").ok_or_else(unreadable)?,
            source: text("source").unwrap_or_default(),
        })),
    }
}

/// A field that is for the evidence only: one of a new shape is as good as none.
fn evidence(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}

/// Reads one event.
///
/// # Errors
///
/// A fault where the bytes are no event, where a call to be gated lacks its tool, or where the event is another
/// harness's.
pub fn read(bytes: &[u8]) -> Result<Event<'_>, Fault> {
    let wire: Wire<'_> = serde_json::from_slice(bytes).map_err(|error| {
        Fault::new(
            FaultKind::Event,
            format!("the event on standard input cannot be read ({error})"),
        )
    })?;
    let named = wire.hook_event_name.or(wire.hook_event_name_in_camel_case);
    let named: Option<String> = field("hook_event_name", named)?;
    let named = named.filter(|name| !name.trim().is_empty());
    let foreign = foreign(&wire, named.as_deref())?;
    if let Some(Foreign {
        harness,
        says: Says::Asks,
    }) = foreign
    {
        return Err(foreign_fault(harness, None));
    }
    let Some(name) = named else {
        return Err(Fault::new(
            FaultKind::Event,
            "the event on standard input names no hook_event_name",
        ));
    };
    if name != GATE {
        // Sessions of other harnesses are not ours to count.
        let tallied = TALLIED
            .into_iter()
            .find(|&tallied| tallied == name && foreign.is_none());
        return Ok(tallied.map_or(Event::Other(name), Event::Tallied));
    }
    let tool: Option<String> = field("tool_name", wire.tool_name)?;
    let Some(tool) = tool.filter(|tool| !tool.is_empty()) else {
        return Err(Fault::new(FaultKind::Event, "the event names no tool_name"));
    };
    if FOREIGN_CALLERS
        .iter()
        .any(|caller| caller.eq_ignore_ascii_case(tool.trim()))
    {
        let harness = foreign.map_or(UNKNOWN, |foreign| foreign.harness);
        return Err(foreign_fault(harness, Some("it calls a tool of an MCP server")));
    }
    let harness = detected(&wire, foreign.as_ref());
    let agent_id: Option<String> = field("agent_id", wire.agent_id)?;
    let agent_type: Option<String> = field("agent_type", wire.agent_type)?;
    Ok(Event::Before(Call {
        foreign: foreign.map(|foreign| foreign.harness),
        session_id: field("session_id", wire.session_id)?.unwrap_or_default(),
        call_id: field("tool_use_id", wire.tool_use_id)?.unwrap_or_default(),
        cwd: field("cwd", wire.cwd)?,
        tool,
        server: wire.mcp_server.map(server).transpose()?.flatten(),
        permission_mode: field("permission_mode", wire.permission_mode)?,
        arguments: wire.tool_input.unwrap_or(RawValue::NULL),
        extras: serde_json::json!({ "agent_id": agent_id, "agent_type": agent_type }),
        origin: Origin {
            harness,
            cwd: evidence(wire.cwd),
            transcript: evidence(wire.transcript_path),
            agent_id,
            agent_type,
        },
    }))
}

/// The harness that an event comes from, for the evidence only; none where the event does not tell.
pub fn harness_of(event: &[u8]) -> Option<String> {
    let wire: Wire<'_> = serde_json::from_slice(event).ok()?;
    let named = evidence(wire.hook_event_name.or(wire.hook_event_name_in_camel_case));
    let foreign = foreign(&wire, named.as_deref()).ok()?;
    detected(&wire, foreign.as_ref())
}

/// The harness's name: another's is told by its own fields, this one by the transcript that it names in every event.
fn detected(wire: &Wire<'_>, foreign: Option<&Foreign>) -> Option<String> {
    match foreign {
        Some(foreign) if foreign.harness == UNKNOWN => None,
        Some(foreign) => Some(foreign.harness.to_lowercase().replace(' ', "-")),
        None => evidence(wire.transcript_path).map(|_| NAME.to_owned()),
    }
}

/// Whether an event asks before a call, in another harness's spelling or in a careless one of ours.
fn is_foreign_gate(event: &str) -> bool {
    event != GATE
        && FOREIGN_GATES
            .iter()
            .any(|gate| gate.eq_ignore_ascii_case(event.trim()))
}

/// Another harness, and what its event is for. Events that do not ask before a call are not ours to block.
struct Foreign {
    harness: &'static str,
    says: Says,
}

/// What another harness's event is for.
enum Says {
    /// It asks before a call, in that harness's own spelling.
    Asks,
    /// It asks before a call in Claude Code's spelling, so which tool is called can be read: an editor's own are let pass.
    AsksAlike,
    /// Anything else.
    Else,
}

/// A call of another harness, which does not run, with what the policy says of it.
pub fn foreign_fault(harness: &str, why: Option<&str>) -> Fault {
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Fault::new(
        FaultKind::Harness,
        format!(
            "the event on standard input comes from {harness}, and this hook was installed for Claude Code{why}"
        ),
    )
}

/// Which other harness an event comes from, if it does.
fn foreign(wire: &Wire<'_>, named: Option<&str>) -> Result<Option<Foreign>, Fault> {
    let action: Option<String> = match named {
        Some(_) => None,
        None => field("agent_action_name", wire.agent_action_name)?,
    };
    let event = named.or(action.as_deref());
    let asks = event.is_none_or(|event| event == GATE || is_foreign_gate(event));
    let harness = if let Some(harness) = alike(wire).filter(|_| event == Some(GATE) || !asks) {
        let says = match asks {
            // It names the server beside the tool, so a server's tool it is, whatever it is called.
            true if wire.mcp_context.is_some() => Says::Asks,
            true => Says::AsksAlike,
            false => Says::Else,
        };
        return Ok(Some(Foreign { harness, says }));
    } else if wire.cline_version.is_some() {
        "Cline"
    } else if wire.cursor_version.is_some() || wire.conversation_id.is_some() {
        "Cursor"
    } else if wire.turn_id.is_some() {
        "Codex"
    } else if wire.tool_name_in_camel_case.is_some() {
        "Copilot CLI"
    } else if wire.agent_action_name.is_some() {
        "Windsurf"
    } else if wire.mcp_context.is_some() {
        "Gemini CLI"
    } else if event.is_some_and(is_foreign_gate) {
        UNKNOWN
    } else {
        return Ok(None);
    };
    let says = if asks { Says::Asks } else { Says::Else };
    Ok(Some(Foreign { harness, says }))
}

/// Which other harness sends an event in Claude Code's spelling, told by the fields that Claude Code does not send. Those that
/// also send fields of their own spelling are told by these.
fn alike(wire: &Wire<'_>) -> Option<&'static str> {
    let own_spelling = [
        wire.turn_id,
        wire.conversation_id,
        wire.cursor_version,
        wire.agent_action_name,
        wire.tool_name_in_camel_case,
        wire.cline_version,
    ];
    if own_spelling.iter().any(Option::is_some) {
        return None;
    }
    if wire.tool_call_id.is_some() {
        Some("Qwen Code")
    } else if wire.mcp_context.is_some() {
        Some("Gemini CLI")
    } else if wire.hook_event_name_in_camel_case.is_some() {
        Some("VS Code")
    } else if wire.timestamp.is_some() && wire.transcript_path.is_none() {
        Some("Copilot CLI")
    } else {
        wire.timestamp.map(|_| UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_and_missing_optional_ones_are_fine() {
        let event = read(br#"{"hook_event_name":"PreToolUse","tool_name":"Bash","novelty":[1]}"#).unwrap();
        let Event::Before(call) = event else {
            panic!("a call was expected: {event:?}")
        };
        assert_eq!((call.tool.as_str(), call.arguments.get()), ("Bash", "null"));
    }

    #[test]
    fn an_event_of_another_harness_is_told_apart_only_where_it_asks() {
        for (bytes, harness) in [
            (
                &br#"{"hook_event_name":"PreToolUse","turn_id":"t","model":"m","tool_name":"Bash"}"#[..],
                "Codex",
            ),
            (
                br#"{"hook_event_name":"beforeMCPExecution","conversation_id":"c","tool_name":"x"}"#,
                "Cursor",
            ),
            (
                br#"{"sessionId":"s","toolName":"bash","toolArgs":"{}"}"#,
                "Copilot",
            ),
            (
                br#"{"hook_event_name":"BeforeTool","tool_name":"mcp_a_b"}"#,
                "another harness",
            ),
            (
                br#"{"agent_action_name":"pre_mcp_tool_use","tool_info":{}}"#,
                "Windsurf",
            ),
            (
                br#"{"hook_event_name":"pretooluse","tool_name":"x"}"#,
                "another harness",
            ),
            (
                br#"{"hook_event_name":"PreToolUse ","tool_name":"x"}"#,
                "another harness",
            ),
        ] {
            let fault = read(bytes).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Harness);
            assert!(fault.cause.contains(harness), "{}", fault.cause);
        }
        let other = read(br#"{"hook_event_name":"SessionStart","turn_id":"t"}"#).unwrap();
        assert!(matches!(other, Event::Other(name) if name == "SessionStart"));
    }

    #[test]
    fn a_call_in_claudes_spelling_is_another_harnesss_by_the_fields_that_come_with_it() {
        let harness = |more: &str| {
            let event = format!(r#"{{"hook_event_name":"PreToolUse","tool_name":"x_y"{more}}}"#);
            match read(event.as_bytes()).unwrap() {
                Event::Before(call) => call.foreign,
                other => panic!("a call was expected: {other:?}"),
            }
        };
        assert_eq!(
            harness(r#","transcript_path":"t","tool_use_id":"u","prompt_id":"p""#),
            None
        );
        assert_eq!(
            harness(r#","timestamp":"2026-11-30T23:17:42.444Z""#),
            Some("Copilot CLI")
        );
        assert_eq!(
            harness(r#","timestamp":"t","transcript_path":"p""#),
            Some("another harness")
        );
        assert_eq!(
            harness(r#","timestamp":"t","tool_call_id":"c""#),
            Some("Qwen Code")
        );
        assert_eq!(
            harness(r#","timestamp":"t","hookEventName":"PreToolUse""#),
            Some("VS Code")
        );
        let camel = br#"{"hookEventName":"PreToolUse","sessionId":"s","tool_name":"read_file"}"#;
        assert!(matches!(read(camel).unwrap(), Event::Before(call) if call.foreign == Some("VS Code")));
        // Their sessions are not ours to count, and their other events not ours to block.
        let after = br#"{"hook_event_name":"PostToolUse","timestamp":"t","tool_name":"x"}"#;
        assert!(matches!(read(after).unwrap(), Event::Other(_)));
        let cline = br#"{"clineVersion":"","timestamp":"t","hookName":"tool_call","preToolUse":{}}"#;
        assert!(read(cline).unwrap_err().cause.contains("Cline"));
    }

    #[test]
    fn a_servers_key_that_is_no_text_is_read_as_the_harness_spells_it() {
        let event = br#"{"hook_event_name":"PreToolUse","tool_name":"mcp__a___x","mcp_server":{"name":"a\ud83d","x":[1e999]}}"#;
        assert!(matches!(
            read(event).unwrap(),
            Event::Before(call) if call.server.as_ref().unwrap().name == "a\u{fffd}"
        ));
    }

    #[test]
    fn a_field_of_a_new_shape_is_a_fault_only_where_a_call_waits() {
        let event = |name| format!(r#"{{"hook_event_name":"{name}","tool_name":"x","mcp_server":"new"}}"#);
        let fault = read(event(GATE).as_bytes()).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Event);
        assert!(fault.cause.contains("mcp_server"), "{}", fault.cause);
        let event = event("PostToolUse");
        let other = read(event.as_bytes()).unwrap();
        assert!(matches!(other, Event::Tallied("PostToolUse")));
    }

    #[test]
    fn a_field_given_twice_is_no_event() {
        let fault = read(br#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse","tool_name":"x"}"#)
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Event);
    }
}
