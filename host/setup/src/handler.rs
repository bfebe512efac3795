//! One handler under an event: what the harness starts.

use crate::line::{self, Start};

/// What a hook entry has the harness do.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// Start a program.
    Command(Command),
    /// Call a tool of an MCP server, for which no `PreToolUse` hook is started.
    McpTool {
        /// The server's key.
        server: String,
        /// The tool.
        tool: String,
    },
    /// Something else, by its `type`: `http`, `prompt`, `agent`.
    Other(String),
}

/// A program that the harness starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Command {
    /// The program's path where there are [`Self::args`], else a line for a shell.
    pub command: String,
    /// Where they stand, also as an empty list, the program is started without a shell.
    pub args: Option<Vec<String>>,
    /// Which shell reads the line: `bash` or `powershell`.
    pub shell: Option<String>,
    /// In seconds; the harness then goes on without the hook. 600 where it is not set.
    pub timeout: Option<f64>,
    /// Whether a hook that fails or is timed out blocks the call: `onFailure` is `"block"`. Clients before 2.1.295 do not
    /// know the key.
    pub blocks_on_failure: bool,
    /// Whether the harness does not wait for it. Such a hook decides nothing.
    pub is_async: bool,
    /// Whether it runs for the first call of a session only, in clients that honour that here.
    pub is_once: bool,
    /// A permission rule that narrows the calls for which it runs: `if`.
    pub condition: Option<String>,
}

impl Command {
    /// Whether it starts our program as a hook, wherever that lies and whatever stands around it.
    pub fn is_ours(&self) -> bool {
        self.start().is_some()
    }

    /// Where it starts our program as a hook, and what stands around that.
    pub fn start(&self) -> Option<Start> {
        match &self.args {
            Some(args) => {
                let words: Vec<String> = [&self.command].into_iter().chain(args).cloned().collect();
                line::in_words(&words)
            }
            None => line::in_line(&self.command),
        }
    }

    /// The program and its arguments, or the line, as one text.
    pub fn text(&self) -> String {
        let args = self.args.iter().flatten().map(String::as_str);
        [self.command.as_str()]
            .into_iter()
            .chain(args)
            .collect::<Vec<_>>()
            .join(" ")
    }
}
