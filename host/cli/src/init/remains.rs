//! What Holdpoint leaves on a machine beside the hook entries, and its removal.
//!
//! Only files whose names are Holdpoint's are removed: a folder may have been named that holds other things too.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holdpoint_config::{self as config, Config, Places};
use holdpoint_hook::log::Log;
use holdpoint_hook::{receipts, session};
use holdpoint_recording as recording;
use holdpoint_setup::file::{Before, Copies, Transaction};

use super::install::Target;
use super::place::{machine_copies, user_copies};
use super::questions::Questions;
use super::{InitError, Report};

/// Something of Holdpoint's that is there.
pub(super) struct Remain {
    what: &'static str,
    path: PathBuf,
    kind: Kind,
}

/// How it is removed.
enum Kind {
    /// A file that `init` made.
    Made,
    /// A file that was there before `init` changed it, or that it never touched.
    Theirs,
    /// The file and those whose names continue its own after a dot: a log and its earlier parts.
    Series,
    /// A folder, of which the names that a rule knows are ours.
    Folder(fn(&str) -> bool),
    /// A folder that is ours whole.
    Whole,
    /// The same but for these files in it, which are the only copies of what somebody may want back.
    AllBut(Vec<PathBuf>),
}

impl fmt::Display for Remain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.what, self.path.display())
    }
}

impl Remain {
    const fn is_removed(&self) -> bool {
        !matches!(self.kind, Kind::Theirs)
    }
}

/// What is here, as far as the configuration says so: the named one, else the one that is read without being named.
pub(super) fn find(named: Option<PathBuf>, target: Option<&Target>) -> Result<Vec<Remain>, InitError> {
    let places = Places::find(named);
    let loaded = config::load(&places).unwrap_or_default();
    let mut files = Transaction::new();
    let mut all = Vec::new();
    let user = places.user.clone().map(|(path, _)| path);
    let of_machine = |target: Option<&Target>| matches!(target, None | Some(Target::Managed));
    if of_machine(target) {
        all.push(own_file(
            "the configuration",
            Some(places.machine),
            &machine_copies(),
            &mut files,
        )?);
    }
    if target != Some(&Target::Managed) {
        all.push(own_file("the configuration", user, &user_copies(), &mut files)?);
    }
    let copies = if target == Some(&Target::Managed) {
        machine_copies()
    } else {
        user_copies()
    };
    all.push(own_file(
        "the secret",
        loaded.zerto.secret_file.clone(),
        &copies,
        &mut files,
    )?);
    for catalog in loaded.policy.catalog_files() {
        all.push(own_file("a catalog", Some(catalog.clone()), &copies, &mut files)?);
    }
    let mut all: Vec<Remain> = all.into_iter().flatten().collect();
    all.extend(kept(&loaded));
    for copies in [machine_copies(), user_copies()] {
        // Where init changed a file that was there, its copy is all that is left of what the file was.
        let changed: Vec<PathBuf> = all
            .iter()
            .filter(|remain| matches!(remain.kind, Kind::Theirs))
            .filter_map(|remain| fs::canonicalize(&remain.path).ok())
            .map(|target| copies.path(&target))
            .filter(|copy| copy.exists())
            .collect();
        if !changed.is_empty() {
            all.push(Remain {
                what: "copies of files as they were (they may hold tokens)",
                path: copies.folder().to_owned(),
                kind: Kind::AllBut(changed),
            });
            continue;
        }
        let what = if copies.all().is_empty() {
            "notes of which files init made"
        } else {
            "copies of files as they were (they may hold tokens)"
        };
        all.push(Remain {
            what,
            path: copies.folder().to_owned(),
            kind: Kind::Whole,
        });
    }
    all.retain(|remain| fs::symlink_metadata(&remain.path).is_ok());
    Ok(all)
}

/// A file that `init` made, or found.
fn own_file(
    what: &'static str,
    path: Option<PathBuf>,
    copies: &Copies,
    files: &mut Transaction,
) -> Result<Option<Remain>, InitError> {
    let Some(path) = path else { return Ok(None) };
    // What cannot be looked at was not made by init, as far as is known.
    let made = files
        .target(&path)
        .and_then(|target| copies.before(files, &target))
        .is_ok_and(|before| before == Some(Before::Absent));
    let kind = if made { Kind::Made } else { Kind::Theirs };
    Ok(Some(Remain { what, path, kind }))
}

/// What the hook wrote.
fn kept(config: &Config) -> Vec<Remain> {
    let receipts = receipts::log(&config.receipts).ok();
    let all = [
        (
            "the decision log",
            Log::of(&config.log).ok().map(|log| log.path),
            Kind::Series,
        ),
        (
            "the key that signs receipts",
            receipts.as_ref().map(|log| log.key.clone()),
            Kind::Series,
        ),
        (
            "receipts",
            receipts.map(|log| log.directory),
            Kind::Folder(is_receipts_file),
        ),
        (
            "records, which hold the arguments of calls (private data)",
            recording::Files::of(&config.record)
                .ok()
                .map(|files| files.directory),
            Kind::Folder(is_record),
        ),
        (
            "the session tally",
            session::store(&config.session)
                .ok()
                .map(|store| store.path().to_owned()),
            Kind::Folder(is_tally),
        ),
        ("kept log-ins", config.zerto.directory().ok(), Kind::Whole),
        (
            "installed policies",
            config.policy.store(),
            Kind::Folder(is_of_the_store),
        ),
    ];
    let there = all.into_iter().filter_map(|(what, path, kind)| {
        let path = path?;
        Some(Remain { what, path, kind })
    });
    there.collect()
}

