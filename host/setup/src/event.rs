//! The events that we are told of.

/// An event of the harness that Holdpoint has an entry under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// A call is about to run: the only one that can be stopped.
    PreToolUse,
    /// A call has run.
    PostToolUse,
    /// A call has failed. The client tells nothing of a failed call under `PostToolUse`.
    PostToolUseFailure,
    /// The conversation is about to be compacted.
    PreCompact,
    /// A session starts, or goes on.
    SessionStart,
}

impl Event {
    /// All of them, in the order in which entries are written.
    pub const ALL: [Self; 5] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PreCompact,
        Self::SessionStart,
    ];

    /// As settings files name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PreCompact => "PreCompact",
            Self::SessionStart => "SessionStart",
        }
    }

    /// The matcher of our entry, where the event has one: which tools it is for. What a policy decides on are calls of MCP
    /// servers; the session tally counts failures of Bash as well.
    pub const fn matcher(self) -> Option<&'static str> {
        match self {
            Self::PreToolUse => Some("mcp__.*"),
            Self::PostToolUse | Self::PostToolUseFailure => Some("Bash|mcp__.*"),
            Self::PreCompact | Self::SessionStart => None,
        }
    }

    /// Whether the matcher is held against a tool's name. `PreCompact` and `SessionStart` hold it against what set them off.
    pub const fn is_of_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure
        )
    }

    /// The event of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}
