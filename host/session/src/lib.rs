//! The session tally: how many of a session's tool calls failed, kept across compaction, and nothing else of it.
//!
//! A tally belongs to a *scope*, the hash of a session in a workspace. Files, fields and lock are those of the helper that
//! this replaces, so both can work in one directory: [`verbs`] answers line by line as it did, [`observe`] is for the
//! hook, [`Store::read`] for what decides, and [`Store::overview`] for people.

mod directory;
mod error;
mod hook;
mod json;
mod lock;
mod payload;
mod platform;
mod scope;
mod show;
mod state;
mod store;
pub mod verbs;

pub use error::SessionError;
pub use hook::{Observed, Tools, observe};
pub use payload::Payload;
pub use scope::{CallId, Scope};
pub use show::{Entry, Overview};
pub use state::{Saved, Tally, level};
pub use store::{KEPT_FOR, Recorded, Restored, Store};
