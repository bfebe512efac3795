//! Why a policy's file does not pass the gate.

use semver::Version;
use thiserror::Error;

use crate::digest::Digest;
use crate::limit::LARGEST;
use crate::manifest::ManifestError;
use crate::time::UtcTime;
use crate::trust::{Required, RevokedIn};

/// Why a policy's file does not pass the gate, and what to do about it. Names and ids that come from the file are
/// escaped and cut, and fit to be printed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Far larger than a policy.
    #[error("the file has {size} bytes, more than {} MiB: is it the policy?", LARGEST / 1024 / 1024)]
    TooLarge {
        /// The file's size in bytes.
        size: usize,
    },
    /// Not WebAssembly.
    #[error("the file is not WebAssembly: name the .wasm file that the policy's build made")]
    NotWasm,
    /// A core module.
    #[error("the file is a core module and not a component: build the policy for wasm32-wasip2")]
    CoreModule,
    /// WebAssembly of a version or layer that nobody has now.
    #[error("the file's header is not a component's (version 13, layer 1): fetch or build it anew")]
    UnknownFormat,
    /// Its sections do not add up.
    #[error("the file is damaged at byte {offset} ({what}): fetch or build it anew")]
    Malformed {
        /// What is wrong.
        what: &'static str,
        /// Where, in bytes from the file's beginning.
        offset: usize,
    },
    /// There is no signature and one is required.
    #[error(
        "the file is not signed, and this host's configuration requires a signature: get it signed by a \
         key that this host trusts"
    )]
    Unsigned,
    /// Something stands before the signature, and so is not covered by it.
    #[error(
        "the signature is not the first section, so it does not cover what stands before it: sign the file \
         with `holdpoint policy sign`"
    )]
    SignatureNotFirst,
    /// More than one signature section.
    #[error("the file has several signature sections: sign it anew with `holdpoint policy sign`")]
    SeveralSignatures,
    /// It is divided into parts that are signed apart.
    #[error(
        "the file is divided into parts that are signed apart: sign it as a whole with `holdpoint policy \
         sign`"
    )]
    SignedInParts,
    /// The signature section is not as strict as it has to be.
    #[error(
        "the signature section is malformed at its byte {offset} ({what}): sign the file anew with \
         `holdpoint policy sign`"
    )]
    MalformedSignature {
        /// What is wrong.
        what: &'static str,
        /// Where, in bytes from the beginning of the section's contents.
        offset: usize,
    },
    /// The bytes are not those that were signed.
    #[error(
        "the file was changed after it was signed, or was not fetched whole: fetch it again from where it \
         is published"
    )]
    Changed,
    /// The hash is right and the signature of it is not.
    #[error(
        "the signature is not by the key '{key}' that it names: fetch the file again from where it is \
         published, and ask its makers if that does not help"
    )]
    BadSignature {
        /// The id of the trusted key.
        key: String,
    },
    /// Nobody that is trusted here.
    #[error(
        "the file is signed by {}, which this host does not trust: if it should, add the public key to the \
         trusted keys in the host's configuration",
        named(key.as_deref())
    )]
    UnknownKey {
        /// The id in the signature, where there is one.
        key: Option<String>,
    },
    /// By a key that counts no more.
    #[error(
        "the file is signed by the key '{key}', which is revoked in {place}: get it signed by a current key"
    )]
    RevokedKey {
        /// The id of the trusted key.
        key: String,
        /// Where.
        place: RevokedIn,
    },
    /// By a key that does not count yet.
    #[error(
        "the file is signed by the key '{key}', which counts from {from} on: look at this machine's clock, \
         or install the policy then"
    )]
    KeyNotYetValid {
        /// The id of the trusted key.
        key: String,
        /// Its first second.
        from: UtcTime,
    },
    /// By a key whose time is over.
    #[error(
        "the file is signed by the key '{key}', which counted until {until}: get it signed by a current key"
    )]
    KeyExpired {
        /// The id of the trusted key.
        key: String,
        /// Its last second.
        until: UtcTime,
    },
    /// This very policy is revoked.
    #[error("the policy {digest} is revoked in {place}: install another version")]
    RevokedPolicy {
        /// The entry.
        digest: Digest,
        /// Where that stands.
        place: RevokedIn,
    },
    /// Signed without a manifest.
    #[error("the file has no manifest: sign it with `holdpoint policy sign`, which puts one in")]
    NoManifest,
    /// More than one manifest.
    #[error("the file has several manifests: sign it anew with `holdpoint policy sign`")]
    SeveralManifests,
    /// A manifest that is none.
    #[error(
        "the manifest cannot be used ({0}): sign the file anew with `holdpoint policy sign`, or update the \
         host if the manifest is newer than it"
    )]
    Manifest(#[from] ManifestError),
    /// The manifest names another catalog than the one inside.
    #[error(
        "the manifest names the catalog {}, and the file carries {}: sign it anew with `holdpoint policy \
         sign`",
        or_none(*manifest), or_none(*carried)
    )]
    OtherCatalog {
        /// The manifest's.
        manifest: Option<Digest>,
        /// The file's.
        carried: Option<Digest>,
    },
    /// Another policy than the host's configuration requires, or too old a version of it.
    #[error(
        "the policy is {found}, and this host's configuration (policy.require) wants {required}: install that"
    )]
    OtherPolicy {
        /// What is wanted.
        required: Required,
        /// Its name and version, or that it has none.
        found: String,
    },
    /// Its time is over.
    #[error("the policy {name} {version} was to be used until {until}: install a newer version")]
    Expired {
        /// The policy's name.
        name: String,
        /// Its version.
        version: Version,
        /// Its last second.
        until: UtcTime,
    },
    /// Built against another version of the contract.
    #[error(
        "the policy is built against {package} {wit}, and this host serves {}: update the host, or \
         install a build for what it serves",
        list(served)
    )]
    UnservedWit {
        /// The WIT package.
        package: String,
        /// What the policy needs.
        wit: Version,
        /// What the host serves.
        served: Vec<Version>,
    },
    /// The manifest and the component say different things.
    #[error(
        "the manifest says that the policy is built against {package} {manifest}, and it exports \
         {exported}: sign it anew with the right version"
    )]
    OtherWit {
        /// The WIT package.
        package: String,
        /// What the manifest says.
        manifest: Version,
        /// What the component exports.
        exported: Version,
    },
    /// A component that exports no policy.
    #[error(
        "the component does not export {interface}, so it is no policy: build it against the world {world}"
    )]
    NotAPolicy {
        /// The interface that is missing.
        interface: String,
        /// The world to build against.
        world: String,
    },
    /// It wants a capability that is not granted.
    #[error(
        "the policy imports {import}, which is not granted: add it to policy.grants if this policy is to \
         have it"
    )]
    NotGranted {
        /// The import's name.
        import: String,
    },
    /// It wants something that the host does not have.
    #[error(
        "the policy imports {import}, which this host has not: build the policy without it, or update the \
         host"
    )]
    UnknownImport {
        /// The import's name.
        import: String,
    },
}

fn named(key: Option<&str>) -> String {
    key.map_or_else(
        || "a key that it does not name".into(),
        |key| format!("the key {key}"),
    )
}

fn list(versions: &[Version]) -> String {
    versions
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

pub(crate) fn or_none(digest: Option<Digest>) -> String {
    digest.map_or_else(|| "none".into(), |digest| digest.to_string())
}
