//! Why there is no usable configuration, and what to do about it.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use holdpoint_common::{credentials, way};
use thiserror::Error;

/// Why there is no usable configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{path} cannot be read ({cause})")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        cause: std::io::Error,
    },
    /// Somebody else could put another file in the place of this one.
    #[error("{path} {problem}")]
    Replaceable {
        /// The file.
        path: PathBuf,
        /// The folder on the way to it, and what to do.
        problem: way::Problem,
    },
    /// Somebody else could have written a file.
    #[error(
        "{path} may be written by others, who could switch the guard off; mend it with: chmod go-w {path}"
    )]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// A file belongs to somebody else.
    #[error(
        "{path} belongs to another user, who could switch the guard off; fix it as root with: chown \"$(id -un)\" {path}"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The machine's file belongs to a user, whose agent could write it.
    #[error(
        "{path} belongs to another user than root, who could switch the guard off; fix it as root with: chown root {path}"
    )]
    NotRoots {
        /// The file.
        path: PathBuf,
    },
    /// A file is named relative to wherever the process starts.
    #[error(
        "{named_by} names the configuration by '{path}', which does not begin with '/': where the agent works would decide \
         which file that is; write the whole path"
    )]
    Relative {
        /// What names it.
        named_by: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// A file is not what it should be.
    #[error("{path}: {cause}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its line where that is known.
        cause: String,
    },
    /// A value cannot be used.
    #[error("{key} {cause}")]
    Value {
        /// The key, or the environment variable.
        key: String,
        /// What is wrong with it.
        cause: String,
    },
}

impl ConfigError {
    /// An error about a value, which may be quoted in it: a password in an address is not.
    pub fn value(key: &str, cause: impl Into<String>) -> Self {
        Self::Value {
            key: key.to_owned(),
            cause: credentials::hidden(&cause.into()),
        }
    }
}

/// Refuses a number that is outside of what a key takes.
pub(crate) fn in_range(key: &str, value: Option<f64>, range: RangeInclusive<f64>) -> Result<(), ConfigError> {
    match value {
        Some(value) if !range.contains(&value) => Err(ConfigError::value(
            key,
            format!(
                "is {value}, and has to be from {} to {}",
                range.start(),
                range.end()
            ),
        )),
        _ => Ok(()),
    }
}
