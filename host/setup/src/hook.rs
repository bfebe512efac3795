//! What Holdpoint has the harness do.

use serde_json::Value;

use crate::node::Node;
use crate::{Command, Event, Handler};

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
}

impl Hook {
    /// What a settings file has under our events; none where there is nothing of ours before a call.
    pub(crate) fn installed(handlers: impl IntoIterator<Item = Handler>) -> Option<Self> {
        handlers.into_iter().find_map(|handler| match handler {
            Handler::Command(Command {
                command,
                args: Some(args),
                timeout: Some(seconds),
                ..
            }) => Some(Self {
                program: command,
                args,
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "ours is a whole number of seconds; with another one nothing is found to be as we left it"
                )]
                timeout_seconds: seconds as u64,
            }),
            _ => None,
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
        let matcher = event.matcher().map(|matcher| ("matcher", Node::string(matcher)));
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
