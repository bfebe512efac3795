//! Everything that can be configured, with its defaults and what of it contradicts itself.

use std::path::PathBuf;
use std::time::Duration;

use holdpoint_common::credentials;
use serde::Deserialize;

use crate::directories::{self, NoFolder, Unnamed, places};
use crate::error::{ConfigError, in_range};
use crate::policy::{CAPABILITIES, Policy};
use crate::receipts::{Mode, Receipts};
use crate::record::Record;
use crate::sources::Sources;
use crate::zerto::Zerto;

/// Everything that can be configured. Every key is described in `docs/configuration.md`, which is made from `keys`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub(crate) deadline_seconds: Option<f64>,
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
    pub sources: Sources,
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
    pub(crate) path: Option<PathBuf>,
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

impl Config {
    /// How long a decision may take, from the start of the process.
    pub fn deadline(&self) -> Duration {
        Duration::from_secs_f64(self.deadline_seconds.unwrap_or(DEFAULT_DEADLINE_SECONDS))
    }

    /// Resolves every path, and refuses what cannot be used.
    pub(crate) fn settle(&mut self) -> Result<(), ConfigError> {
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

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
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

    /// The places that count here and that the environment decides on.
    pub fn unnamed(&self) -> Vec<Unnamed> {
        let is_left = |place: &Unnamed| match place.table {
            "zerto" => self.zerto.directory.is_none(),
            "policy" => self.policy.path.is_none() && self.policy.store.is_none(),
            "log" => self.log.path.is_none(),
            "session" => self.session.enabled() && self.session.directory.is_none(),
            "record" => self.record.enabled && self.record.directory.is_none(),
            _ => self.receipts.mode != Mode::Off && self.receipts.directory.is_none(),
        };
        places().into_iter().filter(is_left).collect()
    }

    /// Refuses a place that a relative variable would decide on: it would lie wherever the agent works.
    fn check_unnamed(&self) -> Result<(), ConfigError> {
        for place in self.unnamed() {
            if let Err(cause @ NoFolder::Relative(..)) = &place.now {
                return Err(cause.of_key(&place.whole_key()));
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

/// The longest time for one decision unless configured, in seconds: below a hook timeout of 360.
pub const DEFAULT_DEADLINE_SECONDS: f64 = 330.0;

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
