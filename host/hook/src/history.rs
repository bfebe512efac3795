//! What was decided, read from the end of the decision log backwards: a log may be gigabytes, and what is asked for is at
//! its end.

pub mod coverage;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use holdpoint_common::read;
use serde::Deserialize;

use crate::log::{self, Log};
use crate::record::Seen;

/// How much is read at once, in bytes.
const CHUNK: u64 = 64 * 1024;
/// A longer line is none of ours.
const LONGEST_LINE: usize = 1024 * 1024;

/// A decision as the log has it; see `docs/formats.md`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decision {
    /// When, RFC 3339 in UTC: such texts sort as their times do.
    pub at: String,
    /// The session's id.
    #[serde(default)]
    pub session: String,
    /// The call's id.
    #[serde(default)]
    pub call: String,
    /// The tool, or the event's name.
    pub tool: String,
    /// `pass`, `ask`, `deny` or `silent`.
    pub verdict: String,
    /// The kind of fault.
    pub fault: Option<String>,
    /// The reason or note.
    pub why: Option<String>,
    /// The digest of an event that could not be read.
    pub event: Option<String>,
    /// The machines that Zerto was asked for.
    #[serde(default)]
    pub targets: Vec<String>,
    /// The tag that was asked for.
    pub tag: Option<String>,
    /// The checkpoints that were seen.
    #[serde(default)]
    pub checkpoints: Vec<Seen>,
    /// The policy that decided.
    pub policy: Option<String>,
    /// The digest of the arguments that were decided on.
    pub arguments: Option<String>,
    /// How what ran differs from what was decided, in a line of a call's end.
    pub deviation: Option<holdpoint_receipts::Deviation>,
}

/// How far back a call's decision is looked for, in bytes: tens of thousands of decisions.
const WINDOW: u64 = 32 * 1024 * 1024;
/// How much further back another decision of the same call is looked for.
const MORE: u64 = 1024 * 1024;

/// The decisions of a call, the last one first.
///
/// # Errors
///
/// Where the log is there and cannot be read back, as a pipe or a device.
pub fn of_call(log: &Log, session: &str, call: &str) -> io::Result<Vec<Decision>> {
    let is_file = std::fs::metadata(&log.path).map(|metadata| metadata.is_file());
    if let Ok(false) = is_file {
        return Err(io::Error::other("the decision log is not a regular file"));
    }
    let (session, call) = (log::name(session), log::name(call));
    let sought = serde_json::Value::from(call.as_str()).to_string();
    let finder = memchr::memmem::Finder::new(sought.as_bytes());
    let mut lines = Backwards::of(log, WINDOW)?;
    let mut found = Vec::new();
    let mut end = None;
    while let Some(line) = lines.line() {
        if end.is_some_and(|end| lines.read > end) {
            break;
        }
        let decision = finder
            .find(&line)
            .and_then(|_| serde_json::from_slice::<Decision>(&line).ok())
            .filter(|decision| decision.session == session && decision.call == call)
            .filter(|decision| decision.verdict != "silent");
        if let Some(decision) = decision {
            end.get_or_insert(lines.read + MORE);
            found.push(decision);
        }
    }
    Ok(found)
}

impl Decision {
    /// The machines that its checkpoints are of: the one in the tag, which ends with it; where the tag says that there
    /// are more, those that were asked for.
    pub fn machines(&self) -> Vec<&str> {
        let tagged = self.tag.as_deref().and_then(|tag| tag.rsplit_once(" on "));
        match tagged {
            Some((_, machine)) if !machine.contains(" +") => vec![machine],
            _ => self.targets.iter().map(String::as_str).collect(),
        }
    }
}

/// The decisions in a log and its full files, the last one first. Lines that are none are left out.
pub struct Backwards {
    /// What comes after the current file, the next one last.
    older: Vec<PathBuf>,
    file: Option<File>,
    /// What of the current file has not been read, in bytes.
    left: u64,
    /// What was read and not handed out. Ends where the last line that was handed out began.
    pending: Vec<u8>,
    read: u64,
    most: u64,
    /// Whether something of it is there and could not be read.
    broken: bool,
}

impl Backwards {
    /// Reads at most so many bytes of a log.
    ///
    /// # Errors
    ///
    /// Where the current file is there and cannot be read.
    pub fn of(log: &Log, most: u64) -> io::Result<Self> {
        let older = (1..=log.keep).map(|number| log.numbered(number)).rev().collect();
        let mut backwards = Self {
            older,
            file: None,
            left: 0,
            pending: Vec::new(),
            read: 0,
            most,
            broken: false,
        };
        match backwards.open(&log.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => opened?,
        }
        Ok(backwards)
    }

