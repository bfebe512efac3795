//! Where the configuration comes from and what wins.
//!
//! `/etc/holdpoint/config.toml` wins, table by table; then the user's file. Where there is neither, the original hook's
//! variables and file count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_common::read::{self, limit};
use holdpoint_common::way;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::{Config, ConfigError, keys, legacy};
use crate::{credentials, environment};

/// The machine's file.
pub(crate) const MACHINE_FILE: &str = "/etc/holdpoint/config.toml";

/// The files that may hold configuration.
#[derive(Debug, Clone)]
pub struct Places {
    /// The machine's file, which wins. Read if it is there.
    pub machine: PathBuf,
    /// The user's file, and whether it was named by somebody: then it has to be there.
    pub user: Option<(PathBuf, bool)>,
}

impl Places {
    /// The places for this process: `named` is what `--config` said.
    pub fn find(named: Option<PathBuf>) -> Self {
        let set = environment::var_os("HOLDPOINT_CONFIG").filter(|value| !value.is_empty());
        let named = named.or_else(|| set.map(PathBuf::from));
        let user = named.map(|path| (path, true)).or_else(|| {
            let directory = variable("XDG_CONFIG_HOME").map(PathBuf::from);
            let directory = directory.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
            Some((directory.join("holdpoint/config.toml"), false))
        });
        Self {
            machine: PathBuf::from(MACHINE_FILE),
            user,
        }
    }
}

/// Reads and merges the configuration.
///
/// # Errors
///
/// Where a file cannot be read, is open to others, or says something that cannot be used.
pub fn load(places: &Places) -> Result<Config, ConfigError> {
    load_watched(places, |_| ())
}

/// The same, for a process that has to answer in time: the deadline of the machine's file is handed out before anything
/// else is read, so that nothing that a user's file or a variable names can outlast it.
///
/// # Errors
///
/// As for [`load`].
pub fn load_watched(places: &Places, deadline: impl FnOnce(Duration)) -> Result<Config, ConfigError> {
    let machine = Layer::read(&places.machine, false)?;
    if let Some(limit) = machine.as_ref().and_then(Layer::deadline) {
        deadline(limit);
    }
    let user = match &places.user {
        // The hook starts wherever the agent works; a file of that name there must not decide anything.
        Some((path, named)) if !path.is_absolute() => {
            return Err(ConfigError::Relative {
                named_by: named_by(path, *named),
                path: path.clone(),
            });
        }
        Some((path, named)) => Layer::read(path, *named)?,
        None => None,
    };
    merge(machine, user)
}

/// The texts of the files that a configuration was made of. The variables count only where there is no file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Sources {
    machine: Option<String>,
    user: Option<String>,
}

impl Sources {
    /// The same configuration in another process, whatever the files hold by now.
    ///
    /// # Errors
    ///
    /// None for texts that a configuration was made of.
    pub(crate) fn config(self) -> Result<Config, ConfigError> {
        let layer = |text: Option<String>| text.map(|text| Layer::new(Path::new(""), text)).transpose();
        merge(layer(self.machine)?, layer(self.user)?)
    }
}

/// A file's text, and what it says.
struct Layer {
    text: String,
    table: Table,
}

impl Layer {
    fn new(path: &Path, text: String) -> Result<Self, ConfigError> {
        let table = read_text(path, &text)?;
        Ok(Self { text, table })
    }

