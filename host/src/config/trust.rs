//! Whom the configuration trusts to make policies, and where those are kept.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdpoint_artifact::{Digest, Required, UtcTime, Version};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Policy, directories};

/// Whether a policy has to be signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureRule {
    /// An unsigned policy is refused.
    #[default]
    Required,
    /// An unsigned policy may pass; one that carries a signature still has to be signed rightly.
    NotRequired,
}

/// Which policy it has to be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Require {
    name: Option<String>,
    #[serde(deserialize_with = "version")]
    version: Option<Version>,
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Version>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let version = text.parse();
    version
        .map(Some)
        .map_err(|_| D::Error::custom("a version is three numbers, as 1.4.0"))
}

/// A key that may sign policies.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Key {
    /// The key itself, PEM.
    pub public: Option<String>,
    /// Its file.
    pub public_file: Option<PathBuf>,
    /// From when on its signatures count.
    pub not_before: Option<UtcTime>,
    /// Until when they do.
    pub not_after: Option<UtcTime>,
    /// Whether none of them counts.
    pub revoked: bool,
}

impl Policy {
    /// Whether a policy has to be signed.
    pub fn signature_rule(&self) -> SignatureRule {
        self.signature
    }

    /// The keys that may sign policies, by the operator's names for them.
    pub fn keys(&self) -> &BTreeMap<String, Key> {
        &self.keys
    }

    /// The policies that are not taken, whoever signed them.
    pub fn revoked(&self) -> &[Digest] {
        &self.revoked
    }

    /// Which policy the host wants, whoever signed it.
    pub fn required(&self) -> Required {
        Required {
            name: self.require.name.clone(),
            version: self.require.version.clone(),
        }
    }

    /// What an operator should know who trusts keys, and so means a policy of their own to decide, without saying which.
    pub fn advice(&self) -> Option<&'static str> {
        let unsaid = !self.keys.is_empty() && self.path.is_none() && !self.required().is_something();
        unsaid.then_some(
            "keys are trusted, and policy.require names no policy: where the store is removed, the shipped policy \
             decides, and an older signed one may be put back in force by whoever can write the store",
        )
    }

    /// The folder of the installed policies; none where neither it is configured nor there is a home directory.
    pub fn store(&self) -> Option<PathBuf> {
        let configured = self.store.clone();
        configured.or_else(|| Some(directories::data().ok()?.join("policies")))
    }
}
