//! Records run against a candidate, a few at a time, so that their number costs no memory.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use holdpoint_common::read;
use holdpoint_recording::change::{Change, PolicyRun, change};
use holdpoint_recording::exchange::RecordedAnswers;
use holdpoint_recording::{FORMAT, Recorded, Said};
use holdpoint_runtime::sandbox::Call;
use serde::Serialize;
use thiserror::Error;

use super::Runner;
use super::each;

/// How many records are run at a time.
const AT_A_TIME: usize = 256;
/// The longest line that can be a record, in bytes. The host writes none that is nearly as long.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// How many tools a summary names; the others share a line.
const MOST_TOOLS: usize = 1_000;

/// Why records cannot be replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A file or folder cannot be read.
    #[error("{path}: {cause}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// The operating system's words.
        cause: io::Error,
    },
    /// A line is no record.
    #[error("{path}, line {line}: this is no record that this release reads ({cause})")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong.
        cause: String,
    },
    /// What came out cannot be told.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// The files of records that are meant: files as they are named, folders with all that they hold, oldest first.
///
/// # Errors
///
/// Where a folder cannot be read.
pub fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, ReplayError> {
    let mut files = Vec::new();
    for path in named {
        let unreadable = |cause| ReplayError::Unreadable {
            path: path.clone(),
            cause,
        };
        if !fs::metadata(path).map_err(unreadable)?.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(unreadable)?;
        let mut found: Vec<PathBuf> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(unreadable)?;
        found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        // By day and then by number: `….10.jsonl` comes after `….9.jsonl`.
        found.sort_by_key(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (name.get(..10).map(str::to_owned), name.len(), name)
        });
        files.extend(found);
    }
    Ok(files)
}

/// A record, with where it stands.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Its file.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// What stands there.
    pub record: Recorded,
}

/// Hands every record of a file over, in order.
///
/// # Errors
///
/// Where the file cannot be read, a line is no record, or whoever takes them says no.
pub fn read(path: &Path, mut take: impl FnMut(Placed) -> Result<(), ReplayError>) -> Result<(), ReplayError> {
    let unreadable = |cause| ReplayError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let (file, _) = read::open(path).map_err(unreadable)?;
    let mut lines = BufReader::new(file);
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let mut limited = lines.by_ref().take(LONGEST_LINE);
        if limited.read_until(b'\n', &mut text).map_err(unreadable)? == 0 {
            break;
        }
        let record = parsed(&text).map_err(|cause| ReplayError::Invalid {
            path: path.to_owned(),
            line,
            cause,
        })?;
        take(Placed {
            file: path.to_owned(),
            line,
            record,
        })?;
    }
    Ok(())
}

fn parsed(line: &[u8]) -> Result<Recorded, String> {
    let record: Recorded = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match record.format {
        FORMAT => Ok(record),
        other => Err(format!("its form is {other}")),
    }
}

/// What became of one record.
#[derive(Debug, Serialize)]
pub struct Replayed {
    /// Its file.
    pub file: PathBuf,
    /// Its line.
    pub line: usize,
    /// The tool that was called.
    pub tool: String,
    /// The call's id.
    pub call: String,
    /// How the decision changes.
    pub change: Change,
    /// What was said then.
    pub then: Said,
    /// What the candidate says.
    pub now: Said,
    /// The VPGs that were captured then.
    pub captured_then: Vec<String>,
    /// Those that the candidate would capture.
    pub captured_now: Vec<String>,
    /// What it asks without an answer.
    pub unforeseen: Vec<String>,
}

/// Runs one record against a candidate.
pub fn replay(runner: &Runner, placed: &Placed) -> Replayed {
    let record = &placed.record;
    let source = RecordedAnswers::new(record.exchanges.clone());
    let call = Call::from(record.call.clone());
    let outcome = runner.ask(source, record.time_left_ms, &call);
    let now = Said::from(&outcome.verdict);
    let from = PolicyRun {
        said: &record.verdict,
        exchanges: &record.exchanges,
    };
    let to = PolicyRun {
        said: &now,
        exchanges: &outcome.asking.exchanges,
    };
    let unforeseen = !outcome.asking.unforeseen.is_empty();
    let owned = |vpgs: std::collections::BTreeSet<&str>| vpgs.into_iter().map(str::to_owned).collect();
    Replayed {
        file: placed.file.clone(),
        line: placed.line,
        tool: record.call.tool.clone(),
        call: record.call.call_id.clone(),
        change: change(&from, &to, unforeseen),
        captured_then: owned(from.captures()),
        captured_now: owned(to.captures()),
        then: record.verdict.clone(),
        unforeseen: outcome.asking.unforeseen,
        now,
    }
}

/// How many decisions change how.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Summary {
    /// By change.
    pub all: BTreeMap<Change, u64>,
    /// By tool and change.
    pub tools: BTreeMap<String, BTreeMap<Change, u64>>,
    /// How many records had something redacted: the candidate may have decided by other arguments than the policy then.
    pub redacted: u64,
}

impl Summary {
    /// Adds a decision.
    pub fn add(&mut self, tool: &str, change: Change) {
        *self.all.entry(change).or_default() += 1;
        let has_room = self.tools.len() < MOST_TOOLS || self.tools.contains_key(tool);
        let tool = if has_room { tool } else { "(other tools)" };
        *self
            .tools
            .entry(tool.to_owned())
            .or_default()
            .entry(change)
            .or_default() += 1;
    }

    /// How many decisions change so.
    pub fn count(&self, change: Change) -> u64 {
        self.all.get(&change).copied().unwrap_or_default()
    }
}

/// Runs all records of these files, and hands over what becomes of each, in order.
///
/// # Errors
///
/// As for [`read()`].
pub fn replay_all(
    runner: &Runner,
    files: &[PathBuf],
    mut tell: impl FnMut(&Replayed) -> io::Result<()>,
) -> Result<Summary, ReplayError> {
    let mut summary = Summary::default();
    let mut waiting = Vec::with_capacity(AT_A_TIME);
    let mut run = |waiting: &mut Vec<Placed>| -> Result<(), ReplayError> {
        for replayed in each(waiting.as_slice(), |placed| replay(runner, placed)) {
            summary.add(&replayed.tool, replayed.change);
            tell(&replayed)?;
        }
        let redacted = waiting.iter().filter(|placed| placed.record.redacted > 0);
        summary.redacted += redacted.count() as u64;
        waiting.clear();
        Ok(())
    };
    for file in files {
        read(file, |placed| {
            waiting.push(placed);
            if waiting.len() == AT_A_TIME {
                run(&mut waiting)?;
            }
            Ok(())
        })?;
    }
    run(&mut waiting)?;
    Ok(summary)
}