    fn read(path: &Path, required: bool) -> Result<Option<Self>, ConfigError> {
        match read_private(path, limit::CONFIGURATION) {
            Ok(text) => Self::new(path, text).map(Some),
            Err(ConfigError::Unreadable { cause, .. })
                if cause.kind() == std::io::ErrorKind::NotFound && !required =>
            {
                match way::dangling(path) {
                    Some(link) => Err(ConfigError::Unreadable {
                        path: path.to_owned(),
                        cause: std::io::Error::other(format!("the link {} leads nowhere", link.display())),
                    }),
                    None => Ok(None),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// The deadline that it sets, where that is one that can be used.
    fn deadline(&self) -> Option<Duration> {
        let config = Config {
            deadline_seconds: match self.table.get("deadline_seconds")? {
                toml::Value::Float(seconds) => Some(*seconds),
                toml::Value::Integer(seconds) => Some(*seconds as f64),
                _ => None,
            },
            ..Config::default()
        };
        config.check().ok().map(|()| config.deadline())
    }
}

fn merge(machine: Option<Layer>, user: Option<Layer>) -> Result<Config, ConfigError> {
    let ours = machine.is_some() || user.is_some();
    let apart = |layer: Option<Layer>| layer.map(|layer| (layer.text, layer.table)).unzip();
    let ((machine_text, machine), (user_text, user)) = (apart(machine), apart(user));
    // Each file was checked by itself, so that an error names the file that it is in. A table of the machine's replaces
    // the user's whole: settings of one table loosen one another (a pin and `verify`, a verdict and a catalog).
    let mut merged = user.unwrap_or_default();
    merged.extend(machine.unwrap_or_default());
    let mut config = Config::deserialize(merged)
        .map_err(|error| ConfigError::value("configuration", error.to_string()))?;
    config.sources = Sources {
        machine: machine_text,
        user: user_text,
    };
    // Only for those who have not switched yet: a project's settings file can set variables for the hook.
    if !ours {
        legacy::fill(&mut config)?;
    }
    config.settle()?;
    Ok(config)
}

/// A table of the user's that one of the machine's replaces whole, and the keys in it that are set nowhere then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) table: String,
    pub(crate) lost: Vec<String>,
}

/// What of the user's file does not count, where both files can be read.
pub(crate) fn hidden(places: &Places) -> Vec<Hidden> {
    let layer = |path: &Path| {
        let read = Layer::read(path, false).ok().flatten();
        read.map(|layer| layer.table).unwrap_or_default()
    };
    let machine = layer(&places.machine);
    let user = places.user.as_ref().filter(|(path, _)| *path != places.machine);
    let user = user.map(|(path, _)| layer(path)).unwrap_or_default();
    hidden_in(&machine, &user)
}

fn hidden_in(machine: &Table, user: &Table) -> Vec<Hidden> {
    let both = user
        .iter()
        .filter_map(|(name, ours)| Some((name, ours, machine.get(name)?)));
    let differing = both.filter(|(_, ours, theirs)| ours != theirs);
    differing
        .map(|(name, ours, theirs)| Hidden {
            table: name.clone(),
            lost: match (ours.as_table(), theirs.as_table()) {
                (Some(ours), Some(theirs)) => ours
                    .keys()
                    .filter(|key| !theirs.contains_key(*key))
                    .cloned()
                    .collect(),
                _ => Vec::new(),
            },
        })
        .collect()
}

/// What says where the user's file is.
fn named_by(path: &Path, named: bool) -> &'static str {
    let says_so = |name| variable(name).is_some_and(|value| Path::new(&value) == path);
    match named {
        true if says_so("HOLDPOINT_CONFIG") => "HOLDPOINT_CONFIG",
        true => "--config",
        false if variable("XDG_CONFIG_HOME").is_some() => "XDG_CONFIG_HOME",
        false => "HOME",
    }
}

fn read_text(path: &Path, text: &str) -> Result<Table, ConfigError> {
    let invalid = |cause: String| ConfigError::Invalid {
        path: path.to_owned(),
        cause,
    };
    let table: Table = text.parse().map_err(|error| invalid(located(text, &error)))?;
    if let Some(problem) = keys::unknown(&table) {
        return Err(invalid(problem));
    }
    toml::from_str::<Config>(text).map_err(|error| invalid(located(text, &error)))?;
    Ok(table)
}

/// The configuration that a file's text would make by itself.
///
/// # Errors
///
/// As for a file that says this.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let table = read_text(path, text)?;
    let mut config =
        Config::deserialize(table).map_err(|error| ConfigError::value("configuration", error.to_string()))?;
    config.settle()?;
    Ok(config)
}

/// What is wrong and in which line, without the line itself: it goes to a model and into a log, and may hold a secret that
/// was written into the wrong file.
fn located(text: &str, error: &toml::de::Error) -> String {
    let message = without_value(error.message());
    let Some(span) = error.span() else {
        return message;
    };
    let before = text.as_bytes().iter().take(span.start);
    let line = 1 + before.filter(|&&byte| byte == b'\n').count();
    format!("line {line}: {message}")
}

/// A message about a value, without the value: `invalid type: string "…", expected a boolean`.
fn without_value(message: &str) -> String {
    for kind in ["invalid type", "invalid value", "invalid length"] {
        if let Some(rest) = message.strip_prefix(kind) {
            let expected = rest
                .rsplit_once(", expected ")
                .map_or("", |(_, expected)| expected);
            return format!("{kind}; expected {expected}");
        }
    }
    credentials::hidden(message)
}

/// Reads a TOML file as the same structure in JSON.
pub(crate) fn read_toml(path: &Path) -> Result<serde_json::Value, ConfigError> {
    let text = read_private(path, limit::CATALOG)?;
    let table: Table = text.parse().map_err(|error| ConfigError::Invalid {
        path: path.to_owned(),
        cause: located(&text, &error),
    })?;
    serde_json::to_value(table).map_err(|error| ConfigError::Invalid {
        path: path.to_owned(),
        cause: error.to_string(),
    })
}

/// Reads a file that decides what the guard does: nobody but its owner may be able to write it, or to put another one in
/// its place.
pub(crate) fn read_private(path: &Path, most: u64) -> Result<String, ConfigError> {
    let unreadable = |cause| ConfigError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let (file, metadata) = read::open(path).map_err(unreadable)?;
    // What decides for every user must be nobody's who could be the one that is guarded.
    let is_machines = path == Path::new(MACHINE_FILE);
    let owned = path.to_owned();
    if is_machines && crate::private::is_anothers(&metadata, true) {
        return Err(ConfigError::NotRoots { path: owned });
    }
    if crate::private::is_anothers(&metadata, false) {
        return Err(ConfigError::Foreign { path: owned });
    }
    if crate::private::writable_by_others(&metadata) {
        return Err(ConfigError::Exposed { path: owned });
    }
    let way = if is_machines { way::check_roots } else { way::check };
    way(path).map_err(|problem| ConfigError::Replaceable {
        path: path.to_owned(),
        problem,
    })?;
    let bytes = read::read_opened(&file, &metadata, most);
    bytes.and_then(read::text).map_err(unreadable)
}

/// An environment variable that is set to something.
pub(super) fn variable(name: &str) -> Option<String> {
    environment::var(name).filter(|value| !value.is_empty())
}

/// The variables that say where this user's files lie where nothing is configured, as they are set.
pub(crate) fn state_variables() -> impl Iterator<Item = (&'static str, String)> {
    let names = ["HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];
    names.into_iter().filter_map(|name| Some((name, variable(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_replaced_whole_loses_the_keys_that_only_it_has() {
        let table = |text: &str| text.parse::<Table>().unwrap();
        let machine = table("deadline_seconds = 9\n[zerto]\nurl = 'https://a'\n[log]\nkeep = 3\n");
        let user = table(
            "deadline_seconds = 10\n[zerto]\nurl = 'https://b'\npin = 'x'\n[log]\nkeep = 3\n[ask]\ndeny_in_modes = []\n",
        );
        let hidden = |table: &str, lost: &[&str]| Hidden {
            table: table.into(),
            lost: lost.iter().map(|key| (*key).to_owned()).collect(),
        };
        assert_eq!(
            hidden_in(&machine, &user),
            [hidden("deadline_seconds", &[]), hidden("zerto", &["pin"])]
        );
    }
}
