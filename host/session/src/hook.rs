//! The tally in the hook: every event through one function, and the few words that a model is told of it.

use crate::error::SessionError;
use crate::payload::Payload;
use crate::state::Tally;
use crate::store::{Recorded, Restored, Store};

/// Which tools' failures count: names, and beginnings of names that end in `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools(Vec<String>);

impl Tools {
    /// These.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    /// Those of the original: only `Bash`.
    pub fn original() -> Self {
        Self::new(["Bash"])
    }

    /// Whether a tool's failures count.
    pub fn count(&self, tool: &str) -> bool {
        self.0.iter().any(|name| match name.strip_suffix('*') {
            Some(beginning) => tool.starts_with(beginning),
            None => tool == name,
        })
    }
}

/// The hook's: `Bash` and every MCP tool.
impl Default for Tools {
    fn default() -> Self {
        Self::new(["Bash", "mcp__*"])
    }
}

/// What an event did to the tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// Nothing: it is no event for the tally, or does not say whose.
    Nothing,
    /// A call failed.
    Recorded(Recorded),
    /// The tally was saved before a compaction.
    Saved(Tally),
    /// A session goes on with a tally that was saved.
    Restored(Restored),
    /// A session starts at nothing.
    Cleared,
}

/// Does to the tally what one event asks for: a failed call counts, a compaction saves, a session that starts goes on, and
/// one that was cleared or forked starts at nothing.
///
/// # Errors
///
/// See [`SessionError`]; none of them is worth more than a line in a log.
pub fn observe(store: &Store, payload: &Payload, tools: &Tools) -> Result<Observed, SessionError> {
    let Some(scope) = payload.scope("") else {
        return Ok(Observed::Nothing);
    };
    Ok(match payload.event() {
        Some("PostToolUse" | "PostToolUseFailure") => {
            let counts = payload.failed() && payload.tool().is_some_and(|tool| tools.count(tool));
            match payload.call().filter(|_| counts) {
                Some(call) => Observed::Recorded(store.record(&scope, call)?),
                None => Observed::Nothing,
            }
        }
        Some("PreCompact") => Observed::Saved(store.checkpoint(&scope)?),
        Some("SessionStart") => match payload.source() {
            Some("clear" | "fork") => {
                store.clear(&scope)?;
                Observed::Cleared
            }
            _ => store
                .restore(&scope)?
                .map_or(Observed::Nothing, Observed::Restored),
        },
        _ => Observed::Nothing,
    })
}

impl Observed {
    /// What the model is told, where there is anything to tell: at a new level, and where a session goes on.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Recorded(Recorded::Counted { now, before }) if now.level > before.level => Some(format!(
                "{} tool calls have failed in this session and workspace (level {} of 4). The number counts failed \
                 calls, whatever their reasons; it does not say that the task fails.",
                now.failures, now.level
            )),
            Self::Restored(Restored { now, .. }) if now.failures > 0 => Some(format!(
                "Before this point, {} in this session and workspace (level {} of 4). The number counts failed calls \
                 only; nothing else is kept of them.",
                failed(now.failures),
                now.level
            )),
            _ => None,
        }
    }
}

fn failed(failures: u32) -> String {
    if failures == 1 {
        "1 tool call had failed".into()
    } else {
        format!("{failures} tool calls had failed")
    }
}
