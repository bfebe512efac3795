//! Changes settings files: ours go in and come out, and nothing of a user's is lost on the way.

use std::path::{Path, PathBuf};

pub use crate::copies::{Before, Copies};
use crate::edit;
pub use crate::error::FileError;
use crate::handler::Command;
use crate::hook::Hook;
pub use crate::transaction::{Readers, Transaction};

/// What becomes of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Everything is as it should be; nothing is written.
    Unchanged,
    /// It is written. What it was before is in the copy, if it was there.
    Written {
        /// The copy.
        copy: Option<PathBuf>,
    },
    /// It gets the very bytes again that it had before our entries came.
    Restored,
    /// It came with our entries, holds nothing else, and goes.
    Deleted,
}

/// Where earlier versions kept a settings file's copy: beside it.
fn earlier_copy(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".before-holdpoint");
    path.with_file_name(name)
}

/// Puts our entries into a settings file at once: as [`plan_install`].
///
/// # Errors
///
/// Where the file cannot be read, changed or written; it is as it was then.
pub fn install(path: &Path, hook: &Hook, copies: &Copies, readers: Readers) -> Result<Change, FileError> {
    let mut files = Transaction::new();
    let change = plan_install(path, hook, copies, readers, &mut files)?;
    files.apply()?;
    Ok(change)
}

/// Takes our entries out of a settings file at once: as [`plan_uninstall`].
///
/// # Errors
///
/// As [`install`].
pub fn uninstall(path: &Path, copies: &Copies) -> Result<Change, FileError> {
    let mut files = Transaction::new();
    let change = plan_uninstall(path, copies, &mut files)?;
    files.apply()?;
    Ok(change)
}

/// Plans our entries into a settings file, which is made where there is none. What it is now is kept, unless it is as an
/// earlier run of ours left it.
///
/// # Errors
///
/// Where the file cannot be read or changed.
pub fn plan_install(
    path: &Path,
    hook: &Hook,
    copies: &Copies,
    readers: Readers,
    files: &mut Transaction,
) -> Result<Change, FileError> {
    adopt_earlier_copy(path, copies, files)?;
    let target = files.target(path)?;
    let now = text(path, files)?;
    let after = edit::merge(now.as_deref().unwrap_or_default(), hook).map_err(FileError::edit(path))?;
    if now.as_deref() == Some(&after) {
        return Ok(Change::Unchanged);
    }
    let before = copies.before(files, &target)?;
    let copy = match &now {
        None => {
            copies.begin(files, &target, None)?;
            None
        }
        Some(now) if left_by_us(path, now, before.as_ref())? => match before {
            Some(Before::Bytes(_)) => Some(copies.path(&target)),
            _ => None,
        },
        Some(now) if edit::remove(now).as_ref() == Ok(now) => {
            copies.begin(files, &target, Some(now.as_bytes()))?;
            Some(copies.path(&target))
        }
        // Entries of ours that somebody wrote or changed by hand.
        Some(now) => Some(copies.keep(files, &target, now.as_bytes())?),
    };
    files.write(path, after.into_bytes(), readers)?;
    Ok(Change::Written { copy })
}

/// Plans our entries out of a settings file. Where it is as [`plan_install`] left it, it gets back the bytes that it had
/// before, or goes if it was not there before.
///
/// # Errors
///
/// As [`plan_install`].
pub fn plan_uninstall(path: &Path, copies: &Copies, files: &mut Transaction) -> Result<Change, FileError> {
    adopt_earlier_copy(path, copies, files)?;
    let target = files.target(path)?;
    let before = copies.before(files, &target)?;
    let now = text(path, files)?;
    let without = match &now {
        Some(now) => without_ours(path, now, before.as_ref())?,
        None => String::new(),
    };
    let Some(now) = now.filter(|now| *now != without) else {
        // Whatever was noted of a file that has nothing of ours any more tells nothing of a later one.
        if before == Some(Before::Absent) {
            copies.forget(files, &target)?;
        }
        return Ok(Change::Unchanged);
    };
    match before {
        Some(Before::Absent) if is_nothing(&without) => {
            files.remove(path)?;
            copies.forget(files, &target)?;
            Ok(Change::Deleted)
        }
        Some(Before::Bytes(original)) if had_none_of_ours(&original) => {
            let is_as_left = left_by_us(path, &now, Some(&Before::Bytes(original.clone())))?;
            if is_as_left || without.as_bytes() == original {
                files.write(path, original, Readers::Owner)?;
                copies.forget(files, &target)?;
                return Ok(Change::Restored);
            }
            files.write(path, without.into_bytes(), Readers::Owner)?;
            let copy = Some(copies.path(&target));
            Ok(Change::Written { copy })
        }
        Some(Before::Absent) => {
            files.write(path, without.into_bytes(), Readers::Owner)?;
            copies.forget(files, &target)?;
            Ok(Change::Written { copy: None })
        }
        // Entries that were written by hand.
        _ => {
            let copy = Some(copies.keep(files, &target, now.as_bytes())?);
            files.write(path, without.into_bytes(), Readers::Owner)?;
            Ok(Change::Written { copy })
        }
    }
}

