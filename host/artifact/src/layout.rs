//! What lies where in a policy's file.

use crate::manifest::{MANIFEST_SECTION, Manifest};
use crate::refusal::Refusal;
use crate::sections::{HEADER, Section, Sections};
use crate::signature::{DELIMITER, NAME};

/// The name of the custom section in which a policy may carry a summary of its catalog.
pub const CATALOG_SECTION: &str = "holdpoint:catalog";

/// What lies where in a file whose header and sections are as they have to be. Nothing of it has been verified.
pub(crate) struct Layout<'b> {
    /// All sections.
    pub(crate) sections: Sections<'b>,
    /// What the signature section contains.
    pub(crate) signature: Option<&'b [u8]>,
    /// Everything after the signature section, or after the header where there is none.
    pub(crate) signed: &'b [u8],
    /// What the catalog's section contains; the last one, should there be several.
    pub(crate) catalog: Option<&'b [u8]>,
    manifest: Option<&'b [u8]>,
    manifests: usize,
}

impl<'b> Layout<'b> {
    /// Walks over the whole file once.
    pub(crate) fn of(bytes: &'b [u8]) -> Result<Self, Refusal> {
        let sections = Sections::new(bytes)?;
        let mut layout = Self {
            sections: sections.clone(),
            signature: None,
            signed: &bytes[HEADER..],
            catalog: None,
            manifest: None,
            manifests: 0,
        };
        for section in sections {
            let section = section?;
            match section.name {
                name if name == NAME.as_bytes() => layout.put_signature(bytes, &section)?,
                name if name == DELIMITER.as_bytes() => return Err(Refusal::SignedInParts),
                name if name == MANIFEST_SECTION.as_bytes() => {
                    layout.manifest = Some(section.contents);
                    layout.manifests += 1;
                }
                name if name == CATALOG_SECTION.as_bytes() => layout.catalog = Some(section.contents),
                _ => {}
            }
        }
        Ok(layout)
    }

    fn put_signature(&mut self, bytes: &'b [u8], section: &Section<'b>) -> Result<(), Refusal> {
        if self.signature.is_some() {
            return Err(Refusal::SeveralSignatures);
        }
        if section.start != HEADER {
            return Err(Refusal::SignatureNotFirst);
        }
        if !section.short {
            return Err(Refusal::Malformed {
                what: "the signature section's length is longer than it has to be",
                offset: section.start,
            });
        }
        self.signature = Some(section.contents);
        self.signed = &bytes[section.end..];
        Ok(())
    }

    /// The manifest, where there is one.
    pub(crate) fn manifest(&self) -> Result<Option<Manifest>, Refusal> {
        if self.manifests > 1 {
            return Err(Refusal::SeveralManifests);
        }
        Ok(self.manifest.map(Manifest::read).transpose()?)
    }
}
