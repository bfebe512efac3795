//! End to end: real events into the real process, against a simulated ZVM over real TLS.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use test_support as support;

mod catalogs;
mod cli;
mod config;
mod decisions;
mod events;
mod panics;
mod policies;
mod process;
#[cfg(target_os = "linux")]
mod readonly;
#[cfg(unix)]
mod receipts;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod session_verbs;
#[cfg(unix)]
mod signed;
mod signer;
mod stances;
mod stdin;
mod troubles;

/// The program under test.
const HOLDPOINT: &str = env!("CARGO_BIN_EXE_holdpoint");
