//! What the original hook was configured by, so that its users can switch without editing.
//!
//! Counts only where there is no configuration of ours at all: a project's settings file can set environment variables.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::layers::{read_private, variable};
use super::zerto::LegacyPassword;
use super::{Choice, Config, ConfigError};

/// The original's configuration file. It may hold more than we read.
#[derive(Deserialize)]
pub(crate) struct Original {
    pub(crate) zerto_url: Option<String>,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) client_id: Option<String>,
    pub(crate) verify_tls: Option<bool>,
}

impl Original {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, may be written by others, or is something else.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        serde_json::from_str(&read_private(path)?).map_err(|error| ConfigError::Invalid {
            path: path.to_owned(),
            // Not in the parser's words, which quote what they stumbled over: the password stands in this file.
            cause: format!(
                "is not as the original hook has it, in line {}, column {}",
                error.line(),
                error.column()
            ),
        })
    }
}

pub(super) fn fill(config: &mut Config) -> Result<(), ConfigError> {
    if let Some(path) = variable("ZERTO_REWIND_CONFIG") {
        fill_from_file(config, Path::new(&path))?;
    }
    if let Some(text) = variable("ZERTO_HOOK_GUARD_TIMEOUT") {
        let seconds = text.trim().parse().map_err(|_| {
            ConfigError::value(
                "ZERTO_HOOK_GUARD_TIMEOUT",
                format!("is '{text}', and has to be a number of seconds"),
            )
        })?;
        config.deadline_seconds = Some(seconds);
    }
    if let Some(word) = variable("ZERTO_HOOK_UNKNOWN") {
        config.policy.unknown_tool = Some(match word.as_str() {
            "prompt" | "ask" => Choice::Ask,
            "deny" => Choice::Deny,
            "allow" | "pass" => Choice::Pass,
            other => {
                let cause = format!("is '{other}', and has to be prompt, deny or allow");
                return Err(ConfigError::value("ZERTO_HOOK_UNKNOWN", cause));
            }
        });
    }
    if let Some(path) = variable("ZERTO_HOOK_LOG") {
        config.log.path = Some(PathBuf::from(path));
    }
    Ok(())
}

fn fill_from_file(config: &mut Config, path: &Path) -> Result<(), ConfigError> {
    let original = Original::read(path)?;
    let zerto = &mut config.zerto;
    zerto.url = original.zerto_url;
    zerto.username = original.username;
    zerto.client_id = original.client_id;
    zerto.verify = original.verify_tls;
    zerto.legacy_password = original.password.map(LegacyPassword);
    Ok(())
}
