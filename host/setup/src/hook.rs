//! What Holdpoint has the harness do.

use serde_json::Value;

use crate::Event;
use crate::node::Node;
use crate::reading::{Fires, matches};

/// The command line that the harness starts for every event of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The program's absolute path.
    pub program: String,
    /// What follows it: `hook`, and with which configuration.
    pub args: Vec<String>,
    /// After this many seconds the harness goes on without the hook. Has to be above the deadline, within which the hook
    /// answers in any case.
    pub timeout_seconds: u64,
    /// The matcher of calls, where it is not the usual one. Has to fit every tool of an MCP server.
    pub matcher: Option<String>,
    /// Whether `allowManagedHooksOnly` is set beside the entries. Counts in managed settings only.
    pub managed_only: bool,
}

impl Hook {
    /// The matcher of an event's entry. Where it was chosen, Bash stays among the calls whose failures are counted.
    pub(crate) fn matcher(&self, event: Event) -> Option<String> {
        let usual = event.matcher()?;
        Some(match &self.matcher {
            None => usual.to_owned(),
            Some(chosen) if event == Event::PreToolUse => chosen.clone(),
            Some(chosen) if matches(Some(chosen), "Bash") == Fires::Yes => chosen.clone(),
            Some(chosen) => format!("Bash|{chosen}"),
        })
    }

    /// The handler, its keys in a reader's order.
    pub(crate) fn handler(&self, event: Event) -> Vec<(&'static str, Node)> {
        let mut fields = vec![
            ("type", Node::string("command")),
            ("command", Node::string(&self.program)),
            (
                "args",
                Node::List(self.args.iter().map(|argument| Node::string(argument)).collect()),
            ),
            ("timeout", Node::Plain(Value::from(self.timeout_seconds))),
        ];
        // Elsewhere it would stop what cannot be undone any more.
        if event == Event::PreToolUse {
            fields.push(("onFailure", Node::string("block")));
        }
        fields
    }

    /// The group with the handler in it.
    pub(crate) fn group(&self, event: Event) -> Node {
        let handlers = ("hooks", Node::List(vec![Node::Object(self.handler(event))]));
        let matcher = self.matcher(event);
        let matcher = matcher.map(|matcher| ("matcher", Node::string(&matcher)));
        Node::Object(matcher.into_iter().chain([handlers]).collect())
    }

    /// The groups of all events.
    pub(crate) fn all(&self) -> Node {
        let events = Event::ALL.into_iter();
        Node::Object(
            events
                .map(|event| (event.name(), Node::List(vec![self.group(event)])))
                .collect(),
        )
    }
}
