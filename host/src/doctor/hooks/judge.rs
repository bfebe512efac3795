//! What the settings files and their entries are worth.

use std::path::Path;
use std::time::Duration;

use holdpoint_setup::Event;
use holdpoint_setup::reading::{Drops, Fires, Level, State};

use super::{DEFAULT_TIMEOUT, Facts, Ours, Program, program_path};
use crate::doctor::finding::{Finding, Repair, Severity};
use crate::doctor::servers;
use crate::private;

/// The names of servers that an example of what does not match has, at most.
const EXAMPLES: usize = 5;

/// Judges what was gathered.
pub(in crate::doctor) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = of_files(facts);
    for event in Event::ALL {
        findings.extend(of_presence(facts, event));
    }
    for ours in &facts.entries {
        findings.extend(of_program(ours));
        findings.extend(of_entry(ours, facts.deadline));
    }
    if facts.gates().next().is_some() {
        findings.extend(of_matchers(facts));
        findings.extend(of_twice(facts));
        findings.extend(of_level(facts));
    }
    findings
}

/// What becomes of each file.
fn of_files(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &facts.installation.files {
        let path = file.path.display();
        let is_lost = facts.lost.contains(&file.path);
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
                Finding::new(
                    severity,
                    "settings.unreadable",
                    format!("{path} cannot be read ({why})"),
                    lost,
                )
                .mended_by(format!("make {path} readable for this user")),
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
            State::HooksOff(_) => {}
        }
        for problem in file.problems() {
            findings.push(of_problem(&file.path, problem));
        }
    }
    findings.extend(facts.writable.iter().map(|path| {
        Finding::caution(
            "settings.private",
            format!("{} may be written by others", path.display()),
            "they can take the hook out",
        )
        .mended_by(format!("chmod go-w {}", path.display()))
        .repaired_by(Repair::Mode {
            path: path.clone(),
            mode: private::mode(path).unwrap_or(0o600) & !0o022,
        })
    }));
    findings
}

fn of_problem(path: &Path, problem: &holdpoint_setup::reading::Problem) -> Finding {
    let what = match problem.drops {
        Drops::Key => "the key",
        Drops::Handler => "the handler",
        Drops::Group => "the group of handlers",
        Drops::Event => "everything under the event",
        Drops::Hooks => "all hooks of the file",
        Drops::File => "the file",
    };
    Finding::caution(
        "settings.schema",
        format!("{}: {} {}", path.display(), problem.at, problem.says),
        format!("the harness drops {what} without a word, and versions up to 2.1.233 the whole file"),
    )
    .mended_by(format!("edit {}", path.display()))
}

/// Whether there is an entry under the event.
fn of_presence(facts: &Facts, event: Event) -> Option<Finding> {
    let mut ours = facts.entries.iter().filter(|ours| ours.event == event);
    if ours.next().is_some() {
        return None;
    }
    let found = format!("no hook entry of Holdpoint is in force under {}", event.name());
    Some(
        match event {
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
        }
        .mended_by("holdpoint init"),
    )
}

/// Whether what the entry starts is this program.
fn of_program(ours: &Ours) -> Option<Finding> {
    let path = program_path(&ours.command);
    let place = format!("{} of {}", ours.at, ours.file.display());
    let starts = |what: &str| format!("{place} starts {}, {what}", path.display());
    let open = if ours.command.blocks_on_failure {
        "every call is blocked by it, and by clients before 2.1.295 let through"
    } else {
        "the harness lets a call run whose hook cannot be started"
    };
    let finding = match ours.program {
        Program::This => return None,
        Program::Missing => Finding::broken("hook.program", starts("which is not there"), open),
        Program::NotExecutable => Finding::broken("hook.program", starts("which cannot be executed"), open),
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
                    path.display()
                )),
            );
        }
    };
    Some(repaired(finding, ours))
}

