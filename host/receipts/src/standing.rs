//! How a log stands, looked at without changing anything: what it is signed with, whether it can be written, and whether
//! its end holds together.

use std::fs::{self, OpenOptions};

use holdpoint_common::append::{self, Links};
use holdpoint_common::{access, read};

use holdpoint_artifact::Digest;

use crate::body::{Body, Event};
use crate::envelope::{self, GENESIS, Receipt};
use crate::error::{LogError, ReceiptError};
use crate::files::{KEY_SET, Lock, Segment};
use crate::keyset::KeySet;
use crate::lines::line_before;
use crate::log::{Log, next_key};

/// How far back from its end a log is looked at, in bytes: about a hundred receipts.
const WINDOW: u64 = 256 * 1024;

/// How a log stands.
#[derive(Debug)]
pub struct Standing {
    /// The id of the key that signs next, or why none can.
    pub key: Result<String, LogError>,
    /// Why nothing can be written, whatever the key.
    pub unwritable: Option<LogError>,
    /// The log's end, or why it cannot be read.
    pub end: Result<Ending, LogError>,
}

/// The end of a log.
#[derive(Debug, Default)]
pub struct Ending {
    /// The last receipt; none in a log that has none.
    pub last: Option<Receipt>,
    /// How many receipts were looked at, the last one first.
    pub looked_at: u64,
    /// What does not hold together there, the newest of it.
    pub broken: Option<String>,
}

impl Log {
    /// Looks at the log.
    pub fn standing(&self) -> Standing {
        let end = self.ending();
        let last = end.as_ref().ok().and_then(|end| end.last.as_ref());
        let key = self.find_key(last.map(next_key));
        Standing {
            key: key.map(|(key, _)| key.public().id().to_string()),
            unwritable: self.try_to_write().err(),
            end,
        }
    }

    /// Opens what an append opens.
    fn try_to_write(&self) -> Result<(), LogError> {
        let directory = &self.directory;
        let metadata = match fs::metadata(directory) {
            // Then the key says what to do.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            metadata => metadata.map_err(LogError::file(directory, "read"))?,
        };
        if access::writable_by_others(&metadata) {
            return Err(LogError::Exposed(directory.clone()));
        }
        let lock = directory.join("lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        append::open(&lock, &mut options, Links::Refused).map_err(LogError::file(&lock, "opened"))?;
        if let Some(Segment { path }) = Segment::all(directory)?.pop() {
            let opened = append::open(&path, OpenOptions::new().append(true), Links::Followed);
            opened.map_err(LogError::file(&path, "written"))?;
        }
        Ok(())
    }

    fn ending(&self) -> Result<Ending, LogError> {
        if !self.directory.exists() {
            return Ok(Ending::default());
        }
        // What a writer has not finished has no end yet, and is passed over where there is no lock to be had.
        let _at_rest = Lock::shared(&self.directory);
        let keys = KeySet::read(&self.directory.join(KEY_SET)).unwrap_or_default();
        let mut walk = Walk {
            keys,
            later: None,
            archived: Vec::new(),
            ending: Ending::default(),
        };
        let mut window = WINDOW;
        let segments = Segment::all(&self.directory)?;
        for Segment { path } in segments.into_iter().rev() {
            let failed = || LogError::file(&path, "read");
            let (mut file, metadata) = read::open(&path).map_err(failed())?;
            let mut end = metadata.len();
            while let Some((start, line)) = line_before(&mut file, end).map_err(failed())? {
                walk.step(&line)?;
                window = window.saturating_sub(end - start);
                if window == 0 || walk.ending.broken.is_some() {
                    return Ok(walk.ending);
                }
                end = start;
            }
        }
        Ok(walk.beginning())
    }
}

/// From the end of a log towards its beginning.
struct Walk {
    keys: KeySet,
    /// The receipt after the next line: its number, and the digest that it names.
    later: Option<Receipt>,
    /// What was archived: up to which receipt, and its digest.
    archived: Vec<(u64, Digest)>,
    ending: Ending,
}

impl Walk {
    fn step(&mut self, line: &[u8]) -> Result<(), LogError> {
        let Some(line) = line.strip_suffix(b"\n") else {
            // The next writer sets it aside.
            return Ok(());
        };
        let parsed = envelope::parse(std::str::from_utf8(line).unwrap_or_default());
        let parsed = match parsed {
            Err(error @ ReceiptError::Newer(_)) => return Err(error.into()),
            Err(error) => {
                let place = match &self.later {
                    Some(later) => format!("the line before #{}", later.seq),
                    None => "the last line".to_owned(),
                };
                self.ending.broken = Some(format!("{place} is {error}"));
                return Ok(());
            }
            Ok(parsed) => parsed,
        };
        let receipt = &parsed.receipt;
        self.ending.looked_at += 1;
        self.ending.broken = match self.keys.find(&receipt.signature.kid) {
            None => Some(format!(
                "#{} is signed by {}, which is not in {KEY_SET}",
                receipt.seq, receipt.signature.kid
            )),
            Some(key) if !envelope::is_signed(parsed.payload, &receipt.signature, &key.public) => {
                Some(format!("#{} is not as its key signed it", receipt.seq))
            }
            Some(_) => self
                .later
                .as_ref()
                .filter(|later| later.previous != receipt.digest || later.seq != receipt.seq + 1)
                .map(|later| format!("#{} does not continue #{}", later.seq, receipt.seq)),
        };
        if let Body::Event(Event::Archived { through, digest, .. }) = &receipt.body {
            self.archived.push((*through, *digest));
        }
        if self.ending.last.is_none() {
            self.ending.last = Some(parsed.receipt.clone());
        }
        self.later = Some(parsed.receipt);
        Ok(())
    }

    /// There is no line left: what came last has to be the first receipt, or one that a base lets the log begin with.
    fn beginning(mut self) -> Ending {
        let has_base = |first: &Receipt| {
            self.archived.iter().any(|(through, digest)| {
                *through + 1 > first.seq || (*through + 1 == first.seq && *digest == first.previous)
            })
        };
        self.ending.broken = self
            .later
            .filter(|first| (first.seq != 1 || first.previous != GENESIS) && !has_base(first))
            .map(|first| format!("the first one here is #{}", first.seq));
        self.ending
    }
}
