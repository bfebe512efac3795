//! What every HTTP client of the host has in common.
//!
//! A project's settings can set environment variables for the hook, so none of them says whom a client trusts: see
//! [`trust`]. [`client()`] follows no redirect and, unless it is told otherwise, uses no proxy; [`body`] reads an answer up
//! to a limit; [`cause`] says what went wrong without repeating an address.

pub mod authorities;
pub mod trust;

mod client;

pub use crate::client::{Proxies, Unread, body, cause, client, is_loopback, root};
