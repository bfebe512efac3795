//! What can be wrong with the store itself, as opposed to a policy.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// The store cannot be used, or not now.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no store at this place yet.
    #[error("there is no policy store at {0}; installing a policy makes one")]
    NoStore(PathBuf),
    /// Whoever can write here decides what is decided.
    #[error("{path} may be written by others; mend it with: chmod go-w {path}")]
    Exposed {
        /// The file or folder.
        path: PathBuf,
    },
    /// It belongs to somebody else.
    #[error("{path} belongs to the user with the number {owner}; mend it with: chown \"$(id -u)\" {path}")]
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// The key that authenticates compiled code is nobody else's business.
    #[error("{path} may be read by others; mend it with: chmod 600 {path}")]
    Readable {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what the store writes there.
    #[error("{path} {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The operating system refused.
    #[error("{path}: {cause}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its words.
        cause: io::Error,
    },
    /// Another process is writing.
    #[error("another process held the store's lock {path} for more than {} ms", .waited.as_millis())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Nothing like this is kept here.
    #[error("the store holds no policy {0}; see: holdpoint policy list")]
    Unknown(String),
    /// There is no way back.
    #[error("no earlier policy is known to go back to; name one: holdpoint policy rollback VERSION")]
    NoWayBack,
    /// Nothing else was ever in force.
    #[error(
        "{title} is the first policy that was put in force, so there is none to go back to; to return to the shipped one, \
         remove the store's folder {store} (and policy.require from the configuration)"
    )]
    First {
        /// What is in force.
        title: String,
        /// The store.
        store: PathBuf,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path, cause: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            cause,
        }
    }

    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            why: why.into(),
        }
    }
}
