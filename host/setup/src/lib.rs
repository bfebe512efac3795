//! Puts our hooks into a harness's settings, takes them out again, and reads settings as the harness does.
//!
//! [`reading`] says what of a set of settings files is in force and which hook entries would run for a call, as Claude Code
//! decides it; [`merge`] and [`remove`] change a settings file's text and leave every other byte of it alone;
//! [`mod@file`] does that to files, several of them as one, and keeps copies; [`plugin`] makes the same entries a plugin's.
//!
//! What is said here of the client was seen in Claude Code 2.1.332, run on settings files made for it, unless it says otherwise.

pub mod file;
pub mod json;
pub mod plugin;
pub mod reading;

mod copies;
mod edit;
mod error;
mod event;
mod handler;
mod hook;
mod jsonc;
mod line;
mod node;
mod splice;
mod target;
mod transaction;
mod words;

pub use crate::edit::{EditError, merge, remove};
pub use crate::event::Event;
pub use crate::handler::{Command, Handler};
pub use crate::hook::Hook;
pub use crate::line::{Start, is_our_program};
