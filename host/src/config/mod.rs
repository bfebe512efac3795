//! The configuration: what it may say, where it comes from, and what wins.

mod directories;
mod keys;
mod layers;
mod legacy;
mod receipts;
mod record;
mod trust;
mod zerto;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use holdpoint_artifact::Digest;
use holdpoint_common::way;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::credentials;

pub(crate) use directories::resolved;
pub use directories::{NoFolder, Unnamed};
pub(crate) use directories::{
    cache as cache_directory, own_state as own_state_directory, places as custom_places,
};
pub use keys::reference;
pub(crate) use layers::{
    Hidden, MACHINE_FILE, Sources, hidden, parse, read_private, read_toml, state_variables,
};
pub use layers::{Places, load, load_watched};
pub(crate) use legacy::Original;
pub use receipts::{Mode, Receipts, Signer};
pub use record::{Record, Shadow};
pub use trust::{Key, Require, SignatureRule};
pub(crate) use zerto::fingerprint;
pub use zerto::{LoginKind, Zerto};

/// Everything that can be configured. Every key is described in `docs/configuration.md`, which is made from `keys`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    deadline_seconds: Option<f64>,
    /// The ZVM. Without one, a call that needs a checkpoint is denied.
    pub zerto: Zerto,
    /// The policy and what it is told.
    pub policy: Policy,
    /// What becomes of an ask.
    pub ask: Ask,
    /// The decision log.
    pub log: Log,
    /// The session tally.
    pub session: Session,
    /// Records of decisions.
    pub record: Record,
    /// The receipts.
    pub receipts: Receipts,
    /// The files' texts that it was made of.
    #[serde(skip)]
    pub(crate) sources: Sources,
}

/// The policy, what it may use, and what it is told.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// A policy in place of the shipped one: a component, compiled beforehand by `holdpoint-compile`.
    pub path: Option<PathBuf>,
    signature: SignatureRule,
    keys: BTreeMap<String, Key>,
    revoked: Vec<Digest>,
    require: Require,
    store: Option<PathBuf>,
    grants: Option<Vec<String>>,
    catalogs: Vec<PathBuf>,
    unknown_tool: Option<Choice>,
    control_plane: Option<Choice>,
    domains: Vec<String>,
    vcenter: Option<String>,
    machines: BTreeMap<String, String>,
    servers: BTreeMap<String, Server>,
    allow_widening: Option<bool>,
    session_ask_level: Option<u8>,
    shadow: Option<String>,
    shadow_share: Option<f64>,
}

/// The settings that a policy gets, under the names that they have in the configuration. What is not listed here stays with
/// the host.
#[derive(Debug, Serialize)]
pub struct Settings<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_tool: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control_plane: Option<Choice>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    domains: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    vcenter: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    machines: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    servers: &'a BTreeMap<String, Server>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_widening: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_ask_level: Option<u8>,
}

/// One MCP server of the operator's.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    machines: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    templates: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    scopes: BTreeMap<String, String>,
}

/// A verdict that can be chosen by configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// A human decides.
    Ask,
    /// The call does not run.
    Deny,
    /// The call runs.
    Pass,
}

/// What becomes of an ask.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ask {
    /// Permission modes of the harness in which an ask becomes a deny, since no human would answer it.
    pub deny_in_modes: Vec<String>,
}

/// The decision log.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    path: Option<PathBuf>,
    largest_bytes: Option<u64>,
    /// How many full files are kept beside the current one.
    pub keep: Option<u32>,
}

/// The session tally.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Session {
    enabled: Option<bool>,
    directory: Option<PathBuf>,
    tools: Option<Vec<String>>,
    tell: Option<bool>,
}

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
    pub(crate) fn value(key: &str, cause: impl Into<String>) -> Self {
        Self::Value {
            key: key.to_owned(),
            cause: credentials::hidden(&cause.into()),
        }
    }
}

impl Config {
    /// How long a decision may take, from the start of the process.
    pub fn deadline(&self) -> Duration {
        Duration::from_secs_f64(self.deadline_seconds.unwrap_or(DEFAULT_DEADLINE_SECONDS))
    }

    /// Resolves every path, and refuses what cannot be used.
    fn settle(&mut self) -> Result<(), ConfigError> {
        // The hook starts in whatever directory the agent works in; what lies there must not decide anything.
        for (key, path) in self.paths() {
            *path = directories::resolved(path).map_err(|cause| match key {
                // Some write the secret itself there.
                "zerto.secret_file" => ConfigError::value(key, "has to begin with '/' or '~/'"),
                key => ConfigError::value(key, cause),
            })?;
        }
        self.check()?;
        self.check_unnamed()
    }

    /// Every path that is configured, with its key.
    fn paths(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let paths = [
            ("zerto.secret_file", &mut self.zerto.secret_file),
            ("zerto.ca_file", &mut self.zerto.ca_file),
            ("zerto.directory", &mut self.zerto.directory),
            ("policy.path", &mut self.policy.path),
            ("policy.store", &mut self.policy.store),
            ("log.path", &mut self.log.path),
            ("session.directory", &mut self.session.directory),
            ("record.directory", &mut self.record.directory),
            ("receipts.directory", &mut self.receipts.directory),
            ("receipts.key", &mut self.receipts.key),
        ];
        let catalogs = self.policy.catalogs.iter_mut();
        let paths = paths
            .into_iter()
            .filter_map(|(key, path)| Some((key, path.as_mut()?)));
        paths.chain(catalogs.map(|path| ("policy.catalogs", path)))
    }

