//! The load gate.

use semver::Version;
use serde::Serialize;

use crate::contract::{Contract, Lent, compatible};
use crate::digest::Digest;
use crate::layout::Layout;
use crate::limit::LARGEST;
use crate::manifest::Manifest;
use crate::refusal::Refusal;
use crate::sections::{self, Malformed};
use crate::signature::{Entry, Signatures};
use crate::text::shown;
use crate::time::UtcTime;
use crate::trust::{RevokedIn, Signature, Trust, TrustedKey};

/// What is known of a policy that has passed the gate: worth a line in a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The policy's digest: SHA-256 of everything after the signature section, or in an unsigned file after the header.
    /// It names the policy and not the file: signing, signing anew and taking the signature off leave it as it is, so
    /// nobody can give a revoked policy another digest without changing what it does. It is also what the signature is
    /// of, so that it costs nothing beside it.
    pub digest: Digest,
    /// What its makers say of it; none only where the file is unsigned and may be.
    pub manifest: Option<Manifest>,
    /// The id of the trusted key that signed it; none where it is unsigned.
    pub signer: Option<String>,
    /// The file's size in bytes.
    pub size: u64,
}

/// A file that has passed the gate. Only [`gate`] makes one, and it holds the very bytes that were looked at.
#[derive(Debug, Clone)]
pub struct Admitted<'b> {
    bytes: &'b [u8],
    facts: Facts,
}

impl<'b> Admitted<'b> {
    /// The bytes that were looked at.
    pub const fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// What is known of them.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What is known of them, to keep.
    pub fn into_facts(self) -> Facts {
        self.facts
    }
}

/// Decides whether a policy's file may be used. Everything that decides it stands here, in this order:
///
/// 1. the file is not too large;
/// 2. its header is a component's, to the last byte (the signature does not cover it);
/// 3. its sections follow one another to its last byte, and of them at most one is a signature section, that one is the
///    first, and none is a delimiter;
/// 4. there is a signature, where the configuration requires one;
/// 5. the signature is of everything that follows it;
/// 6. it is by a key that is trusted, not revoked, and within its dates;
/// 7. the policy is not revoked;
/// 8. there is exactly one manifest (an unsigned file may have none), it can be read, and it names the catalog inside;
/// 9. it is the policy that the configuration requires, or a later version of it;
/// 10. it has not expired;
/// 11. it exports a policy for a version of the contract that is served, the one that the manifest names;
/// 12. each of its imports is granted, or is WASI that can be lent empty;
/// 13. the same bytes are handed on.
///
/// # Errors
///
/// The first of these that does not hold. Nothing is ever let through with a warning.
pub fn gate<'b>(
    bytes: &'b [u8],
    trust: &Trust,
    contract: &Contract<'_>,
    now: UtcTime,
) -> Result<Admitted<'b>, Refusal> {
    pass(bytes, None, trust, contract, now)
}

/// The same for bytes that have passed before and cannot have changed since, by whoever asks: where they lie, nobody can
/// write, or another digest of them is what it was. `policy` is the digest that was found then; with that, the signature
/// and everything else is looked at as ever.
///
/// # Errors
///
/// As [`gate`].
pub fn gate_again<'b>(
    bytes: &'b [u8],
    policy: Digest,
    trust: &Trust,
    contract: &Contract<'_>,
    now: UtcTime,
) -> Result<Admitted<'b>, Refusal> {
    pass(bytes, Some(policy), trust, contract, now)
}

fn pass<'b>(
    bytes: &'b [u8],
    known: Option<Digest>,
    trust: &Trust,
    contract: &Contract<'_>,
    now: UtcTime,
) -> Result<Admitted<'b>, Refusal> {
    if bytes.len() > LARGEST {
        return Err(Refusal::TooLarge { size: bytes.len() });
    }
    let layout = Layout::of(bytes)?;
    let digest = known.unwrap_or_else(|| Digest::of(layout.signed));
    let signer = match layout.signature {
        Some(signature) => Some(signer(signature, &digest, trust, now)?),
        None if trust.signature == Signature::Required => return Err(Refusal::Unsigned),
        None => None,
    };
    not_revoked(bytes, digest, trust)?;
    let manifest = layout.manifest()?;
    match &manifest {
        None if signer.is_some() => return Err(Refusal::NoManifest),
        None => {}
        // That, too, was found out then.
        Some(_) if known.is_some() => {}
        Some(manifest) => carries_its_catalog(manifest, &layout)?,
    }
    required(manifest.as_ref(), trust)?;
    if let Some(manifest) = &manifest {
        not_expired(manifest, now)?;
    }
    served(&layout, manifest.as_ref(), contract)?;
    granted(&layout, contract)?;
    let facts = Facts {
        digest,
        manifest,
        signer: signer.map(|key| key.id.clone()),
        size: bytes.len() as u64,
    };
    Ok(Admitted { bytes, facts })
}

/// The key by which the file is signed as it has to be.
fn signer<'t>(
    section: &[u8],
    digest: &Digest,
    trust: &'t Trust,
    now: UtcTime,
) -> Result<&'t TrustedKey, Refusal> {
    let malformed = |Malformed { what, offset }| Refusal::MalformedSignature { what, offset };
    let signatures = Signatures::read(section).map_err(malformed)?;
    if signatures.hash != digest.as_bytes() {
        return Err(Refusal::Changed);
    }
    // One good signature is enough. Of several that are not, the first by a key that is known says most.
    let mut refusal = None;
    for entry in &signatures.entries {
        match signer_of(entry, signatures.hash, trust, now) {
            Ok(key) => return Ok(key),
            Err(unknown @ Refusal::UnknownKey { .. }) => refusal = refusal.or(Some(unknown)),
            Err(other) if matches!(refusal, None | Some(Refusal::UnknownKey { .. })) => refusal = Some(other),
            Err(_) => {}
        }
    }
    Err(refusal.unwrap_or(Refusal::UnknownKey { key: None }))
}

