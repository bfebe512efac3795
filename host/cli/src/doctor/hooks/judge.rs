//! What the settings files and their entries are worth.

use std::path::Path;

use holdpoint_common::access;
use holdpoint_setup::Event;
use holdpoint_setup::reading::{Drops, Level, Problem, State};

use super::{Facts, Ours, beside, entry, matcher};
use crate::doctor::finding::{Finding, Repair, Severity};
use crate::doctor::reach;

/// Judges what was gathered.
pub(in crate::doctor) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = of_files(facts);
    findings.extend(of_presence(facts));
    findings.extend(entry::judge(facts));
    if facts.gates().next().is_some() {
        findings.extend(matcher::judge(facts));
        findings.extend(of_twice(facts));
        findings.extend(of_level(facts));
    }
    findings.extend(beside::judge(facts));
    findings
}

/// What becomes of each file.
fn of_files(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_guarded = facts.gates().next().is_some();
    for file in &facts.installation.files {
        let path = file.path.display();
        // Where another entry decides, that one is missed by nobody.
        let is_lost = facts.lost.contains(&file.path) && !is_guarded;
        let severity = if is_lost {
            Severity::Broken
        } else {
            Severity::Caution
        };
        let lost = if is_lost {
            "the hook in it does not run, and calls go on without it"
        } else {
            "whatever it says does not count; on a terminal the harness says so, in -p it does not"
        };
        match &file.state {
            State::Absent => {}
            State::InForce => findings.push(Finding::good(
                "settings",
                format!("{path} ({})", file.level.name()),
            )),
            State::Unreadable(why) => findings.push(
                // The switch that turns every hook off may stand in it.
                Finding::broken(
                    "settings.unreadable",
                    format!("{path} cannot be read ({why})"),
                    "whether the guard is armed cannot be told: the harness may read it, and turn hooks off by it",
                )
                .mended_by(readable(&file.path)),
            ),
            State::Skipped(why) => findings.push(
                Finding::new(
                    severity,
                    "settings.skipped",
                    format!("the harness skips {path}: {why}"),
                    lost,
                )
                .mended_by(format!("edit {path}")),
            ),
            State::RefusesToStart(why) => findings.push(
                Finding::caution(
                    "settings.managed",
                    format!("{path}: {why}"),
                    "the harness does not start with it",
                )
                .mended_by(format!("edit {path}, as root")),
            ),
            State::HooksOff(why) if is_lost => findings.push(
                Finding::broken("hook.off", format!("the hooks in {path} are off: {why}"), lost).mended_by(
                    "take that setting out, or install the hook in managed settings: see docs/install.md",
                ),
            ),
            State::HooksOff(why) if facts.lost.contains(&file.path) => findings.push(Finding::notice(
                "hook.off",
                format!("the hooks in {path} are off: {why}"),
                "Holdpoint's entry in it does not run; another one decides",
            )),
            State::HooksOff(_) => {}
        }
        for problem in file.problems() {
            findings.push(of_problem(&file.path, problem));
        }
    }
    findings.extend(facts.writable.iter().map(|(path, is_managed)| {
        Finding::caution(
            "settings.private",
            format!(
                "{} may be written by others{}",
                path.display(),
                than_root(*is_managed)
            ),
            "they can take the hook out",
        )
        .fixed_by_mode(path, 0o022, *is_managed)
    }));
    findings.extend(facts.closed.iter().map(|(path, closed)| {
        let mode = if closed == path { "a+r" } else { "a+x" };
        Finding::broken(
            "settings.unreadable",
            format!(
                "other users cannot read {}: {} is closed to them",
                path.display(),
                closed.display()
            ),
            "for them the harness starts without these settings, and without the hook in them",
        )
        .mended_by(format!("chmod {mode} {}", closed.display()))
    }));
    findings.extend(facts.open_folders.iter().map(|(folder, is_managed)| {
        let finding = Finding::caution(
            "settings.private",
            format!("{} may be written by others{}", folder.display(), than_root(*is_managed)),
            "they can put other files in the place of those in it, and so take the hook out or change what it does",
        )
        .fixed_by_mode(folder, 0o022, *is_managed);
        // Who shares a folder on purpose is asked first.
        Finding { repair: None, ..finding }
    }));
    findings
}

/// Whoever examines the machine's files may be one of those who must not write them.
const fn than_root(is_managed: bool) -> &'static str {
    if is_managed { " than root" } else { "" }
}

/// What makes a settings file readable, by what keeps this user from reading it.
fn readable(path: &Path) -> String {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() && path.extension().is_some_and(|extension| extension == "json") => {
            format!("move the folder {shown} away")
        }
        Ok(found) if access::is_anothers(&found, false) => {
            format!("as root: chown \"$(id -un)\" {shown}, or move it away")
        }
        _ => reach::remedy(path).unwrap_or_else(|| format!("make {shown} readable for this user")),
    }
}

