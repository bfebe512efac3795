//! The store as the host uses it.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod changes;
mod channels;
mod common;
mod compiled;
mod loading;
mod permissions;
mod policies;
mod registries;
mod stops;
