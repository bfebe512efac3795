//! Policies' files: made, broken in every way that is known, and looked at.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod contract;
mod damage;
mod file;
mod gate;
mod inspect;
mod keys;
mod manifest;
mod other_tool;
mod sign;
