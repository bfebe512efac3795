//! Several files changed as one.
//!
//! Everything is read, decided and checked first. Then every new content is written beside its file, and only when all of
//! them are on the disk does the first take its place. Where one cannot, those before it are put back. A process that is
//! killed in between leaves each file whole, old or new, and a second run does the rest.

use std::fs::{self, File, Metadata};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use holdpoint_common::read;

use crate::error::FileError;
use crate::target::{Found, bytes_now, nearest_folder};

/// Who may read a file that was not there before. One that was keeps its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner.
    Owner,
    /// Everybody.
    Everybody,
}

/// Changes of files that are made together, or not at all.
#[derive(Debug, Default)]
pub struct Transaction {
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    /// As it was named.
    path: PathBuf,
    found: Found,
    /// What it is to hold; none where it is to go.
    after: Option<Vec<u8>>,
    readers: Readers,
}

impl Transaction {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a file will hold after the changes so far; none where it is not there.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, is not a regular file, or its links lead nowhere that could be written.
    pub fn read(&mut self, path: &Path) -> Result<Option<&[u8]>, FileError> {
        let index = self.find(path)?;
        Ok(self.pending[index].after.as_deref())
    }

    /// What a file holds now.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn on_disk(&mut self, path: &Path) -> Result<Option<&[u8]>, FileError> {
        let index = self.find(path)?;
        Ok(self.pending[index].found.bytes.as_deref())
    }

    /// Where a file's bytes are, behind every link.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn target(&mut self, path: &Path) -> Result<PathBuf, FileError> {
        let index = self.find(path)?;
        Ok(self.pending[index].found.target.clone())
    }

    /// Gives a file new content.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn write(&mut self, path: &Path, bytes: Vec<u8>, readers: Readers) -> Result<(), FileError> {
        let mut pending = self.take(path)?;
        pending.after = Some(bytes);
        pending.readers = readers;
        self.pending.push(pending);
        Ok(())
    }

    /// Removes a file. A link to it stays.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn remove(&mut self, path: &Path) -> Result<(), FileError> {
        let mut pending = self.take(path)?;
        pending.after = None;
        self.pending.push(pending);
        Ok(())
    }

    /// Takes a file out to put it at the end: changes are made in the order in which they were wanted, so that a copy is on
    /// the disk before its file changes.
    fn take(&mut self, path: &Path) -> Result<Pending, FileError> {
        let index = self.find(path)?;
        Ok(self.pending.remove(index))
    }

    fn find(&mut self, path: &Path) -> Result<usize, FileError> {
        if let Some(index) = self.pending.iter().position(|pending| pending.path == path) {
            return Ok(index);
        }
        let found = Found::read(path)?;
        // Two names of one file are one change.
        let same = |pending: &Pending| pending.found.target == found.target;
        if let Some(index) = self.pending.iter().position(same) {
            return Ok(index);
        }
        self.pending.push(Pending {
            path: path.to_owned(),
            after: found.bytes.clone(),
            found,
            readers: Readers::Owner,
        });
        Ok(self.pending.len() - 1)
    }

    fn changes(&self) -> impl Iterator<Item = &Pending> {
        self.pending
            .iter()
            .filter(|pending| pending.after != pending.found.bytes)
    }

    /// Whether everything that is to be written can be, told without writing anything.
    ///
    /// # Errors
    ///
    /// The first file that cannot, and why.
    pub fn check(&self) -> Result<(), FileError> {
        self.changes()
            .try_for_each(|change| change.found.check(&change.path))
    }

    /// Makes the changes, in the order in which they came.
    ///
    /// # Errors
    ///
    /// Where one cannot be made, or another program changed a file meanwhile. Everything is as it was then; where that
    /// failed too, the error says which file is not.
    pub fn apply(self) -> Result<(), FileError> {
        self.apply_then(|| Ok(()))
    }

    /// Makes the changes, then does one thing more. Where that fails, they are undone as well.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply), and what that thing says.
    pub fn apply_then(self, last: impl FnOnce() -> Result<(), FileError>) -> Result<(), FileError> {
        self.check()?;
        let mut folders = Folders::default();
        let mut staged = Vec::new();
        for change in self.changes() {
            if change.after.is_some() {
                folders.create(change)?;
            }
            staged.push(change.stage()?);
        }
        for change in self.changes() {
            change.is_as_it_was()?;
        }
        let mut made = Vec::new();
        for (change, staged) in self.changes().zip(staged) {
            if let Err(cause) = change.is_as_it_was().and_then(|()| staged.commit(change)) {
                return Err(undo(&made, cause));
            }
            made.push(change);
        }
        if let Err(cause) = last() {
            return Err(undo(&made, cause));
        }
        folders.keep();
        Ok(())
    }
}

