//! The `holdpoint` command: its verbs, and what they show. The way of an event is in `holdpoint-hook`.

mod asqav_hook;
pub mod cli;
pub mod doctor;
mod explanation;
pub mod init;
mod local;
pub mod status;
pub mod terminal;
