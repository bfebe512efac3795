//! Where the configuration comes from and what wins.
//!
//! `/etc/holdpoint/config.toml` wins, table by table; then the user's file. Where there is neither, the original hook's
//! variables and file count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_common::read::limit;
use holdpoint_common::{environment, way};
use serde::Deserialize as _;
use toml::Table;

use crate::config::Config;
use crate::error::ConfigError;
use crate::files::{MACHINE_FILE, located, read_private, variable};
use crate::sources::Sources;
use crate::{keys, legacy};

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

impl Sources {
    /// The same configuration in another process, whatever the files hold by now.
    ///
    /// # Errors
    ///
    /// None for texts that a configuration was made of.
    pub fn config(self) -> Result<Config, ConfigError> {
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
pub struct Hidden {
    /// The table.
    pub table: String,
    /// The keys.
    pub lost: Vec<String>,
}

/// What of the user's file does not count, where both files can be read.
pub fn hidden(places: &Places) -> Vec<Hidden> {
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
pub fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let table = read_text(path, text)?;
    let mut config =
        Config::deserialize(table).map_err(|error| ConfigError::value("configuration", error.to_string()))?;
    config.settle()?;
    Ok(config)
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
