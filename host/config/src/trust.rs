//! Whom the configuration trusts to make policies, and where those are kept.

use std::path::PathBuf;

use holdpoint_artifact::{UtcTime, Version};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

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
    pub(crate) name: Option<String>,
    #[serde(deserialize_with = "version")]
    pub(crate) version: Option<Version>,
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
