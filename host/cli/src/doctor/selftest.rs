//! Known calls, played through the installed command line exactly as the harness would start it.
//!
//! Nothing is captured: no VM has the name that these calls name, so that a ZVM that answers knows of none.

mod process;
mod rows;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use holdpoint_setup::Event;

use self::process::{Left, start};
use self::rows::{Expected, Row, rows};
use super::finding::{Finding, Severity};
use super::hooks::Ours;

pub(super) use self::rows::{Stances, Which};

/// The longest time for one call, whatever the entry's timeout is.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same where somebody waits for a screen.
const LITTLE_PATIENCE: Duration = Duration::from_secs(10);

/// What the harness makes of what a hook leaves behind. The stricter one is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// It goes on as if there were no hook, since the hook failed.
    Ignored,
    /// It goes on: the hook has no objection.
    Passed,
    /// It asks a human.
    Asked,
    /// The call does not run.
    Blocked,
}

/// What was seen.
pub(super) struct Played {
    row: Row,
    effect: Result<Effect, String>,
    says: String,
    /// Whether the call was blocked, and what has to be printed for that did not come.
    is_swallowed: bool,
    /// The exit code that was left, where it is not the one that the program leaves with such an answer.
    other_code: Option<Option<i32>>,
}

/// Plays every row through an entry.
pub(super) fn play(ours: &Ours, project: &Path, stances: Stances, which: Which) -> Vec<Played> {
    if ours.event != Event::PreToolUse {
        return Vec::new();
    }
    let patience = if which == Which::Two {
        LITTLE_PATIENCE
    } else {
        PATIENCE
    };
    let mut played = Vec::new();
    for row in rows(stances, which) {
        let left = start(ours, project, &row.event, patience);
        // What cannot be started, or never ends, does so for every row.
        let is_hopeless = left.is_err();
        let known = left.as_ref().ok();
        played.push(Played {
            says: known.map(Left::says).unwrap_or_default(),
            // What only the host blocks may be blocked by the exit code alone.
            is_swallowed: row.by_policy && known.is_some_and(Left::is_swallowed),
            other_code: known.and_then(Left::other_code),
            effect: left.map(|left| left.effect()),
            row,
        });
        if is_hopeless {
            break;
        }
    }
    played
}

impl Effect {
    const fn words(self) -> &'static str {
        match self {
            Self::Ignored => "an answer that the harness drops, so the call runs",
            Self::Passed => "no objection",
            Self::Asked => "an ask",
            Self::Blocked => "a deny",
        }
    }
}

/// Judges what was played through one entry. What has one cause is one finding: the first call that shows it, and how many
/// others do. Where it `is_explained` why changes are denied, calls that are held up are not told of again.
pub(super) fn judge(ours: &Ours, played: &[Played], is_shipped: bool, is_explained: bool) -> Vec<Finding> {
    let rows = played
        .iter()
        .filter_map(|played| of_row(ours, played, is_shipped));
    let (open, other): (Vec<Finding>, Vec<Finding>) = rows.partition(|finding| finding.lets_past);
    let mut findings: Vec<Finding> = first_of(open).into_iter().collect();
    if findings.is_empty() {
        findings.extend(of_codes(ours, played));
    }
    if findings.is_empty() && !is_explained {
        let (held_up, differing): (Vec<_>, Vec<_>) = other
            .into_iter()
            .partition(|finding| finding.severity == Severity::Broken);
        findings.extend(first_of(held_up));
        findings.extend(first_of(differing));
    }
    if findings.is_empty() && !is_explained && !played.is_empty() {
        let mut found = format!("{} known calls were answered as they have to be: ", played.len());
        for (number, played) in played.iter().enumerate() {
            let effect = played.effect.as_ref().map_or("", |effect| effect.words());
            let separator = if number == 0 { "" } else { "; " };
            let _ = write!(found, "{separator}{}, {effect}", played.row.name);
        }
        findings.push(Finding::good("selftest", found));
    }
    findings
}

/// The first of these, and how many more there are.
fn first_of(findings: Vec<Finding>) -> Option<Finding> {
    let more = findings.len().saturating_sub(1);
    let mut first = findings.into_iter().next()?;
    if more > 0 {
        let _ = write!(first.found, " (and so {more} of the other calls)");
    }
    Some(first)
}

/// Whether the program's exit codes reach the harness.
fn of_codes(ours: &Ours, played: &[Played]) -> Option<Finding> {
    let played = played.iter().find(|played| played.other_code.is_some())?;
    let code = match played.other_code.flatten() {
        Some(code) => format!("exit code {code}"),
        None => "no exit code".to_owned(),
    };
    let found = format!(
        "{}, played through {}, got {} with {code}: something in '{}' takes the program's exit code",
        played.row.name,
        ours.place(),
        played
            .effect
            .as_ref()
            .map_or("no answer", |effect| effect.words()),
        holdpoint_common::safe_text::clean_line(&ours.command.text(), 200)
    );
    let matters = "a hook that fails before it has printed an answer, or is killed, then lets its call run";
    Some(
        Finding::broken("selftest", found, matters)
            .letting_past(true)
            .mended_by("holdpoint init writes the entry anew; a wrapper must hand the exit code through"),
    )
}

fn of_row(ours: &Ours, played: &Played, is_shipped: bool) -> Option<Finding> {
    let Row {
        name,
        expected: Expected(mildest, strictest),
        by_policy,
        ..
    } = played.row;
    let place = ours.place();
    let effect = match &played.effect {
        Ok(effect) if (mildest..=strictest).contains(effect) && !played.is_swallowed => return None,
        Ok(effect) => *effect,
        Err(why) => {
            return Some(
                Finding::broken(
                    "selftest",
                    format!("{name}, played through {place}: {why}"),
                    "the harness then lets the call run, unless onFailure says otherwise",
                )
                .letting_past(true)
                .mended_by("start that command line by hand with an event on standard input"),
            );
        }
    };
    let mut found = format!("{name}, played through {place}, got {}", effect.words());
    if !played.says.is_empty() {
        let _ = write!(found, ": {}", played.says);
    }
    if ours.start.is_wrapped {
        let line = holdpoint_common::safe_text::clean_line(&ours.command.text(), 200);
        let _ = write!(found, "; the command line is '{line}'");
    }
    if played.is_swallowed {
        found.push_str("; nothing of what the program prints comes out of that command line");
    }
    let is_open = effect < mildest;
    let matters = match (is_open, mildest) {
        (true, Effect::Blocked) => "what is forbidden is not stopped: the guard is not there",
        (true, _) => "a call that a human or a checkpoint should stand before runs",
        (false, _) => "calls are held up that there is nothing against; the reason says what is wrong",
    };
    // What another policy decides is that policy's affair, as long as the harness understands the answer.
    if by_policy && !is_shipped && effect != Effect::Ignored && !played.is_swallowed {
        return Some(Finding::notice(
            "selftest",
            found,
            "the shipped policy would answer otherwise",
        ));
    }
    let mend = if is_open {
        "holdpoint init writes the entry anew; a wrapper must hand everything through and print nothing"
    } else {
        "holdpoint explain < event.json tells the reasoning for one event"
    };
    Some(
        Finding::broken("selftest", found, matters)
            .letting_past(is_open)
            .mended_by(mend),
    )
}
