//! The layout on disk, and the small files in it.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
use std::{fs, io};

use holdpoint_artifact::{Digest, Facts};
use holdpoint_common::way;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::disk;
use crate::entries::{Activation, AllSeen, Entry, FORMAT, KeptFacts, Revoked};
use crate::error::StoreError;
use crate::{lock, owner};

/// No small file is larger, in bytes.
const SMALL: u64 = 256 * 1024;
/// So much of the history's end is read, in bytes: some ten thousand entries.
const HISTORY: u64 = 8 * 1024 * 1024;

/// The store's folder and what lies where in it.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) root: PathBuf,
    folder: u32,
    file: u32,
}

impl Files {
    /// Opens what is there, and refuses it where others may write to it.
    pub(crate) fn open(root: &Path) -> Result<Self, StoreError> {
        let root = fs::canonicalize(root).map_err(|cause| match cause.kind() {
            // A link that leads nowhere is no missing store: somebody meant one to be there.
            io::ErrorKind::NotFound if way::dangling(root).is_none() => StoreError::NoStore(root.to_owned()),
            _ => StoreError::io(root, cause),
        })?;
        owner::check_way_to(&root)?;
        let (folder, file) = if owner::is_system() {
            (0o755, 0o644)
        } else {
            (0o700, 0o600)
        };
        let files = Self { root, folder, file };
        files.check_folder(&files.root)?;
        Ok(files)
    }

    /// Makes everything that an empty store has. `objects` comes last: where it is, the rest was.
    pub(crate) fn create(root: &Path, deadline: Instant) -> Result<Self, StoreError> {
        let (folder, _) = modes();
        disk::make_folders(root, folder)?;
        let files = Self::open(root)?;
        if files.objects().exists() {
            return Ok(files);
        }
        disk::make_file(&files.lock(), 0o600)?;
        let _lock = lock::take(&files.lock(), deadline)?;
        if files.objects().exists() {
            return Ok(files);
        }
        disk::make_folder(&files.scratch(), 0o700)?;
        disk::empty(&files.scratch())?;
        if !files.key().exists() {
            let mut key = [0; 32];
            getrandom::fill(&mut key)
                .map_err(|error| StoreError::io(&files.key(), io::Error::other(error)))?;
            disk::replace(&files.scratch(), &files.key(), &key, 0o600)?;
        }
        // A store that lost its policies has not lost what was revoked.
        if !files.revoked_file().exists() {
            files.write_revoked(&Revoked {
                format: FORMAT,
                ..Revoked::default()
            })?;
        }
        disk::make_folder(&files.objects(), files.folder)?;
        Ok(files)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.root.join("key")
    }

    /// Where everything is written before it is renamed to its place. Only the lock's holder writes here.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("tmp")
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub(crate) fn object(&self, digest: Digest) -> PathBuf {
        self.objects().join(digest.hex())
    }

    fn active_file(&self) -> PathBuf {
        self.root.join("active")
    }

    fn history_file(&self) -> PathBuf {
        self.root.join("history.jsonl")
    }

    fn failure_file(&self) -> PathBuf {
        self.root.join("failure.json")
    }

    /// Why a policy was not compiled when that was tried last.
    fn not_compiled_file(&self, policy: Digest) -> PathBuf {
        self.object(policy).join("not-compiled")
    }

    fn revoked_file(&self) -> PathBuf {
        self.root.join("revoked.json")
    }

    /// Refuses a folder of the store that others may write to, or that is none.
    pub(crate) fn check_folder(&self, path: &Path) -> Result<fs::Metadata, StoreError> {
        let metadata = fs::symlink_metadata(path).map_err(|cause| StoreError::io(path, cause))?;
        if !metadata.is_dir() {
            return Err(StoreError::damaged(path, "is no folder"));
        }
        owner::check(path, &metadata)?;
        Ok(metadata)
    }

    /// What was put in force; none in a store where nothing was ever installed.
    pub(crate) fn activation(&self) -> Result<Option<Activation>, StoreError> {
        let path = self.active_file();
        let activation: Option<Activation> = self.read_json(&path)?;
        match &activation {
            Some(Activation { format, .. }) if *format != FORMAT => Err(other_format(&path)),
            _ => Ok(activation),
        }
    }

    pub(crate) fn activate(&self, activation: &Activation) -> Result<(), StoreError> {
        self.write_json(&self.active_file(), activation)
    }

    /// What the store itself knows to be revoked. A store without this file was tampered with.
    pub(crate) fn revoked(&self) -> Result<Revoked, StoreError> {
        let path = self.revoked_file();
        self.read_json(&path)?.ok_or_else(|| {
            StoreError::damaged(
                &path,
                "is missing, so that nobody can tell what was revoked; restore it",
            )
        })
    }

    pub(crate) fn write_revoked(&self, revoked: &Revoked) -> Result<(), StoreError> {
        self.write_json(&self.revoked_file(), revoked)
    }

