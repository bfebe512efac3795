//! What came out, held against what had to.

use holdpoint_recording::exchange::Asked;
use similar::{ChangeTag, TextDiff};

use super::format::{Expect, VerdictWord};
use crate::RunOutcome;

/// What is not as it should be, each with what there is in its place.
pub(super) fn problems(expect: &Expect, outcome: &RunOutcome) -> Vec<String> {
    let mut problems = Vec::new();
    if !outcome.asking.unforeseen.is_empty() {
        let asked = outcome.asking.unforeseen.join("\n  ");
        problems.push(format!("the case does not foresee what was asked:\n  {asked}"));
    }
    let text = outcome.text();
    let mut said = verdict(expect, outcome, text);
    said.extend(missing(&expect.holds, text, "what is said"));
    for part in expect.lacks.iter().filter(|part| text.contains(*part)) {
        said.push(format!("{part:?} stands in what is said"));
    }
    problems.extend(with_text(said, text));
    problems.extend(calls(expect, outcome));
    problems.extend(tags(expect, outcome));
    let lines = outcome.asking.lines.join("\n");
    problems.extend(parts(&expect.logs, &lines, "the lines for the log"));
    problems.extend(beyond("instructions", expect.fuel, outcome.cost.fuel));
    problems.extend(beyond(
        "bytes of memory",
        expect.memory,
        outcome.cost.memory as u64,
    ));
    problems
}

fn verdict(expect: &Expect, outcome: &RunOutcome, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let word = outcome.word();
    // Who names a kind of fault expects one.
    let wanted = match (expect.verdict, &expect.fault) {
        (None, Some(_)) => Some(VerdictWord::Fault),
        (wanted, _) => wanted,
    };
    if let Some(wanted) = wanted.map(VerdictWord::word).filter(|wanted| *wanted != word) {
        problems.push(format!("the verdict is {word} and not {wanted}"));
    }
    if let Some(wanted) = &expect.fault {
        match &outcome.verdict {
            Err(fault) if fault.kind.word() != wanted => {
                problems.push(format!(
                    "the fault is of the kind {} and not {wanted}",
                    fault.kind.word()
                ));
            }
            _ => {}
        }
    }
    if expect.silent && (word != "pass" || !text.is_empty()) {
        problems.push(format!("the policy does not pass in silence: {word}"));
    }
    problems
}

fn parts(parts: &[String], text: &str, place: &str) -> Vec<String> {
    with_text(missing(parts, text, place), text)
}

fn missing(parts: &[String], text: &str, place: &str) -> Vec<String> {
    let missing = parts.iter().filter(|part| !text.contains(*part));
    missing
        .map(|part| format!("{part:?} does not stand in {place}"))
        .collect()
}

/// With the text that they all are about, said once: at the first, which is what a CI server shows.
fn with_text(mut problems: Vec<String>, text: &str) -> Vec<String> {
    if let Some(first) = problems.first_mut() {
        first.push_str(&format!(": {text:?}"));
    }
    problems
}

fn calls(expect: &Expect, outcome: &RunOutcome) -> Option<String> {
    let lines = |calls: &[String]| calls.iter().map(|call| format!("{call}\n")).collect::<String>();
    let (wanted, made) = (lines(expect.calls.as_ref()?), lines(&outcome.calls()));
    (wanted != made).then(|| format!("other calls were made:\n{}", difference(&wanted, &made)))
}

fn tags(expect: &Expect, outcome: &RunOutcome) -> Vec<String> {
    if expect.tag.is_empty() {
        return Vec::new();
    }
    let exchanges = outcome.asking.exchanges.iter();
    let tags: Vec<&String> = exchanges
        .filter_map(|exchange| match &exchange.asked {
            Asked::Capture { tag, .. } => Some(tag),
            _ => None,
        })
        .collect();
    if tags.is_empty() {
        return vec!["nothing was captured, so there is no tag".into()];
    }
    tags.into_iter()
        .flat_map(|tag| parts(&expect.tag, tag, "the tag"))
        .collect()
}

fn beyond(what: &str, most: Option<u64>, used: u64) -> Option<String> {
    let most = most.filter(|most| used > *most)?;
    Some(format!("{used} {what} were used, and {most} are the most"))
}

/// Two texts line by line: `-` is wanted and missing, `+` is there and not wanted.
pub(super) fn difference(wanted: &str, made: &str) -> String {
    let mut lines = String::new();
    for change in TextDiff::from_lines(wanted, made).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        let line = change.value().trim_end_matches('\n');
        lines.push_str(&format!("  {sign} {line}\n"));
    }
    lines.truncate(lines.trim_end().len());
    lines
}