/// Plans the handlers out of a settings file that a rule names, with what would be empty then. A copy is kept. Answers
/// where, or none where there was no such handler.
///
/// # Errors
///
/// As [`plan_install`].
pub fn plan_take_out(
    path: &Path,
    is_meant: impl Fn(&Command) -> bool,
    copies: &Copies,
    files: &mut Transaction,
) -> Result<Option<PathBuf>, FileError> {
    let Some(now) = text(path, files)? else {
        return Ok(None);
    };
    let without = edit::remove_where(&now, is_meant).map_err(FileError::edit(path))?;
    if without == now {
        return Ok(None);
    }
    let target = files.target(path)?;
    let on_disk = files.on_disk(path)?.unwrap_or_default().to_owned();
    let copy = copies.keep(files, &target, &on_disk)?;
    files.write(path, without.into_bytes(), Readers::Owner)?;
    Ok(Some(copy))
}

/// Plans new content of any other file, and keeps what it is now. Answers where, if it was there.
///
/// # Errors
///
/// As [`plan_install`].
pub fn plan_write(
    path: &Path,
    bytes: Vec<u8>,
    readers: Readers,
    copies: &Copies,
    files: &mut Transaction,
) -> Result<Option<PathBuf>, FileError> {
    let target = files.target(path)?;
    let now = files.read(path)?.map(<[u8]>::to_owned);
    let copy = match now {
        Some(now) if now == bytes => return Ok(None),
        Some(now) => match copies.before(files, &target)? {
            // Ours from the beginning; what it was in between is kept beside the mark that says so.
            Some(Before::Absent) => Some(copies.keep_further(files, &target, &now)?),
            _ => Some(copies.keep(files, &target, &now)?),
        },
        None => {
            copies.begin(files, &target, None)?;
            None
        }
    };
    files.write(path, bytes, readers)?;
    Ok(copy)
}

/// A copy that an earlier version left beside the file goes where copies are kept now.
fn adopt_earlier_copy(path: &Path, copies: &Copies, files: &mut Transaction) -> Result<(), FileError> {
    let earlier = earlier_copy(path);
    let Some(bytes) = files.read(&earlier)?.map(<[u8]>::to_owned) else {
        return Ok(());
    };
    let target = files.target(path)?;
    if copies.before(files, &target)?.is_none() {
        copies.begin(files, &target, Some(&bytes))?;
    } else {
        copies.keep(files, &target, &bytes)?;
    }
    files.remove(&earlier)
}

/// The text of a settings file as it will be after the changes so far.
fn text(path: &Path, files: &mut Transaction) -> Result<Option<String>, FileError> {
    let Some(bytes) = files.read(path)? else {
        return Ok(None);
    };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(FileError::refused(
            path,
            "it is UTF-16, as older PowerShell writes it; save it as UTF-8, then try again",
        ));
    }
    let text = String::from_utf8(bytes.to_owned());
    text.map(Some)
        .map_err(|_| FileError::refused(path, "it is not UTF-8; save it as UTF-8, then try again"))
}

/// Whether a text is what we made of what was there before.
fn left_by_us(path: &Path, now: &str, before: Option<&Before>) -> Result<bool, FileError> {
    let original = match before {
        None => return Ok(false),
        Some(Before::Absent) => "",
        Some(Before::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return Ok(false),
        },
    };
    let hooks = edit::installed(now);
    for hook in hooks {
        if edit::merge(original, &hook).map_err(FileError::edit(path))? == now {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A text without our entries, and without the switch that came with them.
fn without_ours(path: &Path, now: &str, before: Option<&Before>) -> Result<String, FileError> {
    let without = edit::remove(now).map_err(FileError::edit(path))?;
    let came_with_us = without != now
        && match before {
            None => false,
            Some(Before::Absent) => true,
            Some(Before::Bytes(bytes)) => {
                std::str::from_utf8(bytes).is_ok_and(|original| !edit::is_managed_only(original))
            }
        };
    if came_with_us && edit::is_managed_only(now) {
        return edit::remove_managed_only(&without).map_err(FileError::edit(path));
    }
    Ok(without)
}

fn had_none_of_ours(original: &[u8]) -> bool {
    std::str::from_utf8(original).is_ok_and(|text| edit::remove(text).as_deref() == Ok(text))
}

/// Whether a text holds no setting and no comment.
fn is_nothing(text: &str) -> bool {
    let bare: String = text.trim_start_matches('\u{feff}').split_whitespace().collect();
    bare.is_empty() || bare == "{}"
}
