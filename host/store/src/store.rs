//! The store: what is kept, what is in force, and what happened.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdpoint_artifact::{Digest, Facts, Version};

use crate::admission::Admission;
use crate::disk;
use crate::entries::{Entry, What, version};
use crate::error::StoreError;
use crate::files::Files;
use crate::lock::{self, Lock};

/// How long a writer waits for another: longer than compiling a large policy takes.
const WRITERS_WAIT: Duration = Duration::from_secs(60);

/// A folder of policies, one of which is in force. See the crate's documentation for what lies where.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) files: Files,
}

/// Which kept policy is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The one with this digest.
    Digest(Digest),
    /// The one of this version that was in force last.
    Version(Version),
}

/// A policy in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Which one.
    pub facts: Facts,
    /// Whether it is the one that was put in force.
    pub active: bool,
    /// Whether it or its key is revoked, in the store or in the configuration.
    pub revoked: bool,
    /// When it was put in force last, by whom and from where; none where it never was.
    pub last: Option<Entry>,
}

impl Store {
    /// Opens a store that is there.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoStore`], and where others than the user and root may write to it or to the way there.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            files: Files::open(root)?,
        })
    }

    /// Opens a store, or makes an empty one. Run by root it can be read by everybody, as a managed machine's hooks need
    /// it; else by this user only.
    ///
    /// # Errors
    ///
    /// As [`Store::open`], and where the folder cannot be made.
    pub fn create(root: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            files: Files::create(root, Instant::now() + WRITERS_WAIT)?,
        })
    }

    /// Where it lies.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.files.root
    }

    /// Where a kept policy's file lies.
    #[must_use]
    pub fn kept_file(&self, digest: Digest) -> PathBuf {
        self.files.object(digest).join("policy.wasm")
    }

    /// Everything that is kept, in the order in which it was put in force last.
    ///
    /// # Errors
    ///
    /// Where the store cannot be read.
    pub fn list(&self, admission: &Admission<'_>) -> Result<Vec<Kept>, StoreError> {
        let revoked = self.files.revoked()?;
        let mut list = self.kept()?;
        for kept in &mut list {
            kept.revoked = self.is_revoked(&kept.facts, &revoked, admission);
        }
        Ok(list)
    }

    /// The same without whether it is revoked, which the files have to be read for.
    pub(crate) fn kept(&self) -> Result<Vec<Kept>, StoreError> {
        let active = self.files.activation()?.map(|activation| activation.facts.digest);
        let history = self.history()?;
        let mut list = Vec::new();
        for digest in self.files.kept()? {
            let Some(kept) = self.files.facts(digest)? else {
                continue;
            };
            let facts = kept.facts();
            let last = history
                .iter()
                .rposition(|entry| entry.puts_in_force() && entry.digest == Some(digest));
            let kept = Kept {
                active: active == Some(digest),
                revoked: false,
                last: last.map(|at| history[at].clone()),
                facts,
            };
            list.push((last, kept));
        }
        list.sort_by_key(|(last, _)| *last);
        Ok(list.into_iter().map(|(_, kept)| kept).collect())
    }

    /// What happened, oldest first; of a very long history, the last 8 MiB.
    ///
    /// # Errors
    ///
    /// Where the store cannot be read.
    pub fn history(&self) -> Result<Vec<Entry>, StoreError> {
        let mut history = self.files.history()?;
        history.extend(self.unwritten(&history)?);
        Ok(history)
    }

    /// The activation's entry, where a stop kept it from being written down.
    fn unwritten(&self, history: &[Entry]) -> Result<Option<Entry>, StoreError> {
        let entry = self.files.activation()?.map(|activation| activation.entry);
        let last = history.iter().rfind(|entry| entry.puts_in_force());
        Ok(entry.filter(|entry| Some(entry) != last))
    }

    /// Takes the writer's lock and clears up after a writer that was stopped.
    pub(crate) fn write(&self) -> Result<Lock, StoreError> {
        self.write_until(Instant::now() + WRITERS_WAIT)
    }

    pub(crate) fn write_until(&self, deadline: Instant) -> Result<Lock, StoreError> {
        let lock = lock::take(&self.files.lock(), deadline)?;
        self.files.check_folder(&self.files.scratch())?;
        disk::empty(&self.files.scratch())?;
        if let Some(entry) = self.unwritten(&self.files.history()?)? {
            self.files.append(&entry)?;
            self.files.forget_failure()?;
        }
        Ok(lock)
    }

    pub(crate) fn find(&self, which: &Which) -> Result<Digest, StoreError> {
        let kept = self.kept()?;
        let found = kept.iter().rev().find(|kept| which.means(&kept.facts));
        found
            .map(|kept| kept.facts.digest)
            .ok_or_else(|| StoreError::Unknown(which.to_string()))
    }

    /// Best effort: a store that cannot be written cannot tell of its failures either. The same failure twice in a row
    /// is one entry, so that an update that is tried every minute does not fill the disk.
    pub(crate) fn write_down_failure(&self, entry: Entry) {
        let last = self.files.history().ok().and_then(|mut history| history.pop());
        let repeated = last.is_some_and(|last| {
            (last.what, &last.digest, &last.file, &last.from, &last.why)
                == (What::Failure, &entry.digest, &entry.file, &entry.from, &entry.why)
        });
        if !repeated {
            let _ = self.files.append(&entry);
        }
        let _ = self.files.write_failure(&entry);
    }
}

impl Which {
    pub(crate) fn means(&self, facts: &Facts) -> bool {
        match self {
            Self::Digest(digest) => facts.digest == *digest,
            Self::Version(version) => self::version(facts) == Some(version),
        }
    }
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Digest(digest) => digest.fmt(f),
            Self::Version(version) => version.fmt(f),
        }
    }
}
