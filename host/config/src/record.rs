//! What is kept of decisions for policies to come, and which of these looks on.

use std::fmt;
use std::path::PathBuf;

use holdpoint_artifact::Digest;
use serde::Deserialize;

use crate::directories;
use crate::error::{ConfigError, in_range};

/// Names of arguments that are redacted unless configured.
const SECRETS: [&str; 9] = [
    "*password*",
    "*passwd*",
    "*passphrase*",
    "*secret*",
    "*token*",
    "*api*key*",
    "*private*key*",
    "*credential*",
    "*authorization*",
];
/// The least room for records, in bytes.
const LEAST_BYTES: u64 = 1024 * 1024;

/// Records of decisions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// Whether decisions are recorded.
    pub enabled: bool,
    pub(crate) directory: Option<PathBuf>,
    largest_bytes: Option<u64>,
    keep_days: Option<u32>,
    redact: Option<Vec<String>>,
    redact_words: Vec<String>,
}

impl Record {
    /// Where records lie.
    ///
    /// # Errors
    ///
    /// Where nothing is configured and there is no home directory.
    pub fn directory(&self) -> Result<PathBuf, ConfigError> {
        match &self.directory {
            Some(directory) => Ok(directory.clone()),
            None => directories::state()
                .map(|directory| directory.join("records"))
                .map_err(|cause| cause.of_key("record.directory")),
        }
    }

    /// How much all records together may take, in bytes.
    pub fn largest_bytes(&self) -> u64 {
        self.largest_bytes.unwrap_or(100 * 1024 * 1024)
    }

    /// For how many days a record is kept.
    pub fn keep_days(&self) -> u32 {
        self.keep_days.unwrap_or(14)
    }

    /// Names of arguments whose values are redacted.
    pub fn redacted_names(&self) -> Vec<String> {
        let secrets = || SECRETS.map(str::to_owned).to_vec();
        self.redact.clone().unwrap_or_else(secrets)
    }

    /// Words that are redacted wherever they stand.
    pub fn redacted_words(&self) -> &[String] {
        &self.redact_words
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let Some(bytes) = self.largest_bytes.filter(|bytes| *bytes < LEAST_BYTES) {
            let cause = format!("is {bytes}, and has to be at least {LEAST_BYTES}");
            return Err(ConfigError::value("record.largest_bytes", cause));
        }
        let days = self.keep_days.map(f64::from);
        in_range("record.keep_days", days, 1.0..=3650.0)
    }
}

/// The policy that looks on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shadow {
    /// A policy's file.
    File(PathBuf),
    /// A policy that is kept in the store.
    Kept(Digest),
}

/// As the configuration names it.
impl fmt::Display for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Kept(digest) => digest.fmt(f),
        }
    }
}
