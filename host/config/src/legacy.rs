//! What the original hook was configured by, so that its users can switch without editing.
//!
//! Counts only where there is no configuration of ours at all: a project's settings file can set environment variables.

use std::path::Path;

use holdpoint_common::read::limit;
use serde_json::{Map, Value};

use crate::config::Config;
use crate::directories;
use crate::error::{ConfigError, in_range};
use crate::files::{read_private, variable};
use crate::policy::Choice;
use crate::zerto::LegacyPassword;

/// The original's configuration file.
pub struct Original {
    /// The ZVM's address.
    pub zerto_url: Option<String>,
    /// The user.
    pub username: Option<String>,
    /// The password, or the client's secret.
    pub password: Option<String>,
    /// The Keycloak client.
    pub client_id: Option<String>,
    /// Whether the certificate is verified.
    pub verify_tls: Option<bool>,
    /// Whatever else it holds.
    pub rest: Map<String, Value>,
}

impl Original {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, may be written by others, or is something else. No value is repeated: the password stands
    /// in this file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let invalid = |cause: String| ConfigError::Invalid {
            path: path.to_owned(),
            cause,
        };
        let text = read_private(path, limit::CONFIGURATION)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut rest: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            invalid(format!(
                "is not as the original hook has it, in line {}, column {}",
                error.line(),
                error.column()
            ))
        })?;
        let mut text = |member: &str| match rest.remove(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(format!("{member} has to be a text"))),
        };
        Ok(Self {
            zerto_url: text("zerto_url")?,
            username: text("username")?,
            password: text("password")?,
            client_id: text("client_id")?,
            verify_tls: match rest.remove("verify_tls") {
                None | Some(Value::Null) => None,
                Some(Value::Bool(verify)) => Some(verify),
                Some(_) => return Err(invalid("verify_tls has to be true or false".into())),
            },
            rest,
        })
    }
}

pub(crate) fn fill(config: &mut Config) -> Result<(), ConfigError> {
    if let Some(path) = variable("ZERTO_REWIND_CONFIG") {
        let path = directories::resolved(Path::new(&path))
            .map_err(|cause| ConfigError::value("ZERTO_REWIND_CONFIG", cause))?;
        fill_from_file(config, &path)?;
    }
    if let Some(text) = variable("ZERTO_HOOK_GUARD_TIMEOUT") {
        let seconds = text.trim().parse().map_err(|_| {
            ConfigError::value(
                "ZERTO_HOOK_GUARD_TIMEOUT",
                format!("is '{text}', and has to be a number of seconds"),
            )
        })?;
        in_range("ZERTO_HOOK_GUARD_TIMEOUT", Some(seconds), 1.0..=3600.0)?;
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
        let path = directories::resolved(Path::new(&path))
            .map_err(|cause| ConfigError::value("ZERTO_HOOK_LOG", cause))?;
        config.log.path = Some(path);
    }
    Ok(())
}

fn fill_from_file(config: &mut Config, path: &Path) -> Result<(), ConfigError> {
    let original = Original::read(path)?;
    if original
        .zerto_url
        .as_deref()
        .is_some_and(|url| !url.starts_with("https://"))
    {
        // Not the address itself: some write a password into it.
        return Err(ConfigError::value(
            &format!("zerto_url in {}", path.display()),
            "has to begin with https://",
        ));
    }
    let zerto = &mut config.zerto;
    zerto.original = Some(path.to_owned());
    zerto.url = original.zerto_url;
    zerto.username = original.username;
    zerto.client_id = original.client_id;
    zerto.verify = original.verify_tls;
    zerto.legacy_password = original.password.map(LegacyPassword);
    Ok(())
}
