//! End to end: real events into the real process, against a simulated ZVM over real TLS.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use test_support as support;

#[cfg(target_os = "linux")]
mod armed;
mod attacked;
#[cfg(unix)]
mod authors;
#[cfg(unix)]
mod broken;
#[cfg(unix)]
mod broken_entries;
#[cfg(unix)]
mod broken_records;
#[cfg(unix)]
mod broken_setup;
#[cfg(unix)]
mod broken_table;
#[cfg(unix)]
mod cases;
mod catalogs;
mod cli;
#[cfg(unix)]
mod collector;
#[cfg(target_os = "linux")]
mod compiler;
mod compiling;
mod config;
#[cfg(unix)]
mod credentials;
#[cfg(unix)]
mod daily;
mod decisions;
mod deviations;
#[cfg(unix)]
mod doctor;
mod events;
#[cfg(unix)]
mod evidence;
#[cfg(target_os = "linux")]
mod following;
#[cfg(unix)]
mod guests;
#[cfg(unix)]
mod house;
#[cfg(unix)]
mod init;
#[cfg(unix)]
mod init_files;
#[cfg(unix)]
mod init_secrets;
#[cfg(target_os = "linux")]
mod init_terminal;
#[cfg(unix)]
mod installation;
#[cfg(unix)]
mod kept_shadow;
#[cfg(unix)]
mod liveness;
#[cfg(target_os = "linux")]
mod managed;
#[cfg(target_os = "linux")]
mod managed_level;
mod oddities;
#[cfg(target_os = "linux")]
mod operator;
mod panics;
#[cfg(target_os = "linux")]
mod plain_files;
mod policies;
#[cfg(unix)]
mod probes;
mod process;
#[cfg(target_os = "linux")]
mod reading;
mod readonly;
#[cfg(unix)]
mod receipts;
#[cfg(unix)]
mod recording;
#[cfg(unix)]
mod session;
#[cfg(unix)]
mod session_verbs;
#[cfg(unix)]
mod shadow;
#[cfg(unix)]
mod signed;
mod signer;
mod stances;
#[cfg(unix)]
mod starters;
mod stdin;
#[cfg(unix)]
mod together;
mod troubles;
#[cfg(unix)]
mod updates;

/// The program under test: the one that was built with the tests, or another build of it, which `HOLDPOINT_PROGRAM` named
/// when they were built (an absolute path).
const HOLDPOINT: &str = match option_env!("HOLDPOINT_PROGRAM") {
    Some(program) => program,
    None => env!("CARGO_BIN_EXE_holdpoint"),
};
