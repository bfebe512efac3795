//! What the guard writes: its log, and the room for it; and when it was last heard of.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use holdpoint_artifact::UtcTime;

use super::finding::{Finding, Repair};
use super::{own, transcripts};
use crate::config::Config;
use crate::history::Backwards;
use crate::log::Log;
use crate::private;

/// Less free space than this, in bytes, is little.
const LITTLE: u64 = 100 * 1024 * 1024;
/// And with less than this nothing can be relied on to be written.
const NOTHING: u64 = 1024 * 1024;
/// How much of the log is looked at for the last decision, in bytes.
const FAR_ENOUGH: u64 = 8 * 1024 * 1024;
/// A decision takes some time, and clocks of two programs on one machine are read apart, in seconds.
const SLACK: u64 = 600;

/// What is known of the log, of the disk, and of when calls were made and judged.
pub(super) struct Facts {
    pub(super) log: Result<LogFacts, String>,
    /// Folders that are written to, and how many bytes are free there.
    pub(super) free: Vec<(PathBuf, u64)>,
    /// When the hook last decided anything.
    pub(super) decided: Option<UtcTime>,
    /// When the harness last made a call of an MCP server, by its own transcripts, and which one says so.
    pub(super) called: Option<(UtcTime, PathBuf)>,
    /// Since when the hook has been in the settings, as far as their files say so.
    pub(super) installed: Option<UtcTime>,
    pub(super) now: UtcTime,
}

/// What is known of the log's file.
pub(super) struct LogFacts {
    pub(super) path: PathBuf,
    pub(super) there: bool,
    /// Why it cannot be written.
    pub(super) unwritable: Option<String>,
    pub(super) readable_by_others: bool,
    /// Whether its last line has no end.
    pub(super) torn: bool,
}

impl Facts {
    pub(super) fn gather(config: &Config, installed: Option<UtcTime>) -> Self {
        let log = config.log.open().map_err(|error| error.to_string());
        let decided = log.as_ref().ok().and_then(last_decision);
        let folders = [
            log.as_ref()
                .ok()
                .and_then(|log| log.path.parent().map(Path::to_owned)),
            config.policy.store(),
        ];
        Self {
            free: folders
                .into_iter()
                .flatten()
                .filter_map(|folder| Some((private::free_bytes(&folder)?, folder)))
                .map(|(free, folder)| (folder, free))
                .collect(),
            log: log.map(|log| LogFacts::of(&log)),
            decided,
            called: transcripts::last_call(),
            installed,
            now: SystemTime::now().into(),
        }
    }
}

impl LogFacts {
    fn of(log: &Log) -> Self {
        // As the hook opens it, so that what stands in its way is found.
        let opened = log
            .create_directory()
            .and_then(|()| fs::metadata(&log.path).map(drop))
            .and_then(|()| fs::OpenOptions::new().append(true).open(&log.path).map(drop));
        let metadata = fs::metadata(&log.path);
        Self {
            path: log.path.clone(),
            there: metadata.is_ok(),
            unwritable: opened
                .err()
                .filter(|error| error.kind() != std::io::ErrorKind::NotFound)
                .map(|error| error.to_string()),
            readable_by_others: metadata.is_ok_and(|log| log.is_file() && private::readable_by_others(&log)),
            torn: is_torn(&log.path),
        }
    }
}

fn is_torn(path: &Path) -> bool {
    let mut last = [0];
    let read = fs::File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)
    });
    read.is_ok() && last != *b"\n"
}

/// When the hook last decided something that was no test of ours. What has no session came from no harness that is at work:
/// somebody tried the hook, or an event could not be read.
fn last_decision(log: &Log) -> Option<UtcTime> {
    let mut decisions = Backwards::of(log, FAR_ENOUGH).ok()?;
    // A line about a call's end is no decision, and may be of a call that nobody decided on.
    let last = decisions.find(|decision| {
        !decision.session.is_empty() && decision.verdict != "silent" && !own::decided(decision)
    })?;
    last.at.parse().ok()
}

/// Judges what was gathered.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = match &facts.log {
        Ok(log) => of_log(log),
        Err(error) => {
            vec![Finding::broken("log", error, "no decision is on record").mended_by("set log.path")]
        }
    };
    for (folder, free) in &facts.free {
        findings.extend(of_space(folder, *free));
    }
    findings.push(liveness(facts));
    findings
}

fn of_log(log: &LogFacts) -> Vec<Finding> {
    let path = log.path.display();
    let mut findings = vec![match &log.unwritable {
        Some(why) => Finding::caution(
            "log",
            format!("{path} cannot be written ({why})"),
            "decisions stand and are not on record",
        )
        .mended_by(format!("make {path} writable for this user, or set log.path")),
        None if log.there => Finding::good("log", path.to_string()),
        None => Finding::good("log", format!("{path} (nothing was decided yet)")),
    }];
    if log.readable_by_others {
        findings.push(
            Finding::caution(
                "log.private",
                format!("{path} may be read by others"),
                "it names your machines and what was done with them",
            )
            .mended_by(format!("chmod 600 {path}"))
            .repaired_by(Repair::Mode {
                path: log.path.clone(),
                mode: 0o600,
            }),
        );
    }
    if log.torn {
        findings.push(
            Finding::caution(
                "log.torn",
                format!("the last line of {path} has no end"),
                "a crash or a full disk cut it, and the next decision would be joined to it",
            )
            .repaired_by(Repair::EndLine(log.path.clone())),
        );
    }
    findings
}

fn of_space(folder: &Path, free: u64) -> Option<Finding> {
    let found = format!("{} MiB are free at {}", free / 1024 / 1024, folder.display());
    let matters = "decisions, receipts and the session tally need room";
    match free {
        ..NOTHING => Some(Finding::broken("disk", found, matters).mended_by("make room")),
        NOTHING..LITTLE => Some(Finding::caution("disk", found, matters).mended_by("make room")),
        _ => None,
    }
}

/// Whether the hook decided whenever the harness made a call.
fn liveness(facts: &Facts) -> Finding {
    let ago = |time: UtcTime| ago(facts.now.unix().saturating_sub(time.unix()));
    let decided = facts.decided.map_or_else(
        || "the hook has decided nothing yet".to_owned(),
        |time| format!("the hook last decided {} ago, at {time}", ago(time)),
    );
    let known = facts.decided.max(facts.installed).map_or(0, UtcTime::unix);
    match (&facts.called, facts.decided) {
        (Some((called, transcript)), _) if called.unix() > known + SLACK => {
            Finding::broken(
                "liveness",
                format!(
                    "{decided}, and the harness called an MCP server {} ago, by {}",
                    ago(*called),
                    transcript.display()
                ),
                "a call was made that the hook did not see: it is not installed where that session ran, or is switched off",
            )
            .mended_by("the findings on hook entries say what is wrong; start a new session after mending it")
        }
        (_, None) => Finding::notice("liveness", decided, "nothing shows yet that the harness starts it")
            .mended_by("let the agent call any tool of an MCP server once, then look again"),
        _ => Finding::good("liveness", decided),
    }
}

/// A span of time as people say it.
pub(crate) fn ago(seconds: u64) -> String {
    match seconds {
        0..=1 => "a moment".into(),
        2..120 => format!("{seconds} seconds"),
        120..7_200 => format!("{} minutes", seconds / 60),
        7_200..172_800 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
