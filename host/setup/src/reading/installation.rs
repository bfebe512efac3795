//! All settings files together: which hooks run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Fires;
use super::places::{Content, Level, Places, Source};
use super::plugins;
use super::settings::{self, Entry, Problem, Settings, Skipped};
use crate::Event;

/// Everything that the client reads when it starts in a directory.
#[derive(Debug, Clone, PartialEq)]
pub struct Installation {
    /// Every file that counts or would count, in the order of [`Level`].
    pub files: Vec<File>,
}

/// One settings file.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// Whose it is.
    pub level: Level,
    /// Where it lies.
    pub path: PathBuf,
    /// What becomes of its hooks.
    pub state: State,
    /// What it says; nothing where it was not read.
    pub settings: Settings,
}

/// What becomes of a file's hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// There is no such file.
    Absent,
    /// It cannot be read, for this reason. What it says may count for the client all the same.
    Unreadable(String),
    /// Nothing of it counts; the client says so on a terminal only.
    Skipped(Skipped),
    /// The client does not start: managed settings that are no JSON object.
    RefusesToStart(Skipped),
    /// It is read, and its hooks do not run, for this reason.
    HooksOff(String),
    /// Its hooks run.
    InForce,
}

impl File {
    /// What of it the client does not take.
    pub fn problems(&self) -> &[Problem] {
        &self.settings.problems
    }
}

impl Installation {
    /// Reads the settings files and the hooks of the plugins that they enable, and of those in `beside`, which a client is
    /// started with.
    pub fn read(places: &Places, project: &Path, beside: &[PathBuf]) -> Self {
        let sources = places.read();
        let directory = places.user.parent().unwrap_or_else(|| Path::new(""));
        let said: Vec<_> = Self::judge(sources.clone())
            .files
            .into_iter()
            .map(|file| (file.level, file.settings.plugins))
            .collect();
        let enabled = plugins::enabled(&said)
            .into_iter()
            .filter_map(|(id, is_managed)| {
                let level = if is_managed {
                    Level::ManagedPlugin
                } else {
                    Level::Plugin
                };
                Some((plugins::folder(directory, &id, project)?, level))
            });
        let beside = beside.iter().map(|folder| (folder.clone(), Level::Plugin));
        let hooks = enabled
            .chain(beside)
            .flat_map(|(folder, level)| plugins::hooks_of(&folder, level));
        Self::judge(hooks.chain(sources).collect())
    }

    /// The variables that the client sets for itself and hands on to its hooks; the last file that sets one wins.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let counting = self.files.iter().filter(|file| !file.level.is_of_a_plugin());
        counting
            .flat_map(|file| file.settings.environment.clone())
            .collect()
    }

    /// Judges what was read. The order of the sources is the order in which they count.
    pub fn judge(sources: Vec<Source>) -> Self {
        let mut files: Vec<File> = sources.into_iter().map(read).collect();
        let why: Vec<Option<String>> = files.iter().map(|file| off(file, &files)).collect();
        for (file, why) in files.iter_mut().zip(why) {
            if let (State::InForce, Some(why)) = (&file.state, why) {
                file.state = State::HooksOff(why);
            }
        }
        Self { files }
    }

    /// The handlers under an event that are in force, each with its file.
    pub fn in_force(&self, event: Event) -> impl Iterator<Item = (&File, &Entry)> {
        self.entries(event)
            .filter(|(file, _)| file.state == State::InForce)
    }

    /// The handlers under an event in every file that could be read, whether it is in force or not.
    pub fn entries(&self, event: Event) -> impl Iterator<Item = (&File, &Entry)> {
        self.files.iter().flat_map(move |file| {
            let entries = file.settings.entries.iter();
            entries
                .filter(move |entry| entry.event == event)
                .map(move |entry| (file, entry))
        })
    }

    /// The handlers in force that run, or may run, for a call of that tool.
    pub fn firing<'a>(
        &'a self,
        event: Event,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a File, &'a Entry, Fires)> {
        self.in_force(event)
            .map(move |(file, entry)| (file, entry, entry.fires(name)))
            .filter(|(_, _, fires)| *fires != Fires::No)
    }
}

fn read(source: Source) -> File {
    let Source { level, path, content } = source;
    let read = match content {
        Content::Absent => Err(State::Absent),
        Content::Unreadable(cause) => Err(State::Unreadable(cause)),
        Content::Bytes(bytes) => {
            let read = match level {
                Level::Plugin | Level::ManagedPlugin => settings::read_plugin(&bytes),
                _ => settings::read(&bytes, level),
            };
            read.map_err(|skipped| match skipped {
                Skipped::Empty => State::Skipped(skipped),
                Skipped::TooDeep(_) => State::Unreadable(skipped.to_string()),
                _ if level.is_managed() => State::RefusesToStart(skipped),
                _ => State::Skipped(skipped),
            })
        }
    };
    let (state, settings) = match read {
        Ok(settings) => (State::InForce, settings),
        Err(state) => (state, Settings::default()),
    };
    File {
        level,
        path,
        state,
        settings,
    }
}

/// Why this file's hooks do not run although it was read.
fn off(file: &File, all: &[File]) -> Option<String> {
    let counting = || all.iter().filter(|other| other.state == State::InForce);
    let managed = || counting().filter(|other| other.level.is_managed());
    // The last one that sets a switch wins.
    let last_of = |value: fn(&Settings) -> Option<bool>, files: &mut dyn Iterator<Item = &File>| {
        files
            .filter_map(|other| Some((value(&other.settings)?, other.path.display().to_string())))
            .last()
    };
    let disabled = |settings: &Settings| settings.disable_all_hooks;
    if let Some(variable) = switched_off_by_variable(file, all) {
        return Some(variable);
    }
    match last_of(disabled, &mut managed()) {
        Some((true, path)) => return Some(format!("{path} sets disableAllHooks")),
        // A managed `false` stands whatever the others say.
        Some((false, _)) => {}
        None if file.level.is_managed() => {}
        None => {
            if let Some((true, path)) = last_of(disabled, &mut counting()) {
                return Some(format!("{path} sets disableAllHooks"));
            }
        }
    }
    if file.level.is_managed() || file.level == Level::ManagedPlugin {
        return None;
    }
    if let Some((true, path)) = last_of(|settings| settings.managed_hooks_only, &mut managed()) {
        return Some(format!("{path} sets allowManagedHooksOnly"));
    }
    if file.level == Level::Plugin {
        return None;
    }
    let strict = managed().find(|other| other.settings.plugin_hooks_only)?;
    let path = strict.path.display();
    Some(format!("{path} sets strictPluginOnlyCustomization"))
}

/// Variables for the client in the user's file and in managed ones count when it starts; a project's came too late, or for
/// a trusted folder only. Neither keeps managed hooks from running, from 2.1.281 on.
fn switched_off_by_variable(file: &File, all: &[File]) -> Option<String> {
    let setting = |name: &str| {
        all.iter()
            .filter(|other| other.state == State::InForce)
            .filter(|other| other.level == Level::User || other.level.is_managed())
            .find(|other| {
                other
                    .settings
                    .environment
                    .get(name)
                    .is_some_and(|value| is_on(value))
            })
            .map(|other| format!("{} sets {name} for the client", other.path.display()))
    };
    if file.level.is_managed() {
        return None;
    }
    setting("CLAUDE_CODE_SIMPLE").or_else(|| setting("CLAUDE_CODE_SAFE_MODE"))
}

fn is_on(value: &str) -> bool {
    ["1", "true", "yes", "on"].contains(&value.trim().to_ascii_lowercase().as_str())
}
