//! The end of a log, found from its end: what it costs does not grow with the log.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use holdpoint_artifact::Digest;
use holdpoint_common::append::{self, Links};
use holdpoint_common::read;

use crate::body::{Body, Event};
use crate::envelope::Receipt;
use crate::error::{LogError, ReceiptError};
use crate::files::{self, Segment};
use crate::lines::line_before;
use crate::permissions;

/// The end of a log.
pub(crate) struct End {
    /// The last receipt; none in a log that has none.
    pub(crate) last: Option<Receipt>,
    /// The segment that it is in, and that segment's length.
    pub(crate) segment: Option<(Segment, u64)>,
    /// What stood after it and was moved out of the way.
    pub(crate) set_aside: Vec<Event>,
}

impl End {
    /// Finds the end, and sets aside what stands there and is no receipt. Only for who holds the lock.
    pub(crate) fn find(directory: &Path) -> Result<Self, LogError> {
        let mut set_aside = Vec::new();
        for segment in Segment::all(directory)?.into_iter().rev() {
            let path = segment.path.clone();
            let failed = || LogError::file(&path, "read");
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            let (mut file, metadata) = append::open(&path, &mut options, Links::Followed).map_err(failed())?;
            let length = metadata.len();
            let (last, end) = last_receipt(&mut file, length).map_err(|error| match error {
                Trouble::File(cause) => failed()(cause),
                Trouble::Receipt(cause) => cause.into(),
            })?;
            if end < length {
                set_aside.push(move_out(directory, &mut file, end).map_err(LogError::file(&path, "mended"))?);
            }
            if last.is_some() {
                return Ok(Self {
                    last,
                    segment: Some((segment, end)),
                    set_aside,
                });
            }
        }
        Ok(Self {
            last: None,
            segment: None,
            set_aside,
        })
    }
}

enum Trouble {
    File(io::Error),
    Receipt(ReceiptError),
}

impl From<io::Error> for Trouble {
    fn from(cause: io::Error) -> Self {
        Self::File(cause)
    }
}

/// The last whole receipt before `end`, and where it ends.
fn last_receipt(file: &mut File, mut end: u64) -> Result<(Option<Receipt>, u64), Trouble> {
    loop {
        let Some((start, line)) = line_before(file, end)? else {
            return Ok((None, 0));
        };
        let receipt = line
            .strip_suffix(b"\n")
            .and_then(|line| std::str::from_utf8(line).ok())
            .map(Receipt::read);
        match receipt {
            Some(Ok(receipt)) => return Ok((Some(receipt), end)),
            // Whole and good, but for a newer host to go on with.
            Some(Err(error @ ReceiptError::Newer(_))) => return Err(Trouble::Receipt(error)),
            _ => end = start,
        }
    }
}

/// Moves everything from `from` on into a file beside the log. It is there before it is gone here.
fn move_out(directory: &Path, file: &mut File, from: u64) -> io::Result<Event> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut bytes)?;
    let digest = Digest::of(&bytes);
    let name = files::torn_name(&digest);
    let mut aside = permissions::replace(&directory.join(&name), false)?;
    aside.write_all(&bytes)?;
    aside.sync_all()?;
    file.set_len(from)?;
    Ok(Event::LineSetAside {
        file: name,
        digest,
        bytes: bytes.len() as u64,
    })
}

/// The newest decision of a call among the last `window` bytes of the log.
pub(crate) fn decision_of(
    directory: &Path,
    session: Option<&str>,
    call: &str,
    mut window: u64,
) -> Result<Option<Receipt>, LogError> {
    let sought = format!("\"invocation_ref\":{}", serde_json::Value::from(call));
    for segment in Segment::all(directory)?.into_iter().rev() {
        let failed = || LogError::file(&segment.path, "read");
        let (mut file, metadata) = read::open(&segment.path).map_err(failed())?;
        let mut end = metadata.len();
        while let Some((start, line)) = line_before(&mut file, end).map_err(failed())? {
            let text = std::str::from_utf8(&line).unwrap_or_default();
            if text.contains(&sought)
                && let Ok(receipt) = Receipt::read(text.trim_end())
                && let Body::Decision(found, _) = &receipt.body
                && found.id.as_deref() == Some(call)
                && found.session.as_deref() == session
            {
                return Ok(Some(receipt));
            }
            window = window.saturating_sub(end - start);
            if window == 0 {
                return Ok(None);
            }
            end = start;
        }
    }
    Ok(None)
}
