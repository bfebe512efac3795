//! The receipts: whether they are written, where, and what stands in them.

use std::path::PathBuf;

use serde::Deserialize;

use crate::directories;
use crate::error::ConfigError;

/// Whether receipts are written, and what becomes of a call whose receipt cannot be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// None are written.
    #[default]
    Off,
    /// A receipt that cannot be written is lost, and nothing else.
    Audit,
    /// No receipt on the disk, no call.
    Gate,
}

impl Mode {
    /// As the configuration spells it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Audit => "audit",
            Self::Gate => "gate",
        }
    }
}

/// Who signs, beside the key of this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signer {
    /// Nobody.
    #[default]
    Local,
    /// The asqav service, under the account that the environment names.
    Asqav,
}

impl Signer {
    /// As the configuration spells it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Asqav => "asqav",
        }
    }
}

/// The receipts.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Receipts {
    /// Whether they are written. Never the policy's to say.
    pub mode: Mode,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    /// Whether arguments stand in them.
    pub arguments: bool,
    /// Whether results stand in them.
    pub results: bool,
    segment_bytes: Option<u64>,
    /// Who signs, beside the key of this machine.
    pub signer: Signer,
    /// The service's address, where it is not the environment's to say.
    pub asqav_url: Option<String>,
}

impl Receipts {
    /// Where they lie.
    ///
    /// # Errors
    ///
    /// Where nothing is configured and there is no home directory.
    pub fn directory(&self) -> Result<PathBuf, ConfigError> {
        if let Some(directory) = &self.directory {
            return Ok(directory.clone());
        }
        directories::state()
            .map(|directory| directory.join("receipts"))
            .map_err(|cause| cause.of_key("receipts.directory"))
    }

    /// The file of the key that signs them.
    ///
    /// # Errors
    ///
    /// As for [`directory`](Self::directory).
    pub fn key(&self) -> Result<PathBuf, ConfigError> {
        match &self.key {
            Some(key) => Ok(key.clone()),
            None => self.directory().map(|directory| directory.join("key.pem")),
        }
    }

    /// The size, in bytes, at which a new file of them is begun.
    pub fn segment_bytes(&self) -> u64 {
        self.segment_bytes.unwrap_or(16 * 1024 * 1024)
    }
}
