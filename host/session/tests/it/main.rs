//! The session tally from outside: the original's answers, many processes, hostile files.

#![expect(clippy::unwrap_used, reason = "a test whose preparations fail has failed")]

mod files;
mod hook;
mod lock;
mod privacy;
mod processes;
mod property;
mod vectors;

use std::path::{Path, PathBuf};

use holdpoint_session::verbs::{self, Options, Verb};
use holdpoint_session::{Scope, Store};
use serde_json::{Value, json};

/// A home of its own, removed when dropped.
struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where states lie.
    fn states(&self) -> PathBuf {
        self.path().join(".pua/runtime-state")
    }

    /// The state of [`scope`].
    fn state(&self) -> PathBuf {
        self.states().join(format!("{}.json", scope().as_str()))
    }

    fn lock(&self) -> PathBuf {
        self.states().join(format!("{}.lock", scope().as_str()))
    }

    fn store(&self) -> Store {
        Store::in_home(self.path())
    }

    fn run(&self, verb: Verb, payload: &Value) -> String {
        let options = Options {
            home: self.path().into(),
            ..Options::default()
        };
        verbs::run(verb, &options, |_| None, payload.to_string().as_bytes()).to_string()
    }

    fn record(&self, call: &str) -> String {
        self.run(Verb::Record, &failure(call))
    }

    /// The state as it lies there.
    fn read(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.state()).unwrap()).unwrap()
    }

    /// The names of everything in the state directory.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.states()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn scope() -> Scope {
    Scope::new("session-1", "/srv/hp-project").unwrap()
}

fn failure(call: &str) -> Value {
    json!({
        "hook_event_name": "PostToolUseFailure", "session_id": "session-1", "cwd": "/srv/hp-project",
        "tool_name": "Bash", "tool_use_id": call, "error": "boom",
    })
}

fn session_start(source: &str) -> Value {
    json!({
        "hook_event_name": "SessionStart", "session_id": "session-1", "cwd": "/srv/hp-project", "source": source,
    })
}

fn pre_compact() -> Value {
    json!({ "hook_event_name": "PreCompact", "session_id": "session-1", "cwd": "/srv/hp-project", "trigger": "auto" })
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}
