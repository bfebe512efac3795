//! What a file's mode lets other users of the machine do. Access control lists are not read.

#[cfg(not(unix))]
use std::path::Path;

#[cfg(unix)]
mod unix {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use holdpoint_common::access;

    /// Names in a folder with this bit can be changed by their owners only.
    const STICKY: u32 = 0o1000;

    pub(in crate::doctor) fn may_be_entered_by_all(folder: &Path) -> bool {
        fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o001 != 0)
    }

    pub(in crate::doctor) fn may_be_read_by_all(file: &Path) -> bool {
        fs::metadata(file).is_ok_and(|file| file.mode() & 0o004 != 0)
    }

    pub(in crate::doctor) fn may_be_executed_by_all(file: &Path, is_script: bool) -> bool {
        let needed = if is_script { 0o005 } else { 0o001 };
        fs::metadata(file).is_ok_and(|file| file.mode() & needed == needed)
    }

    /// Whether the members of some group, which is not root's, may enter or execute it.
    pub(in crate::doctor) fn is_open_to_a_group(path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|path| path.mode() & 0o010 != 0 && path.gid() != 0)
    }

    pub(in crate::doctor) fn is_not_executed_from(path: &Path) -> bool {
        let disk = rustix::fs::statvfs(path);
        disk.is_ok_and(|disk| disk.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
    }

    /// Whether others than root, and, if not only root may, than this user, can change a file or the names in a folder.
    pub(in crate::doctor) fn may_be_changed_by_others(place: &Path, only_root: bool) -> bool {
        let Ok(link) = fs::symlink_metadata(place) else {
            return false;
        };
        // A link's own mode says nothing; the folder that it lies in is looked at by itself.
        if link.is_symlink() {
            return access::is_anothers(&link, only_root);
        }
        let is_guarded_folder = link.is_dir() && link.mode() & STICKY != 0;
        let is_writable = link.mode() & 0o002 != 0 || (link.mode() & 0o020 != 0 && !is_own_group(&link));
        access::is_anothers(&link, only_root) || (is_writable && !is_guarded_folder)
    }

    /// Many systems give each user a group of the same number, with nobody else in it.
    fn is_own_group(metadata: &Metadata) -> bool {
        metadata.gid() == metadata.uid()
    }
}

#[cfg(unix)]
pub(in crate::doctor) use unix::*;

/// Elsewhere, who may do what is not read: nothing is found.
#[cfg(not(unix))]
pub(in crate::doctor) fn may_be_entered_by_all(_: &Path) -> bool {
    true
}

#[cfg(not(unix))]
pub(in crate::doctor) fn may_be_read_by_all(_: &Path) -> bool {
    true
}

#[cfg(not(unix))]
pub(in crate::doctor) fn may_be_executed_by_all(_: &Path, _: bool) -> bool {
    true
}

#[cfg(not(unix))]
pub(in crate::doctor) fn is_open_to_a_group(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
pub(in crate::doctor) fn is_not_executed_from(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
pub(in crate::doctor) fn may_be_changed_by_others(_: &Path, _: bool) -> bool {
    false
}
