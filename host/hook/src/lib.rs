//! The way of one event: read, decided, logged, put on record, answered. Data flows one way, and each step has its place:
//!
//! [`harness`] makes an [`event`] of what the harness writes, and `run` takes it from there. Before a call it asks the policy,
//! to which it lends [`zerto`] and [`session`]; what comes out is a [`decision`], of which [`log`], [`receipts`], [`signer`]
//! and the answer are made. After a call it compares and counts. The [`watchdog`] answers where this cannot, and
//! [`post_decision`] is what another process does when the answer is out.

pub mod arguments;
pub mod compare;
pub mod decision;
pub mod event;
pub mod exit;
pub mod explain;
pub mod harness;
pub mod history;
pub mod log;
pub mod origin;
pub mod post_decision;
pub mod question;
pub mod receipts;
pub mod record;
mod run;
pub mod secret;
pub mod self_test_calls;
pub mod session;
pub mod signer;
mod stdio;
pub mod unattended;
pub mod watchdog;
pub mod zerto;

pub use run::{heard, run};
