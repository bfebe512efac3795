//! Whom the configuration trusts to make policies, and where those are kept.

use std::path::PathBuf;

use holdpoint_artifact::{
    PublicKey, Required, Signature, StoreRevocations, Trust, TrustedKey, UtcTime, Version,
};
use holdpoint_common::read::limit;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::layers::read_private;
use super::{ConfigError, Policy, directories};

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
    public: Option<String>,
    public_file: Option<PathBuf>,
    not_before: Option<UtcTime>,
    not_after: Option<UtcTime>,
    revoked: bool,
}

impl Policy {
    /// Whether a policy has to be signed.
    pub fn signature_rule(&self) -> SignatureRule {
        self.signature
    }

    /// Whom the host trusts. Reads the keys' files.
    ///
    /// # Errors
    ///
    /// Where a key cannot be read, is open to others, or is none.
    pub fn trust(&self) -> Result<Trust, ConfigError> {
        Ok(Trust {
            signature: match self.signature {
                SignatureRule::Required => Signature::Required,
                SignatureRule::NotRequired => Signature::NotRequired,
            },
            keys: self
                .keys
                .iter()
                .map(|(id, key)| key.trusted(id))
                .collect::<Result<_, _>>()?,
            revoked_policies: self.revoked.clone(),
            stored: StoreRevocations::default(),
            required: self.required(),
        })
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

impl Key {
    fn trusted(&self, id: &str) -> Result<TrustedKey, ConfigError> {
        let name = format!("policy.keys.{id}");
        let text = match (&self.public, &self.public_file) {
            (Some(text), None) => text.clone(),
            (None, Some(path)) => {
                let path = directories::resolved(path)
                    .map_err(|cause| ConfigError::value(&format!("{name}.public_file"), cause))?;
                read_private(&path, limit::KEY)?
            }
            _ => {
                let cause = "needs one of public (the key, PEM) and public_file (its file)";
                return Err(ConfigError::value(&name, cause));
            }
        };
        let public = PublicKey::from_pem(&text)
            .map_err(|error| ConfigError::value(&name, format!("is no key that can be used: {error}")))?;
        Ok(TrustedKey {
            id: id.to_owned(),
            public,
            not_before: self.not_before,
            not_after: self.not_after,
            revoked: self.revoked,
        })
    }
}
