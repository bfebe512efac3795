//! Every change on disk, made so that a stop at any moment leaves the old or the new, and every guarded read.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::StoreError;
use crate::owner;

/// Replaces the file by one with these bytes: written beside everything else in `scratch`, flushed, renamed, and the
/// folder flushed. Whoever reads sees all of the old or all of the new.
pub(crate) fn replace(scratch: &Path, path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = scratch.join(format!("{}-{count}", std::process::id()));
    let written = write(&fresh, bytes, mode).and_then(|()| {
        step()?;
        fs::rename(&fresh, path)?;
        flush_folder_of(path)
    });
    written.map_err(|cause| StoreError::io(path, cause))
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    step()?;
    let mut file = with_mode(OpenOptions::new().write(true).create_new(true), mode).open(path)?;
    // The umask may have taken bits away that readers of a root-owned store need.
    set_mode(&file, mode)?;
    step()?;
    file.write_all(bytes)?;
    step()?;
    file.sync_all()
}

/// Appends a line and flushes it. A line that a stop cut short is ended first, so that it spoils no other.
pub(crate) fn append(path: &Path, line: &str, mode: u32) -> Result<(), StoreError> {
    let append = || {
        step()?;
        let created = !path.exists();
        let mut file = with_mode(OpenOptions::new().read(true).append(true).create(true), mode).open(path)?;
        if created {
            set_mode(&file, mode)?;
            flush_folder_of(path)?;
        }
        let torn = !created && !ends_with_newline(&mut file)?;
        let line = format!("{}{line}\n", if torn { "\n" } else { "" });
        step()?;
        file.write_all(line.as_bytes())?;
        step()?;
        file.sync_all()
    };
    append().map_err(|cause: io::Error| StoreError::io(path, cause))
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Makes a folder where there is none, and flushes the folder that it is in.
pub(crate) fn make_folder(path: &Path, mode: u32) -> Result<(), StoreError> {
    let make = || {
        step()?;
        match builder(mode).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            made => made?,
        }
        set_mode_of_folder(path, mode)?;
        flush_folder_of(path)
    };
    make().map_err(|cause: io::Error| StoreError::io(path, cause))
}

/// Makes a folder and all those that it is in, where they are missing.
pub(crate) fn make_folders(path: &Path, mode: u32) -> Result<(), StoreError> {
    builder(mode)
        .recursive(true)
        .create(path)
        .map_err(|cause| StoreError::io(path, cause))
}

/// Makes an empty file where there is none.
pub(crate) fn make_file(path: &Path, mode: u32) -> Result<(), StoreError> {
    let make = || {
        step()?;
        with_mode(OpenOptions::new().append(true).create(true), mode).open(path)?;
        flush_folder_of(path)
    };
    make().map_err(|cause: io::Error| StoreError::io(path, cause))
}

/// Removes a file, where there is one.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    let remove = || {
        step()?;
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| flush_folder_of(path)),
        }
    };
    remove().map_err(|cause: io::Error| StoreError::io(path, cause))
}

/// Removes everything in a folder.
pub(crate) fn empty(folder: &Path) -> Result<(), StoreError> {
    let empty = || {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            step()?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    empty().map_err(|cause: io::Error| StoreError::io(folder, cause))
}

/// Reads a file that only its owner can have written; none where there is no such file.
pub(crate) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(read_with_metadata(path, most)?.map(|(bytes, _)| bytes))
}

/// The same, with the metadata of the file that was opened, whatever has its name by now.
pub(crate) fn read_with_metadata(path: &Path, most: u64) -> Result<Option<(Vec<u8>, Metadata)>, StoreError> {
    let Some((file, metadata)) = open(path, most)? else {
        return Ok(None);
    };
    Ok(Some((read_rest(path, file, most)?, metadata)))
}

/// Reads the end of such a file: no more than so many bytes.
pub(crate) fn read_end(path: &Path, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let Some((mut file, metadata)) = open_any(path)? else {
        return Ok(None);
    };
    let start = metadata.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start))
        .map_err(|cause| StoreError::io(path, cause))?;
    read_rest(path, file, most).map(Some)
}

/// Opens a file that only its owner can have written, to be read; none where there is no such file.
pub(crate) fn open(path: &Path, most: u64) -> Result<Option<(File, Metadata)>, StoreError> {
    match open_any(path)? {
        Some((_, metadata)) if metadata.len() > most => {
            Err(StoreError::damaged(path, format!("is larger than {most} bytes")))
        }
        opened => Ok(opened),
    }
}

/// The same, however large. Looks at the opened file and not at its name.
fn open_any(path: &Path) -> Result<Option<(File, Metadata)>, StoreError> {
    let io = |cause| StoreError::io(path, cause);
    let file = match not_through_links(OpenOptions::new().read(true)).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(io)?,
    };
    let metadata = file.metadata().map_err(io)?;
    owner::check(path, &metadata)?;
    if !metadata.is_file() {
        return Err(StoreError::damaged(path, "is no file"));
    }
    Ok(Some((file, metadata)))
}

pub(crate) fn read_rest(path: &Path, file: File, most: u64) -> Result<Vec<u8>, StoreError> {
    let length = file.metadata().map_or(0, |metadata| metadata.len().min(most));
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    match file.take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(cause) => Err(StoreError::io(path, cause)),
    }
}

fn flush_folder_of(path: &Path) -> io::Result<()> {
    step()?;
    match path.parent() {
        #[cfg(unix)]
        Some(folder) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn with_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    not_through_links(options.mode(mode))
}

#[cfg(unix)]
fn not_through_links(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    // Not blocking: somebody's pipe of this name must not hold a hook up.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
fn set_mode_of_folder(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
fn builder(mode: u32) -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = DirBuilder::new();
    builder.mode(mode);
    builder
}

#[cfg(not(unix))]
fn with_mode(options: &mut OpenOptions, _: u32) -> &mut OpenOptions {
    options
}

#[cfg(not(unix))]
fn not_through_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn set_mode_of_folder(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn builder(_: u32) -> DirBuilder {
    DirBuilder::new()
}

/// Before each change on disk. In the tests, the place where a power failure can be put.
#[cfg(not(test))]
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "in the tests it fails")]
fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(crate) use stop::{step, stop_before};

#[cfg(test)]
mod stop {
    use std::cell::Cell;
    use std::io;

    thread_local! {
        static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Lets this thread change the disk so many times, and then never again; none ends that.
    pub(crate) fn stop_before(step: Option<u64>) {
        LEFT.set(step);
    }

    pub(crate) fn step() -> io::Result<()> {
        match LEFT.get() {
            Some(0) => Err(io::Error::other("stopped here")),
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }
}