    fn check(&self) -> Result<(), ConfigError> {
        in_range("deadline_seconds", self.deadline_seconds, 1.0..=3600.0)?;
        in_range(
            "zerto.longest_wait_seconds",
            self.zerto.longest_wait_seconds,
            1.0..=300.0,
        )?;
        self.zerto.check()?;
        self.record.check()?;
        self.policy.check_shadow()?;
        if self
            .receipts
            .asqav_url
            .as_deref()
            .is_some_and(credentials::are_in)
        {
            return Err(ConfigError::value("receipts.asqav_url", credentials::REFUSED));
        }
        self.check_session()?;
        self.ask.check()?;
        for grant in self.policy.grants.iter().flatten() {
            if !CAPABILITIES.contains(&grant.as_str()) {
                let known = CAPABILITIES.join(", ");
                return Err(ConfigError::value(
                    "policy.grants",
                    format!("has no capability '{grant}'; there are: {known}"),
                ));
            }
        }
        Ok(())
    }

    fn check_session(&self) -> Result<(), ConfigError> {
        let level = self.policy.session_ask_level;
        in_range("policy.session_ask_level", level.map(f64::from), 1.0..=4.0)?;
        if level.is_some() && !self.session.enabled() {
            let cause = "needs the session tally, and session.enabled is false";
            return Err(ConfigError::value("policy.session_ask_level", cause));
        }
        let is_unusable = |name: &&String| {
            let beginning = name.strip_suffix('*').unwrap_or(name);
            name.is_empty() || beginning.contains('*')
        };
        match self.session.tools.iter().flatten().find(is_unusable) {
            Some(name) => Err(ConfigError::value(
                "session.tools",
                format!("has '{name}', and takes names of tools and beginnings of names that end in '*'"),
            )),
            None => Ok(()),
        }
    }
}

/// The capabilities that there are to be lent, by the names of the interfaces in `wit/`.
pub const CAPABILITIES: [&str; 4] = ["deadline", "log", "session", "zerto"];

/// The longest time for one decision unless configured, in seconds: below a hook timeout of 360.
pub const DEFAULT_DEADLINE_SECONDS: f64 = 330.0;

fn in_range(key: &str, value: Option<f64>, range: std::ops::RangeInclusive<f64>) -> Result<(), ConfigError> {
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

/// The harness's permission modes, as it spells them, and `*` for every one.
const PERMISSION_MODES: [&str; 7] = [
    "default",
    "acceptEdits",
    "auto",
    "dontAsk",
    "bypassPermissions",
    "plan",
    "*",
];

impl Ask {
    /// A name that is no mode's would never apply, and asks would go on to nobody.
    fn check(&self) -> Result<(), ConfigError> {
        let mut listed = self.deny_in_modes.iter();
        match listed.find(|mode| !PERMISSION_MODES.contains(&mode.as_str())) {
            Some(mode) => Err(ConfigError::value(
                "ask.deny_in_modes",
                format!("has no mode '{mode}'; there are: {}", PERMISSION_MODES.join(", ")),
            )),
            None => Ok(()),
        }
    }
}

impl Policy {
    /// What of it a policy is told.
    pub fn settings(&self) -> Settings<'_> {
        Settings {
            unknown_tool: self.unknown_tool,
            control_plane: self.control_plane,
            domains: &self.domains,
            vcenter: self.vcenter.as_deref(),
            machines: &self.machines,
            servers: &self.servers,
            allow_widening: self.allow_widening,
            session_ask_level: self.session_ask_level,
        }
    }

    /// The capabilities that the policy is lent.
    pub fn grants(&self) -> Vec<String> {
        self.grants
            .clone()
            .unwrap_or_else(|| CAPABILITIES.map(str::to_owned).to_vec())
    }

    /// The operator's own catalogs.
    pub fn catalog_files(&self) -> &[PathBuf] {
        &self.catalogs
    }

    /// Whether the level of a session's failures decides on calls.
    pub(crate) fn asks_by_session(&self) -> bool {
        self.session_ask_level.is_some()
    }

    /// The VM names that the configuration gives in the place of others, each with the key that does.
    pub(crate) fn vm_names(&self) -> Vec<(String, String)> {
        let aliases = self
            .machines
            .iter()
            .map(|(alias, vm)| (format!("policy.machines.{alias}"), vm.clone()));
        let servers = self.servers.iter().filter_map(|(name, server)| {
            Some((format!("policy.servers.{name}.machine"), server.machine.clone()?))
        });
        aliases.chain(servers).collect()
    }
}

impl Session {
    /// Whether failed calls are counted.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Whether the model is told of a new level, and of the count where a session goes on.
    pub fn tell(&self) -> bool {
        self.tell.unwrap_or(true)
    }

    /// The tools whose failures count, where they are configured.
    pub fn tools(&self) -> Option<&[String]> {
        self.tools.as_deref()
    }

    /// Where tallies lie.
    ///
    /// # Errors
    ///
    /// Where nothing is configured and there is no home directory.
    pub fn directory(&self) -> Result<PathBuf, ConfigError> {
        match &self.directory {
            Some(directory) => Ok(directory.clone()),
            None => directories::state()
                .map(|directory| directory.join("sessions"))
                .map_err(|cause| cause.of_key("session.directory")),
        }
    }
}

impl Log {
    /// Where decisions are written.
    ///
    /// # Errors
    ///
    /// Where nothing is configured and there is no home directory.
    pub fn path(&self) -> Result<PathBuf, ConfigError> {
        if let Some(path) = &self.path {
            return Ok(path.clone());
        }
        directories::state()
            .map(|directory| directory.join("decisions.log"))
            .map_err(|cause| cause.of_key("log.path"))
    }

    /// The size, in bytes, at which a new file is begun.
    pub fn largest_bytes(&self) -> u64 {
        self.largest_bytes.unwrap_or(10 * 1024 * 1024)
    }

    /// How many full files are kept.
    pub fn keep(&self) -> u32 {
        self.keep.unwrap_or(5)
    }
}
