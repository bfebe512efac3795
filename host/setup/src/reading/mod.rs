//! Which settings files count, and what of them is in force, as Claude Code decides it.
//!
//! [`Places`] knows where the files lie and reads them; [`Installation::judge`] does the rest, and touches no disk.
//!
//! What this cannot see: settings that an organisation's server or a device manager delivers, `--settings`,
//! `--setting-sources`, `--bare`, `--safe-mode`, and whether the user trusts the folder. Plugins that are enabled are read.

mod installation;
mod matcher;
mod places;
mod plugins;
mod schema;
mod settings;

pub use self::installation::{File, Installation, State};
pub use self::matcher::{Fires, check, matches};
pub use self::places::{Content, Level, Places, Source, managed_directory};
pub use self::settings::{Drops, Entry, Other, Problem, Settings, Skipped, read, read_plugin};
