//! Where the configuration comes from and what wins.
//!
//! `/etc/holdpoint/config.toml` wins, table by table; then the user's file. Where there is neither, the original hook's
//! variables and file count.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::Table;

use super::{Config, ConfigError, keys, legacy};
use crate::environment;

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
            let directory = variable("XDG_CONFIG_HOME")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute());
            let directory = directory.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
            Some((directory.join("holdpoint/config.toml"), false))
        });
        Self {
            machine: PathBuf::from("/etc/holdpoint/config.toml"),
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
    let machine = read_layer(&places.machine, false)?;
    let user = match &places.user {
        Some((path, named)) => read_layer(path, *named)?,
        None => None,
    };
    let ours = machine.is_some() || user.is_some();
    // Each file was checked by itself, so that an error names the file that it is in. A table of the machine's replaces
    // the user's whole: settings of one table loosen one another (a pin and `verify`, a verdict and a catalog).
    let mut merged = user.unwrap_or_default();
    merged.extend(machine.unwrap_or_default());
    let mut config = Config::deserialize(merged)
        .map_err(|error| ConfigError::value("configuration", error.to_string()))?;
    // Only for those who have not switched yet: a project's settings file can set variables for the hook.
    if !ours {
        legacy::fill(&mut config)?;
    }
    config.check()?;
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
    let layer = |path: &Path| read_layer(path, false).ok().flatten().unwrap_or_default();
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

fn read_layer(path: &Path, required: bool) -> Result<Option<Table>, ConfigError> {
    let text = match read_private(path) {
        Ok(text) => text,
        Err(ConfigError::Unreadable { cause, .. })
            if cause.kind() == std::io::ErrorKind::NotFound && !required =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    read_text(path, &text).map(Some)
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
    let config =
        Config::deserialize(table).map_err(|error| ConfigError::value("configuration", error.to_string()))?;
    config.check()?;
    Ok(config)
}

/// What is wrong and in which line, without the line itself: it goes to a model and into a log, and may hold a secret that
/// was written into the wrong file.
fn located(text: &str, error: &toml::de::Error) -> String {
    let Some(span) = error.span() else {
        return error.message().to_owned();
    };
    let before = text.as_bytes().iter().take(span.start);
    let line = 1 + before.filter(|&&byte| byte == b'\n').count();
    format!("line {line}: {}", error.message())
}

/// Reads a TOML file as the same structure in JSON.
pub(super) fn read_toml(path: &Path) -> Result<serde_json::Value, ConfigError> {
    let text = read_private(path)?;
    let table: Table = text.parse().map_err(|error| ConfigError::Invalid {
        path: path.to_owned(),
        cause: located(&text, &error),
    })?;
    serde_json::to_value(table).map_err(|error| ConfigError::Invalid {
        path: path.to_owned(),
        cause: error.to_string(),
    })
}

/// Reads a file that decides what the guard does: nobody but its owner may be able to write it.
pub(super) fn read_private(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |cause| ConfigError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if crate::private::writable_by_others(&metadata) {
        let path = path.to_owned();
        // The mode of a device or a folder is not what has to be mended.
        return Err(if metadata.is_file() {
            ConfigError::Exposed { path }
        } else {
            ConfigError::NoFile { path }
        });
    }
    std::io::read_to_string(file).map_err(unreadable)
}

/// An environment variable that is set to something.
pub(super) fn variable(name: &str) -> Option<String> {
    environment::var(name).filter(|value| !value.is_empty())
}

/// Where this user's state is kept.
pub(super) fn state_directory() -> Option<PathBuf> {
    directory("XDG_STATE_HOME", ".local/state")
}

/// Where this user's data is kept.
pub(super) fn data_directory() -> Option<PathBuf> {
    directory("XDG_DATA_HOME", ".local/share")
}

/// Where this user's files lie that can be made again.
pub(crate) fn cache_directory() -> Option<PathBuf> {
    directory("XDG_CACHE_HOME", ".cache")
}

fn directory(named_by: &str, below_home: &str) -> Option<PathBuf> {
    let directory = variable(named_by)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let directory = directory.or_else(|| Some(PathBuf::from(variable("HOME")?).join(below_home)))?;
    Some(directory.join("holdpoint"))
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
