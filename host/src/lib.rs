//! Holdpoint's host: runs as an agent harness's hook, asks a sandboxed policy, and answers.
//!
//! Data flows one way, and each step has its one place:
//!
//! [`harness::stdin`] and [`harness::claude_code`] make an [`event`] of what the harness writes; [`policy`] loads what
//! decides and [`runtime`] runs it; [`zerto`] and [`session`] are what it is lent; a [`verdict`] comes out, [`receipts`] and
//! [`log`] keep it, and the harness module writes the answer. [`hook`] is that way from end to end, under the eyes of the
//! [`watchdog`]. On the [`mod@bench`], somebody else plays the host.

pub mod arguments;
mod asqav_hook;
pub mod bench;
pub mod cli;
pub mod compare;
mod compiler;
pub mod config;
mod credentials;
pub mod doctor;
mod environment;
pub mod event;
pub mod exit;
pub mod explain;
pub mod harness;
pub mod history;
pub mod hook;
pub mod init;
mod local;
pub mod log;
mod origin;
pub mod policy;
pub mod post_decision;
mod private;
pub mod receipts;
pub mod record;
pub mod recording;
pub mod runtime;
mod secret;
pub mod session;
pub mod signer;
pub mod status;
mod stdio;
pub mod terminal;
pub mod text;
pub mod verdict;
pub mod watchdog;
pub mod zerto;
