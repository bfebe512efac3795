//! Who else could have written, or can read, a file. The only place that knows how this platform says so.

use std::fs::Metadata;

/// Whether anybody but the file's owner may write it, or the owner is neither this user nor the system's.
#[cfg(unix)]
pub(crate) fn writable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = metadata.uid();
    metadata.mode() & 0o022 != 0 || (owner != 0 && owner != rustix::process::geteuid().as_raw())
}

/// Whether anybody but the file's owner may read it.
#[cfg(unix)]
pub(crate) fn readable_by_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o077 != 0 || writable_by_others(metadata)
}

/// Windows keeps this in access control lists, which are not read yet: see the chapter on platforms in the docs.
#[cfg(not(unix))]
pub(crate) fn writable_by_others(_: &Metadata) -> bool {
    false
}

/// As above.
#[cfg(not(unix))]
pub(crate) fn readable_by_others(_: &Metadata) -> bool {
    false
}
