//! What is revoked in the store, and what can be gone back to.

use std::borrow::Cow;

use holdpoint_artifact::{Digest, Facts, KeyId, Refusal, Trust};

use crate::admission::Admission;
use crate::entries::{Activation, Entry, Revoked, What, title};
use crate::error::StoreError;
use crate::store::{Store, Which};

/// What is revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One policy, by its digest.
    Policy(Digest),
    /// Everything that a key signed.
    Key {
        /// The key's own id. What an operator calls it is not kept for deciding: a name can be given to another key.
        id: KeyId,
        /// What it is called here, for the history.
        name: Option<String>,
    },
}

/// What became of what is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revocation {
    /// It goes on deciding; or there is none.
    Elsewhere,
    /// It is not loaded any more, and every call is denied until another is put in force.
    InForce {
        /// What going back would put in force.
        way_back: Option<Box<Facts>>,
    },
}

impl Store {
    /// Revokes a policy or a key in this store, on top of what the configuration revokes. What is in force does not
    /// change; where that is revoked now, it is not loaded any more, and every call is denied until another is put in
    /// force. Answers whether that is so.
    ///
    /// # Errors
    ///
    /// Where the store cannot be written.
    pub fn revoke(
        &self,
        target: &Target,
        why: &str,
        admission: &Admission<'_>,
    ) -> Result<Revocation, StoreError> {
        let _lock = self.write()?;
        let mut revoked = self.files.revoked()?;
        let mut entry = Entry::now(What::Revoke).because(why);
        match target {
            Target::Policy(digest) => {
                if let Some(kept) = self.files.facts(*digest).ok().flatten() {
                    entry = entry.of(&kept.facts());
                }
                entry.digest = Some(*digest);
                push_new(&mut revoked.policies, *digest);
            }
            Target::Key { id, name } => {
                entry.key = Some(id.to_string());
                entry.key_name.clone_from(name);
                push_new(&mut revoked.keys, id.to_string());
            }
        }
        self.files.write_revoked(&revoked)?;
        self.files.append(&entry)?;
        let Some(active) = self.files.activation()? else {
            return Ok(Revocation::Elsewhere);
        };
        Ok(if self.is_revoked(&active.facts(), &revoked, admission) {
            let way_back = self.way_back(&active, admission).map(Box::new);
            Revocation::InForce { way_back }
        } else {
            Revocation::Elsewhere
        })
    }

    /// All kept policies that are meant: of one version there can be several, under different names.
    ///
    /// # Errors
    ///
    /// Where the store cannot be read.
    pub fn all(&self, which: &Which) -> Result<Vec<Facts>, StoreError> {
        let kept = self.kept()?.into_iter().map(|kept| kept.facts);
        Ok(kept.filter(|facts| which.means(facts)).collect())
    }

    /// This trust, without what is revoked in the store.
    ///
    /// # Errors
    ///
    /// Where what is revoked cannot be read.
    pub fn trust_of<'t>(&self, trust: &'t Trust) -> Result<Cow<'t, Trust>, StoreError> {
        Ok(self.files.revoked()?.applied_to(trust))
    }

    /// Whether a kept policy or its key is revoked. Which key it is, only the file says: what that is called changes.
    pub(crate) fn is_revoked(&self, facts: &Facts, revoked: &Revoked, admission: &Admission<'_>) -> bool {
        let named = facts.signer.as_ref().is_some_and(|key| revoked.names(key));
        named
            || revoked.policies.contains(&facts.digest)
            || matches!(
                self.admitted(facts.digest, admission),
                Ok(Err(Refusal::RevokedKey { .. } | Refusal::RevokedPolicy { .. }))
            )
    }

    /// What going back without naming anything would put in force, where that would be let in.
    pub(crate) fn way_back(&self, activation: &Activation, admission: &Admission<'_>) -> Option<Facts> {
        let target = *activation.earlier.first()?;
        let kept = self.admitted(target, admission).ok()?.ok()?;
        Some(kept.facts)
    }

    /// Why there is no way back from what is in force.
    pub(crate) fn no_way_back(&self, active: &Activation) -> StoreError {
        let others = self.kept().unwrap_or_default();
        let others = others.iter().filter(|kept| kept.last.is_some());
        if others.filter(|kept| !kept.active).count() > 0 {
            return StoreError::NoWayBack;
        }
        StoreError::First {
            title: title(&active.facts()),
            store: self.files.root.clone(),
        }
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
