//! The log: receipts are appended to it, by many processes at once. Its oldest files can be moved into an archive (see
//! [`archive`](crate::archive)); nothing else is ever done to it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_artifact::{Digest, KeyPair};
use holdpoint_common::access;
use holdpoint_common::append::{self, Links};

use crate::body::{Body, Event};
use crate::end::{self, End};
use crate::envelope::{self, GENESIS, Receipt};
use crate::error::LogError;
use crate::files::{KEY_SET, Lock, Segment};
use crate::keyset::{self, Key, KeySet, KeyStatus};
use crate::moment::Moment;
use crate::wire::Place;

/// How far back a call's decision is looked for, in bytes: about a thousand receipts.
const WINDOW: u64 = 2 * 1024 * 1024;

/// A log and the key that signs for it.
#[derive(Debug, Clone)]
pub struct Log {
    /// The directory.
    pub directory: PathBuf,
    /// The private key's file.
    pub key: PathBuf,
    /// The size at which a new segment is begun, in bytes.
    pub largest_segment: u64,
    /// The version of the host, which its receipts name.
    pub host: String,
}

/// How a receipt is appended.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Whether it has to be on the disk before this is done.
    pub sync: bool,
    /// How long to wait for other writers.
    pub wait: Duration,
}

/// What came of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The receipt's number.
    pub seq: u64,
    /// The receipt's digest.
    pub digest: Digest,
    /// What was found at the end of the log and moved out of the way: to be told to somebody.
    pub set_aside: Vec<Event>,
}

impl Log {
    /// Begins a log: its directory, a key and the key set.
    ///
    /// # Errors
    ///
    /// Where there is a key or a log already, or one of the files cannot be written.
    pub fn begin(&self) -> Result<Key, LogError> {
        access::create_folder(&self.directory).map_err(LogError::file(&self.directory, "made"))?;
        let _lock = Lock::exclusive(&self.directory, Duration::from_secs(5))?;
        match (self.key.exists(), self.directory.join(KEY_SET).exists()) {
            (false, false) => {}
            (true, true) => return Err(LogError::KeyExists(self.key.clone())),
            (true, false) => return Err(self.key_without_log()),
            (false, true) => return Err(self.lost_key()),
        }
        if let Some(parent) = self.key.parent() {
            access::create_folder(parent).map_err(LogError::file(parent, "made"))?;
        }
        let pair = self.generate()?;
        let key = Key {
            issuer: format!("holdpoint:{}", pair.public().id()),
            public: pair.public(),
            not_before: Some(Moment::now()),
            not_after: None,
            status: KeyStatus::Active,
        };
        keyset::write_private(&self.key, &pair)?;
        let set = KeySet {
            keys: vec![key.clone()],
        };
        set.write(&self.directory.join(KEY_SET))?;
        sync_directory(&self.directory)?;
        Ok(key)
    }

    /// Whether there is a key, or what is left of a log: then it is no longer to be begun.
    pub fn has_begun(&self) -> bool {
        self.key.exists() || self.directory.join(KEY_SET).exists()
    }

    /// Appends a receipt.
    ///
    /// # Errors
    ///
    /// Where it is not in the log, or, if that was wanted, not known to be on the disk.
    pub fn append(&self, body: &Body, manner: Manner) -> Result<Appended, LogError> {
        let _lock = self.lock(manner.wait)?;
        let mut tail = Tail::find(self)?;
        let key = self.right_key(&tail)?;
        let mut lines = Vec::new();
        for event in &tail.set_aside.clone() {
            tail.sign(&Body::Event(event.clone()), &key, &mut lines)?;
        }
        let digest = tail.sign(body, &key, &mut lines)?;
        tail.write(&lines, manner.sync)?;
        Ok(Appended {
            seq: tail.seq,
            digest,
            set_aside: tail.set_aside,
        })
    }

