//! Our entries as a plugin of Claude Code.

use crate::hook::Hook;
use crate::node::{Layout, Node};

/// The files of a plugin folder, each with its path below that folder. The hook is the program that is installed on this
/// machine: a plugin of its own brings none along.
pub fn files(hook: &Hook, version: &str) -> [(&'static str, String); 2] {
    let manifest = Node::Object(vec![
        ("name", Node::string("holdpoint")),
        ("version", Node::string(version)),
        (
            "description",
            Node::string("A hold point for tool calls: no checkpoint in Zerto, no change."),
        ),
    ]);
    let hooks = Node::Object(vec![
        (
            "description",
            Node::string(
                "Asks Holdpoint before each call of an MCP server's tool, and tells it what became of it.",
            ),
        ),
        ("hooks", hook.all()),
    ]);
    let layout = Layout {
        newline: Some("\n"),
        step: "  ",
    };
    let text = |node: &Node| node.render(layout, "") + "\n";
    [
        (".claude-plugin/plugin.json", text(&manifest)),
        ("hooks/hooks.json", text(&hooks)),
    ]
}
