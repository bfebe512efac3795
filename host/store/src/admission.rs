//! The gate, as the store passes every policy through it.

use crate::digest::Digest;
use crate::facts::{Facts, Revoked};
pub use crate::sketch::Refusal;
use crate::sketch::{Trust, gate};

/// By what a policy is let in: all of it from the host's configuration.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Which keys are trusted, and what is revoked.
    pub trust: Trust,
}

impl Admission {
    /// Passes the bytes through the gate, with what the store knows to be revoked added to the configuration's.
    pub(crate) fn admit(&self, bytes: &[u8], revoked: &Revoked) -> Result<Facts, Refusal> {
        let mut trust = self.trust.clone();
        trust.revoked_policies.extend(revoked.policies.iter().copied());
        trust.revoked_keys.extend(revoked.keys.iter().cloned());
        let _: Option<Digest> = None;
        gate(bytes, &trust)
    }
}
