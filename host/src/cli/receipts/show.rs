//! Calls as people read them, and as programs do.

use std::io::{self, IsTerminal as _};

use holdpoint_receipts::{Body, CallRecord, Calls, Found, Receipt, way_back};
use serde_json::{Value, json};

use super::{Done, print, print_json};
use crate::text::clean_line;

/// The longest cell of a table, in characters.
const LONGEST_CELL: usize = 48;
/// The longest line of a call's description, in characters.
const LONGEST_LINE: usize = 2_000;

const HEADINGS: [&str; 7] = [
    "RECEIPT",
    "WHEN",
    "TOOL",
    "TARGET",
    "VERDICT",
    "CHECKPOINT",
    "OUTCOME",
];

/// Prints the calls: a table for a terminal, lines with tabs for a pipe.
pub(super) fn list(calls: &Calls, json: bool) -> Done {
    if json {
        let calls: Vec<_> = calls.calls.iter().map(described).collect();
        return print_json(&json!(calls));
    }
    let rows: Vec<[String; 7]> = calls.calls.iter().map(row).collect();
    let mut text = String::new();
    if io::stdout().is_terminal() {
        text = table(&rows);
        if calls.unreadable > 0 {
            text.push_str(&format!(
                "{} lines are no receipts: holdpoint receipts verify\n",
                calls.unreadable
            ));
        }
    } else {
        for row in &rows {
            text.push_str(&row.join("\t"));
            text.push('\n');
        }
    }
    print(&text)
}

fn row(call: &CallRecord) -> [String; 7] {
    let decided = call.decided();
    let receipt = call.receipt();
    let cell = |text: &str| clean_line(text, LONGEST_CELL);
    let checkpoints: Vec<_> = call.checkpoints().iter().map(|seen| seen.id.as_str()).collect();
    let targets = decided
        .map(|decided| decided.targets.join(", "))
        .unwrap_or_default();
    [
        format!("{:.12}", receipt.digest.hex()),
        receipt.issued_at.to_string(),
        cell(&call.call().tool),
        cell(&targets),
        decided.map_or("", |decided| decided.verdict.word()).to_owned(),
        cell(&checkpoints.join(", ")),
        call.ending().word().to_owned(),
    ]
    .map(|cell| if cell.is_empty() { "-".to_owned() } else { cell })
}

fn table(rows: &[[String; 7]]) -> String {
    let headings = HEADINGS.map(str::to_owned);
    let all = || std::iter::once(&headings).chain(rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells: String = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}  "))
            .collect();
        format!("{}\n", cells.trim_end())
    };
    all().map(line).collect()
}

/// Prints what a name led to, and the way back.
pub(super) fn show(found: &Found, json: bool) -> Done {
    let calls: &[CallRecord] = match found {
        Found::Call(call) => std::slice::from_ref(call),
        Found::Machine(calls) => calls,
        Found::Event(receipt) => {
            let Body::Event(event) = &receipt.body else {
                unreachable!("an event's receipt has an event")
            };
            return print_json(&json!({ "receipt": named(receipt), "event": event }));
        }
    };
    if json {
        let calls: Vec<_> = calls.iter().map(described).collect();
        return print_json(&json!(calls));
    }
    let texts: Vec<String> = calls.iter().map(in_words).collect();
    print(&texts.join("\n"))
}

fn named(receipt: &Receipt) -> Value {
    json!({
        "number": receipt.seq,
        "digest": receipt.digest,
        "issued_at": receipt.issued_at,
        "key": receipt.signature.kid,
        "host": receipt.host,
    })
}

fn described(call: &CallRecord) -> Value {
    let about = call.call();
    let seen = |seen: &Receipt| match &seen.body {
        Body::Observation(_, facts) => Some(json!({ "receipt": named(seen), "facts": facts })),
        _ => None,
    };
    let observations: Vec<_> = call.observations.iter().filter_map(seen).collect();
    json!({
        "tool": about.tool,
        "call": about.id,
        "session": about.session,
        "harness": about.harness,
        "arguments": { "digest": about.arguments.digest, "bytes": about.arguments.bytes, "value": about.arguments.value },
        "outcome": call.ending().word(),
        "checkpoints": call.checkpoints(),
        "decision": call.decision.as_ref().map(|receipt| json!({ "receipt": named(receipt), "facts": call.decided() })),
        "observations": observations,
        "way_back": way_back(call.checkpoints(), call.machines()),
    })
}

fn in_words(call: &CallRecord) -> String {
    let about = call.call();
    let mut text = String::new();
    let mut say = |name: &str, what: &str| {
        if !what.is_empty() {
            text.push_str(&format!("{name:<11} {}\n", clean_line(what, LONGEST_LINE)));
        }
    };
    let receipt = call.receipt();
    say("receipt", &format!("#{} {}", receipt.seq, receipt.digest));
    say("when", &receipt.issued_at.to_string());
    say("tool", &about.tool);
    say("call", about.id.as_deref().unwrap_or_default());
    say("session", about.session.as_deref().unwrap_or_default());
    say("arguments", &about.arguments.digest.to_string());
    match call.decided() {
        Some(decided) => {
            say("verdict", decided.verdict.word());
            say("fault", decided.fault.as_deref().unwrap_or_default());
            say("why", decided.why.as_deref().unwrap_or_default());
            say("targets", &decided.targets.join(", "));
            if let Some(policy) = &decided.policy {
                let signer = policy.signer.as_ref().map(|key| format!(", signed by {key}"));
                let signer = signer.unwrap_or_default();
                say("policy", &format!("{} {}{signer}", policy.origin, policy.digest));
            }
            say("troubles", &decided.troubles.join("; "));
        }
        None => say("verdict", "not on record"),
    }
    for seen in call.checkpoints() {
        let tag = seen.tag.as_deref().unwrap_or("without a tag");
        say(
            "checkpoint",
            &format!("{} of {}, {tag}, in the VPG {}", seen.id, seen.time, seen.vpg),
        );
    }
    say("outcome", call.ending().word());
    for step in way_back(call.checkpoints(), call.machines()) {
        let title = clean_line(&format!("{}: {}", step.what, step.subject), LONGEST_LINE);
        text.push_str(&format!(
            "\n{title}\n  {}\n",
            clean_line(&step.by_hand, LONGEST_LINE)
        ));
        for (method, path, body) in &step.by_api {
            let body = if body.is_null() {
                String::new()
            } else {
                format!(" {body}")
            };
            text.push_str(&format!(
                "  {}\n",
                clean_line(&format!("{method} {path}{body}"), LONGEST_LINE)
            ));
        }
    }
    text
}
