//! How a policy comes into force: installed, or gone back to.

use holdpoint_artifact::{Digest, Facts, Refusal};
use thiserror::Error;

use crate::admission::Admission;
use crate::compiled::{Build, Compiler, Failed};
use crate::entries::{Activation, Entry, FORMAT, KeptFacts, What, follows, title};
use crate::error::StoreError;
use crate::load::LetIn;
use crate::lock::Lock;
use crate::store::{Store, Which};

/// So many ways back are remembered.
const WAYS_BACK: usize = 16;

/// How a policy is put in force.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Whether it may be older than what is in force, or of another name, or without a version to compare.
    pub allow_downgrade: bool,
    /// With what it is compiled before that; none leaves it to be compiled later.
    pub compile: Option<(&'a Build<'a>, &'a Compiler<'a>)>,
}

/// A change of what is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What is in force now.
    pub now: Facts,
    /// What was in force before.
    pub before: Option<Facts>,
    /// What the history calls it; none where it was in force already.
    pub what: Option<What>,
}

/// A policy is not in force now; what was in force before still is.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The gate turned it away.
    #[error("the policy was refused: {0}")]
    Refused(#[from] Refusal),
    /// It does not follow what is in force.
    #[error(
        "{}, which is in force; where that is meant, say so with --allow-downgrade",
        does_not_follow(.offered, .in_force)
    )]
    Downgrade {
        /// What was to be installed.
        offered: Box<Facts>,
        /// What stays in force.
        in_force: Box<Facts>,
    },
    /// It cannot be compiled for this host.
    #[error("the policy was not compiled: {0}")]
    Compile(#[from] Failed),
    /// Something is wrong with the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Lets a policy in, keeps it and puts it in force. A stop at any moment leaves the old or the new one in force.
    ///
    /// # Errors
    ///
    /// Whatever keeps it out. It is written down in the history, and what was in force stays in force.
    pub fn install(
        &self,
        bytes: &[u8],
        origin: &str,
        change: Change<'_>,
        admission: &Admission<'_>,
    ) -> Result<Changed, ChangeError> {
        let lock = self.write()?;
        let done = self.try_install(&lock, bytes, origin, change, admission);
        if let Err(error) = &done {
            let mut entry = Entry::now(What::Failure).because(error).from(origin);
            entry.file = Some(Digest::of(bytes));
            self.write_down_failure(entry);
        }
        done
    }

    fn try_install(
        &self,
        lock: &Lock,
        bytes: &[u8],
        origin: &str,
        change: Change<'_>,
        admission: &Admission<'_>,
    ) -> Result<Changed, ChangeError> {
        let facts = admission.admit(bytes, &self.files.revoked()?)?;
        let activation = self.files.activation()?;
        let before = match &activation {
            Some(activation) => Some(activation.facts()),
            None => self.lost()?,
        };
        if activation
            .as_ref()
            .is_some_and(|active| active.facts.digest == facts.digest)
        {
            self.files.keep(bytes, &facts)?;
            self.compile_for(lock, bytes, &facts, change)?;
            if self.files.failure()?.is_some() {
                let entry = Entry::now(What::Confirmed).of(&facts).from(origin);
                self.files.append(&entry)?;
                self.files.forget_failure()?;
            }
            return Ok(Changed {
                now: facts,
                before,
                what: None,
            });
        }
        // Putting the lost one back in force is no downgrade.
        let newer = before
            .as_ref()
            .is_none_or(|before| before.digest == facts.digest || follows(&facts, before));
        let what = match (&before, newer) {
            (Some(before), false) if !change.allow_downgrade => {
                return Err(ChangeError::Downgrade {
                    offered: Box::new(facts),
                    in_force: Box::new(before.clone()),
                });
            }
            (_, false) => What::Downgrade,
            (_, true) => What::Install,
        };
        let kept = self.files.keep(bytes, &facts)?;
        self.compile_for(lock, bytes, &facts, change)?;
        let mut earlier = activation.map_or_else(Vec::new, |old| {
            let mut earlier = old.earlier;
            earlier.insert(0, old.facts.digest);
            earlier
        });
        earlier.retain(|digest| *digest != facts.digest);
        earlier.truncate(WAYS_BACK);
        let entry = Entry::now(what).of(&facts).from(origin);
        self.put_in_force(kept, earlier, entry)?;
        Ok(Changed {
            now: facts,
            before,
            what: Some(what),
        })
    }

    /// Goes back to the policy that was in force before, or to a kept one that is named. It has to pass the gate anew,
    /// so that nothing revoked or expired comes back.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoWayBack`] and [`StoreError::Unknown`], and whatever keeps the policy out.
    pub fn rollback(
        &self,
        to: Option<&Which>,
        compile: Option<(&Build<'_>, &Compiler<'_>)>,
        admission: &Admission<'_>,
    ) -> Result<Changed, ChangeError> {
        let lock = self.write()?;
        let done = self.try_rollback(&lock, to, compile, admission);
        if let Err(error) = &done {
            self.write_down_failure(Entry::now(What::Failure).because(error));
        }
        done
    }

    fn try_rollback(
        &self,
        lock: &Lock,
        to: Option<&Which>,
        compile: Option<(&Build<'_>, &Compiler<'_>)>,
        admission: &Admission<'_>,
    ) -> Result<Changed, ChangeError> {
        let activation = self.files.activation()?;
        let target = match (to, &activation) {
            (Some(which), _) => self.find(which)?,
            (None, Some(active)) => *active.earlier.first().ok_or_else(|| self.no_way_back(active))?,
            (None, None) => return Err(StoreError::NoWayBack.into()),
        };
        let LetIn {
            wasm: bytes, facts, ..
        } = self.admitted(target, admission)??;
        let change = Change {
            allow_downgrade: true,
            compile,
        };
        self.compile_for(lock, &bytes, &facts, change)?;
        let earlier = activation
            .as_ref()
            .map_or_else(Vec::new, |active| self.ways_back_from(&facts, active));
        let before = activation.as_ref().map(Activation::facts);
        let kept = KeptFacts::new(&facts, Digest::of(&bytes));
        self.put_in_force(kept, earlier, Entry::now(What::Rollback).of(&facts))?;
        Ok(Changed {
            now: facts,
            before,
            what: Some(What::Rollback),
        })
    }

    /// What was in force, where the file that says so is gone: what comes after it must be newer all the same.
    fn lost(&self) -> Result<Option<Facts>, StoreError> {
        let digest = self.files.last_in_force()?.and_then(|entry| entry.digest);
        let kept = digest.and_then(|digest| self.files.facts(digest).ok().flatten());
        Ok(kept.map(KeptFacts::facts))
    }

    fn put_in_force(&self, facts: KeptFacts, earlier: Vec<Digest>, entry: Entry) -> Result<(), StoreError> {
        self.files.activate(&Activation {
            format: FORMAT,
            facts,
            earlier,
            entry: entry.clone(),
        })?;
        // It is in force. What cannot be written now is caught up by the next writer.
        let _ = self.files.append(&entry);
        let _ = self.files.forget_failure();
        Ok(())
    }

    /// What is newer than the target was left behind for a reason, so it is no way back from there.
    fn ways_back_from(&self, target: &Facts, activation: &Activation) -> Vec<Digest> {
        let earlier = &activation.earlier;
        if let Some(at) = earlier.iter().position(|digest| *digest == target.digest) {
            return earlier[at + 1..].to_vec();
        }
        let older = |digest: &&Digest| {
            let facts = self.files.facts(**digest).ok().flatten();
            **digest != target.digest && facts.is_some_and(|kept| follows(target, &kept.facts()))
        };
        let all = [activation.facts.digest];
        all.iter().chain(earlier).filter(older).copied().collect()
    }

    fn compile_for(
        &self,
        lock: &Lock,
        bytes: &[u8],
        facts: &Facts,
        change: Change<'_>,
    ) -> Result<(), ChangeError> {
        if let Some((build, compiler)) = change.compile
            && self.code(facts.digest, build).is_err()
        {
            self.compile(lock, bytes, facts.digest, build, compiler)?;
        }
        Ok(())
    }
}

/// Why one policy does not take the place of another.
fn does_not_follow(offered: &Facts, in_force: &Facts) -> String {
    let (new, old) = (title(offered), title(in_force));
    match (&offered.manifest, &in_force.manifest) {
        (Some(ours), Some(theirs)) if ours.name != theirs.name => {
            format!("{new} is another policy and no newer version of {old}")
        }
        _ => format!("{new} is not newer than {old}"),
    }
}
