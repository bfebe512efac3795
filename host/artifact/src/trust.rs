//! Whom the host trusts: from its configuration alone, never from what a file carries.

use std::fmt;

use semver::Version;

use crate::digest::Digest;
use crate::keys::PublicKey;
use crate::manifest::Manifest;
use crate::time::UtcTime;

/// Whether a policy's file has to be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Signature {
    /// An unsigned file is refused. A file that was stripped of its signature is an unsigned file.
    #[default]
    Required,
    /// An unsigned file may pass. One that carries a signature still has to be signed rightly and by a trusted key.
    NotRequired,
}

/// A key that may sign policies. Rotation is two of them whose dates overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// What the operator calls it. Unless there is a name, [`PublicKey::id`].
    pub id: String,
    /// The key.
    pub public: PublicKey,
    /// The first second at which it counts.
    pub not_before: Option<UtcTime>,
    /// The last second at which it counts.
    pub not_after: Option<UtcTime>,
    /// Whether it counts no more, whatever its dates. A key that is listed twice is revoked by either.
    pub revoked: bool,
}

/// Which policy is wanted, whoever signed it; anything where neither is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Required {
    /// The name that its manifest has to have.
    pub name: Option<String>,
    /// The lowest version that its manifest may have.
    pub version: Option<Version>,
}

impl Required {
    /// Whether something is said.
    pub const fn is_something(&self) -> bool {
        self.name.is_some() || self.version.is_some()
    }

    /// Whether a policy with this manifest is one that is wanted.
    pub(crate) fn accepts(&self, manifest: Option<&Manifest>) -> bool {
        let fits = |manifest: &Manifest| {
            self.name.as_ref().is_none_or(|name| *name == manifest.name)
                && self
                    .version
                    .as_ref()
                    .is_none_or(|version| manifest.version >= *version)
        };
        !self.is_something() || manifest.is_some_and(fits)
    }
}

/// In a sentence: `guard 1.4.0 or later`.
impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().unwrap_or("a signed policy");
        match &self.version {
            Some(version) => write!(f, "{name} {version} or later"),
            None => f.write_str(name),
        }
    }
}

/// What the host's store knows to be revoked, beside what its configuration says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreRevocations {
    /// Whose signatures count no more.
    pub keys: Vec<PublicKey>,
    /// Policies that are refused whoever signed them, as in [`Trust::revoked_policies`].
    pub policies: Vec<Digest>,
}

/// Where something is revoked, so that nobody looks for it in the wrong place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokedIn {
    /// In the host's configuration.
    Configuration,
    /// In the host's store.
    Store,
}

/// In a sentence: `revoked in this host's configuration`.
impl fmt::Display for RevokedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configuration => "this host's configuration",
            Self::Store => "this host's store (holdpoint policy list)",
        })
    }
}

/// Whom the host trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// Whether a policy has to be signed.
    pub signature: Signature,
    /// Whose signatures count.
    pub keys: Vec<TrustedKey>,
    /// Policies that are refused whoever signed them: a policy's digest, which holds however often it is signed anew,
    /// or the digest of a whole file.
    pub revoked_policies: Vec<Digest>,
    /// What the store revokes on top of that.
    pub stored: StoreRevocations,
    /// Which policy it has to be.
    pub required: Required,
}

impl Trust {
    /// Where this key is revoked, if it is: by any entry.
    pub fn revokes(&self, key: &PublicKey) -> Option<RevokedIn> {
        let mut listed = self.keys.iter();
        if listed.any(|listed| listed.revoked && listed.public == *key) {
            return Some(RevokedIn::Configuration);
        }
        self.stored.keys.contains(key).then_some(RevokedIn::Store)
    }
}
