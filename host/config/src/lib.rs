//! The configuration: what it may say, where it comes from, and what wins. Plain data: whoever uses a key makes something of
//! it.

mod config;
mod directories;
mod error;
mod files;
mod keys;
mod layers;
mod legacy;
mod policy;
mod receipts;
mod record;
mod sources;
mod trust;
mod zerto;

pub use config::{Ask, Config, DEFAULT_DEADLINE_SECONDS, Log, Session};
pub use directories::{
    NoFolder, Unnamed, cache as cache_directory, own_state as own_state_directory, places as custom_places,
    resolved,
};
pub use error::ConfigError;
pub use files::{MACHINE_FILE, read_private, read_toml, state_variables};
pub use keys::reference;
pub use layers::{Hidden, Places, hidden, load, load_watched, parse};
pub use legacy::Original;
pub use policy::{CAPABILITIES, Choice, Policy, Server, Settings};
pub use receipts::{Mode, Receipts, Signer};
pub use record::{Record, Shadow};
pub use sources::Sources;
pub use trust::{Key, Require, SignatureRule};
pub use zerto::{LoginKind, Zerto, fingerprint};
