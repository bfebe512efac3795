//! The library against the simulated ZVM, over HTTPS on the loopback interface.

#![expect(clippy::unwrap_used, reason = "a test whose preparations fail has failed")]

mod capture;
mod checkup;
mod common;
mod kept;
mod log_in;
mod look_up;
mod recovery;
mod secrets;
mod troubles;
mod trust;
