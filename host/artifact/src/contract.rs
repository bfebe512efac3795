//! The contract that a policy is built against, and what of it the host would lend.

use semver::Version;
use serde::Serialize;

/// The minor version of WASI 0 whose interfaces the host has. Later ones bear the same names and are other interfaces.
const WASI: u64 = 2;

/// What the host serves and lends.
#[derive(Debug, Clone, Copy)]
pub struct Contract<'a> {
    /// The WIT package, for example `holdpoint:policy`.
    pub package: &'a str,
    /// The world of that package that a policy is built against.
    pub world: &'a str,
    /// The interface of that package that a policy exports.
    pub export: &'a str,
    /// The versions of that package that are served. One serves every version that is compatible with it, newer or
    /// older: same major version, or for 0 same minor version.
    pub versions: &'a [Version],
    /// The interfaces of that package that hold only types, so that nothing is lent with them.
    pub types: &'a [&'a str],
    /// The interfaces of that package that are lent where they are granted.
    pub capabilities: &'a [&'a str],
    /// The capabilities that this host's configuration grants.
    pub grants: &'a [String],
    /// The interfaces of WASI 0.2 that can be lent, empty as they are: `wasi:cli/environment`, and so on.
    pub wasi: &'a [&'a str],
}

/// What becomes of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lent {
    /// A capability that is granted.
    Granted,
    /// Types: nothing is lent.
    Types,
    /// WASI, present and empty.
    Empty,
    /// A capability that the configuration does not grant.
    NotGranted,
    /// An interface of the contract in a version that is not served.
    OtherVersion,
    /// Something that this host does not have.
    Unknown,
}

impl Contract<'_> {
    /// Whether a policy that is built against this version can run.
    pub fn serves(&self, version: &Version) -> bool {
        self.versions.iter().any(|served| compatible(served, version))
    }

    /// What becomes of an import of this name.
    pub fn lends(&self, import: &str) -> Lent {
        let Some((interface, version)) = versioned(import) else {
            return Lent::Unknown;
        };
        if self.wasi.contains(&interface) {
            let known = version.major == 0 && version.minor == WASI && version.pre.is_empty();
            return if known { Lent::Empty } else { Lent::Unknown };
        }
        let Some(interface) = self.own(interface) else {
            return Lent::Unknown;
        };
        let (types, capability) = (
            self.types.contains(&interface),
            self.capabilities.contains(&interface),
        );
        if !types && !capability {
            Lent::Unknown
        } else if !self.serves(&version) {
            Lent::OtherVersion
        } else if types {
            Lent::Types
        } else if self.grants.iter().any(|grant| grant == interface) {
            Lent::Granted
        } else {
            Lent::NotGranted
        }
    }

    /// The version in an export of this name, where it is the one that makes a component a policy.
    pub(crate) fn exported(&self, export: &str) -> Option<Version> {
        let (interface, version) = versioned(export)?;
        (self.own(interface)? == self.export).then_some(version)
    }

    /// The name of one of the package's own interfaces, without the package.
    fn own<'n>(&self, interface: &'n str) -> Option<&'n str> {
        interface.strip_prefix(self.package)?.strip_prefix('/')
    }
}

/// `package/interface@version`, apart.
pub(crate) fn versioned(name: &str) -> Option<(&str, Version)> {
    let (interface, version) = name.split_once('@')?;
    Some((interface, version.parse().ok()?))
}

/// Whether an import of one version is satisfied by the other, as wasmtime's linker has it.
pub(crate) fn compatible(one: &Version, other: &Version) -> bool {
    if !one.pre.is_empty() || !other.pre.is_empty() {
        return one == other;
    }
    match (one.major, one.minor) {
        (0, 0) => (other.major, other.minor, other.patch) == (0, 0, one.patch),
        (0, minor) => (other.major, other.minor) == (0, minor),
        (major, _) => other.major == major,
    }
}
