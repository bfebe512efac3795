//! What a person sees of the tallies.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;

use crate::directory::Directory;
use crate::error::SessionError;
use crate::scope::Scope;
use crate::state::{Saved, State, Tally, timestamp};
use crate::store::{Store, is_old};

/// All scopes of a directory. Sessions and workspaces are hashes; nothing here leads back to them.
#[derive(Debug, Clone, Serialize)]
pub struct Overview {
    /// Where they lie.
    pub directory: PathBuf,
    /// The scopes, last changed first.
    pub scopes: Vec<Entry>,
    /// How many files have a scope's name and are refused.
    pub refused: usize,
}

/// One scope.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// The first 12 digits of its hash.
    pub scope: String,
    /// What was counted.
    #[serde(flatten)]
    pub tally: Tally,
    /// What was saved before the last compaction.
    pub saved: Option<Saved>,
    /// When it was changed last, RFC 3339 in UTC.
    pub changed: String,
    #[serde(skip)]
    time: Option<SystemTime>,
}

impl Store {
    /// Everything that is kept. Takes no lock and changes nothing.
    ///
    /// # Errors
    ///
    /// See [`SessionError`].
    pub fn overview(&self) -> Result<Overview, SessionError> {
        let mut overview = Overview {
            directory: self.path().to_owned(),
            scopes: Vec::new(),
            refused: 0,
        };
        let Some(directory) = self.open()? else {
            return Ok(overview);
        };
        for entry in fs::read_dir(directory.path())? {
            let name = entry?.file_name();
            let Some(scope) = name
                .to_str()
                .and_then(|name| Scope::named(name.strip_suffix(".json")?))
            else {
                continue;
            };
            match entry_of(&directory, &scope) {
                Ok(entry) => overview.scopes.extend(entry),
                Err(_) => overview.refused += 1,
            }
        }
        overview
            .scopes
            .sort_by(|one, other| (other.time, &one.scope).cmp(&(one.time, &other.scope)));
        Ok(overview)
    }
}

/// The scope's entry; none where it is gone or too old.
fn entry_of(directory: &Directory, scope: &Scope) -> Result<Option<Entry>, SessionError> {
    let Some((file, metadata)) = directory.find(scope)?.filter(|(_, metadata)| !is_old(metadata)) else {
        return Ok(None);
    };
    let state = State::read(&Directory::contents(file)?, scope);
    let time = metadata.modified().ok();
    Ok(Some(Entry {
        scope: scope.short().to_owned(),
        tally: state.tally(),
        saved: state.saved(),
        changed: time.map(timestamp).unwrap_or_default(),
        time,
    }))
}

impl fmt::Display for Overview {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scopes.is_empty() {
            writeln!(
                formatter,
                "no failures are on record in {}",
                self.directory.display()
            )?;
        } else {
            writeln!(
                formatter,
                "{:<12}  {:>8}  {:>5}  {:>4}  {:>5}  last change",
                "scope", "failures", "level", "peak", "saved"
            )?;
        }
        for entry in &self.scopes {
            let tally = entry.tally;
            let saved = entry
                .saved
                .map_or_else(|| "-".to_owned(), |saved| saved.failures.to_string());
            writeln!(
                formatter,
                "{:<12}  {:>8}  {:>5}  {:>4}  {saved:>5}  {}",
                entry.scope, tally.failures, tally.level, tally.peak, entry.changed
            )?;
        }
        if self.refused > 0 {
            let files = if self.refused == 1 { "file is" } else { "files are" };
            writeln!(
                formatter,
                "{} {files} refused: a symbolic link, or another user's",
                self.refused
            )?;
        }
        Ok(())
    }
}
