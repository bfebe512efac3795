//! The file that a path leads to, through links, also where it is not there yet; and whether it can be changed.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use holdpoint_common::read;

use crate::error::FileError;

/// No settings file or configuration is larger, in bytes.
const LARGEST: u64 = 16 << 20;
/// How many links may follow one another, as in the kernel.
const MOST_LINKS: usize = 40;

/// A file as it was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Where its bytes are, behind every link.
    pub(crate) target: PathBuf,
    /// Its bytes; none where there is no file.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) metadata: Option<Metadata>,
    is_link: bool,
}

impl Found {
    /// Follows the links and reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, FileError> {
        let (target, is_link) = resolve(path)?;
        let metadata = match fs::metadata(&target) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    target,
                    bytes: None,
                    metadata: None,
                    is_link,
                });
            }
            Err(cause) => return Err(FileError::io(path)(cause)),
        };
        if !metadata.is_file() {
            return Err(FileError::refused(path, "it is not a regular file"));
        }
        let bytes = read_bounded(&target, path)?;
        Ok(Self {
            target,
            bytes: Some(bytes),
            metadata: Some(metadata),
            is_link,
        })
    }

    /// The same file after a change of ours.
    pub(crate) fn after_change(&self, bytes: Option<Vec<u8>>) -> Self {
        Self {
            target: self.target.clone(),
            bytes,
            metadata: self.metadata.clone(),
            is_link: self.is_link,
        }
    }

    /// Whether other names lead to the same file: it is then written in its place, since a new file would part them.
    pub(crate) fn has_other_names(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            self.metadata
                .as_ref()
                .is_some_and(|metadata| metadata.nlink() > 1)
        }
        #[cfg(not(unix))]
        false
    }

    /// Whether this user could change the file, told without changing anything.
    pub(crate) fn check(&self, path: &Path) -> Result<(), FileError> {
        if let Some(metadata) = &self.metadata
            && (is_read_only(metadata) || !may_write(&self.target))
        {
            return Err(FileError::refused(
                path,
                format!(
                    "{} is read-only; make it writable, or name another file",
                    self.target.display()
                ),
            ));
        }
        let folder = self.target.parent().unwrap_or_else(|| Path::new("/"));
        let (nearest, metadata) = nearest_folder(folder).map_err(FileError::io(folder))?;
        if nearest != folder && self.is_link {
            let (target, folder) = (self.target.display(), folder.display());
            let why = format!(
                "it is a link to {target}, and the folder {folder} is not there; create it, or remove the link"
            );
            return Err(FileError::refused(path, why));
        }
        if !metadata.is_dir() {
            return Err(FileError::refused(
                path,
                format!("{} is not a folder", nearest.display()),
            ));
        }
        if !self.has_other_names() && !may_write(nearest) {
            return Err(FileError::refused(
                path,
                format!("the folder {} is read-only for this user", nearest.display()),
            ));
        }
        Ok(())
    }
}

/// What a file holds now, for a comparison with what was read.
pub(crate) fn bytes_now(target: &Path) -> Result<Option<Vec<u8>>, FileError> {
    match fs::metadata(target) {
        Ok(metadata) if metadata.is_file() => read_bounded(target, target).map(Some),
        Ok(_) => Err(FileError::refused(target, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(FileError::io(target)(cause)),
    }
}

fn read_bounded(target: &Path, path: &Path) -> Result<Vec<u8>, FileError> {
    read::read(target, LARGEST).map_err(FileError::io(path))
}

/// Where a path leads through every link, and whether there was one. The last of them may lead to what is not there.
fn resolve(path: &Path) -> Result<(PathBuf, bool), FileError> {
    let mut at = std::path::absolute(path).map_err(FileError::io(path))?;
    let mut makers = Vec::new();
    for _ in 0..MOST_LINKS {
        let Ok(metadata) = fs::symlink_metadata(&at) else {
            break;
        };
        if !metadata.is_symlink() {
            break;
        }
        let to = fs::read_link(&at).map_err(FileError::io(path))?;
        makers.push(metadata);
        at = at.parent().unwrap_or_else(|| Path::new("/")).join(to);
    }
    if fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(FileError::refused(path, "its links lead in a circle"));
    }
    // The same file has the same name, whatever way led to it.
    let folder = at.parent().and_then(|folder| fs::canonicalize(folder).ok());
    if let (Some(folder), Some(name)) = (folder, at.file_name()) {
        at = folder.join(name);
    }
    check_makers(&makers, &at, path)?;
    Ok((at, !makers.is_empty()))
}

/// An administrator follows another user's link only to what is that user's: it could lead to the system's files.
#[cfg(unix)]
fn check_makers(makers: &[Metadata], target: &Path, path: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::MetadataExt as _;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = match fs::metadata(target) {
        Ok(metadata) => metadata.uid(),
        Err(_) => nearest_folder(target).map_or(0, |(_, metadata)| metadata.uid()),
    };
    match makers.iter().find(|link| link.uid() != 0 && link.uid() != owner) {
        None => Ok(()),
        Some(_) => Err(FileError::refused(
            path,
            format!(
                "a user's link leads to {}, which is not that user's; run init as that user",
                target.display()
            ),
        )),
    }
}

#[cfg(not(unix))]
fn check_makers(_: &[Metadata], _: &Path, _: &Path) -> Result<(), FileError> {
    Ok(())
}

/// The folder, or the nearest one above it that is there.
pub(crate) fn nearest_folder(folder: &Path) -> io::Result<(&Path, Metadata)> {
    for ancestor in folder.ancestors() {
        match fs::metadata(ancestor) {
            Ok(metadata) => return Ok((ancestor, metadata)),
            // A link that leads nowhere is in the way of a folder of that name.
            Err(error) if fs::symlink_metadata(ancestor).is_ok() => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

fn is_read_only(metadata: &Metadata) -> bool {
    // An administrator could write it all the same; whoever took the permission away meant something by it.
    metadata.permissions().readonly()
}

#[cfg(unix)]
fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(_: &Path) -> bool {
    true
}
