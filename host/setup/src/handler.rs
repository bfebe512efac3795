//! One handler under an event: what the harness starts.

use std::path::Path;

/// What a hook entry has the harness do.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// Start a program.
    Command(Command),
    /// Something else, by its `type`: `http`, `mcp_tool`, `prompt`, `agent`.
    Other(String),
}

/// A program that the harness starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// The program's path where there are [`Self::args`], else a line for a shell.
    pub command: String,
    /// Where they stand, also as an empty list, the program is started without a shell.
    pub args: Option<Vec<String>>,
    /// In seconds; the harness then goes on without the hook. 600 where it is not set.
    pub timeout: Option<f64>,
    /// Whether a hook that fails or is timed out blocks the call: `onFailure` is `"block"`. Clients before 2.1.295 do not
    /// know the key.
    pub blocks_on_failure: bool,
    /// Whether the harness does not wait for it. Such a hook decides nothing.
    pub is_async: bool,
    /// A permission rule that narrows the calls for which it runs: `if`.
    pub condition: Option<String>,
}

impl Command {
    /// Whether it starts our program as a hook, wherever that lies: in exec form, or as a shell's first word.
    pub fn is_ours(&self) -> bool {
        match &self.args {
            Some(args) => is_our_program(&self.command) && args.first().is_none_or(|verb| verb == "hook"),
            None => {
                let line = self.command.trim_start();
                let (program, rest) = match line.strip_prefix(['"', '\'']) {
                    Some(quoted) => quoted.split_once(['"', '\'']).unwrap_or((quoted, "")),
                    None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
                };
                is_our_program(program) && rest.split_whitespace().next().is_none_or(|verb| verb == "hook")
            }
        }
    }
}

/// Whether a path ends in the name of our program.
pub fn is_our_program(path: &str) -> bool {
    // Both separators: a settings file may be of another system than this one.
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = Path::new(name)
        .extension()
        .filter(|extension| extension.eq_ignore_ascii_case("exe"))
        .map_or(name, |_| &name[..name.len() - ".exe".len()]);
    stem == "holdpoint"
}
