//! Why there is no policy to run, and what to do about it.

use std::io;
use std::path::PathBuf;

use holdpoint_artifact::{Refusal, Required};
use holdpoint_common::way;
use holdpoint_config::ConfigError;
use holdpoint_store::{Recompile, StoreError};

use super::code::Foreign;
use crate::verdict::FaultKind;

/// Why there is no policy to run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("the policy's file {path} cannot be read ({cause})")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        cause: io::Error,
    },
    /// Compiled code is native code: whoever can write the file can do what this process can.
    #[error("the policy's file {path} may be written by others; mend it with: chmod go-w {path}")]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// Whoever can replace the file can do the same.
    #[error("the policy's file {path} {problem}")]
    Replaceable {
        /// The file.
        path: PathBuf,
        /// The folder on the way to it, and what to do.
        problem: way::Problem,
    },
    /// The gate does not let it in.
    #[error("the policy's file {path} was refused: {refusal}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        refusal: Box<Refusal>,
    },
    /// There is no code, or not of this component.
    #[error(
        "the policy {path} has no compiled code of its own beside it; make it with: holdpoint-compile {path}"
    )]
    NotCompiled {
        /// The component.
        path: PathBuf,
    },
    /// The code is not for this host.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// The installed policy's code has to be made anew.
    #[error(
        "the installed policy cannot be used: {why}{}; mend it with: holdpoint policy install {file}",
        .tried.as_ref().map(|cause| format!(", and it could not be made ({cause})")).unwrap_or_default()
    )]
    Recompile {
        /// Why.
        why: Recompile,
        /// Why it was not made, where that was tried.
        tried: Option<String>,
        /// The kept policy.
        file: PathBuf,
    },
    /// There is only the shipped policy, and the configuration wants another.
    #[error(
        "the configuration wants {0} (policy.require), and no policy is installed; install it with: holdpoint policy \
         install FILE"
    )]
    NotInstalled(Required),
    /// Nothing in the store may decide.
    #[error(transparent)]
    Installed(#[from] holdpoint_store::LoadError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Whom to trust cannot be told.
    #[error(transparent)]
    Trust(#[from] ConfigError),
}

impl LoadError {
    /// What kind of fault it is.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Trust(_) => FaultKind::Configuration,
            _ => FaultKind::Policy,
        }
    }
}