    /// Changes the key for a new one. The old key signs the change, so who trusts it can trust the new one.
    ///
    /// # Errors
    ///
    /// Where a file cannot be written. Then the old key goes on, or the next append ends what was begun.
    pub fn change_key(&self, wait: Duration) -> Result<Key, LogError> {
        let _lock = self.lock(wait)?;
        let mut tail = Tail::find(self)?;
        let old = self.right_key(&tail)?;
        let new = self.generate()?;
        keyset::write_private(&self.key_to_be(), &new)?;
        let mut lines = Vec::new();
        for event in &tail.set_aside.clone() {
            tail.sign(&Body::Event(event.clone()), &old, &mut lines)?;
        }
        let change = Event::KeyChanged {
            public_key: new.public(),
        };
        tail.sign(&Body::Event(change), &old, &mut lines)?;
        tail.write(&lines, true)?;
        self.put_in_force(&new, &tail)
    }

    /// The newest decision of a call, if it is among the last thousand receipts or so.
    ///
    /// # Errors
    ///
    /// Where the log cannot be read.
    pub fn decision_of(&self, session: Option<&str>, call: &str) -> Result<Option<Receipt>, LogError> {
        end::decision_of(&self.directory, session, call, WINDOW)
    }

    pub(crate) fn lock(&self, wait: Duration) -> Result<Lock, LogError> {
        let lock = Lock::exclusive(&self.directory, wait)?;
        let metadata = fs::metadata(&self.directory).map_err(LogError::file(&self.directory, "read"))?;
        if access::writable_by_others(&metadata) {
            return Err(LogError::Exposed(self.directory.clone()));
        }
        Ok(lock)
    }

    fn generate(&self) -> Result<KeyPair, LogError> {
        KeyPair::generate().map_err(|cause| LogError::Key {
            path: self.key.clone(),
            cause,
        })
    }

    /// Where a new key waits for its change to be in the log.
    fn key_to_be(&self) -> PathBuf {
        let mut path = self.key.clone().into_os_string();
        path.push(".new");
        path.into()
    }

    /// The key that the log goes on with. A change that was not finished for it is.
    pub(crate) fn right_key(&self, tail: &Tail<'_>) -> Result<KeyPair, LogError> {
        let (key, is_to_be) = self.find_key(tail.wanted_key.clone())?;
        if is_to_be {
            self.put_in_force(&key, tail)?;
        }
        Ok(key)
    }

    /// The key that the log goes on with: the one at hand, or the one that a change was not finished for, and whether it
    /// is that. `wanted` is what its last receipt calls for; none in a log that has none.
    pub(crate) fn find_key(&self, wanted: Option<String>) -> Result<(KeyPair, bool), LogError> {
        let key_set = self.directory.join(KEY_SET);
        let key = keyset::read_private(&self.key).map_err(|error| match error {
            LogError::NoKey(_) if key_set.exists() => self.lost_key(),
            error => error,
        })?;
        let id = key.public().id().to_string();
        let wanted = match wanted {
            Some(wanted) => wanted,
            None if !key_set.exists() => return Err(self.key_without_log()),
            // Nobody could verify a log that begins with a key that is in no key set.
            None => match KeySet::read(&key_set)?.keys.last() {
                Some(key) => key.id(),
                None => id.clone(),
            },
        };
        if wanted == id {
            return Ok((key, false));
        }
        let to_be = keyset::read_private(&self.key_to_be()).ok();
        if let Some(to_be) = to_be.filter(|key| key.public().id().to_string() == wanted) {
            return Ok((to_be, true));
        }
        Err(LogError::OtherKey {
            path: self.key.clone(),
            key: id,
            wanted,
        })
    }

    fn lost_key(&self) -> LogError {
        LogError::LostKey {
            key: self.key.clone(),
            directory: self.directory.clone(),
        }
    }

    fn key_without_log(&self) -> LogError {
        LogError::KeyWithoutLog {
            key: self.key.clone(),
            directory: self.directory.clone(),
        }
    }

