//! What can go wrong with receipts.

use std::io;
use std::path::{Path, PathBuf};

use holdpoint_artifact::KeyError;
use thiserror::Error;

/// Why a text is no receipt.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReceiptError {
    /// Not the envelope, or not the payload.
    #[error("not a receipt of this format ({0})")]
    Unreadable(String),
    /// Written by a newer host.
    #[error("a receipt of format {0}, which this version does not know; update holdpoint to read it")]
    Newer(u32),
    /// Its parts contradict each other: an observation that claims a verdict, say.
    #[error("its {0}")]
    Contradiction(&'static str),
    /// The payload is larger than a receipt can be.
    #[error("{0} bytes long, and a receipt has at most {max}", max = crate::limit::LARGEST_RECEIPT)]
    TooLarge(usize),
}

/// Why a receipt cannot be written or a log cannot be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// A file of the log cannot be used.
    #[error("{path} cannot be {what} ({cause})")]
    File {
        /// The file.
        path: PathBuf,
        /// What was to be done to it.
        what: &'static str,
        /// The operating system's words.
        cause: io::Error,
    },
    /// There is no log yet.
    #[error("there are no receipts in {0}; begin with: holdpoint receipts keygen")]
    NoLog(PathBuf),
    /// There is no key.
    #[error("there is no key in {0}; make one with: holdpoint receipts keygen")]
    NoKey(PathBuf),
    /// The key is gone, and what it signed is there.
    #[error(
        "there is no key in {key}, and {directory} has what it signed: bring the key back; or, to begin a new log, move \
         {directory} aside (it stays verifiable with the keys.json in it) and make a key with: holdpoint receipts keygen",
        key = key.display(), directory = directory.display()
    )]
    LostKey {
        /// Where the key was.
        key: PathBuf,
        /// The log's directory.
        directory: PathBuf,
    },
    /// There is a key, and not the log that it signed.
    #[error(
        "the key {key} is there, and the keys.json of its receipts is not in {directory}: bring that back; or, to begin a \
         new log, move the key and {directory} aside and make another key with: holdpoint receipts keygen",
        key = key.display(), directory = directory.display()
    )]
    KeyWithoutLog {
        /// The key's file.
        key: PathBuf,
        /// Where the log would be.
        directory: PathBuf,
    },
    /// There is a key already.
    #[error("{0} is there already; to use another key, change it with: holdpoint receipts change-key")]
    KeyExists(PathBuf),
    /// Somebody else could have read the key.
    #[error("the key {0} may be read by others; mend it with: chmod 600 {0}")]
    KeyExposed(PathBuf),
    /// The key's file holds no key.
    #[error("the key {path} cannot be used: {cause}")]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: KeyError,
    },
    /// The log goes on with another key than this one.
    #[error(
        "the key {path} is {key}, and the receipts go on with {wanted}: bring that one back, or begin a new log elsewhere \
         (receipts.directory)"
    )]
    OtherKey {
        /// The key's file.
        path: PathBuf,
        /// The key's id.
        key: String,
        /// The id of the key that is wanted.
        wanted: String,
    },
    /// The key set's file holds no key set.
    #[error("the key set {path} cannot be used: {cause}")]
    KeySet {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// Somebody else could have written the log.
    #[error("{0} may be written by others; mend it with: chmod go-w {0}")]
    Exposed(PathBuf),
    /// Another process has the log and does not let go.
    #[error("another process kept the receipts in {0} locked for too long")]
    Busy(PathBuf),
    /// The receipt cannot be made.
    #[error("the receipt cannot be made: {0}")]
    Receipt(#[from] ReceiptError),
    /// What is to be archived cannot be, or not there.
    #[error("{0}")]
    Archive(String),
    /// No file that was named has that receipt.
    #[error("{0}")]
    NotFound(String),
}

impl LogError {
    /// A file that something could not be done to.
    pub(crate) fn file(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::File { path, what, cause }
    }
}
