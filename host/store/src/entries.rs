//! What is said of a policy and of what happened to it: the values on disk.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use holdpoint_artifact::{Digest, Facts, Manifest, Trust, TrustedKey, UtcTime, Version};
use serde::{Deserialize, Serialize};

/// The format of every file that says one.
pub(crate) const FORMAT: u32 = 1;

/// The file `facts.json`: what the gate said of a policy when it was let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptFacts {
    format: u32,
    pub(crate) digest: Digest,
    manifest: Option<Manifest>,
    signer: Option<String>,
    size: u64,
    /// SHA-256 of the whole file, signature and all.
    pub(crate) file: Digest,
}

impl KeptFacts {
    pub(crate) fn new(facts: &Facts, file: Digest) -> Self {
        let Facts {
            digest,
            manifest,
            signer,
            size,
        } = facts.clone();
        Self {
            format: FORMAT,
            digest,
            manifest,
            signer,
            size,
            file,
        }
    }

    pub(crate) fn facts(self) -> Facts {
        Facts {
            digest: self.digest,
            manifest: self.manifest,
            signer: self.signer,
            size: self.size,
        }
    }
}

/// The version in a policy's manifest.
pub(crate) fn version(facts: &Facts) -> Option<&Version> {
    facts.manifest.as_ref().map(|manifest| &manifest.version)
}

/// Whether the manifests say that this policy follows the other: the same name and a higher version. Where there is no
/// manifest on either side, nothing speaks against it.
pub(crate) fn follows(facts: &Facts, other: &Facts) -> bool {
    match (&facts.manifest, &other.manifest) {
        (None, None) => true,
        (Some(ours), Some(theirs)) => ours.name == theirs.name && ours.version > theirs.version,
        _ => false,
    }
}

/// A policy in a sentence: its name and version, or where it has no manifest its digest.
#[must_use]
pub fn title(facts: &Facts) -> String {
    match &facts.manifest {
        Some(manifest) => format!("{} {}", manifest.name, manifest.version),
        None => facts.digest.to_string(),
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
    /// After a failure: what was offered is in force already.
    Confirmed,
}

/// One line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When, by this machine's clock.
    pub at: UtcTime,
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
    /// SHA-256 of a file that was not let in, which is not a policy's digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Digest>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// What the operator called its key; of a key that was revoked, its own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What the operator called the key that was revoked, for those who read this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_name: Option<String>,
    /// Why it failed, or was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Entry {
    pub(crate) fn now(what: What) -> Self {
        Self {
            at: SystemTime::now().into(),
            what,
            who: Who::this(),
            from: None,
            digest: None,
            file: None,
            name: None,
            version: None,
            key: None,
            key_name: None,
            why: None,
        }
    }

    /// Whether this put its policy in force.
    #[must_use]
    pub fn puts_in_force(&self) -> bool {
        matches!(self.what, What::Install | What::Downgrade | What::Rollback)
    }

    /// The policy that it is about, in a sentence.
    pub(crate) fn title(&self) -> String {
        match (&self.name, &self.version, &self.digest) {
            (Some(name), Some(version), _) => format!("{name} {version}"),
            (_, _, Some(digest)) => digest.to_string(),
            _ => "a policy".into(),
        }
    }

    pub(crate) fn of(mut self, facts: &Facts) -> Self {
        self.digest = Some(facts.digest);
        if let Some(manifest) = &facts.manifest {
            self.name = Some(manifest.name.clone());
            self.version = Some(manifest.version.clone());
        }
        self.key.clone_from(&facts.signer);
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
    pub(crate) facts: KeptFacts,
    /// What was in force before, latest first: the ways back.
    pub(crate) earlier: Vec<Digest>,
    /// What the history says of it, so that a stop before that was written loses nothing.
    pub(crate) entry: Entry,
}

impl Activation {
    pub(crate) fn facts(&self) -> Facts {
        self.facts.clone().facts()
    }
}

/// The file `revoked.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Revoked {
    pub(crate) format: u32,
    pub(crate) policies: Vec<Digest>,
    pub(crate) keys: Vec<String>,
}

impl Revoked {
    pub(crate) fn names(&self, key: &str) -> bool {
        self.keys.iter().any(|id| id == key)
    }

    /// This trust, without what is revoked here. A key is meant by its own id; an entry that is an operator's name, as an
    /// earlier release wrote it, means the key that is called so now.
    pub(crate) fn applied_to<'t>(&self, trust: &'t Trust) -> Cow<'t, Trust> {
        if self.policies.is_empty() && self.keys.is_empty() {
            return Cow::Borrowed(trust);
        }
        let mut trust = trust.clone();
        trust.stored.policies.extend(&self.policies);
        let is_revoked = |key: &&TrustedKey| self.names(&key.id) || self.names(&key.public.id().to_string());
        let keys = trust.keys.iter().filter(is_revoked);
        let keys: Vec<_> = keys.map(|key| key.public).collect();
        trust.stored.keys.extend(keys);
        Cow::Owned(trust)
    }
}

/// What was last seen of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The channel's name.
    pub channel: String,
    /// The version that was current.
    pub version: Version,
    /// Its digest.
    pub digest: Digest,
    /// When the document was written.
    pub issued: UtcTime,
    /// Until when it was to be believed.
    pub expires: UtcTime,
}

/// The file `channels.json`: what was last seen, by the channel's address.
pub(crate) type AllSeen = BTreeMap<String, Seen>;
