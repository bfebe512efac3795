//! What is wrong with one of our entries: the program that it starts, and what it says of that.

use std::time::Duration;

use holdpoint_common::access;
use holdpoint_setup::Event;
use holdpoint_setup::reading::Level;

use super::judge::repaired;
use super::{Facts, Ours, Program, named_configuration};
use crate::doctor::finding::{Finding, Repair, Severity};

/// The longest time that a timer of the harness's can count, in seconds: 2³¹ - 1 milliseconds. A longer one ends at once.
const LONGEST_TIMER: f64 = 2_147_483.647;
/// A timeout that is longer than a day, in seconds, was meant in milliseconds.
const A_DAY: f64 = 86_400.0;

/// Judges each entry.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = of_programs(&facts.entries);
    for ours in &facts.entries {
        findings.extend(of_switches(ours));
        findings.extend(of_timeout(ours, facts.deadline));
        findings.extend(of_shell(ours));
    }
    findings.extend(of_configurations(&facts.entries));
    findings
}

/// What the entries start. One program that is wrong is one finding, however many entries start it.
fn of_programs(entries: &[Ours]) -> Vec<Finding> {
    let mut told: Vec<&Ours> = Vec::new();
    for ours in entries {
        if told
            .iter()
            .all(|other| (&other.path, &other.program) != (&ours.path, &ours.program))
        {
            told.push(ours);
        }
    }
    let judged = told.iter().filter_map(|ours| of_program(ours));
    judged
        .chain(told.iter().filter_map(|ours| of_replaceable(ours)))
        .collect()
}

/// Whether what the entry starts is this program.
fn of_program(ours: &Ours) -> Option<Finding> {
    let place = ours.place();
    let starts = |what: &str| format!("{place} starts {}, {what}", ours.path.display());
    let open = if ours.command.blocks_on_failure {
        "every call is blocked by it, and by clients before 2.1.295 let through"
    } else {
        "the harness lets a call run whose hook cannot be started"
    };
    let for_all = "install the program where every user can start it, as /usr/local/bin, and run holdpoint init --level managed";
    let finding = match &ours.program {
        Program::This => return None,
        Program::Missing => Finding::broken("hook.program", starts("which is not there"), open),
        Program::Unusable(why) => Finding::broken("hook.program", starts(why), open),
        Program::OutOfReach(why) => {
            return Some(Finding::broken("hook.program", starts(why), open).mended_by(for_all));
        }
        Program::ForAGroup(why) => {
            let matters =
                "only the members of a group are guarded; for everybody else the hook cannot be started";
            return Some(Finding::caution("hook.program", starts(why), matters).mended_by(for_all));
        }
        Program::Relative => Finding::broken(
            "hook.program",
            starts("which is no absolute path"),
            "where the agent works, or its PATH, decides what is started",
        ),
        Program::Another => {
            return Some(
                Finding::caution(
                    "hook.program",
                    starts("which is another program than this one"),
                    "what is said here of this program need not hold for that one",
                )
                .mended_by(format!(
                    "{} doctor, or holdpoint init with this one",
                    ours.path.display()
                )),
            );
        }
    };
    Some(repaired(finding, ours))
}

/// Whether somebody who should not could put another program in its place.
fn of_replaceable(ours: &Ours) -> Option<Finding> {
    let place = ours.replaceable.as_ref()?;
    let (who, matters) = if ours.level.is_managed() {
        (
            "users other than root",
            "the agent runs as such a user, and can put another program in its place",
        )
    } else {
        ("other users", "they can put another program in its place")
    };
    let what = if *place == ours.path {
        String::new()
    } else {
        format!(", on the way to {}", ours.path.display())
    };
    let finding = Finding::caution(
        "hook.program",
        format!("{} can be changed by {who}{what}", place.display()),
        matters,
    );
    let mode = access::mode(place).filter(|mode| mode & 0o022 != 0 && !place.is_symlink());
    Some(match mode {
        Some(mode) if place.is_file() => finding
            .mended_by(format!("chmod go-w {}", place.display()))
            .repaired_by(Repair::Mode {
                path: place.clone(),
                mode: mode & !0o022,
            }),
        Some(_) => finding.mended_by(format!("chmod go-w {}", place.display())),
        None => finding.mended_by(format!(
            "chown root {}, or install the program where only root can write",
            place.display()
        )),
    })
}

