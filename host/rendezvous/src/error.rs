//! Why the directory could not be used. Whoever meets one of these captures by itself.

use std::io;
use std::path::{Path, PathBuf};

/// Why nothing could be shared or kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system said no.
    #[error("{path} cannot be used ({cause})")]
    Io {
        /// What was asked for.
        path: PathBuf,
        /// The operating system's words.
        cause: io::Error,
    },
    /// Others could have written it, or can read it.
    #[error("{path} is open to others; mend it with: chmod go-rwx {path}")]
    Exposed {
        /// The directory or file.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error("{path} belongs to another user")]
    Foreign {
        /// The directory or file.
        path: PathBuf,
    },
    /// A link, a pipe, or a directory in a file's place.
    #[error("{path} is not what has that name otherwise")]
    Odd {
        /// What was found.
        path: PathBuf,
    },
    /// A file of ours that makes no sense. It is removed when this is told.
    #[error("{path} made no sense, and was removed")]
    Corrupt {
        /// The file.
        path: PathBuf,
    },
    /// Somebody holds a lock for longer than anything done under it takes.
    #[error("{path} stayed locked")]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// This platform does not tell who owns a file.
    #[error("nothing is shared on this platform")]
    Unsupported,
}

impl Error {
    pub(crate) fn io(path: &Path, cause: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            cause,
        }
    }
}