/// The key by which this one signature is made as it has to be.
fn signer_of<'t>(
    entry: &Entry<'_>,
    hash: &[u8; 32],
    trust: &'t Trust,
    now: UtcTime,
) -> Result<&'t TrustedKey, Refusal> {
    let mut refusal = Refusal::UnknownKey { key: entry.named() };
    for key in trust.keys.iter().filter(|key| entry.may_be_of(&key.public)) {
        if entry.is_of(&key.public, hash) {
            match counts(key, trust, now) {
                Ok(()) => return Ok(key),
                Err(reason) => refusal = reason,
            }
        } else if entry.named().is_some() {
            refusal = Refusal::BadSignature { key: key.id.clone() };
        }
    }
    Err(refusal)
}

/// Whether a key's signatures count now.
pub(crate) fn counts(key: &TrustedKey, trust: &Trust, now: UtcTime) -> Result<(), Refusal> {
    let id = || key.id.clone();
    if let Some(place) = trust.revokes(&key.public) {
        return Err(Refusal::RevokedKey { key: id(), place });
    }
    match (key.not_before, key.not_after) {
        (Some(from), _) if now < from => Err(Refusal::KeyNotYetValid { key: id(), from }),
        (_, Some(until)) if now > until => Err(Refusal::KeyExpired { key: id(), until }),
        _ => Ok(()),
    }
}

/// An operator may have taken a digest from `sha256sum`, so a revocation may also name the file. Hashing it a second
/// time is for those alone who revoke something.
fn not_revoked(bytes: &[u8], digest: Digest, trust: &Trust) -> Result<(), Refusal> {
    let lists = [
        (&trust.revoked_policies, RevokedIn::Configuration),
        (&trust.stored.policies, RevokedIn::Store),
    ];
    if lists.iter().all(|(list, _)| list.is_empty()) {
        return Ok(());
    }
    let file = Digest::of(bytes);
    for (list, place) in lists {
        if let Some(&digest) = list.iter().find(|revoked| [digest, file].contains(revoked)) {
            return Err(Refusal::RevokedPolicy { digest, place });
        }
    }
    Ok(())
}

/// So that the manifest's digest is a fact and not a claim, wherever it is written down.
fn carries_its_catalog(manifest: &Manifest, layout: &Layout<'_>) -> Result<(), Refusal> {
    let carried = layout.catalog.map(Digest::of);
    if manifest.catalog == carried {
        return Ok(());
    }
    Err(Refusal::OtherCatalog {
        manifest: manifest.catalog,
        carried,
    })
}

/// So that nobody can put another good policy, or an old one with a known hole, in the place of the one that is meant.
fn required(manifest: Option<&Manifest>, trust: &Trust) -> Result<(), Refusal> {
    if trust.required.accepts(manifest) {
        return Ok(());
    }
    let found = manifest.map_or_else(
        || "one without a manifest".into(),
        |manifest| format!("{} {}", manifest.name, manifest.version),
    );
    Err(Refusal::OtherPolicy {
        required: trust.required.clone(),
        found,
    })
}

fn not_expired(manifest: &Manifest, now: UtcTime) -> Result<(), Refusal> {
    match manifest.not_after {
        Some(until) if now > until => Err(Refusal::Expired {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            until,
        }),
        _ => Ok(()),
    }
}

/// The component has to export a policy, and in a version that is served; what the manifest says has to be that.
fn served(layout: &Layout<'_>, manifest: Option<&Manifest>, contract: &Contract<'_>) -> Result<(), Refusal> {
    let unserved = |wit: &Version| Refusal::UnservedWit {
        package: contract.package.into(),
        wit: wit.clone(),
        served: contract.versions.to_vec(),
    };
    if let Some(manifest) = manifest.filter(|manifest| !contract.serves(&manifest.wit)) {
        return Err(unserved(&manifest.wit));
    }
    let mut refusal = Refusal::NotAPolicy {
        interface: format!("{}/{}", contract.package, contract.export),
        world: format!("{}/{}", contract.package, contract.world),
    };
    let mut found = false;
    sections::each_export(layout.sections.clone(), |export| {
        let Some(exported) = contract.exported(export) else {
            return Ok(());
        };
        match manifest {
            _ if !contract.serves(&exported) => refusal = unserved(&exported),
            Some(manifest) if !compatible(&manifest.wit, &exported) => {
                refusal = Refusal::OtherWit {
                    package: contract.package.into(),
                    manifest: manifest.wit.clone(),
                    exported,
                };
            }
            _ => found = true,
        }
        Ok(())
    })?;
    if found { Ok(()) } else { Err(refusal) }
}

fn granted(layout: &Layout<'_>, contract: &Contract<'_>) -> Result<(), Refusal> {
    sections::each_import(layout.sections.clone(), |import| match contract.lends(import) {
        Lent::Granted | Lent::Types | Lent::Empty => Ok(()),
        Lent::NotGranted => Err(Refusal::NotGranted {
            import: shown(import),
        }),
        Lent::OtherVersion | Lent::Unknown => Err(Refusal::UnknownImport {
            import: shown(import),
        }),
    })
}
