//! What the guard writes: its log, and the room for it.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use holdpoint_common::{access, read, way};
use holdpoint_config::Config;
use holdpoint_hook::log::Log;

use super::finding::{Finding, Repair};

/// Less free space than this, in bytes, is little.
const LITTLE: u64 = 100 * 1024 * 1024;
/// And with less than this nothing can be relied on to be written.
const NOTHING: u64 = 1024 * 1024;

/// What is known of the log and of the disk.
pub(super) struct Facts {
    pub(super) log: Result<LogFacts, String>,
    /// Folders that are written to, and how many bytes are free there.
    pub(super) free: Vec<(PathBuf, u64)>,
}

/// What is known of the log's file.
pub(super) struct LogFacts {
    pub(super) path: PathBuf,
    pub(super) there: bool,
    /// Why it cannot be written.
    pub(super) unwritable: Option<String>,
    /// The link on the way to it that leads nowhere.
    pub(super) dangling: Option<PathBuf>,
    pub(super) readable_by_others: bool,
    /// Whether its last line has no end.
    pub(super) torn: bool,
}

impl Facts {
    pub(super) fn gather(config: &Config) -> Self {
        let log = Log::of(&config.log).map_err(|error| error.to_string());
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
                .filter_map(|folder| Some((access::free_bytes(&folder)?, folder)))
                .map(|(free, folder)| (folder, free))
                .collect(),
            log: log.map(|log| LogFacts::of(&log)),
        }
    }
}

impl LogFacts {
    /// Why it cannot be written, where it cannot.
    pub(super) fn unwritable(&self) -> Option<&str> {
        self.unwritable.as_deref()
    }

    fn of(log: &Log) -> Self {
        // As the hook opens it, so that what stands in its way is found.
        let opened = log.create_directory().and_then(|()| log.open(false).map(drop));
        let metadata = fs::metadata(&log.path);
        // A link to nothing is not an absent log: what it leads to may not be makeable.
        let is_absent = fs::symlink_metadata(&log.path).is_err();
        Self {
            path: log.path.clone(),
            there: metadata.is_ok(),
            unwritable: opened
                .err()
                .filter(|error| error.kind() != std::io::ErrorKind::NotFound || !is_absent)
                .filter(|_| metadata.is_ok() || is_absent || !can_be_made(&log.path))
                .map(|error| error.to_string()),
            dangling: way::dangling(&log.path),
            readable_by_others: metadata.is_ok_and(|log| log.is_file() && access::readable_by_others(&log)),
            torn: is_torn(&log.path),
        }
    }
}

/// Whether the file that a link leads to can be made by whoever writes through the link.
fn can_be_made(link: &Path) -> bool {
    let target = fs::read_link(link).ok();
    let whole = target.and_then(|target| Some(link.parent()?.join(target)));
    let folder = whole.as_deref().and_then(Path::parent);
    folder.is_some_and(|folder| folder.is_dir() && access::check_folder(folder).is_ok())
}

fn is_torn(path: &Path) -> bool {
    let mut last = [0];
    let read = read::open(path).and_then(|(mut file, _)| {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)
    });
    read.is_ok() && last != *b"\n"
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
    findings
}

fn of_log(log: &LogFacts) -> Vec<Finding> {
    let path = log.path.display();
    let not_on_record = "decisions stand and are not on record";
    let mut findings = vec![match (&log.unwritable, &log.dangling) {
        (Some(_), Some(link)) => Finding::caution(
            "log",
            format!(
                "{path} cannot be written: the link {} leads nowhere",
                link.display()
            ),
            not_on_record,
        )
        .mended_by(format!(
            "make the folder that {} leads to, or take the link away, or set log.path",
            link.display()
        )),
        (Some(why), None) => {
            Finding::caution("log", format!("{path} cannot be written ({why})"), not_on_record)
                .mended_by(format!("make {path} writable for this user, or set log.path"))
        }
        (None, _) if log.there => Finding::good("log", path.to_string()),
        (None, _) => Finding::good("log", format!("{path} (nothing was decided yet)")),
    }];
    if log.readable_by_others {
        findings.push(
            Finding::caution(
                "log.private",
                format!("{path} may be read by others"),
                "it names your machines and what was done with them",
            )
            .fixed_by_mode(&log.path, 0o077, false),
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
