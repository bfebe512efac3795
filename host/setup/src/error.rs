//! Why files are not changed.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::edit::EditError;

/// Why a file was not changed.
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
    /// It cannot be changed as it is, and what to do.
    #[error("{path}: {why}", path = path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Another program wrote it at the same time.
    #[error("{path}: it was changed by somebody else at the same time; try again", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A change failed, and so did putting back those before it.
    #[error(
        "{cause}; these files were changed before that and could not be put back: {}",
        listed(files)
    )]
    NotUndone {
        /// Why the change failed.
        cause: Box<Self>,
        /// The files that are changed all the same.
        files: Vec<PathBuf>,
    },
}

impl FileError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |cause| Self::Io { path, cause }
    }

    pub(crate) fn refused(path: &Path, why: impl Into<String>) -> Self {
        let (path, why) = (path.to_owned(), why.into());
        Self::Refused { path, why }
    }

    pub(crate) fn edit(path: &Path) -> impl FnOnce(EditError) -> Self {
        let path = path.to_owned();
        |cause| Self::Edit { path, cause }
    }
}

fn listed(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    files.join(", ")
}