    /// Whether it ended before the beginning, since there was more to read than was allowed.
    pub fn is_cut(&self) -> bool {
        self.read >= self.most
    }

    fn open(&mut self, path: &Path) -> io::Result<()> {
        let (file, metadata) = read::open(path)?;
        self.left = metadata.len();
        self.file = Some(file);
        Ok(())
    }

    /// Reads what lies before `pending`; false where there is nothing more.
    fn more(&mut self) -> bool {
        let Some(file) = self.file.as_mut().filter(|_| self.left > 0) else {
            return false;
        };
        let length = self.left.min(CHUNK);
        let mut chunk = Vec::new();
        let begin = self.left - length;
        let got = file
            .seek(SeekFrom::Start(begin))
            .and_then(|_| file.take(length).read_to_end(&mut chunk));
        if got.is_err() || self.is_cut() || self.pending.len() > LONGEST_LINE {
            self.broken |= !self.is_cut();
            self.left = 0;
            return false;
        }
        (self.left, self.read) = (begin, self.read + length);
        chunk.append(&mut self.pending);
        self.pending = chunk;
        true
    }

    /// The line before those that were handed out.
    fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.pending.iter().rposition(|&byte| byte == b'\n') {
                let line = self.pending.split_off(at + 1);
                self.pending.pop();
                return Some(line);
            }
            if self.more() {
                continue;
            }
            if !self.pending.is_empty() {
                return Some(std::mem::take(&mut self.pending));
            }
            // A file that has gone in between was renamed, and is the next one.
            let next = self.older.pop()?;
            let opened = self.open(&next);
            self.broken |= opened.is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
        }
    }
}

impl Iterator for Backwards {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        loop {
            if let Ok(decision) = serde_json::from_slice(&self.line()?) {
                return Some(decision);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize, pad: usize) -> String {
        format!(
            "{{\"at\":\"t\",\"tool\":\"{number}\",\"verdict\":\"pass\",\"why\":\"{}\"}}\n",
            "x".repeat(pad)
        )
    }

    fn log(directory: &Path) -> Log {
        Log {
            path: directory.join("decisions.log"),
            largest_bytes: 1,
            keep: 3,
        }
    }

    #[test]
    fn every_decision_comes_last_first_over_all_files() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path());
        let write = |path: &Path, numbers: std::ops::Range<usize>| {
            // Lines of many lengths, so that chunks end everywhere in them.
            let text: String = numbers.map(|number| line(number, number * 37 % 5_000)).collect();
            std::fs::write(path, text).unwrap();
        };
        write(&log.numbered(2), 0..100);
        write(&log.numbered(1), 100..200);
        write(&log.path, 200..300);
        let numbers: Vec<usize> = Backwards::of(&log, u64::MAX)
            .unwrap()
            .map(|decision| decision.tool.parse().unwrap())
            .collect();
        assert_eq!(numbers, (0..300).rev().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_decision_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path());
        let text = format!("\n{}no JSON\n{{}}\n{}{{\"at\":\"to", line(1, 0), line(2, 0));
        std::fs::write(&log.path, text).unwrap();
        let tools: Vec<_> = Backwards::of(&log, u64::MAX)
            .unwrap()
            .map(|decision| decision.tool)
            .collect();
        assert_eq!(tools, ["2", "1"]);
    }

    #[test]
    fn no_more_is_read_than_is_allowed() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(directory.path());
        let text: String = (0..4_000).map(|number| line(number, 100)).collect();
        std::fs::write(&log.path, text).unwrap();
        let mut backwards = Backwards::of(&log, 2 * CHUNK).unwrap();
        let count = backwards.by_ref().count();
        assert!((500..2_000).contains(&count) && backwards.is_cut(), "{count}");
        assert_eq!(Backwards::of(&log, u64::MAX).unwrap().count(), 4_000);
    }

    #[test]
    fn a_log_that_is_not_there_has_no_decisions() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Backwards::of(&log(directory.path()), 1).unwrap().count(), 0);
    }

    #[test]
    fn a_tag_names_its_machine_unless_there_are_more() {
        let mut decision: Decision = serde_json::from_str(&line(1, 0)).unwrap();
        decision.targets = vec!["web01.corp".into(), "web01".into()];
        decision.tag = Some("claude-code a-b 0badcafe esxi/powerOff on web01".into());
        assert_eq!(decision.machines(), ["web01"]);
        decision.tag = Some("claude-code a-b 0badcafe esxi/powerOff on web01 +1".into());
        assert_eq!(decision.machines(), ["web01.corp", "web01"]);
    }
}