/// Keys that make of an entry something that does not stand before every call.
fn of_switches(ours: &Ours) -> Vec<Finding> {
    let (command, place) = (&ours.command, ours.place());
    let is_gate = ours.event == Event::PreToolUse;
    let mut findings = Vec::new();
    if command.is_async && is_gate {
        findings.push(Finding::broken(
            "hook.async",
            format!("{place} is async"),
            "the harness does not wait for it, so it decides nothing",
        ));
    }
    if command.is_once && is_gate {
        findings.push(Finding::caution(
            "hook.once",
            format!("{place} has \"once\""),
            "a client that honours it there runs the hook for the first call of a session, and for no other",
        ));
    }
    if let Some(condition) = &command.condition {
        findings.push(Finding::broken(
            "hook.condition",
            format!("{place} runs only if {condition}"),
            "other calls are not judged",
        ));
    }
    if is_gate && !command.blocks_on_failure {
        findings.push(Finding::caution(
            "hook.on-failure",
            format!("{place} has no onFailure \"block\""),
            "a hook that is killed, or cannot be started, lets its call run",
        ));
    }
    if !is_gate && command.blocks_on_failure {
        findings.push(Finding::caution(
            "hook.on-failure",
            format!("{place} has onFailure \"block\""),
            "a failure there would stop what cannot be undone any more, or a compaction",
        ));
    }
    findings
        .into_iter()
        .map(|finding| repaired(finding, ours))
        .collect()
}

/// Whether the harness waits as long as a decision may take.
fn of_timeout(ours: &Ours, deadline: Duration) -> Option<Finding> {
    let (timeout, place) = (ours.timeout(), ours.place());
    let is_gate = ours.event == Event::PreToolUse;
    let said = ours.command.timeout.filter(|said| *said > A_DAY);
    if let Some(said) = said {
        let is_at_once = said > LONGEST_TIMER;
        let (severity, matters) = match (is_at_once, is_gate) {
            (true, true) => (
                Severity::Broken,
                "the harness counts in milliseconds up to 2147483647, ends the hook at once, and lets the call run",
            ),
            (true, false) => (
                Severity::Caution,
                "the harness counts in milliseconds up to 2147483647, ends the hook at once, and the event is not heard of",
            ),
            (false, _) => (
                Severity::Caution,
                "timeouts are in seconds: a hook that hangs would hold its call for days",
            ),
        };
        let found = format!("{place} has a timeout of {said} s");
        return Some(repaired(
            Finding::new(severity, "hook.timeout", found, matters),
            ours,
        ));
    }
    if timeout > deadline.as_secs_f64() || !is_gate {
        return None;
    }
    // What `timeout` ends, ends with a code that is a failure, as a timeout of the entry's is one.
    let (severity, matters) = if ours.command.blocks_on_failure {
        (
            Severity::Caution,
            "the harness ends the hook before it has answered: the reason is lost, and clients before 2.1.295 let the call run",
        )
    } else {
        (
            Severity::Broken,
            "the harness ends the hook before it has answered, and lets the call run",
        )
    };
    let found = format!(
        "{place} has {timeout} s, and a decision may take {} s",
        deadline.as_secs_f64()
    );
    Some(repaired(
        Finding::new(severity, "hook.timeout", found, matters),
        ours,
    ))
}

fn of_shell(ours: &Ours) -> Option<Finding> {
    ours.command.args.is_none().then(|| {
        let finding = Finding::caution(
            "hook.shell",
            format!("{} has no args, so a shell starts it", ours.place()),
            "blanks and backslashes in the path are the shell's then, and its start-up files can print before the answer",
        );
        repaired(finding, ours)
    })
}

/// Whether the entries of one set of settings are started with one configuration.
fn of_configurations(entries: &[Ours]) -> Option<Finding> {
    let gate = entries.iter().find(|ours| ours.event == Event::PreToolUse)?;
    let named = |ours: &Ours| named_configuration(&ours.start);
    let other = entries.iter().find(|ours| named(ours) != named(gate))?;
    let says = |ours: &Ours| match named(ours) {
        Some(path) => format!("{} names {}", ours.place(), path.display()),
        None => format!("{} names none", ours.place()),
    };
    let finding = Finding::caution(
        "hook.configuration",
        format!("two configurations: {}, and {}", says(gate), says(other)),
        "the log, the receipts and the session tally of one call are then kept in two places, and by two sets of rules",
    );
    Some(match other.level {
        Level::Managed | Level::DropIn => {
            finding.mended_by(format!("edit {}, as root", other.file.display()))
        }
        _ => repaired(finding, other),
    })
}
