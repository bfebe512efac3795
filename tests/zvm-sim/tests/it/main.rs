//! The simulated ZVM, asked over HTTPS as any other caller would.

#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod caller;
mod capture;
mod lists;
mod login;
mod program;
mod schema;
mod sim;
mod troubles;