impl Pending {
    fn is_as_it_was(&self) -> Result<(), FileError> {
        if bytes_now(&self.found.target)? == self.found.bytes {
            return Ok(());
        }
        let path = self.path.clone();
        Err(FileError::Changed { path })
    }

    /// Writes the new content where it can take its place in one step.
    fn stage(&self) -> Result<Staged, FileError> {
        let target = &self.found.target;
        let Some(after) = &self.after else {
            return Ok(Staged::Removal);
        };
        if self.found.has_other_names() {
            return Ok(Staged::InPlace);
        }
        sweep(target);
        let path = temporary(target);
        let mut file = create(&path).map_err(FileError::io(&self.path))?;
        // Locked as long as it is at work, so that another run does not take it for one that was left behind.
        let _ = file.try_lock();
        let written = self
            .dress(&file)
            .and_then(|()| file.write_all(after))
            .and_then(|()| file.sync_all());
        let staged = Staged::Beside { path, _file: file };
        written.map_err(FileError::io(&self.path))?;
        Ok(staged)
    }

    /// Gives a new file the mode and the owner of the old one, or of the folder that it comes into.
    fn dress(&self, file: &File) -> std::io::Result<()> {
        match &self.found.metadata {
            Some(metadata) => {
                give_to_owner_of(file, metadata)?;
                file.set_permissions(metadata.permissions())
            }
            None => {
                set_readers(file, self.readers)?;
                let folder = self.found.target.parent().unwrap_or_else(|| Path::new("/"));
                belong_to_folder(file, folder)
            }
        }
    }
}

/// New content that is on the disk, and not yet in its place.
enum Staged {
    /// In a file beside the old one.
    Beside { path: PathBuf, _file: File },
    /// To be written into the file itself, since it has other names.
    InPlace,
    /// Nothing: the file goes.
    Removal,
}

