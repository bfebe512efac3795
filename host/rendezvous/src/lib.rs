//! Lets calls that wait at the same time share one checkpoint.
//!
//! Hook processes of one user on one machine meet in a directory that nobody else can enter. Of those that need a
//! checkpoint of one VPG, one leads a *round*: it inserts the checkpoint and watches for it; the others follow. Nothing
//! runs between calls, and whatever a killed process leaves behind is seen to be left.
//!
//! Why a follower is protected as well as by a checkpoint of its own, and what is done at every point at which a process
//! can end, is written down in `docs/rendezvous.md`. The decisions are in [`Board`] and [`Patience`], which do no I/O;
//! [`Place`] does what they say with files and the operating system's locks.
//!
//! This library knows nothing of Zerto: what is inserted, and how it is seen, is the caller's work.

mod board;
mod directory;
mod error;
mod patience;
mod place;
mod this_machine;

pub use board::{Board, Fate};
pub use directory::Directory;
pub use error::Error;
pub use patience::{Look, Next, Patience, may_insert};
pub use place::{Follow, Lead, Place, Turn};
pub use this_machine::{machine, since_boot};
