//! What is in force, as the hook loads it.

use std::borrow::Cow;
use std::time::{Instant, SystemTime};
use std::{fmt, io};

use holdpoint_artifact::{Digest, Facts, LARGEST, Refusal, UtcTime};
use thiserror::Error;

use crate::admission::Admission;
use crate::compiled::{Build, Code, Compiler, Failed, Reach, Recompile, Record};
use crate::disk;
use crate::entries::{Entry, title};
use crate::error::StoreError;
use crate::store::Store;

/// The policy in force: let in by the gate just now, from the very bytes that are here.
#[derive(Debug)]
pub struct Loaded {
    /// Which one it is.
    pub facts: Facts,
    /// The component.
    pub wasm: Cow<'static, [u8]>,
    /// Its compiled code. Or why it has to be made anew.
    pub code: Result<Code, Recompile>,
    /// Where this is not the policy that was put in force.
    pub fallback: Option<Fallback>,
    /// The last change, where that failed.
    pub failed: Option<Entry>,
}

/// The policy that was put in force is broken, so the last good one is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Which one is broken.
    pub wanted: Digest,
    /// What is wrong with it.
    pub why: String,
}

/// There is no policy that may decide: every call is denied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Nothing was ever installed.
    #[error("no policy is installed in the store; install one: holdpoint policy install FILE")]
    Nothing,
    /// One was installed, and what says so is gone. Going on as if there never was one would be a silent change.
    #[error(
        "{0} was put in force in the store, and the file that says what is in force is missing; put a policy in force \
         again: holdpoint policy rollback VERSION, or holdpoint policy install FILE"
    )]
    Deactivated(String),
    /// The gate turns the active policy away (it expired, it was revoked, its key is trusted no more). That is a
    /// decision and no accident, so nothing else takes its place by itself.
    #[error(
        "the policy in force was refused: {refusal} (install another{})",
        if *way_back { ", or go back: holdpoint policy rollback" } else { "" }
    )]
    Refused {
        /// Why.
        refusal: Refusal,
        /// Whether what was in force before it would be let in.
        way_back: bool,
    },
    /// The gate turns another kept policy away.
    #[error("the policy was refused: {0}")]
    NotLetIn(Refusal),
    /// The active policy is broken, and so is every one before it.
    #[error("the policy in force is broken ({0}), and there is no good one before it; install it again")]
    Broken(String),
    /// There is no compiled code, and it could not be made.
    #[error("the policy in force was not compiled: {0}")]
    Compile(#[from] Failed),
    /// Another process tried while this one waited for it. Each trying in turn would keep all that wait from answering.
    #[error("the policy in force was not compiled: {0}")]
    CompiledInVain(String),
    /// There is compiled code, made just now, and it cannot be used.
    #[error("the policy in force was compiled, and yet: {0}")]
    Code(#[from] Recompile),
    /// Something is wrong with the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What `doctor` and the log say of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// Nothing can be loaded.
    Unusable(String),
    /// The last good policy is in force instead of the one that was put in force.
    FellBack {
        /// What is broken.
        fallback: Fallback,
        /// What is in force.
        in_force: Facts,
    },
    /// The last change failed, and nothing came after it.
    NotChanged(Entry),
    /// The policy in force has no compiled code for this host, and could not be compiled when that was tried last.
    NotCompiled(String),
    /// The policy in force came from a channel that has not been heard of for longer than it said it would be silent.
    Stale {
        /// The channel's address.
        channel: String,
        /// Until when what it said was to be believed.
        expired: UtcTime,
    },
}

/// A kept policy that the gate lets in, and the record of its compiled code.
#[derive(Debug)]
pub(crate) struct LetIn {
    pub(crate) wasm: Cow<'static, [u8]>,
    pub(crate) facts: Facts,
    record: Result<Record, Recompile>,
    folder: Reach,
}

impl Store {
    /// Loads the policy in force through the gate, and its compiled code as far as that can be trusted.
    ///
    /// A broken one (missing, unreadable, not the bytes that were installed) is replaced by the last good one before
    /// it, and [`Loaded::fallback`] says so. One that the gate refuses is not.
    ///
    /// # Errors
    ///
    /// Where no policy may decide.
    pub fn load_active(&self, admission: &Admission<'_>, build: &Build<'_>) -> Result<Loaded, LoadError> {
        let (kept, fallback) = self.pick(admission)?;
        Ok(Loaded {
            fallback,
            failed: self.files.failure()?,
            ..self.with_code(kept, build)
        })
    }

    /// The same, with compiled code in any case: where there is none, one process makes it and all others wait, each
    /// until its own deadline. Where it cannot be made, none of those that waited tries again.
    ///
    /// # Errors
    ///
    /// As [`Store::load_active`]; [`LoadError::Compile`] and [`LoadError::CompiledInVain`] where the code cannot be made,
    /// and [`StoreError::Busy`] where another process was not done in time.
    pub fn compile_once(
        &self,
        admission: &Admission<'_>,
        build: &Build<'_>,
        compiler: &Compiler<'_>,
        deadline: Instant,
    ) -> Result<Loaded, LoadError> {
        let loaded = self.load_active(admission, build)?;
        if loaded.code.is_ok() {
            return Ok(loaded);
        }
        let begun = SystemTime::now();
        let lock = self.write_until(deadline)?;
        let mut loaded = self.load_active(admission, build)?;
        if loaded.code.is_err() {
            if let Some((why, when)) = self.files.not_compiled(loaded.facts.digest)?
                && when >= begun
            {
                return Err(LoadError::CompiledInVain(why));
            }
            let compiler = Compiler {
                timeout: compiler
                    .timeout
                    .min(deadline.saturating_duration_since(Instant::now())),
                ..*compiler
            };
            self.compile(&lock, &loaded.wasm, loaded.facts.digest, build, &compiler)?;
            loaded.code = Ok(self.code(loaded.facts.digest, build)?);
        }
        Ok(loaded)
    }

    /// The last change, where that failed.
    ///
    /// # Errors
    ///
    /// Where the store cannot be read.
    pub fn failed(&self) -> Result<Option<Entry>, StoreError> {
        self.files.failure()
    }

    /// What is wrong, for `doctor` and the log; nothing where all is well.
    #[must_use]
    pub fn troubles(&self, admission: &Admission<'_>) -> Vec<Trouble> {
        let mut troubles = Vec::new();
        match self.pick(admission) {
            Ok((kept, Some(fallback))) => troubles.push(Trouble::FellBack {
                fallback,
                in_force: kept.facts,
            }),
            // Where nothing was ever put in force, it is not this store that says what decides.
            Ok((_, None)) | Err(LoadError::Nothing) => {}
            Err(error) => troubles.push(Trouble::Unusable(error.to_string())),
        }
        match self.later_troubles(admission) {
            Ok(later) => troubles.extend(later),
            Err(error) => troubles.push(Trouble::Unusable(error.to_string())),
        }
        troubles
    }

    /// What went wrong after the policy in force was installed.
    fn later_troubles(&self, admission: &Admission<'_>) -> Result<Vec<Trouble>, StoreError> {
        let failed = self.files.failure()?;
        let mut troubles: Vec<_> = failed.map(Trouble::NotChanged).into_iter().collect();
        if let Some(activation) = self.files.activation()? {
            let not_compiled = self.files.not_compiled(activation.facts.digest)?;
            troubles.extend(not_compiled.map(|(why, _)| Trouble::NotCompiled(why)));
            let from = activation.entry.from.unwrap_or_default();
            let seen = self.files.channels()?.remove(&from);
            troubles.extend(
                seen.filter(|seen| admission.now > seen.expires)
                    .map(|seen| Trouble::Stale {
                        channel: from,
                        expired: seen.expires,
                    }),
            );
        }
        Ok(troubles)
    }

    /// Loads a kept policy, in force or not, through the gate, and its compiled code as far as that can be trusted.
    ///
    /// # Errors
    ///
    /// Where it is not kept here, or must not decide.
    pub fn load_kept(
        &self,
        policy: Digest,
        admission: &Admission<'_>,
        build: &Build<'_>,
    ) -> Result<Loaded, LoadError> {
        let kept = self.admitted(policy, admission)?;
        let kept = kept.map_err(LoadError::NotLetIn)?;
        Ok(self.with_code(kept, build))
    }

    fn with_code(&self, kept: LetIn, build: &Build<'_>) -> Loaded {
        let policy = kept.facts.digest;
        Loaded {
            code: kept
                .record
                .and_then(|record| self.code_by(policy, kept.folder, &record, build)),
            facts: kept.facts,
            wasm: kept.wasm,
            fallback: None,
            failed: None,
        }
    }

    /// What decides.
    fn pick(&self, admission: &Admission<'_>) -> Result<(LetIn, Option<Fallback>), LoadError> {
        let Some(activation) = self.files.activation()? else {
            let before = self.files.last_in_force()?;
            return Err(before.map_or(LoadError::Nothing, |entry| LoadError::Deactivated(entry.title())));
        };
        let why = match self.admitted(activation.facts.digest, admission) {
            Ok(Ok(admitted)) => return Ok((admitted, None)),
            Ok(Err(refusal)) => {
                let way_back = self.way_back(&activation, admission).is_some();
                return Err(LoadError::Refused { refusal, way_back });
            }
            Err(error @ (StoreError::Damaged { .. } | StoreError::Io { .. })) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        for digest in activation.earlier {
            if let Ok(Ok(kept)) = self.admitted(digest, admission) {
                let wanted = activation.facts.digest;
                return Ok((kept, Some(Fallback { wanted, why })));
            }
        }
        Err(LoadError::Broken(why))
    }

    /// A kept policy, let in by the gate; or the gate's refusal, where these are the bytes that were installed.
    pub(crate) fn admitted(
        &self,
        digest: Digest,
        admission: &Admission<'_>,
    ) -> Result<Result<LetIn, Refusal>, StoreError> {
        let revoked = self.files.revoked()?;
        let folder = self.reach(digest)?;
        let path = self.kept_file(digest);
        let (wasm, reach) = self.component(digest, folder, admission)?;
        let record = self.record(digest, folder);
        let is_known = admission.map.is_some()
            && (reach == Reach::Nobodys
                || record
                    .as_ref()
                    .is_ok_and(|record| record.is_of_component(digest, &wasm)));
        let admitted = if is_known {
            admission.admit_again(&wasm, digest, &revoked)
        } else {
            admission.admit(&wasm, &revoked)
        };
        match admitted {
            Ok(facts) if facts.digest == digest => Ok(Ok(LetIn {
                wasm,
                facts,
                record,
                folder,
            })),
            Err(refusal) if self.is_as_installed(digest, &wasm)? => Ok(Err(refusal)),
            _ => Err(StoreError::damaged(&path, "is not what was installed")),
        }
    }

    /// The kept file of a policy, and who can have changed it since it was put there.
    fn component(
        &self,
        digest: Digest,
        folder: Reach,
        admission: &Admission<'_>,
    ) -> Result<(Cow<'static, [u8]>, Reach), StoreError> {
        let path = self.kept_file(digest);
        let missing = || StoreError::damaged(&path, "is missing");
        let (file, metadata) = disk::open(&path, LARGEST as u64)?.ok_or_else(missing)?;
        let reach = folder.of_file(&metadata);
        if let Some(map) = admission.map
            && reach == Reach::Nobodys
        {
            let length = usize::try_from(metadata.len()).map_err(io::Error::other);
            let mapped = length.and_then(|length| map(&file, length));
            return Ok((
                mapped.map_err(|cause| StoreError::io(&path, cause))?.into(),
                reach,
            ));
        }
        Ok((disk::read_rest(&path, file, LARGEST as u64)?.into(), reach))
    }

    fn is_as_installed(&self, digest: Digest, bytes: &[u8]) -> Result<bool, StoreError> {
        let kept = self.files.facts(digest)?;
        Ok(kept.is_some_and(|kept| kept.file == Digest::of(bytes)))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => f.write_str(why),
            Self::FellBack { fallback, in_force } => write!(
                f,
                "the policy {} is broken ({}); the last good one, {}, is in force",
                fallback.wanted,
                fallback.why,
                title(in_force)
            ),
            Self::NotChanged(entry) => write!(
                f,
                "the last change of the policy failed ({}); what was in force before still is",
                entry.why.as_deref().unwrap_or("no reason was written down")
            ),
            Self::NotCompiled(why) => write!(f, "the policy in force could not be compiled ({why})"),
            Self::Stale { channel, expired } => write!(
                f,
                "nothing was heard of the channel {channel} since {expired}, when it should have been renewed: its \
                 updates may be held back"
            ),
        }
    }
}
