//! What a harness tells us, without any harness's wire format.

use serde_json::value::RawValue;

/// One thing that a harness reports.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one event a process, and a box would cost it an allocation"
)]
pub enum Event<'a> {
    /// A call is about to run: the only event that can be gated.
    Before(Call<'a>),
    /// A call has ended, the session's context is about to be compacted, or a session starts: what the session tally is
    /// kept by, named by the harness's own word.
    Tallied(&'static str),
    /// Anything else, named by the harness's own word. Accepted, and answered with silence.
    Other(String),
}

/// A tool call that is about to run.
#[derive(Debug)]
pub struct Call<'a> {
    /// Another harness than the one that is served, by its name, where the call comes from one.
    pub foreign: Option<&'static str>,
    /// The session's id, empty where the harness sent none.
    pub session_id: String,
    /// The call's id (`tool_use_id`), empty where the harness sent none.
    pub call_id: String,
    /// The workspace, where the harness names it.
    pub cwd: Option<String>,
    /// The tool, exactly as the harness spells it.
    pub tool: String,
    /// The MCP server, where the harness names it apart from the tool.
    pub server: Option<Server>,
    /// How the harness asks for permission, where it says so.
    pub permission_mode: Option<String>,
    /// The arguments as they came: any JSON, of any size. A written file of 20 MB is not copied.
    pub arguments: &'a RawValue,
    /// Facts that not every harness has: a JSON object.
    pub extras: serde_json::Value,
    /// Where it came from.
    pub origin: Origin,
}

/// Where a call came from, as far as the harness says so: for the evidence, and nothing is decided by it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The harness, where the event tells which one it comes from.
    pub harness: Option<String>,
    /// The session's working directory.
    pub cwd: Option<String>,
    /// The harness's transcript of the session.
    pub transcript: Option<String>,
    /// The subagent that made the call, where one did.
    pub agent_id: Option<String>,
    /// The kind of agent.
    pub agent_type: Option<String>,
}

/// A tool call that has ended.
#[derive(Debug)]
pub struct Ended<'a> {
    /// The session's id, empty where the harness sent none.
    pub session_id: String,
    /// The call's id (`tool_use_id`), empty where the harness sent none.
    pub call_id: String,
    /// The tool, exactly as the harness spells it.
    pub tool: String,
    /// The MCP server, where the harness names it apart from the tool.
    pub server: Option<Server>,
    /// Where it came from.
    pub origin: Origin,
    /// The arguments as they came.
    pub arguments: &'a RawValue,
    /// How it ended.
    pub how: How,
    /// What it returned, or its error, as it came.
    pub results: Option<&'a RawValue>,
}

/// How a call ended, as the harness saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It ran to its end.
    Ran,
    /// It failed.
    Failed,
    /// It was interrupted.
    Interrupted,
}

/// An MCP server as the harness names it: untrusted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The key in the user's configuration.
    pub name: String,
    /// Where that configuration came from.
    pub source: String,
}
