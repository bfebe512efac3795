//! The operations on tallies.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::directory::{self, Directory};
use crate::error::SessionError;
use crate::lock::Lock;
use crate::scope::{CallId, Scope};
use crate::state::{Saved, State, Tally};

/// How long a scope is kept after its last change. A session that is resumed later starts at nothing.
pub const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How many of the directory's names one sweep lists.
const MOST_LISTED: usize = 4_096;
/// How many of those it looks at.
const MOST_LOOKED_AT: usize = 64;

/// Where tallies lie. Making one touches nothing.
///
/// A scope that is older than [`KEPT_FOR`] counts as missing, and is removed when it is touched. In a directory that
/// Holdpoint made for itself, those that are never touched again are swept, a few at a time, whenever a new scope is begun:
/// of the directory's names, those are looked at that share the new one's first digit, so that every part has its turn and
/// the work has a bound. A directory that other programs use too is never swept.
#[derive(Debug, Clone)]
pub struct Store {
    path: PathBuf,
    /// A directory above, which has to be this user's, too.
    above: Option<PathBuf>,
    sweeps: bool,
    durable: bool,
}

/// What came of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It was counted.
    Counted {
        /// With this call.
        now: Tally,
        /// Without it.
        before: Tally,
    },
    /// It had been counted already.
    Duplicate(Tally),
}

/// What a session finds after a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The tally when it was saved.
    pub saved: Saved,
    /// The tally now: what failed after saving counts, too.
    pub now: Tally,
}

impl Store {
    /// The directory of the original: `.pua/runtime-state` in the user's home.
    pub fn in_home(home: &Path) -> Self {
        let above = home.join(".pua");
        Self {
            path: above.join("runtime-state"),
            above: Some(above),
            sweeps: false,
            durable: false,
        }
    }

    /// A directory that the user named.
    pub fn at(directory: &Path) -> Self {
        Self {
            // A separator at the end would make the operating system follow a link.
            path: directory.components().collect(),
            above: None,
            sweeps: false,
            durable: false,
        }
    }

    /// Sweeps old scopes, where the directory is one that this made.
    #[must_use]
    pub fn sweeping(self) -> Self {
        Self { sweeps: true, ..self }
    }

    /// Forces what is written to the disk where that is wanted: where decisions rest on the count, a power cut must not
    /// set it back. It costs five times as much as all the rest.
    #[must_use]
    pub fn durable(self, durable: bool) -> Self {
        Self { durable, ..self }
    }

    /// Where that is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counts a failed call, once.
    ///
    /// # Errors
    ///
    /// See [`SessionError`]; then nothing was counted.
    pub fn record(&self, scope: &Scope, call: CallId) -> Result<Recorded, SessionError> {
        self.change(scope, |state| {
            let before = state.tally();
            if state.count(call) {
                let now = state.tally();
                (Recorded::Counted { now, before }, true)
            } else {
                (Recorded::Duplicate(before), false)
            }
        })
    }

    /// Saves the tally before a compaction.
    ///
    /// # Errors
    ///
    /// See [`SessionError`]; then nothing was saved.
    pub fn checkpoint(&self, scope: &Scope) -> Result<Tally, SessionError> {
        self.change(scope, |state| {
            state.save();
            (state.tally(), true)
        })
    }

    /// What was saved, or none where nothing was. Makes no directory.
    ///
    /// # Errors
    ///
    /// See [`SessionError`].
    pub fn restore(&self, scope: &Scope) -> Result<Option<Restored>, SessionError> {
        let Some(directory) = self.open()? else {
            return Ok(None);
        };
        if directory.find(scope)?.is_none() {
            return Ok(None);
        }
        let _lock = Lock::acquire(&directory, scope)?;
        let Some((file, metadata)) = directory.find(scope)? else {
            return Ok(None);
        };
        if is_old(&metadata) {
            directory.remove(scope)?;
            return Ok(None);
        }
        let state = State::read(&Directory::contents(file)?, scope);
        Ok(state.saved().map(|saved| Restored {
            saved,
            now: state.tally(),
        }))
    }

