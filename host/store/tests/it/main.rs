//! The store as the host uses it.
#![cfg(unix)]

mod changes;
mod channels;
mod common;
mod compiled;
mod loading;
mod permissions;
mod policies;
mod registries;
mod server;
mod stops;