fn is_receipts_file(name: &str) -> bool {
    let is_number = |stem: &str| stem.len() >= 8 && stem.bytes().all(|byte| byte.is_ascii_digit());
    name.split('.').next().is_some_and(is_number)
        || name == "lock"
        || ["key", "torn-", "asqav", "base", ".key"]
            .iter()
            .any(|beginning| name.starts_with(beginning))
}

fn is_record(name: &str) -> bool {
    let date = name.get(..10).unwrap_or_default();
    let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    date.len() == 10 && is_date && name.ends_with(".jsonl")
}

fn is_tally(name: &str) -> bool {
    let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    stem.len() == 64 && stem.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_of_the_store(name: &str) -> bool {
    let names = [
        "lock",
        "key",
        "tmp",
        "objects",
        "active",
        "history.jsonl",
        "failure.json",
        "revoked.json",
        "channels.json",
    ];
    names.contains(&name)
}

/// Asks whether all of it goes. A script says yes beforehand.
pub(super) fn confirm(remains: &[Remain], questions: &Questions, yes: bool) -> Result<(), InitError> {
    let removed: Vec<String> = remains
        .iter()
        .filter(|remain| remain.is_removed())
        .map(|remain| format!("  {remain}"))
        .collect();
    if yes || removed.is_empty() {
        return Ok(());
    }
    if !questions.can_ask() {
        return Err(InitError::Other(format!(
            "nothing was removed: --purge needs --yes where nobody can be asked. It would remove:\n{}",
            removed.join("\n")
        )));
    }
    let question = format!(
        "This takes the hook out, and removes for good:\n{}\nReceipts and the decision log are the only evidence of what ran.",
        removed.join("\n")
    );
    match questions.decision(&question, &["remove all of it", "stop, nothing is removed"])? {
        0 => Ok(()),
        _ => Err(InitError::Declined),
    }
}

/// Removes what is Holdpoint's, and names the rest.
pub(super) fn remove(remains: Vec<Remain>, report: &mut Report) -> Result<(), InitError> {
    let mut failed = Vec::new();
    for remain in remains {
        let shown = remain.to_string();
        if !remain.is_removed() {
            report.remark(format!(
                "{shown} stays: init did not make it. Remove it yourself if nobody needs it."
            ));
            continue;
        }
        if let Kind::AllBut(kept) = &remain.kind {
            for copy in kept {
                report.remark(format!(
                    "{} stays: it is what a file was before init changed it. Put it back where you want that, and remove it \
                     then; it may hold secrets.",
                    copy.display()
                ));
            }
        }
        match remain.remove() {
            Ok(0) => report.done(format!("Removed: {shown}")),
            Ok(_) if matches!(remain.kind, Kind::AllBut(_)) => {}
            Ok(others) => {
                report.done(format!("Removed: {shown}"));
                report.remark(format!(
                    "{} stays, with {others} other {} in it that Holdpoint did not make.",
                    remain.path.display(),
                    if others == 1 {
                        "file or folder"
                    } else {
                        "files and folders"
                    }
                ));
            }
            // It lay in a folder that went before it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => failed.push(format!("{shown}: {error}")),
        }
    }
    remove_empty_folders();
    if failed.is_empty() {
        return Ok(());
    }
    Err(InitError::Other(format!(
        "could not be removed: {}",
        failed.join("; ")
    )))
}

impl Remain {
    /// Removes it, and answers how many files of others are left in its folder.
    fn remove(&self) -> io::Result<usize> {
        match &self.kind {
            Kind::Theirs => Ok(0),
            Kind::AllBut(kept) => {
                let is_kept = |name: &str| kept.iter().any(|copy| copy.ends_with(name));
                remove_in(&self.path, |name| !is_kept(name))
            }
            Kind::Made => {
                // A link that was there before stays, and what it led to goes.
                let target = fs::canonicalize(&self.path)?;
                fs::remove_file(target).map(|()| 0)
            }
            Kind::Series => {
                let name = self
                    .path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let folder = self.path.parent().unwrap_or_else(|| Path::new("/")).to_owned();
                let is_part = |other: &str| {
                    other == name
                        || other
                            .strip_prefix(&name)
                            .and_then(|rest| rest.strip_prefix('.'))
                            .is_some_and(|rest| {
                                rest == "lock" || rest.bytes().all(|byte| byte.is_ascii_digit())
                            })
                };
                remove_in(&folder, is_part).map(|_| 0)
            }
            Kind::Folder(is_ours) => {
                let others = remove_in(&self.path, is_ours)?;
                if others == 0 {
                    remove_folder(&self.path)?;
                }
                Ok(others)
            }
            Kind::Whole => {
                remove_in(&self.path, |_| true)?;
                remove_folder(&self.path).map(|()| 0)
            }
        }
    }
}

/// Removes what a rule knows in a folder; links in it are not followed. Answers how much else is there.
fn remove_in(folder: &Path, is_ours: impl Fn(&str) -> bool) -> io::Result<usize> {
    let mut others = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_ours(&entry.file_name().to_string_lossy()) {
            others += 1;
        } else if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(others)
}

/// Removes an empty folder; a link to one stays, and so does one that is in use.
fn remove_folder(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_dir(path);
    }
    Ok(())
}

/// The folders that everything lay in go where nothing is left in them.
fn remove_empty_folders() {
    let config = Places::find(None).user.map(|(path, _)| path);
    let state = config::own_state_directory().ok();
    let folders = [
        config.as_deref().and_then(Path::parent),
        state.as_deref(),
        Some(Path::new("/etc/holdpoint")),
        Some(Path::new("/var/lib/holdpoint")),
    ];
    for folder in folders.into_iter().flatten() {
        if folder.file_name().is_some_and(|name| name == "holdpoint") {
            let _ = fs::remove_dir(folder);
        }
    }
}
