//! Which policy decided.

use std::fmt;

use holdpoint_artifact::{Digest, Facts, KeyId, Version};
use holdpoint_common::safe_text;
use holdpoint_store::{Entry, Fallback};

use crate::sandbox;

/// The longest cause in a policy's name, in characters.
const LONGEST_CAUSE: usize = 200;

/// Which policy decided: everything about it that is worth a line in a log or a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Where it came from: `shipped`, a file, or the store's name for an installed one.
    pub origin: String,
    /// The policy's digest. Of the shipped one, SHA-256 of the whole component.
    pub digest: Digest,
    /// The id of the key that signed it, made of the key itself; none where it is unsigned, as the shipped one.
    pub key: Option<KeyId>,
    /// What the gate found out, with the operator's name of that key; none for the shipped one, which is a part of this
    /// program.
    pub facts: Option<Facts>,
    /// What is wrong where this is not the policy that was put in force.
    pub fallback: Option<Fallback>,
    /// The last change of the policy, where that failed.
    pub failed: Option<Entry>,
}

impl Identity {
    /// The policy's version. The shipped one has the host's; none where there is no manifest.
    pub fn version(&self) -> Option<Version> {
        match &self.facts {
            Some(facts) => Some(facts.manifest.as_ref()?.version.clone()),
            None => Version::parse(env!("CARGO_PKG_VERSION")).ok(),
        }
    }

    /// The version of the WIT package that the policy is built against; none where there is no manifest.
    pub fn wit(&self) -> Option<Version> {
        match &self.facts {
            Some(facts) => Some(facts.manifest.as_ref()?.wit.clone()),
            None => sandbox::contract(&[]).versions.last().cloned(),
        }
    }
}

/// The policy as the log names it: twelve digits tell any two policies apart.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sha256:{:.12}", self.origin, self.digest.hex())?;
        if let Some(key) = self.facts.as_ref().and_then(|facts| facts.signer.as_ref()) {
            write!(f, ", signed by {key}")?;
        }
        let in_short = |why: &str| safe_text::clean_line(why, LONGEST_CAUSE);
        if let Some(Fallback { wanted, why }) = &self.fallback {
            let (wanted, why) = (wanted.hex(), in_short(why));
            write!(f, ", in place of sha256:{wanted:.12}, which is broken ({why})")?;
        }
        if let Some(failed) = &self.failed {
            let why = in_short(failed.why.as_deref().unwrap_or("no reason was written down"));
            write!(f, "; a change of the policy failed at {} ({why})", failed.at)?;
        }
        Ok(())
    }
}
