//! The manifest: what a policy's makers say of it, inside the bytes that they sign.

use semver::Version;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::digest::Digest;
use crate::time::UtcTime;

/// The name of the custom section that holds the manifest, as JSON.
pub const MANIFEST_SECTION: &str = "holdpoint:manifest";

/// The largest manifest that is read, in bytes.
pub const LARGEST_MANIFEST: usize = 4096;

/// The longest name and the longest version, in characters.
const LONGEST_WORD: usize = 64;

/// What a policy's makers say of it. Keys that are not known here are refused: whoever wrote one meant it to matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The policy's name: lower-case letters, digits and dashes, beginning with a letter; at most 64.
    pub name: String,
    /// The policy's version, by which one is newer than another.
    pub version: Version,
    /// The version of the WIT package that it is built against.
    pub wit: Version,
    /// SHA-256 of what the `holdpoint:catalog` section contains, where the policy carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Digest>,
    /// When it was signed, by the signer's clock.
    pub made: UtcTime,
    /// The last second at which it is to be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<UtcTime>,
}

/// Why a manifest is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// Far more than a manifest has to say.
    #[error("larger than {LARGEST_MANIFEST} bytes")]
    TooLarge,
    /// Not the JSON that it should be; the parser's words.
    #[error("{0}")]
    Json(String),
    /// The name could not be a file's, or would not be readable.
    #[error("the name is not 1 to 64 lower-case letters, digits and dashes, beginning with a letter")]
    Name,
    /// A version is too long to be one.
    #[error("a version has more than 64 characters")]
    Version,
}

impl Manifest {
    /// Reads and checks a manifest's JSON.
    ///
    /// # Errors
    ///
    /// Where it is too large, is not the JSON of a manifest, or says something that a manifest may not.
    pub fn read(json: &[u8]) -> Result<Self, ManifestError> {
        if json.len() > LARGEST_MANIFEST {
            return Err(ManifestError::TooLarge);
        }
        let manifest =
            serde_json::from_slice::<Self>(json).map_err(|error| ManifestError::Json(error.to_string()))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Checks and writes it as JSON.
    ///
    /// # Errors
    ///
    /// Where it says something that a manifest may not.
    pub fn write(&self) -> Result<Vec<u8>, ManifestError> {
        self.check()?;
        serde_json::to_vec(self).map_err(|error| ManifestError::Json(error.to_string()))
    }

    fn check(&self) -> Result<(), ManifestError> {
        let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        let fits = self.name.len() <= LONGEST_WORD && self.name.bytes().all(plain);
        if !fits || !self.name.starts_with(|first: char| first.is_ascii_lowercase()) {
            return Err(ManifestError::Name);
        }
        if [&self.version, &self.wit]
            .into_iter()
            .any(|version| version.to_string().len() > LONGEST_WORD)
        {
            return Err(ManifestError::Version);
        }
        Ok(())
    }
}