    /// Forgets the scope. Makes no directory.
    ///
    /// # Errors
    ///
    /// See [`SessionError`]; then it may still be there.
    pub fn clear(&self, scope: &Scope) -> Result<(), SessionError> {
        let Some(directory) = self.open()? else {
            return Ok(());
        };
        if directory.find(scope)?.is_some() {
            let _lock = Lock::acquire(&directory, scope)?;
            directory.remove(scope)?;
        }
        Ok(())
    }

    /// The tally, or none where nothing was counted. Takes no lock, since a file is only ever replaced whole.
    ///
    /// # Errors
    ///
    /// See [`SessionError`].
    pub fn read(&self, scope: &Scope) -> Result<Option<Tally>, SessionError> {
        let Some(directory) = self.open()? else {
            return Ok(None);
        };
        match directory.find(scope)? {
            Some((file, metadata)) if !is_old(&metadata) => {
                let state = State::read(&Directory::contents(file)?, scope);
                Ok(Some(state.tally()))
            }
            _ => Ok(None),
        }
    }

    /// Opens the directory, or none where it does not exist.
    pub(crate) fn open(&self) -> Result<Option<Directory>, SessionError> {
        if let Some(above) = &self.above {
            directory::look(above)?;
        }
        Directory::open(&self.path)
    }

    /// Changes a scope's state under the lock; it is written where the change says that it has to be.
    fn change<T>(
        &self,
        scope: &Scope,
        change: impl FnOnce(&mut State) -> (T, bool),
    ) -> Result<T, SessionError> {
        if let Some(above) = &self.above {
            directory::look(above)?;
        }
        let directory = Directory::create(&self.path, self.sweeps)?;
        let _lock = Lock::acquire(&directory, scope)?;
        let found = directory.find(scope)?.filter(|(_, metadata)| !is_old(metadata));
        let is_new = found.is_none();
        let mut state = match found {
            Some((file, _)) => State::read(&Directory::contents(file)?, scope),
            None => State::new(scope),
        };
        let (outcome, write) = change(&mut state);
        if write {
            let contents = state.to_bytes().map_err(io::Error::from)?;
            directory.replace(scope, &contents, self.durable)?;
        }
        if is_new && self.sweeps && directory.is_ours() {
            sweep(&directory, scope);
        }
        Ok(outcome)
    }
}

/// Whether a file was changed last before the time for which scopes are kept.
pub(crate) fn is_old(metadata: &Metadata) -> bool {
    let age = metadata
        .modified()
        .ok()
        .and_then(|time| SystemTime::now().duration_since(time).ok());
    age.is_some_and(|age| age > KEPT_FOR)
}

/// Removes what is left of others: old scopes, and directories that are the locks of nobody any more. Whatever goes wrong
/// is left for another time.
fn sweep(directory: &Directory, own: &Scope) {
    let Ok(entries) = fs::read_dir(directory.path()) else {
        return;
    };
    let names = entries.take(MOST_LISTED).flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let near = names.filter(|name| name.as_bytes()[0] == own.as_str().as_bytes()[0]);
    for name in near.take(MOST_LOOKED_AT) {
        let Some((stem, ending)) = name.split_once('.') else {
            continue;
        };
        let Some(scope) = Scope::named(stem).filter(|scope| scope != own) else {
            continue;
        };
        let _ = match ending {
            "json" => expire(directory, &scope),
            // Taking a lock that nobody has, and dropping it, removes it. The original's are left alone.
            "lock" if directory.lock(&scope).is_dir() => Lock::try_acquire(directory, &scope).map(drop),
            _ => Ok(()),
        };
    }
}

fn expire(directory: &Directory, scope: &Scope) -> io::Result<()> {
    // Whatever else has such a name is not ours to remove.
    let is_old = || {
        let found = directory.find(scope).ok().flatten();
        found.is_some_and(|(file, metadata)| {
            is_old(&metadata)
                && Directory::contents(file).is_ok_and(|contents| State::is_of(&contents, scope))
        })
    };
    if is_old()
        && let Some(_lock) = Lock::try_acquire(directory, scope)?
        // Looked at again, now that nobody else can change it.
        && is_old()
    {
        directory.remove(scope)?;
    }
    Ok(())
}