fn of_problem(path: &Path, problem: &Problem) -> Finding {
    let what = match problem.drops {
        Drops::Key => "the key",
        Drops::Handler => "the handler",
        Drops::Group => "the group of handlers",
        Drops::Event => "everything under the event",
        Drops::Hooks => "all hooks of the file",
        Drops::File => "the file",
    };
    let found = format!("{}: {} {}", path.display(), problem.at, problem.says);
    let drops = format!("the harness drops {what} without a word, and versions up to 2.1.233 the whole file");
    let finding = match problem.loses {
        Some(Event::PreToolUse) => Finding::broken(
            "settings.schema",
            found,
            format!("{drops}: Holdpoint's entry goes with it, and no call is judged by it"),
        ),
        Some(event) => Finding::caution(
            "settings.schema",
            found,
            format!(
                "{drops}: Holdpoint's entry goes with it, and does not hear of {}",
                event.name()
            ),
        ),
        None => Finding::caution("settings.schema", found, drops),
    };
    finding.mended_by(format!("edit {}", path.display()))
}

/// Whether there is an entry under each event. Where one is there and counts for nothing, that was said.
fn of_presence(facts: &Facts) -> Option<Finding> {
    let is_lost = |event: Event| {
        let files = facts.installation.files.iter();
        let mut counting_for_nothing = files.filter(|file| facts.lost.contains(&file.path));
        let mut dropped = facts
            .installation
            .files
            .iter()
            .flat_map(holdpoint_setup::reading::File::problems);
        dropped.any(|problem| problem.loses == Some(event))
            || counting_for_nothing.any(|file| {
                let entries = &file.settings.entries;
                entries.is_empty()
                    || entries
                        .iter()
                        .any(|entry| entry.event == event && entry.ours().is_some())
            })
    };
    // The entries may stand in what cannot be read, which was said.
    let is_unread = |file: &holdpoint_setup::reading::File| matches!(file.state, State::Unreadable(_));
    if facts.installation.files.iter().any(is_unread) {
        return None;
    }
    let is_there = |event| facts.entries.iter().any(|ours| ours.event == event);
    let missing: Vec<Event> = Event::ALL
        .into_iter()
        .filter(|event| !is_there(*event) && !is_lost(*event))
        .collect();
    let names: Vec<&str> = missing.iter().map(|event| event.name()).collect();
    let found = format!(
        "no hook entry of Holdpoint is in force under {}",
        names.join(", ")
    );
    let finding = match missing.first()? {
        Event::PreToolUse => Finding::broken(
            "hook.missing",
            found,
            "no call is judged: nothing is guarded here",
        ),
        _ => Finding::caution(
            "hook.missing",
            found,
            "the session tally does not see this event, and what became of a call is not on record",
        ),
    };
    Some(finding.mended_by("holdpoint init"))
}

/// What `init` would write mends it, where the file is one that is ours to write.
pub(super) fn repaired(finding: Finding, ours: &Ours) -> Finding {
    match ours.level {
        Level::User | Level::Project | Level::Local => finding.repaired_by(Repair::Hooks(ours.file.clone())),
        Level::Managed | Level::DropIn => finding.mended_by(format!("edit {}, as root", ours.file.display())),
        Level::Plugin | Level::ManagedPlugin => finding.mended_by("holdpoint init --plugin DIR"),
    }
}

/// Whether one call starts two of our hooks. Entries that say the same run once.
fn of_twice(facts: &Facts) -> Option<Finding> {
    let mut different: Vec<&Ours> = Vec::new();
    for ours in facts.gates() {
        if different.iter().all(|other| other.command != ours.command) {
            different.push(ours);
        }
    }
    let [one, other, ..] = different.as_slice() else {
        return None;
    };
    // The machine's is the one that nobody else can take out.
    let (kept, other) = match (one.level.is_managed(), other.level.is_managed()) {
        (false, true) => (other, one),
        _ => (one, other),
    };
    let places = if kept.file == other.file {
        format!(
            "{} has two entries, and not the same: {} and {}",
            kept.file.display(),
            kept.at,
            other.at
        )
    } else {
        format!(
            "both {} and {} have an entry, and not the same",
            kept.file.display(),
            other.file.display()
        )
    };
    let finding = Finding::caution(
        "hook.twice",
        places,
        "a call that both match waits for two checkpoints in the place of one",
    );
    Some(finding.mended_by(without(kept, other)))
}

/// Takes one of two entries out, and leaves the one that is kept.
fn without(kept: &Ours, other: &Ours) -> String {
    let file = other.file.display();
    let by_root = if other.level.is_managed() { ", as root" } else { "" };
    if kept.file == other.file {
        return format!(
            "edit {file}{by_root}: take out one of the two, {} or {}",
            kept.at, other.at
        );
    }
    match other.level {
        Level::User | Level::Project | Level::Local => format!(
            "holdpoint init --uninstall --level {}, which leaves the entry in {}",
            other.level.name(),
            kept.file.display()
        ),
        Level::Managed | Level::DropIn => format!("edit {file}{by_root}: take out {}", other.at),
        Level::Plugin | Level::ManagedPlugin => {
            format!("disable the plugin of {file}, or take out {} there", other.at)
        }
    }
}

/// Who can take the hook out again.
fn of_level(facts: &Facts) -> Option<Finding> {
    if facts.gates().any(|ours| ours.level.is_managed()) {
        return Some(Finding::good("hook.level", "the hook stands in managed settings"));
    }
    let ours = facts.gates().next()?;
    Some(
        Finding::notice(
            "hook.level",
            format!("the hook stands in {} settings", ours.level.name()),
            "the agent that is guarded can write them, and take it out",
        )
        .mended_by("managed settings hold against that: see docs/install.md"),
    )
}
