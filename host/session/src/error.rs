//! Why a tally could not be kept or read.

use std::io;
use std::path::PathBuf;

/// Why an operation on a tally did nothing. The verbs answer `ignored` to all of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Something lies where the state belongs that nobody but this user should have been able to put there.
    #[error("{path} is {what}, so nothing in it is used", path = path.display())]
    Refused {
        /// What is refused.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Others held the scope's lock for as long as we wait.
    #[error("another process keeps the session's tally locked")]
    Busy,
    /// The operating system said no.
    #[error("the session's tally cannot be kept ({0})")]
    Io(#[from] io::Error),
}