/// What the entry says.
fn of_entry(ours: &Ours, deadline: Duration) -> Vec<Finding> {
    let command = &ours.command;
    let place = format!("{} of {}", ours.at, ours.file.display());
    let is_gate = ours.event == Event::PreToolUse;
    let mut findings = Vec::new();
    if command.is_async && is_gate {
        findings.push(Finding::broken(
            "hook.async",
            format!("{place} is async"),
            "the harness does not wait for it, so it decides nothing",
        ));
    }
    if let Some(condition) = &command.condition {
        findings.push(Finding::broken(
            "hook.condition",
            format!("{place} runs only if {condition}"),
            "other calls are not judged",
        ));
    }
    let timeout = command.timeout.unwrap_or(DEFAULT_TIMEOUT);
    if timeout <= deadline.as_secs_f64() && is_gate {
        let severity = if command.blocks_on_failure {
            Severity::Caution
        } else {
            Severity::Broken
        };
        findings.push(Finding::new(
            severity,
            "hook.timeout",
            format!("{place} has {timeout} s, and a decision may take {} s", deadline.as_secs_f64()),
            if command.blocks_on_failure {
                "the harness ends the hook before it has answered: the reason is lost, and clients before 2.1.295 let the call run"
            } else {
                "the harness ends the hook before it has answered, and lets the call run"
            },
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
    if command.args.is_none() {
        findings.push(Finding::caution(
            "hook.shell",
            format!("{place} has no args, so a shell starts it"),
            "blanks and backslashes in the path are the shell's then, and its start-up files can print before the answer",
        ));
    }
    findings
        .into_iter()
        .map(|finding| repaired(finding, ours))
        .collect()
}

/// What `init` would write mends it, where the file is one that is ours to write.
fn repaired(finding: Finding, ours: &Ours) -> Finding {
    match ours.level {
        Level::User | Level::Project | Level::Local => finding.repaired_by(Repair::Hooks(ours.file.clone())),
        Level::Managed | Level::DropIn => finding.mended_by(format!("edit {}, as root", ours.file.display())),
        Level::Plugin => finding.mended_by("holdpoint init --plugin DIR"),
    }
}

/// Whether an entry fires for the tools of every server that a catalog knows, and of every one that is configured here.
fn of_matchers(facts: &Facts) -> Vec<Finding> {
    let fires = |server: &str| {
        let name = format!("mcp__{}__tool", servers::normalise(server));
        let ours = facts.installation.firing(Event::PreToolUse, &name);
        let ours = ours.filter(|(_, entry, _)| entry.ours().is_some());
        ours.map(|(_, _, fires)| fires)
            .max_by_key(|fires| *fires == Fires::Yes)
            .unwrap_or(Fires::No)
    };
    let mut findings = Vec::new();
    let here: Vec<_> = facts.servers.iter().map(|server| server.name.as_str()).collect();
    for (names, which) in [
        (here, "configured here"),
        (servers::in_catalogs().collect(), "in the catalogs"),
    ] {
        let of = |wanted| {
            names
                .iter()
                .copied()
                .filter(|name| fires(name) == wanted)
                .collect::<Vec<_>>()
        };
        let (missed, unknown) = (of(Fires::No), of(Fires::Unknown));
        if !missed.is_empty() {
            findings.push(Finding::broken(
                "hook.matcher",
                format!(
                    "no entry's matcher fits the tools of {}",
                    examples(&missed, which)
                ),
                "calls of their tools are not judged. A server's name alone matches nothing: write mcp__.*",
            ));
        }
        if !unknown.is_empty() {
            findings.push(Finding::caution(
                "hook.matcher",
                format!(
                    "whether a matcher fits the tools of {} cannot be told",
                    examples(&unknown, which)
                ),
                "it is an expression of a kind that only the harness can read, or a condition narrows it",
            ));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::good(
            "hook.matcher",
            format!(
                "the matcher fits the tools of all {} servers",
                facts.servers.len() + servers::in_catalogs().count()
            ),
        ));
    }
    let first = facts.gates().next();
    findings
        .into_iter()
        .map(|finding| match first {
            Some(ours) if finding.severity > Severity::Good => repaired(finding, ours),
            _ => finding,
        })
        .collect()
}

fn examples(names: &[&str], which: &str) -> String {
    let shown = names
        .iter()
        .take(EXAMPLES)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().checked_sub(EXAMPLES) {
        None | Some(0) => format!("servers that are {which}: {shown}"),
        Some(more) => format!("servers that are {which}: {shown} and {more} more"),
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
    Some(
        Finding::caution(
            "hook.twice",
            format!(
                "both {} and {} have an entry, and not the same",
                one.file.display(),
                other.file.display()
            ),
            "a call that both match waits for two checkpoints in the place of one",
        )
        .mended_by(format!(
            "holdpoint init --uninstall, for {}",
            other.file.display()
        )),
    )
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