    /// What was last seen of each channel.
    pub(crate) fn channels(&self) -> Result<AllSeen, StoreError> {
        Ok(self.read_json(&self.channels_file())?.unwrap_or_default())
    }

    pub(crate) fn write_channels(&self, channels: &AllSeen) -> Result<(), StoreError> {
        self.write_json(&self.channels_file(), channels)
    }

    fn channels_file(&self) -> PathBuf {
        self.root.join("channels.json")
    }

    /// Puts a policy's file and facts into the store, in no force yet.
    pub(crate) fn keep(&self, bytes: &[u8], facts: &Facts) -> Result<KeptFacts, StoreError> {
        let folder = self.object(facts.digest);
        disk::make_folder(&folder, self.folder)?;
        self.check_folder(&folder)?;
        let (kept, most) = (folder.join("policy.wasm"), bytes.len() as u64);
        if disk::read(&kept, most).ok().flatten().as_deref() != Some(bytes) {
            self.write(&kept, bytes)?;
        }
        let facts = KeptFacts::new(facts, Digest::of(bytes));
        self.write_json(&folder.join("facts.json"), &facts)?;
        Ok(facts)
    }

    /// The digests of everything that is kept, in their order.
    pub(crate) fn kept(&self) -> Result<Vec<Digest>, StoreError> {
        let folder = self.objects();
        self.check_folder(&folder)?;
        let io = |cause| StoreError::io(&folder, cause);
        let mut kept = Vec::new();
        for entry in fs::read_dir(&folder).map_err(io)? {
            let name = entry.map_err(io)?.file_name();
            if let Some(digest) = name.to_str().and_then(|name| name.parse().ok()) {
                kept.push(digest);
            }
        }
        kept.sort();
        Ok(kept)
    }

    /// The facts of a kept policy; none where it was never kept whole.
    pub(crate) fn facts(&self, digest: Digest) -> Result<Option<KeptFacts>, StoreError> {
        self.read_json(&self.object(digest).join("facts.json"))
    }

    /// The last change, where that failed.
    pub(crate) fn failure(&self) -> Result<Option<Entry>, StoreError> {
        self.read_json(&self.failure_file())
    }

    pub(crate) fn write_failure(&self, entry: &Entry) -> Result<(), StoreError> {
        self.write_json(&self.failure_file(), entry)
    }

    pub(crate) fn forget_failure(&self) -> Result<(), StoreError> {
        disk::remove(&self.failure_file())
    }

    /// Why a policy was not compiled when that was tried last, and when that was.
    pub(crate) fn not_compiled(&self, policy: Digest) -> Result<Option<(String, SystemTime)>, StoreError> {
        let path = self.not_compiled_file(policy);
        let Some((why, metadata)) = disk::read_with_metadata(&path, SMALL)? else {
            return Ok(None);
        };
        let when = metadata
            .modified()
            .map_err(|cause| StoreError::io(&path, cause))?;
        Ok(Some((String::from_utf8_lossy(&why).into_owned(), when)))
    }

    pub(crate) fn write_not_compiled(&self, policy: Digest, why: &str) -> Result<(), StoreError> {
        self.write(&self.not_compiled_file(policy), why.as_bytes())
    }

    pub(crate) fn forget_not_compiled(&self, policy: Digest) -> Result<(), StoreError> {
        disk::remove(&self.not_compiled_file(policy))
    }

    pub(crate) fn append(&self, entry: &Entry) -> Result<(), StoreError> {
        let path = self.history_file();
        let line = serde_json::to_string(entry)
            .map_err(|error| StoreError::damaged(&path, format!("cannot be written: {error}")))?;
        disk::append(&path, &line, self.file)
    }

    /// The history, oldest first. Lines that cannot be read (one cut short by a power failure, say) are left out.
    pub(crate) fn history(&self) -> Result<Vec<Entry>, StoreError> {
        let bytes = disk::read_end(&self.history_file(), HISTORY)?.unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }

    /// What the history says was put in force last.
    pub(crate) fn last_in_force(&self) -> Result<Option<Entry>, StoreError> {
        Ok(self.history()?.into_iter().rfind(Entry::puts_in_force))
    }

    /// A small JSON file; none where there is no such file.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, StoreError> {
        let Some(bytes) = disk::read(path, SMALL)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| StoreError::damaged(path, format!("cannot be read: {error}")))
    }

    pub(crate) fn write_json<T: Serialize>(&self, path: &Path, value: &T) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec_pretty(value)
            .map_err(|error| StoreError::damaged(path, format!("cannot be written: {error}")))?;
        self.write(path, &bytes)
    }

    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        disk::replace(&self.scratch(), path, bytes, self.file)
    }
}

/// The modes of folders and of files: a store of the system's is read by everybody's hooks, any other by nobody else.
fn modes() -> (u32, u32) {
    if owner::is_system() {
        (0o755, 0o644)
    } else {
        (0o700, 0o600)
    }
}

fn other_format(path: &Path) -> StoreError {
    StoreError::damaged(
        path,
        "was written by another release of holdpoint, in a format of its own",
    )
}