    /// Ends a change of keys whose receipt is in the log.
    fn put_in_force(&self, new: &KeyPair, tail: &Tail<'_>) -> Result<Key, LogError> {
        let path = self.directory.join(KEY_SET);
        let mut set = match KeySet::read(&path) {
            Err(LogError::File { cause, .. }) if cause.kind() == ErrorKind::NotFound => KeySet::default(),
            set => set?,
        };
        let now = Moment::now();
        let key = Key {
            public: new.public(),
            issuer: tail.issuer.clone().unwrap_or_default(),
            not_before: Some(now),
            not_after: None,
            status: KeyStatus::Active,
        };
        if set.find(&key.id()).is_none() {
            if let Some(last) = set.keys.last_mut() {
                last.not_after = Some(now);
            }
            set.keys.push(key.clone());
            set.write(&path)?;
        }
        fs::rename(self.key_to_be(), &self.key).map_err(LogError::file(&self.key, "replaced"))?;
        sync_directory(self.key.parent().unwrap_or(&self.directory))?;
        Ok(key)
    }
}

/// The end of the log while it is being written to. Only for who holds the lock.
pub(crate) struct Tail<'a> {
    log: &'a Log,
    seq: u64,
    previous: Digest,
    issuer: Option<String>,
    /// The id of the key that has to sign; none in a new log.
    wanted_key: Option<String>,
    pub(crate) segment: Option<(Segment, u64)>,
    pub(crate) set_aside: Vec<Event>,
}

impl<'a> Tail<'a> {
    pub(crate) fn find(log: &'a Log) -> Result<Self, LogError> {
        let End {
            last,
            segment,
            set_aside,
        } = End::find(&log.directory)?;
        let wanted_key = last.as_ref().map(next_key);
        Ok(Self {
            log,
            seq: last.as_ref().map_or(0, |last| last.seq),
            previous: last.as_ref().map_or(GENESIS, |last| last.digest),
            issuer: last.map(|last| last.issuer),
            wanted_key,
            segment,
            set_aside,
        })
    }

    /// Adds the next receipt's line.
    pub(crate) fn sign(
        &mut self,
        body: &Body,
        key: &KeyPair,
        lines: &mut Vec<u8>,
    ) -> Result<Digest, LogError> {
        let id = key.public().id().to_string();
        let issuer = self.issuer.get_or_insert_with(|| format!("holdpoint:{id}"));
        let place = Place {
            seq: self.seq + 1,
            previous: self.previous,
            issued_at: Moment::now(),
            issuer: issuer.clone(),
            key: id,
            host: self.log.host.clone(),
        };
        let (line, digest) = envelope::sign(&place, body, key)?;
        lines.extend_from_slice(&line);
        (self.seq, self.previous) = (place.seq, digest);
        Ok(digest)
    }

    /// Writes the lines at the end, all of them or none.
    pub(crate) fn write(&self, lines: &[u8], sync: bool) -> Result<(), LogError> {
        let directory = &self.log.directory;
        let added = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        let (segment, length) = match &self.segment {
            Some((segment, length)) if *length < self.log.largest_segment => (segment.clone(), *length),
            _ => (Segment::of(directory, self.seq + 1 - added), 0),
        };
        let failed = || LogError::file(&segment.path, "written");
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let opened = append::open(&segment.path, &mut options, Links::Followed);
        let (mut file, _) = opened.map_err(failed())?;
        if let Err(cause) = file.write_all(lines) {
            // What is there of them is nobody's receipt. Where this fails too, the next writer sets it aside.
            let _ = file.set_len(length);
            return Err(failed()(cause));
        }
        if length == 0 {
            // Also for who does not want to wait: a later writer who does can tell no more that the name is new.
            sync_directory(directory)?;
        }
        if sync {
            file.sync_data().map_err(failed())?;
        }
        Ok(())
    }
}

/// The id of the key that signs what comes after this receipt.
pub(crate) fn next_key(last: &Receipt) -> String {
    match &last.body {
        Body::Event(Event::KeyChanged { public_key }) => public_key.id().to_string(),
        _ => last.signature.kid.clone(),
    }
}

/// Makes sure that the names in a directory are on the disk.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), LogError> {
    if cfg!(unix) {
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(LogError::file(directory, "written"))?;
    }
    Ok(())
}
