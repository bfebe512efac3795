//! End to end: real events into the real process, against a simulated ZVM over real TLS.

#![expect(clippy::unwrap_used, reason = "these are tests")]

#[path = "../support/mod.rs"]
mod support;

mod config;
mod decisions;
mod events;
mod panics;
mod policies;
mod process;
mod stances;
mod stdin;

/// The program under test.
const HOLDPOINT: &str = env!("CARGO_BIN_EXE_holdpoint");
