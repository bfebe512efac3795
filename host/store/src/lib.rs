//! Keeps policies: which versions there are, which one is in force, and how that came about.
//!
//! A [`Store`] is a folder:
//!
//! ```text
//! active                         which policy is in force, and the ways back; replacing this file is what changes it
//! objects/<sha256>/policy.wasm   a policy, named by its digest
//! objects/<sha256>/facts.json    its name, version and key, for lists
//! objects/<sha256>/policy.cwasm  its compiled code
//! objects/<sha256>/compiled.json for what that was made, authenticated with the store's key
//! objects/<sha256>/not-compiled  why there is no compiled code, where it could not be made
//! history.jsonl                  what happened, one line each, only ever appended to
//! failure.json                   the last change, where that failed
//! revoked.json                   what was revoked here
//! channels.json                  what was last seen of each channel
//! key, lock, tmp/                the store's own key, the writers' lock, and where files are written before a rename
//! ```
//!
//! Everything that is put in force and everything that is loaded passes the gate of `holdpoint-artifact`. Compiling is
//! another program's work; this package links no engine.

// The tests of the whole store and those in here make their policies with the same code.
#[cfg(test)]
extern crate self as holdpoint_store;

mod admission;
mod change;
pub mod child;
mod compiled;
mod disk;
mod entries;
mod error;
mod files;
mod hold;
mod load;
mod lock;
mod owner;
pub mod pull;
mod revoking;
#[cfg(test)]
mod stopped;
mod store;

pub use crate::admission::Admission;
pub use crate::change::{Change, ChangeError, Changed};
pub use crate::child::ChildError;
pub use crate::compiled::{Build, Code, Compiler, Failed, Recompile};
pub use crate::entries::{Entry, What, Who, title};
pub use crate::error::StoreError;
pub use crate::hold::{Hold, read_code};
pub use crate::load::{Fallback, LoadError, Loaded, Trouble};
pub use crate::revoking::{Revocation, Target};
pub use crate::store::{Kept, Store, Which};
