//! Which configuration the hook is started with, as the hook entry here says it: what a person looks at should be what the
//! hook wrote.

use std::env;
use std::path::PathBuf;

use holdpoint_common::environment;
use holdpoint_config::Places;
use holdpoint_setup::reading::{Installation, Level};
use holdpoint_setup::{Command, Event};

use super::finding::{Finding, Repair, Severity};
use super::hooks::{Ours, named_configuration};

/// The variable that names a configuration.
const VARIABLE: &str = "HOLDPOINT_CONFIG";

/// The configuration that a command uses, and what chose it.
#[derive(Debug, Clone)]
pub struct InUse {
    /// Where it is looked for.
    pub places: Places,
    /// The file that was named, by whoever asked or by the hook entry.
    pub named: Option<PathBuf>,
    /// The settings file that chose it: by its hook entry, or by a variable for the hook.
    pub chosen_by: Option<PathBuf>,
    /// The file that it would be without them.
    usual: Option<PathBuf>,
}

impl InUse {
    /// What `--config` says, else what the hook entry here names, else as for the hook without an entry.
    pub fn find(said: Option<PathBuf>) -> Self {
        if said.is_some() {
            return Self::named(said, None, None);
        }
        let directory = env::current_dir().unwrap_or_default();
        Self::of(&super::installation(&directory, &[]), None)
    }

    /// The same for an installation. From now on, the variables that its settings set for the hook count here, too.
    pub(super) fn of(installation: &Installation, said: Option<PathBuf>) -> Self {
        let usual = Places::find(None).user.map(|(path, _)| path);
        let set = installation.environment();
        let by_variable = set.contains_key(VARIABLE);
        environment::apply(set);
        if said.is_some() {
            return Self::named(said, None, usual);
        }
        let (named, file) = by_entry(installation).unzip();
        let by_variable = file.is_none() && by_variable;
        let gates = || installation.in_force(Event::PreToolUse);
        let gate = gates().find(|(_, entry)| entry.ours().is_some());
        let chosen_by = file.or_else(|| Some(gate.filter(|_| by_variable)?.0.path.clone()));
        Self::named(named, chosen_by, usual)
    }

    fn named(named: Option<PathBuf>, chosen_by: Option<PathBuf>, usual: Option<PathBuf>) -> Self {
        Self {
            places: Places::find(named.clone()),
            named,
            chosen_by,
            usual,
        }
    }

    /// What a person should know: that settings of the harness chose it, where it would be another one otherwise.
    pub fn remark(&self) -> Option<String> {
        let settings = self.chosen_by.as_ref()?;
        let (used, _) = self.places.user.as_ref()?;
        // The machine's file counts for every command.
        let is_usual = self.usual.as_ref() == Some(used) || self.places.machine == *used;
        (!is_usual).then(|| {
            format!(
                "using the configuration {}, which the hook entry in {} names (--config uses another one)",
                used.display(),
                settings.display()
            )
        })
    }
}

/// The configuration that the hook is started with, or would be if its entry were in force, and the entry's file.
fn by_entry(installation: &Installation) -> Option<(PathBuf, PathBuf)> {
    let named = |command: &Command| named_configuration(&command.start()?);
    let mut gates = installation.in_force(Event::PreToolUse);
    if let Some((file, gate)) = gates.find_map(|(file, entry)| Some((file, entry.ours()?))) {
        return Some((named(gate)?, file.path.clone()));
    }
    let entries = Event::ALL
        .into_iter()
        .flat_map(|event| installation.entries(event));
    entries
        .filter_map(|(file, entry)| Some((file, entry.ours()?)))
        .find_map(|(file, command)| Some((named(command)?, file.path.clone())))
}

/// Whether each entry that decides names its configuration, by a whole path. `is_there` is whether there is one to name;
/// `is_looked_at` whether it is the entry's that is looked at, whose error then says what is wrong with it.
pub(super) fn judge<'a>(
    gates: impl Iterator<Item = &'a Ours>,
    is_there: bool,
    is_looked_at: bool,
) -> Vec<Finding> {
    let of_gates = gates.filter_map(|ours| of_entry(ours, is_there));
    of_gates
        .filter(|finding| !is_looked_at || finding.severity < Severity::Broken)
        .collect()
}

fn of_entry(ours: &Ours, is_there: bool) -> Option<Finding> {
    let finding = match named_configuration(&ours.start) {
        Some(named) if named.is_absolute() => return None,
        Some(named) => {
            let found = format!(
                "{} names the configuration by '{}', which does not begin with '/'",
                ours.place(),
                named.display()
            );
            return Some(
                Finding::broken(
                    "configuration.entry",
                    found,
                    "where the agent works would decide which file that is, so every call is denied",
                )
                .mended_by(format!("write the whole path in {}", ours.file.display())),
            );
        }
        None => Finding::caution(
            "configuration.entry",
            format!("{} names no configuration (--config)", ours.place()),
            "a project's settings can set HOLDPOINT_CONFIG, HOME or XDG_CONFIG_HOME for the hook, and have it use another one",
        ),
    };
    let is_ours_to_write = matches!(ours.level, Level::User | Level::Project | Level::Local);
    Some(if is_there && is_ours_to_write {
        finding.repaired_by(Repair::Hooks(ours.file.clone()))
    } else {
        finding.mended_by("holdpoint init, which writes --config with the whole path")
    })
}
