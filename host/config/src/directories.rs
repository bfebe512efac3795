//! The folders that are this user's by custom, and which of them the configuration has to write out.
//!
//! The environment of a hook is not the user's alone: clients hand on what a project's settings file sets. So whatever a
//! variable could move (the log, receipts, policies) has a key of its own, and with all of them set nothing is looked up
//! in the environment.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use holdpoint_common::{access, environment};

use crate::error::ConfigError;

/// Why a folder of this user's is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFolder {
    /// Neither of two variables is set: the first one's name.
    Unset(&'static str),
    /// A variable names a folder relative to wherever the process starts.
    Relative(&'static str, PathBuf),
}

impl fmt::Display for NoFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(variable) => write!(f, "neither {variable} nor HOME is set"),
            Self::Relative(variable, value) => write!(
                f,
                "{variable} is '{}', which does not begin with '/'",
                value.display()
            ),
        }
    }
}

impl NoFolder {
    /// The error of the key in whose place the folder would have counted.
    pub fn of_key(&self, key: &str) -> ConfigError {
        ConfigError::value(key, format!("has to be set, since {self}"))
    }
}

/// Where this user's state is kept.
pub(crate) fn state() -> Result<PathBuf, NoFolder> {
    folder("XDG_STATE_HOME", ".local/state", environment::var_os)
}

/// The same by the environment of this process alone, whatever settings hand on to the hook: where copies of a user's files
/// go, which no project decides.
pub fn own_state() -> Result<PathBuf, NoFolder> {
    folder("XDG_STATE_HOME", ".local/state", |name| env::var_os(name))
}

/// Where this user's data is kept.
pub(crate) fn data() -> Result<PathBuf, NoFolder> {
    folder("XDG_DATA_HOME", ".local/share", environment::var_os)
}

/// Where this user's files lie that can be made again.
pub fn cache() -> Result<PathBuf, NoFolder> {
    folder("XDG_CACHE_HOME", ".cache", environment::var_os)
}

fn folder(
    variable: &'static str,
    below_home: &str,
    look_up: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, NoFolder> {
    let set = |name: &str| look_up(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| set("USERPROFILE").filter(|_| cfg!(windows)));
    let (name, value) = match (set(variable), home()) {
        (Some(value), _) => (variable, value),
        (None, Some(home)) => ("HOME", home),
        (None, None) => return Err(NoFolder::Unset(variable)),
    };
    if !value.is_absolute() {
        return Err(NoFolder::Relative(name, value));
    }
    let folder = if name == "HOME" {
        value.join(below_home)
    } else {
        value
    };
    Ok(folder.join("holdpoint"))
}

/// A path of the configuration's, with `~/` read as the home folder that the user database names, whatever `HOME` says.
///
/// # Errors
///
/// Where the path is relative, or this user has no home folder: what is wrong with it, after the key.
pub fn resolved(path: &Path) -> Result<PathBuf, String> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    match path.strip_prefix("~") {
        Ok(below) => match access::home_by_database() {
            Ok(home) => Ok(home.join(below)),
            Err(cause) => Err(format!(
                "is '{}', and this user's home folder is not known ({cause}); write the path from '/' on",
                path.display()
            )),
        },
        Err(_) => Err(format!(
            "is '{}', and has to begin with '/' or '~/'",
            path.display()
        )),
    }
}

/// A place that the environment can move, since the configuration does not name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unnamed {
    /// The table that the key is of.
    pub table: &'static str,
    /// The key.
    pub key: &'static str,
    /// Its name in Holdpoint's folder.
    pub name: &'static str,
    /// Where it is by the environment of this process.
    pub now: Result<PathBuf, NoFolder>,
}

impl Unnamed {
    /// The whole key.
    pub fn whole_key(&self) -> String {
        format!("{}.{}", self.table, self.key)
    }
}

/// Every such place, whether it counts or not, as it is where nothing is configured.
pub fn places() -> [Unnamed; 6] {
    let place = |table, key, folder: Result<PathBuf, NoFolder>, name| Unnamed {
        table,
        key,
        name,
        now: folder.map(|folder| folder.join(name)),
    };
    [
        place("zerto", "directory", state(), "zerto"),
        place("policy", "store", data(), "policies"),
        place("log", "path", state(), "decisions.log"),
        place("session", "directory", state(), "sessions"),
        place("record", "directory", state(), "records"),
        place("receipts", "directory", state(), "receipts"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_folder_is_the_databases_and_a_relative_path_is_refused() {
        let home = access::home_by_database().unwrap();
        assert_eq!(resolved(Path::new("~/log")), Ok(home.join("log")));
        assert_eq!(resolved(Path::new("/log")), Ok(PathBuf::from("/log")));
        for relative in ["log", "./log", "~other/log", "..", ""] {
            let cause = resolved(Path::new(relative)).unwrap_err();
            assert!(cause.contains("has to begin with '/'"), "{cause}");
        }
    }
}
