//! The gate, as the store passes every policy through it.

use std::borrow::Cow;

use holdpoint_artifact::{Admitted, Contract, Digest, Facts, Refusal, Trust, UtcTime, gate, gate_again};

use crate::entries::Revoked;
use crate::hold::Hold;

/// By what a policy is let in: all of it from the host, nothing from the store but what it adds to the revoked.
#[derive(Debug, Clone, Copy)]
pub struct Admission<'a> {
    /// Whom the host's configuration trusts.
    pub trust: &'a Trust,
    /// What the host serves and lends.
    pub contract: &'a Contract<'a>,
    /// The time.
    pub now: UtcTime,
    /// Maps a file that nobody can change, where a digest that was computed once is enough. None for those who look
    /// thoroughly: then every byte is read, and every digest computed.
    pub map: Option<Hold>,
}

impl Admission<'_> {
    /// Passes the bytes through the gate.
    pub(crate) fn admit(&self, bytes: &[u8], revoked: &Revoked) -> Result<Facts, Refusal> {
        let trust = self.trust_but(revoked);
        gate(bytes, &trust, self.contract, self.now).map(Admitted::into_facts)
    }

    /// The same for bytes that were passed through it once, and are known to be the same: those of this policy.
    pub(crate) fn admit_again(
        &self,
        bytes: &[u8],
        policy: Digest,
        revoked: &Revoked,
    ) -> Result<Facts, Refusal> {
        let trust = self.trust_but(revoked);
        gate_again(bytes, policy, &trust, self.contract, self.now).map(Admitted::into_facts)
    }

    /// The configuration's trust without what the store knows to be revoked.
    pub(crate) fn trust_but(&self, revoked: &Revoked) -> Cow<'_, Trust> {
        revoked.applied_to(self.trust)
    }
}
