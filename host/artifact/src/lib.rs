//! A policy's file: its signature, its manifest, and the gate that it has to pass before anything of it runs.
//!
//! Pure: bytes go in, facts or a refusal come out. No file is opened here, no clock is read and no configuration is
//! looked for; `now`, the trust and the contract are what the caller says they are. [`gate()`] is the one function that
//! decides, [`sign()`] makes what passes it, and [`inspect()`] tells everything that can be told of a file.
//!
//! The format and the order of the gate are described in `docs/signing.md`.

mod contract;
mod digest;
mod gate;
mod inspect;
pub mod keys;
mod layout;
mod limit;
mod manifest;
mod place;
mod refusal;
mod sections;
mod sign;
mod signature;
mod text;
mod time;
mod trust;

pub use semver::Version;

pub use crate::contract::{Contract, Lent};
pub use crate::digest::{Digest, NotADigest};
pub use crate::gate::{Admitted, Facts, gate, gate_again};
pub use crate::inspect::{CatalogSummary, Import, Inspection, Signer, inspect};
pub use crate::keys::{KeyError, KeyId, KeyPair, PublicKey};
pub use crate::layout::CATALOG_SECTION;
pub use crate::limit::LARGEST;
pub use crate::manifest::{LARGEST_MANIFEST, MANIFEST_SECTION, Manifest, ManifestError};
pub use crate::place::{LARGEST_DATA, PlaceError, put_data};
pub use crate::refusal::Refusal;
pub use crate::sign::{SignError, catalog_of, sign, with_catalog, with_manifest};
pub use crate::time::{NotATime, UtcTime};
pub use crate::trust::{Required, RevokedIn, Signature, StoreRevocations, Trust, TrustedKey};
