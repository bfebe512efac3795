//! Files and variables that decide what the guard does, read with care for who could have written them.

use std::path::Path;

use holdpoint_common::read::{self, limit};
use holdpoint_common::{access, credentials, environment, way};
use toml::Table;

use crate::error::ConfigError;

/// The machine's file.
pub const MACHINE_FILE: &str = "/etc/holdpoint/config.toml";

/// What is wrong and in which line, without the line itself: it goes to a model and into a log, and may hold a secret that
/// was written into the wrong file.
pub(crate) fn located(text: &str, error: &toml::de::Error) -> String {
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
pub fn read_toml(path: &Path) -> Result<serde_json::Value, ConfigError> {
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
pub fn read_private(path: &Path, most: u64) -> Result<String, ConfigError> {
    let unreadable = |cause| ConfigError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let (file, metadata) = read::open(path).map_err(unreadable)?;
    // What decides for every user must be nobody's who could be the one that is guarded.
    let is_machines = path == Path::new(MACHINE_FILE);
    let owned = path.to_owned();
    if is_machines && access::is_anothers(&metadata, true) {
        return Err(ConfigError::NotRoots { path: owned });
    }
    if access::is_anothers(&metadata, false) {
        return Err(ConfigError::Foreign { path: owned });
    }
    if access::writable_by_others(&metadata) {
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
pub(crate) fn variable(name: &str) -> Option<String> {
    environment::var(name).filter(|value| !value.is_empty())
}

/// The variables that say where this user's files lie where nothing is configured, as they are set.
pub fn state_variables() -> impl Iterator<Item = (&'static str, String)> {
    let names = ["HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];
    names.into_iter().filter_map(|name| Some((name, variable(name)?)))
}
