//! Holdpoint's host: runs as an agent harness's hook, asks a sandboxed policy, and answers.
//!
//! Data flows one way, and each step has its one place:
//!
//! [`harness::stdin`] and [`harness::claude_code`] make an [`event`] of what the harness writes; [`policy`] loads what
//! decides and [`runtime`] runs it; [`zerto`] and [`session`] are what it is lent; a [`verdict`] comes out, [`receipts`] and
//! [`log`] keep it, and the harness module writes the answer. [`hook`] is that way from end to end, under the eyes of the
//! [`watchdog`]. In the [`testkit`], something else answers in the host's place.

pub mod arguments;
mod asqav_hook;
pub mod cli;
pub mod compare;
pub mod config;
mod credentials;
pub mod decision;
pub mod doctor;
mod environment;
pub mod event;
pub mod exchange;
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
mod question;
pub mod receipts;
pub mod record;
pub mod recording;
pub mod runtime;
mod secret;
mod self_test_calls;
pub mod session;
pub mod signer;
pub mod status;
mod stdio;
pub mod terminal;
pub mod testkit;
pub mod text;
mod unattended;
pub mod verdict;
pub mod watchdog;
pub mod zerto;
