//! Whether an entry fires for the tools of every server that a catalog knows, and of every one that is configured here.

use holdpoint_setup::Event;
use holdpoint_setup::reading::{self, Fires};

use super::judge::repaired;
use super::{Facts, Ours};
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::servers;

/// The names of servers that an example of what does not match has, at most.
const EXAMPLES: usize = 5;
/// Tools as servers have them: a matcher that fits all of these fits whatever else is there.
const TOOLS: [&str; 5] = ["tool", "x", "powerOff", "delete_vm", "get_vm"];

/// What is wrong with matchers.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let wrong: Vec<Finding> = facts
        .entries
        .iter()
        .filter_map(|ours| of_wrong(facts, ours))
        .collect();
    let mut findings = of_gates(facts, !wrong.is_empty());
    findings.extend(of_outcomes(facts, Event::PostToolUse));
    findings.extend(of_outcomes(facts, Event::PostToolUseFailure));
    wrong.into_iter().chain(findings).collect()
}

/// A matcher that is no regular expression, where no other entry does its work.
fn of_wrong(facts: &Facts, ours: &Ours) -> Option<Finding> {
    let matcher = ours.matcher.as_deref()?;
    let why = reading::check(matcher).err()?;
    if servers::in_catalogs().all(|name| fires(facts, ours.event, name) == Fires::Yes) {
        return None;
    }
    let is_gate = ours.event == Event::PreToolUse;
    let severity = if is_gate {
        Severity::Broken
    } else {
        Severity::Caution
    };
    let matters = if is_gate {
        "the harness runs every call without the hook"
    } else {
        "the hook does not hear of this event"
    };
    let found = format!(
        "the matcher '{matcher}' at {} is no regular expression ({why})",
        ours.place()
    );
    Some(repaired(
        Finding::new(severity, "hook.matcher", found, matters),
        ours,
    ))
}

/// Whether the entries of an event fire for the tools of a server. A condition beside the matcher is told of by itself.
fn fires(facts: &Facts, event: Event, server: &str) -> Fires {
    let of_tool = |tool: &str| {
        let name = format!("mcp__{}__{tool}", servers::normalise(server));
        let ours = facts.entries.iter().filter(|ours| ours.event == event);
        let all: Vec<Fires> = ours
            .map(|ours| reading::matches(ours.matcher.as_deref(), &name))
            .collect();
        match (all.contains(&Fires::Yes), all.contains(&Fires::Unknown)) {
            (true, _) => Fires::Yes,
            (false, true) => Fires::Unknown,
            (false, false) => Fires::No,
        }
    };
    let all = TOOLS.map(of_tool);
    if all.contains(&Fires::No) {
        Fires::No
    } else if all.contains(&Fires::Unknown) {
        Fires::Unknown
    } else {
        Fires::Yes
    }
}

fn of_gates(facts: &Facts, is_said: bool) -> Vec<Finding> {
    let here: Vec<&str> = facts.servers.iter().map(|server| server.name.as_str()).collect();
    let kinds = [
        (here, "configured here"),
        (servers::in_catalogs().collect(), "in the catalogs"),
    ];
    let (mut missed, mut unknown) = (Vec::new(), Vec::new());
    for (names, which) in kinds {
        let seen: Vec<(&str, Fires)> = names
            .iter()
            .map(|name| (*name, fires(facts, Event::PreToolUse, name)))
            .collect();
        let of = |wanted| {
            seen.iter()
                .filter(|(_, fires)| *fires == wanted)
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
        };
        for (wanted, list) in [(Fires::No, &mut missed), (Fires::Unknown, &mut unknown)] {
            let names = of(wanted);
            if !names.is_empty() {
                list.push(examples(&names, which));
            }
        }
    }
    let mut findings = Vec::new();
    if !missed.is_empty() && !is_said {
        findings.push(Finding::broken(
            "hook.matcher",
            format!(
                "no entry's matcher fits all tools of {}",
                missed.join("; nor of ")
            ),
            "calls of their tools are not judged. A server's name alone matches nothing: write mcp__.*",
        ));
    }
    if !unknown.is_empty() {
        findings.push(Finding::caution(
            "hook.matcher",
            format!(
                "whether a matcher fits the tools of {} cannot be told",
                unknown.join("; nor of ")
            ),
            "versions of the harness read the expression differently, or it takes too long",
        ));
    }
    if findings.is_empty() && !is_said {
        let all = facts.servers.len() + servers::in_catalogs().count();
        return vec![Finding::good(
            "hook.matcher",
            format!("the matcher fits the tools of all {all} servers"),
        )];
    }
    let first = facts.gates().next();
    let repair = |finding| match first {
        Some(ours) => repaired(finding, ours),
        None => finding,
    };
    findings.into_iter().map(repair).collect()
}

/// Whether the hook hears what became of calls.
fn of_outcomes(facts: &Facts, event: Event) -> Option<Finding> {
    let ours = facts.entries.iter().find(|ours| ours.event == event)?;
    let is_wrong = |ours: &Ours| {
        ours.matcher
            .as_deref()
            .is_some_and(|matcher| reading::check(matcher).is_err())
    };
    if is_wrong(ours) {
        return None;
    }
    let missed: Vec<&str> = servers::in_catalogs()
        .filter(|name| fires(facts, event, name) == Fires::No)
        .collect();
    (!missed.is_empty()).then(|| {
        let finding = Finding::caution(
            "hook.matcher",
            format!(
                "no matcher under {} fits the tools of {}",
                event.name(),
                examples(&missed, "in the catalogs")
            ),
            "what became of their calls is not on record",
        );
        repaired(finding, ours)
    })
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
