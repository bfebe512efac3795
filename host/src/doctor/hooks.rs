//! Whether the harness would start this program for every call that it has to judge: the settings files as the harness
//! reads them, and the entries in them. What is gathered here is judged in [`mod@judge`].

mod judge;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use holdpoint_artifact::UtcTime;
use holdpoint_setup::reading::{Installation, Level, State};
use holdpoint_setup::{Command, Event};

use super::servers::{self, Server};
use crate::private;

pub(super) use judge::judge;

/// What the harness takes for a timeout where none is set, in seconds.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// Everything that is known of the settings.
pub(super) struct Facts {
    pub(super) installation: Installation,
    /// Our entries in force.
    pub(super) entries: Vec<Ours>,
    /// Settings files that others may write.
    pub(super) writable: Vec<PathBuf>,
    /// Files that count for nothing and name our program.
    pub(super) lost: Vec<PathBuf>,
    /// The MCP servers that are configured here.
    pub(super) servers: Vec<Server>,
    pub(super) deadline: Duration,
}

/// One of our entries, and what its program is.
#[derive(Debug, Clone)]
pub(super) struct Ours {
    pub(super) event: Event,
    pub(super) at: String,
    pub(super) level: Level,
    pub(super) file: PathBuf,
    pub(super) command: Command,
    pub(super) program: Program,
}

/// What a hook entry's program turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    /// This very program.
    This,
    /// Another file, of other contents.
    Another,
    /// There is no such file.
    Missing,
    /// It cannot be executed.
    NotExecutable,
    /// Its path does not begin at the root, so where the agent works decides what it is.
    Relative,
}

impl Facts {
    pub(super) fn gather(installation: Installation, project: &Path, deadline: Duration) -> Self {
        let of_event = |event| installation.in_force(event).map(move |pair| (event, pair));
        let entries = Event::ALL
            .into_iter()
            .flat_map(of_event)
            .filter_map(|(event, (file, entry))| {
                let command = entry.ours()?.clone();
                Some(Ours {
                    event,
                    at: entry.at(),
                    level: file.level,
                    file: file.path.clone(),
                    program: program(&command),
                    command,
                })
            });
        let there = || {
            installation
                .files
                .iter()
                .filter(|file| file.state != State::Absent)
        };
        let names_us = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.contains("holdpoint"));
        Self {
            entries: entries.collect(),
            writable: there()
                .map(|file| file.path.clone())
                .filter(|path| fs::metadata(path).is_ok_and(|file| private::writable_by_others(&file)))
                .collect(),
            lost: there()
                .filter(|file| file.state != State::InForce)
                .map(|file| file.path.clone())
                .filter(|path| names_us(path))
                .collect(),
            servers: servers::configured(project),
            deadline,
            installation,
        }
    }

    /// Since when our entries have been in their files, at the latest.
    pub(super) fn installed(&self) -> Option<UtcTime> {
        let modified = |ours: &Ours| fs::metadata(&ours.file).and_then(|file| file.modified()).ok();
        self.entries
            .iter()
            .filter_map(modified)
            .max()
            .map(SystemTime::into)
    }

    /// Our entries that decide.
    pub(super) fn gates(&self) -> impl Iterator<Item = &Ours> {
        self.entries.iter().filter(|ours| ours.event == Event::PreToolUse)
    }
}

/// The configuration that an entry names.
pub(super) fn named_configuration(command: &Command) -> Option<PathBuf> {
    let args = command.args.as_ref()?;
    let at = args.iter().position(|arg| arg == "--config")?;
    args.get(at + 1).map(PathBuf::from)
}

/// The program of a command: what stands there in exec form, the first word for a shell.
pub(super) fn program_path(command: &Command) -> PathBuf {
    if command.args.is_some() {
        return command.command.clone().into();
    }
    let line = command.command.trim_start();
    let word = match line.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split(['"', '\'']).next(),
        None => line.split_whitespace().next(),
    };
    word.unwrap_or_default().into()
}

fn program(command: &Command) -> Program {
    let path = program_path(command);
    if !path.is_absolute() {
        return Program::Relative;
    }
    let Ok(metadata) = fs::metadata(&path) else {
        return Program::Missing;
    };
    if !metadata.is_file() || !private::is_executable(&metadata) {
        return Program::NotExecutable;
    }
    let is_this = std::env::current_exe().is_ok_and(|this| is_same(&this, &path));
    if is_this { Program::This } else { Program::Another }
}

/// Whether both are one file, or two of the same bytes.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    if real(one).is_some_and(|path| Some(path) == real(other)) {
        return true;
    }
    let length = |path: &Path| fs::metadata(path).map(|file| file.len()).ok();
    length(one) == length(other)
        && fs::read(one)
            .ok()
            .is_some_and(|bytes| Some(bytes) == fs::read(other).ok())
}
