//! The original helper's four operations, as lines of text.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use crate::error::SessionError;
use crate::hook::Tools;
use crate::payload::Payload;
use crate::scope::Scope;
use crate::store::{Recorded, Store};

/// An operation, as the original names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Counts a failed call.
    Record,
    /// Saves the tally before a compaction.
    Checkpoint,
    /// Says what was saved.
    Restore,
    /// Forgets the scope.
    Clear,
}

/// The original's options, as they came from the command line.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// `--home`: the user's home. Without it nothing is done.
    pub home: OsString,
    /// `--state-dir`: where states lie; empty is `.pua/runtime-state` in the home; none is what `PUA_STATE_DIR` says.
    pub state_dir: Option<OsString>,
    /// `--cwd`: the workspace in the place of the event's; empty is the event's.
    pub cwd: Option<OsString>,
}

/// What the original prints: `action TAB count TAB level TAB scope`, here without the line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `updated`, `duplicate`, `saved`, `restored`, `cleared` or `ignored`.
    pub action: &'static str,
    /// How many calls failed.
    pub count: u32,
    /// The highest level that was reached.
    pub level: u8,
    /// The scope, where there is one.
    pub scope: Option<Scope>,
}

impl Line {
    const IGNORED: Self = Self {
        action: "ignored",
        count: 0,
        level: 0,
        scope: None,
    };
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = self.scope.as_ref().map_or("-", Scope::short);
        write!(
            formatter,
            "{}\t{}\t{}\t{scope}",
            self.action, self.count, self.level
        )
    }
}

impl Options {
    /// Where states lie, or none without a home. `environment` tells the process's variables: `PUA_STATE_DIR` is the
    /// only one that is asked for, and the only source beside the options. What an event says is none.
    pub fn store(&self, environment: impl Fn(&str) -> Option<OsString>) -> Option<Store> {
        if self.home.is_empty() {
            return None;
        }
        let named = self.state_dir.clone().or_else(|| environment("PUA_STATE_DIR"));
        Some(match named {
            Some(directory) if !directory.is_empty() => Store::at(Path::new(&directory)),
            _ => Store::in_home(Path::new(&self.home)),
        })
    }
}

/// Runs an operation on one event as the harness wrote it. Whatever goes wrong is `ignored`: the process ends with 0.
pub fn run(
    verb: Verb,
    options: &Options,
    environment: impl Fn(&str) -> Option<OsString>,
    payload: &[u8],
) -> Line {
    let line = || {
        let cwd = options.cwd.as_deref().unwrap_or_default().to_str()?;
        let payload = Payload::read(payload);
        let store = options.store(environment)?;
        answer(verb, &store, &payload, cwd).transpose()?.ok()
    };
    line().unwrap_or(Line::IGNORED)
}

/// The line, or none for an event that the operation is not for.
fn answer(verb: Verb, store: &Store, payload: &Payload, cwd: &str) -> Result<Option<Line>, SessionError> {
    if !is_for(verb, payload) {
        return Ok(None);
    }
    let Some(scope) = payload.scope(cwd) else {
        return Ok(None);
    };
    let (action, count, level) = match verb {
        Verb::Record => {
            let Some(call) = payload.call() else {
                return Ok(None);
            };
            match store.record(&scope, call)? {
                Recorded::Counted { now, .. } => ("updated", now.failures, now.peak),
                Recorded::Duplicate(tally) => ("duplicate", tally.failures, tally.peak),
            }
        }
        Verb::Checkpoint => {
            let tally = store.checkpoint(&scope)?;
            ("saved", tally.failures, tally.peak)
        }
        Verb::Restore => {
            let Some(restored) = store.restore(&scope)? else {
                return Ok(None);
            };
            ("restored", restored.saved.failures, restored.saved.peak)
        }
        Verb::Clear => {
            store.clear(&scope)?;
            ("cleared", 0, 0)
        }
    };
    Ok(Some(Line {
        action,
        count,
        level,
        scope: Some(scope),
    }))
}

fn is_for(verb: Verb, payload: &Payload) -> bool {
    let (event, cleared) = (payload.event(), payload.source() == Some("clear"));
    match verb {
        Verb::Record => payload.failed() && payload.tool().is_some_and(|tool| Tools::original().count(tool)),
        Verb::Checkpoint => event == Some("PreCompact"),
        Verb::Restore => event == Some("SessionStart") && !cleared,
        Verb::Clear => event == Some("SessionStart") && cleared,
    }
}
