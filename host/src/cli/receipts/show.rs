//! Calls as people read them, and as programs do.

use holdpoint_receipts::{Body, CallRecord, Calls, Ending, Found, Receipt, way_back};
use serde_json::{Value, json};

use super::{Done, print, print_json};
use crate::doctor::own;
use crate::terminal::{Cell, Table, Terminal, Tone};
use crate::text::clean_line;

/// The longest cell of a table, in characters.
const LONGEST_CELL: usize = 48;
/// The longest line of a call's description, in characters.
const LONGEST_LINE: usize = 2_000;

/// Prints the calls: for a terminal a table, the newest first and without the self-test's unless they are
/// wanted; for a pipe a line each with tabs.
pub(super) fn list(calls: &Calls, wants_tests: bool, json: bool) -> Done {
    if json {
        let calls: Vec<_> = calls.calls.iter().map(described).collect();
        return print_json(&json!(calls));
    }
    let terminal = Terminal::stdout();
    if terminal.is_terminal() {
        return print(&for_people(calls, wants_tests, &terminal));
    }
    let lines = calls.calls.iter().map(|call| row(call).join("\t") + "\n");
    print(&lines.collect::<String>())
}

fn for_people(calls: &Calls, wants_tests: bool, terminal: &Terminal) -> String {
    let mut table = Table::new([
        "RECEIPT",
        "WHEN (UTC)",
        "TOOL",
        "TARGET",
        "VERDICT",
        "CHECKPOINT",
        "OUTCOME",
    ]);
    let (tests, real): (Vec<_>, Vec<_>) = calls
        .calls
        .iter()
        .partition(|call| !wants_tests && own::on_record(call));
    let mut day = String::new();
    for call in real.iter().rev() {
        let [receipt, when, tool, target, verdict, checkpoint, outcome] = row(call);
        let (date, time) = when.split_once('T').unwrap_or_default();
        if date != day {
            date.clone_into(&mut day);
            table.row(["", date, "", "", "", "", ""].map(Cell::from));
        }
        let tone = match verdict.as_str() {
            "pass" => Tone::Good,
            "ask" => Tone::Caution,
            _ => Tone::Bad,
        };
        table.row([
            receipt.get(..8).unwrap_or(&receipt).into(),
            time.get(..8).unwrap_or(time).into(),
            as_in_tags(&tool).into(),
            target.into(),
            Cell::toned(tone, verdict),
            checkpoint.into(),
            outcome.into(),
        ]);
    }
    let mut text = table.render(terminal);
    let mut say = |words: String| text.push_str(&format!("{}\n", terminal.wrap(&words, 0)));
    if real.iter().any(|call| call.ending() == Ending::Pending) {
        say("pending: not seen again after the decision. It runs, or somebody else denied it, or it was cancelled.".into());
    }
    if !tests.is_empty() {
        let many = tests.len();
        say(format!(
            "{many} calls of doctor's self-test are not shown; all are in: holdpoint receipts list --json"
        ));
    }
    if calls.unreadable > 0 {
        let many = calls.unreadable;
        say(format!("{many} lines are no receipts: holdpoint receipts verify"));
    }
    text
}

/// A tool as checkpoints' tags name it, which is shorter.
fn as_in_tags(tool: &str) -> String {
    let named = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    named.map_or_else(|| tool.to_owned(), |(server, tool)| format!("{server}/{tool}"))
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
    let terminal = Terminal::stdout();
    let newest_first = calls.iter().rev();
    let texts: Vec<String> = newest_first.map(|call| in_words(call, &terminal)).collect();
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
        "self_test": own::on_record(call),
        "checkpoints": call.checkpoints(),
        "decision": call.decision.as_ref().map(|receipt| json!({ "receipt": named(receipt), "facts": call.decided() })),
        "observations": observations,
        "way_back": way_back(call.checkpoints(), call.machines(), call.deletes()),
    })
}

fn in_words(call: &CallRecord, terminal: &Terminal) -> String {
    let about = call.call();
    let mut text = String::new();
    let mut say = |name: &str, what: &str| {
        if !what.is_empty() {
            let what = terminal.wrap(&clean_line(what, LONGEST_LINE), 12);
            text.push_str(&format!("{name:<11} {what}\n"));
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
    for step in way_back(call.checkpoints(), call.machines(), call.deletes()) {
        let title = clean_line(&format!("{}: {}", step.what, step.subject), LONGEST_LINE);
        let by_hand = terminal.wrap(&clean_line(&step.by_hand, LONGEST_LINE), 2);
        text.push_str(&format!("\n{title}\n  {by_hand}\n"));
        for (method, path, body) in &step.by_api {
            let body = if body.is_null() {
                String::new()
            } else {
                format!(" {body}")
            };
            let asked = clean_line(&format!("{method} {path}{body}"), LONGEST_LINE);
            // Whole, for whoever copies it.
            text.push_str(&format!("  {asked}\n"));
        }
    }
    text
}
