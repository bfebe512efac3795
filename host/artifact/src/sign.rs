//! Making a policy's file: a manifest put into a component, and a signature before everything.

use thiserror::Error;

use crate::digest::Digest;
use crate::keys::KeyPair;
use crate::layout::CATALOG_SECTION;
use crate::limit::LARGEST;
use crate::manifest::{MANIFEST_SECTION, Manifest, ManifestError};
use crate::refusal::{Refusal, or_none};
use crate::sections::{HEADER, Sections, put_custom};
use crate::signature;

/// Why a component cannot be signed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignError {
    /// No file that could be signed and then pass the gate.
    #[error("the component cannot be signed: {0}")]
    Component(#[from] Refusal),
    /// The manifest says something that it may not.
    #[error("the manifest cannot be used: {0}")]
    Manifest(#[from] ManifestError),
    /// The manifest names another catalog than the one inside.
    #[error("the manifest names the catalog {}, and the component carries {}", or_none(*manifest), or_none(*carried))]
    Catalog {
        /// The manifest's.
        manifest: Option<Digest>,
        /// The component's.
        carried: Option<Digest>,
    },
}

/// Puts a manifest into a component, as the first section, and takes out manifests, signatures and the delimiters of
/// signed parts that it already has. The file is then unsigned, and ready for any tool that makes signatures of this
/// format.
///
/// # Errors
///
/// Where the component or the manifest is not what it has to be, or they do not belong together.
pub fn with_manifest(component: &[u8], manifest: &Manifest) -> Result<Vec<u8>, SignError> {
    if component.len() > LARGEST {
        return Err(Refusal::TooLarge {
            size: component.len(),
        }
        .into());
    }
    let carried = catalog_of(component)?;
    if manifest.catalog != carried {
        return Err(SignError::Catalog {
            manifest: manifest.catalog,
            carried,
        });
    }
    Ok(with_first(component, MANIFEST_SECTION, &manifest.write()?, &[])?)
}

/// Puts a summary of its catalogs into a component, in the stead of any that it has. Takes out what [`with_manifest`]
/// takes out: what was said and signed of the component is not of this one.
///
/// # Errors
///
/// Where the file is not a component, or is damaged.
pub fn with_catalog(component: &[u8], summary: &[u8]) -> Result<Vec<u8>, Refusal> {
    with_first(component, CATALOG_SECTION, summary, &[CATALOG_SECTION])
}

/// The component with this custom section as its first, and without these and whatever a maker said of it before.
fn with_first(component: &[u8], name: &str, contents: &[u8], without: &[&str]) -> Result<Vec<u8>, Refusal> {
    let mut out = Vec::with_capacity(component.len() + contents.len() + 64);
    let sections = Sections::new(component)?;
    out.extend_from_slice(&component[..HEADER]);
    put_custom(&mut out, name, contents);
    let said = [MANIFEST_SECTION, signature::NAME, signature::DELIMITER];
    for section in sections {
        let section = section?;
        let mut left_out = said.iter().chain(without);
        if !left_out.any(|name| section.name == name.as_bytes()) {
            out.extend_from_slice(&component[section.start..section.end]);
        }
    }
    Ok(out)
}

/// Makes a policy's file: the component with this manifest, signed as a whole. What [`with_manifest`] takes out is
/// replaced. Anyone's `wasmsign2 verify` accepts what comes out.
///
/// # Errors
///
/// As [`with_manifest`].
pub fn sign(component: &[u8], manifest: &Manifest, key: &KeyPair) -> Result<Vec<u8>, SignError> {
    let unsigned = with_manifest(component, manifest)?;
    let (header, signed) = unsigned.split_at(HEADER);
    let mut out = Vec::with_capacity(unsigned.len() + 256);
    out.extend_from_slice(header);
    put_custom(
        &mut out,
        signature::NAME,
        &signature::write(Digest::of(signed).as_bytes(), key),
    );
    out.extend_from_slice(signed);
    if out.len() > LARGEST {
        return Err(Refusal::TooLarge { size: out.len() }.into());
    }
    Ok(out)
}

/// The digest of the catalog that a component carries: what its manifest has to name.
///
/// # Errors
///
/// Where the file is not a component, or is damaged.
pub fn catalog_of(component: &[u8]) -> Result<Option<Digest>, Refusal> {
    let mut catalog = None;
    for section in Sections::new(component)? {
        let section = section?;
        if section.name == CATALOG_SECTION.as_bytes() {
            catalog = Some(Digest::of(section.contents));
        }
    }
    Ok(catalog)
}
