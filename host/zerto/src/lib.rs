//! Asks a Zerto Virtual Manager for VMs and captures tagged checkpoints.
//!
//! This library knows ZVMs and nothing of hooks, policies or Wasm. Its functions run on a Tokio runtime that the caller
//! owns (with timers and I/O, one thread is enough), and none of them answers later than the deadline of the
//! [`Settings`]. A look-up of a host name runs on Tokio's blocking pool and cannot be stopped: whoever must end in time
//! ends the process, or shuts the runtime down in the background.
//!
//! What a ZVM answers, and how, is known from Zerto's OpenAPI description (release 10.0 U6), Zerto's own SDKs and help
//! pages. What they leave open is read so that it can only delay or refuse, never count as a checkpoint.

mod api;
mod capture;
mod certificate;
mod checkup;
mod clock;
mod error;
mod http;
mod journal;
mod keeper;
mod kept;
mod login;
mod meter;
mod model;
mod settings;
mod tls;
mod wire;
mod zvm;

pub use crate::certificate::Certificate;
pub use crate::error::Error;
pub use crate::keeper::Keeper;
pub use crate::model::{Checkpoint, Direction, Permission, SiteState, Timings, VmRow, VpgState};
pub use crate::settings::{Login, Secret, Settings, Trust};
pub use crate::zvm::Zvm;

/// Whether an address names a ZVM: `https://host[:port]`, and nothing behind it.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn check_address(url: &str) -> Result<(), String> {
    http::origin(url).map(drop).map_err(|error| match error {
        Error::Unreachable(words) => words,
        other => other.to_string(),
    })
}
