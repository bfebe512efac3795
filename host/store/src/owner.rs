//! Who else could have written a file or a folder. The only place that knows how this platform says so.

use std::fs::Metadata;
use std::path::Path;

use crate::error::StoreError;

/// Refuses what anybody but this user and the system's could have written.
#[cfg(unix)]
pub(crate) fn check(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    if is_foreign(metadata.uid(), user()) {
        return Err(StoreError::Foreign {
            path: path.to_owned(),
            owner: metadata.uid(),
        });
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(StoreError::Exposed {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Refuses what anybody else can even read.
#[cfg(unix)]
pub(crate) fn check_private(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    if metadata.mode() & 0o077 != 0 {
        return Err(StoreError::Readable {
            path: path.to_owned(),
        });
    }
    check(path, metadata)
}

/// Refuses a way to `root` on which others could put another folder in its place. A folder with the sticky bit, as
/// `/tmp` has it, lets others add names but not take ours away.
#[cfg(unix)]
pub(crate) fn check_way_to(root: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    for folder in root.ancestors().skip(1) {
        let metadata = std::fs::symlink_metadata(folder).map_err(|cause| StoreError::io(folder, cause))?;
        let sticky = metadata.mode() & 0o1000 != 0 && !is_foreign(metadata.uid(), user());
        if !sticky {
            check(folder, &metadata)?;
        }
    }
    Ok(())
}

/// Whether only the system's user can have written this: it belongs to that user, and this one is another.
#[cfg(unix)]
pub(crate) fn is_out_of_reach(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    out_of_reach(metadata.uid(), metadata.mode(), user())
}

#[cfg(unix)]
fn out_of_reach(owner: u32, mode: u32, user: u32) -> bool {
    owner == 0 && user != 0 && mode & 0o022 == 0
}

#[cfg(unix)]
fn is_foreign(owner: u32, user: u32) -> bool {
    owner != 0 && owner != user
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether this process runs as the system's user, whose store everybody may read and nobody else write.
#[cfg(unix)]
pub(crate) fn is_system() -> bool {
    user() == 0
}

/// Windows keeps this in access control lists, which are not read: see the docs.
#[cfg(not(unix))]
pub(crate) fn check(_: &Path, _: &Metadata) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_private(_: &Path, _: &Metadata) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_way_to(_: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// Never proven there, so that compiled code has to be in the authenticated manifest.
#[cfg(not(unix))]
pub(crate) fn is_out_of_reach(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn is_system() -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_what_root_alone_may_write_is_out_of_another_users_reach() {
        assert!(out_of_reach(0, 0o100_644, 1000));
        assert!(!out_of_reach(0, 0o100_664, 1000), "its group may write");
        assert!(!out_of_reach(0, 0o100_646, 1000), "everybody may write");
        assert!(!out_of_reach(1000, 0o100_600, 1000), "this user may write");
        assert!(!out_of_reach(0, 0o100_644, 0), "root may write");
    }

    #[test]
    fn what_belongs_to_neither_this_user_nor_root_is_foreign() {
        assert!(is_foreign(1001, 1000));
        assert!(!is_foreign(1000, 1000));
        assert!(!is_foreign(0, 1000));
    }
}