impl Staged {
    fn commit(self, change: &Pending) -> Result<(), FileError> {
        let target = &change.found.target;
        let done = match &self {
            Self::Beside { path, .. } => fs::rename(path, target),
            Self::InPlace => write_in_place(target, change.after.as_deref().unwrap_or_default()),
            Self::Removal => match fs::remove_file(target) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        done.map_err(FileError::io(&change.path))?;
        sync_folder(target);
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After it took its place there is nothing of that name.
        if let Self::Beside { path, .. } = self {
            let _ = fs::remove_file(path);
        }
    }
}

/// Puts back what was changed, and says so where that failed too.
fn undo(made: &[&Pending], cause: FileError) -> FileError {
    let files = put_back(made);
    if files.is_empty() {
        return cause;
    }
    FileError::NotUndone {
        cause: Box::new(cause),
        files,
    }
}

/// Puts back what was changed, the last first. Answers which files are changed all the same.
fn put_back(made: &[&Pending]) -> Vec<PathBuf> {
    let failed = made.iter().rev().filter(|change| {
        let back = Pending {
            path: change.path.clone(),
            found: change.found.after_change(change.after.clone()),
            after: change.found.bytes.clone(),
            readers: change.readers,
        };
        let put_back = back.is_as_it_was().and_then(|()| back.stage()?.commit(&back));
        put_back.is_err() || !restore_time(change)
    });
    failed.map(|change| change.path.clone()).collect()
}

/// The time of the last change is part of what is put back.
fn restore_time(change: &Pending) -> bool {
    let time = change.found.metadata.as_ref().map(Metadata::modified);
    let Some(Ok(time)) = time else { return true };
    let file = File::options().write(true).open(&change.found.target);
    file.and_then(|file| file.set_modified(time)).is_ok()
}

/// Folders that were made on the way, removed again unless everything went well.
#[derive(Default)]
struct Folders {
    made: Vec<PathBuf>,
}

impl Folders {
    fn create(&mut self, change: &Pending) -> Result<(), FileError> {
        let folder = change.found.target.parent().unwrap_or_else(|| Path::new("/"));
        let (nearest, _) = nearest_folder(folder).map_err(FileError::io(folder))?;
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|ancestor| *ancestor != nearest)
            .collect();
        // A private file's own folder is private. Those on the way to it are shared with others in a system's folder: a
        // closed `/var/lib/holdpoint` would keep every user from the machine's policies.
        let on_the_way = if is_systems(nearest) {
            Readers::Everybody
        } else {
            change.readers
        };
        for path in missing.into_iter().rev() {
            let readers = if path == folder {
                change.readers
            } else {
                on_the_way
            };
            let made = create_folder(path, readers);
            made.map_err(FileError::io(path))?;
            self.made.push(path.to_owned());
            if let (Ok(file), Some(above)) = (File::open(path), path.parent()) {
                belong_to_folder(&file, above).map_err(FileError::io(path))?;
            }
        }
        Ok(())
    }

    fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        for path in self.made.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

fn temporary(target: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut name = beginning(target);
    name.push(format!("{}-{number}", std::process::id()));
    target.with_file_name(name)
}

/// How the names of our files beside a target begin.
fn beginning(target: &Path) -> std::ffi::OsString {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".holdpoint-");
    name
}

/// Removes what a run that was killed left beside a target. One that is still at work keeps its file locked.
fn sweep(target: &Path) {
    let beginning = beginning(target);
    let folder = target.parent().unwrap_or_else(|| Path::new("/"));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.as_encoded_bytes().starts_with(beginning.as_encoded_bytes());
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if read::open(&entry.path()).is_ok_and(|(file, _)| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn write_in_place(target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(target)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

fn sync_folder(target: &Path) {
    if cfg!(unix)
        && let Some(Ok(folder)) = target.parent().map(File::open)
    {
        let _ = folder.sync_all();
    }
}

#[cfg(unix)]
fn create(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // For nobody else until it is whole: what was there before may hold secrets.
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(unix)]
fn set_readers(file: &File, readers: Readers) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = match readers {
        Readers::Owner => 0o600,
        Readers::Everybody => 0o644,
    };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
fn create_folder(path: &Path, readers: Readers) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    let mode = match readers {
        Readers::Owner => 0o700,
        Readers::Everybody => 0o755,
    };
    fs::DirBuilder::new().mode(mode).create(path)?;
    // Whatever the umask left of it.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
fn give_to_owner_of(file: &File, metadata: &Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) == (metadata.uid(), metadata.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(metadata.uid()), Some(metadata.gid()))
}

/// Whether a folder is root's, and everybody may enter it.
#[cfg(unix)]
fn is_systems(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == 0 && metadata.mode() & 0o001 != 0)
}

#[cfg(not(unix))]
fn is_systems(_: &Path) -> bool {
    false
}

/// What an administrator makes in a user's folder is that user's.
#[cfg(unix)]
fn belong_to_folder(file: &File, folder: &Path) -> std::io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    give_to_owner_of(file, &fs::metadata(folder)?)
}

#[cfg(not(unix))]
fn create(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

#[cfg(not(unix))]
fn set_readers(_: &File, _: Readers) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn create_folder(path: &Path, _: Readers) -> std::io::Result<()> {
    fs::create_dir(path)
}

#[cfg(not(unix))]
fn give_to_owner_of(_: &File, _: &Metadata) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn belong_to_folder(_: &File, _: &Path) -> std::io::Result<()> {
    Ok(())
}
