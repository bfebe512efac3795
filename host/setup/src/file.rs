//! Changes a settings file: with a backup beside it, and in one step, so that the harness never reads half of one.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::edit::{self, EditError};
use crate::hook::Hook;

/// What became of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Everything was as it should be; nothing was written.
    Unchanged,
    /// It was written, and what stood there before is in the backup, if anything did.
    Written {
        /// The backup.
        backup: Option<PathBuf>,
    },
    /// It has the very bytes again that it had before our entries came.
    Restored,
    /// Nothing but our entries was in it, and it is gone.
    Deleted,
}

/// Why a settings file was not changed.
#[derive(Debug, Error)]
pub enum FileError {
    /// A file cannot be read or written.
    #[error("{path}: {cause}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        cause: io::Error,
    },
    /// Its text cannot be changed.
    #[error("{path}: {cause}", path = path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: EditError,
    },
    /// It is no text.
    #[error("{path}: it is no UTF-8", path = path.display())]
    NoText {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else wrote it at the same time.
    #[error("{path}: it was changed by somebody else at the same time; try again", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

/// Where the text of a settings file from before our entries lies.
pub fn backup_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".before-holdpoint");
    path.with_file_name(name)
}

/// Puts our entries into a settings file, and makes it where there is none. The backup is what stood there without them:
/// later changes of our own entries leave it.
///
/// # Errors
///
/// Where the file cannot be read, changed or written; it is as it was then.
pub fn install(path: &Path, hook: &Hook) -> Result<Change, FileError> {
    let before = read(path)?;
    let text = before.clone().unwrap_or_default();
    let after = edit::merge(&text, hook).map_err(|cause| edit_error(path, cause))?;
    if before.as_deref() == Some(&after) {
        return Ok(Change::Unchanged);
    }
    let is_without_us = edit::remove(&text).is_ok_and(|without| without == text);
    let backup = match &before {
        Some(before) if is_without_us => {
            let backup = backup_path(path);
            write(&backup, before, Some(path))?;
            Some(backup)
        }
        Some(_) => Some(backup_path(path)).filter(|backup| backup.exists()),
        None => None,
    };
    replace(path, before.as_deref(), &after)?;
    Ok(Change::Written { backup })
}

/// Takes our entries out of a settings file. Where the file is as [`install`] left it, it gets back the bytes that it had
/// before, or goes, if it was not there before.
///
/// # Errors
///
/// As [`install`].
pub fn uninstall(path: &Path) -> Result<Change, FileError> {
    let Some(text) = read(path)? else {
        return Ok(Change::Unchanged);
    };
    let without = edit::remove(&text).map_err(|cause| edit_error(path, cause))?;
    if without == text {
        return Ok(Change::Unchanged);
    }
    let backup = backup_path(path);
    let original = read(&backup)?;
    let left_by_us = edit::installed(&text).is_some_and(|hook| {
        edit::merge(original.as_deref().unwrap_or_default(), &hook).as_ref() == Ok(&text)
    });
    match original {
        Some(original) if left_by_us => {
            replace(path, Some(&text), &original)?;
            fs::remove_file(&backup).map_err(|cause| io_error(&backup, cause))?;
            Ok(Change::Restored)
        }
        None if left_by_us => {
            fs::remove_file(path).map_err(|cause| io_error(path, cause))?;
            Ok(Change::Deleted)
        }
        original => {
            replace(path, Some(&text), &without)?;
            let backup = original.map(|_| backup);
            Ok(Change::Written { backup })
        }
    }
}

fn io_error(path: &Path, cause: io::Error) -> FileError {
    let path = path.to_owned();
    FileError::Io { path, cause }
}

fn edit_error(path: &Path, cause: EditError) -> FileError {
    let path = path.to_owned();
    FileError::Edit { path, cause }
}

fn read(path: &Path) -> Result<Option<String>, FileError> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| FileError::NoText {
            path: path.to_owned(),
        }),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(io_error(path, cause)),
    }
}

/// Writes a file that is not seen before it is whole, if what stands there is still what was read.
fn replace(path: &Path, read_before: Option<&str>, text: &str) -> Result<(), FileError> {
    // People keep their settings elsewhere and link to them; the link stays.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(directory) = target.parent() {
        fs::create_dir_all(directory).map_err(|cause| io_error(directory, cause))?;
    }
    if read(&target)?.as_deref() != read_before {
        return Err(FileError::Changed {
            path: path.to_owned(),
        });
    }
    write(&target, text, read_before.map(|_| target.as_path()))
}

/// Writes a whole file in one step. It gets the mode and the owner of the file that it is like.
fn write(path: &Path, text: &str, like: Option<&Path>) -> Result<(), FileError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = (|| {
        let mut file = File::options().write(true).create_new(true).open(&temporary)?;
        if let Some(like) = like {
            take_after(&file, like)?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    written.map_err(|cause| {
        // Nothing is left behind; where that fails too, the first cause is what matters.
        let _ = fs::remove_file(&temporary);
        io_error(path, cause)
    })
}

fn take_after(file: &File, like: &Path) -> io::Result<()> {
    let metadata = fs::metadata(like)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // An administrator may change a user's file; it stays the user's.
        let ours = file.metadata()?;
        if (ours.uid(), ours.gid()) != (metadata.uid(), metadata.gid()) {
            std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()))?;
        }
    }
    file.set_permissions(metadata.permissions())
}
