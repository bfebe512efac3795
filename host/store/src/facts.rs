//! What is said of a policy and of what happened to it: the values on disk.

use std::fmt;

use semver::Version;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::digest::Digest;

/// Which policy it is: what a log, a receipt and `doctor` say of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// SHA-256 of the whole file.
    pub digest: Digest,
    /// The name in its manifest; none where it has no manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The version in its manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The id of the key whose signature was accepted; none where it is not signed and need not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The file's size, in bytes.
    pub size: u64,
}

impl Facts {
    /// Whether the manifests say that this one follows the other: the same name and a higher version. Where there is
    /// no version on either side, nothing speaks against it.
    pub(crate) fn follows(&self, other: &Self) -> bool {
        match (&self.version, &other.version) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => self.name == other.name && ours > theirs,
            _ => false,
        }
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.version) {
            (Some(name), Some(version)) => write!(f, "{name} {version}"),
            _ => write!(f, "{}", self.digest),
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum What {
    /// A policy was installed and put in force.
    Install,
    /// The same, and it is not newer than the one before it.
    Downgrade,
    /// An earlier policy was put back in force.
    Rollback,
    /// A policy or a key was revoked.
    Revoke,
    /// Something of these was tried and did not happen.
    Failure,
}

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When, by this machine's clock.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// What was done.
    pub what: What,
    /// Who did it.
    pub who: Who,
    /// From where the policy came: a path or a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Which policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Its key's id, or the one that was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Why it failed, or was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Entry {
    pub(crate) fn now(what: What) -> Self {
        Self {
            at: OffsetDateTime::now_utc(),
            what,
            who: Who::this(),
            from: None,
            digest: None,
            name: None,
            version: None,
            key: None,
            why: None,
        }
    }

    pub(crate) fn of(mut self, facts: &Facts) -> Self {
        self.digest = Some(facts.digest);
        self.name.clone_from(&facts.name);
        self.version.clone_from(&facts.version);
        self.key.clone_from(&facts.key);
        self
    }

    pub(crate) fn from(mut self, origin: &str) -> Self {
        self.from = Some(origin.to_owned());
        self
    }

    pub(crate) fn because(mut self, why: impl fmt::Display) -> Self {
        // What went wrong may quote a server; a line of the history stays a line.
        self.why = Some(why.to_string().chars().take(500).collect());
        self
    }
}

/// Who ran the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// The user's number, as the kernel knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The name that the environment gives (`SUDO_USER` for root, else `USER`): a hint, not evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl Who {
    fn this() -> Self {
        #[cfg(unix)]
        let uid = Some(rustix::process::getuid().as_raw());
        #[cfg(not(unix))]
        let uid = None;
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let behind_root = (uid == Some(0)).then(|| variable("SUDO_USER")).flatten();
        Self {
            uid,
            user: behind_root
                .or_else(|| variable("USER"))
                .or_else(|| variable("USERNAME")),
        }
    }
}

/// The file `active`: the one file whose replacement puts a policy in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Activation {
    pub(crate) format: u32,
    pub(crate) digest: Digest,
    /// What was in force before, latest first: the ways back.
    pub(crate) earlier: Vec<Digest>,
    /// What the history says of it, so that a stop before that was written loses nothing.
    pub(crate) entry: Entry,
}

/// The file `revoked.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Revoked {
    pub(crate) format: u32,
    pub(crate) policies: Vec<Digest>,
    pub(crate) keys: Vec<String>,
}
