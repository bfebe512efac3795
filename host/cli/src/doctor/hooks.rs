//! Whether the harness would start this program for every call that it has to judge: the settings files as the harness
//! reads them, and the entries in them. What is gathered here is judged in [`mod@judge`], [`entry`] and [`beside`].

mod beside;
mod entry;
mod judge;
mod matcher;
mod program;
mod reach;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_common::access;
use holdpoint_common::read::{self, limit};
use holdpoint_setup::json;
use holdpoint_setup::reading::{Installation, Level, State, managed_directory};
use holdpoint_setup::{Command, Event, Start};

use super::servers::{self, Server};

pub(super) use judge::judge;
pub(super) use program::Program;

/// What the harness takes for a timeout where none is set, in seconds.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// Everything that is known of the settings.
pub(super) struct Facts {
    pub(super) installation: Installation,
    /// Our entries in force.
    pub(super) entries: Vec<Ours>,
    /// Settings files that others may write, each with whether it is the machine's: only root may write those.
    pub(super) writable: Vec<(PathBuf, bool)>,
    /// Folders of the harness's and of ours that others may write, each with the same.
    pub(super) open_folders: Vec<(PathBuf, bool)>,
    /// Settings for all users of the machine, and what keeps others from reading them.
    pub(super) closed: Vec<(PathBuf, PathBuf)>,
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
    pub(super) matcher: Option<String>,
    pub(super) command: Command,
    pub(super) start: Start,
    /// The program's path.
    pub(super) path: PathBuf,
    pub(super) program: Program,
    /// What somebody could change who should not, so as to replace the program.
    pub(super) replaceable: Option<PathBuf>,
}

impl Facts {
    pub(super) fn gather(installation: Installation, project: &Path, deadline: Duration) -> Self {
        let of_event = |event| installation.in_force(event).map(move |pair| (event, pair));
        let entries = Event::ALL
            .into_iter()
            .flat_map(of_event)
            .filter_map(|(event, (file, entry))| {
                let command = entry.ours()?.clone();
                let start = command.start()?;
                let variables = variables(file.level, &file.path, project);
                let path = program::path(&start, command.args.is_none(), &variables);
                let program = program::look(&path, file.level);
                Some(Ours {
                    event,
                    at: entry.at(),
                    level: file.level,
                    file: file.path.clone(),
                    matcher: entry.matcher.clone(),
                    replaceable: program
                        .can_be_started()
                        .then(|| program::replaceable(&path, file.level))
                        .flatten(),
                    program,
                    path,
                    start,
                    command,
                })
            });
        let there = || {
            installation
                .files
                .iter()
                .filter(|file| file.state != State::Absent)
        };
        let names_us = |path: &Path| {
            read::read(path, limit::SETTINGS).is_ok_and(|bytes| json::decode(&bytes).contains("holdpoint"))
        };
        Self {
            entries: entries.collect(),
            writable: there()
                .map(|file| (file.path.clone(), file.level.is_managed()))
                .filter(|(path, is_managed)| {
                    let is_open = if *is_managed {
                        access::writable_by_others_than_root
                    } else {
                        access::writable_by_others
                    };
                    fs::metadata(path).is_ok_and(|file| file.is_file() && is_open(&file))
                })
                .collect(),
            open_folders: own_folders(&installation)
                .into_iter()
                .filter(|(folder, is_managed)| {
                    folder.is_dir() && reach::may_be_changed_by_others(folder, *is_managed)
                })
                .collect(),
            closed: there()
                .filter(|file| file.level.is_managed())
                .filter_map(|file| Some((file.path.clone(), program::unreadable_for_others(&file.path)?)))
                .collect(),
            lost: there()
                .filter(|file| match file.state {
                    State::Absent | State::InForce => false,
                    State::HooksOff(_) => file.settings.entries.iter().any(|entry| entry.ours().is_some()),
                    // Nothing of it is known but its text.
                    _ => names_us(&file.path),
                })
                .map(|file| file.path.clone())
                .collect(),
            servers: servers::configured(project),
            deadline,
            installation,
        }
    }

    /// Our entries that decide.
    pub(super) fn gates(&self) -> impl Iterator<Item = &Ours> {
        self.entries.iter().filter(|ours| ours.event == Event::PreToolUse)
    }
}

impl Ours {
    /// How long the program has, in seconds: the entry's timeout, or that of a `timeout` in front of it.
    pub(super) fn timeout(&self) -> f64 {
        let timeout = self.command.timeout.unwrap_or(DEFAULT_TIMEOUT);
        self.start.limit.map_or(timeout, |limit| limit.min(timeout))
    }

    /// The entry's place, for people.
    pub(super) fn place(&self) -> String {
        format!("{} of {}", self.at, self.file.display())
    }
}

/// The folders in which names decide whether the hook runs and what it does.
/// Each with whether it is the machine's. A file may be put into a folder of drop-ins that has none yet.
fn own_folders(installation: &Installation) -> Vec<(PathBuf, bool)> {
    let files = installation
        .files
        .iter()
        .filter(|file| file.state != State::Absent);
    let of_settings =
        files.filter_map(|file| Some((file.path.parent()?.to_owned(), file.level.is_managed())));
    let managed = managed_directory();
    let of_machine = [managed.to_owned(), managed.join("managed-settings.d")].map(|folder| (folder, true));
    let places = holdpoint_config::Places::find(None);
    let ours = places
        .user
        .and_then(|(path, _)| Some((path.parent()?.to_owned(), false)));
    let machines = places.machine.parent().map(|folder| (folder.to_owned(), true));
    let mut folders: Vec<(PathBuf, bool)> = of_settings
        .chain(of_machine)
        .chain(ours)
        .chain(machines)
        .collect();
    // The user's file may be named as the machine's.
    folders.sort_by(|(one, managed), (other, unmanaged)| one.cmp(other).then(unmanaged.cmp(managed)));
    folders.dedup_by(|(one, _), (other, _)| one == other);
    folders
}

/// What of a file of the machine's, or of the way to it, somebody other than root can change.
pub(super) fn changeable(path: &Path) -> Option<PathBuf> {
    program::replaceable(path, Level::Managed)
}

/// What the harness replaces in an entry, and hands on to it.
pub(super) fn variables(level: Level, file: &Path, project: &Path) -> Vec<(&'static str, PathBuf)> {
    let home = holdpoint_common::environment::var_os("HOME").filter(|value| !value.is_empty());
    let plugin = level.is_of_a_plugin().then(|| plugin_root(file));
    [
        ("CLAUDE_PROJECT_DIR", Some(project.to_owned())),
        ("CLAUDE_PLUGIN_ROOT", plugin),
        ("HOME", home.map(PathBuf::from)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// The folder of the plugin that a file of hooks is in.
fn plugin_root(file: &Path) -> PathBuf {
    let above = || file.ancestors().skip(1);
    let with_manifest = above().find(|folder| folder.join(".claude-plugin").is_dir());
    with_manifest
        .or_else(|| above().nth(1))
        .unwrap_or(file)
        .to_owned()
}

/// The configuration that an entry names.
pub(super) fn named_configuration(start: &Start) -> Option<PathBuf> {
    let joined = start.args.iter().find_map(|arg| arg.strip_prefix("--config="));
    let apart = || {
        let at = start.args.iter().position(|arg| arg == "--config")?;
        start.args.get(at + 1).map(String::as_str)
    };
    let set = || {
        let set = start
            .environment
            .iter()
            .rfind(|(name, _)| name == "HOLDPOINT_CONFIG")?;
        Some(set.1.as_str())
    };
    joined.or_else(apart).or_else(set).map(PathBuf::from)
}
