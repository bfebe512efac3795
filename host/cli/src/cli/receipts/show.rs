//! Calls as people read them, and as programs do.

use holdpoint_common::safe_text::clean_line;
use holdpoint_hook::self_test_calls;
use holdpoint_receipts::{Body, CallRecord, Calls, Ending, Found, Receipt, Uncovered};
use serde_json::{Value, json};

use super::{Done, print, print_json};
use crate::local::Local;
use crate::terminal::{Cell, Table, Terminal, Tone};

/// The longest cell of a table, in characters.
const LONGEST_CELL: usize = 48;
/// How many calls that did not run as they were decided are named above a list.
const MOST_OTHERWISE: usize = 20;
/// The longest line of a call's description, in characters.
const LONGEST_LINE: usize = 2_000;

/// Prints the calls, the newest last: for a terminal a table, for a pipe a line each with tabs; both without the
/// self-test's unless they are wanted.
pub(super) fn list(mut calls: Calls, wants_tests: bool, limit: Option<usize>, json: bool) -> Done {
    let all = calls.calls.len();
    if !json {
        calls
            .calls
            .retain(|call| wants_tests || !self_test_calls::on_record(call));
    }
    let tests = all - calls.calls.len();
    let older = calls.calls.len().saturating_sub(limit.unwrap_or(usize::MAX));
    calls.calls.drain(..older);
    if json {
        let calls: Vec<_> = calls.calls.iter().map(described).collect();
        return print_json(&json!(calls));
    }
    let terminal = Terminal::stdout();
    if terminal.is_terminal() {
        return print(&for_people(&calls, tests, &terminal));
    }
    let lines = calls.calls.iter().map(|call| row(call).join("\t") + "\n");
    print(&lines.collect::<String>())
}

fn for_people(calls: &Calls, tests: usize, terminal: &Terminal) -> String {
    let local = Local::system();
    let when = if local.differs() {
        "UTC, LOCAL"
    } else {
        "WHEN (UTC)"
    };
    let mut table = Table::new([
        "RECEIPT",
        when,
        "TOOL",
        "TARGET",
        "VERDICT",
        "CHECKPOINT",
        "OUTCOME",
    ])
    .keep_whole(5);
    let mut day = String::new();
    for call in &calls.calls {
        let [receipt, when, tool, target, verdict, checkpoint, outcome] = row(call);
        let (date, time) = when.split_once('T').unwrap_or_default();
        if date != day {
            date.clone_into(&mut day);
            table.row(["", date, "", "", "", "", ""].map(Cell::from));
        }
        let time = time.get(..8).unwrap_or(time);
        let time = match local.minute(call.receipt().issued_at) {
            Some(local) => format!("{time} {local}"),
            None => time.to_owned(),
        };
        let tone = match verdict.as_str() {
            "pass" => Tone::Good,
            "ask" => Tone::Caution,
            _ => Tone::Bad,
        };
        table.row([
            receipt.get(..8).unwrap_or(&receipt).into(),
            time.into(),
            as_in_tags(&tool).into(),
            target.into(),
            Cell::toned(tone, verdict),
            checkpoint.into(),
            match call.deviation() {
                Some(_) => Cell::toned(Tone::Bad, outcome),
                None => outcome.into(),
            },
        ]);
    }
    let mut text = otherwise(calls, terminal) + &table.render(terminal);
    let mut say = |words: String| text.push_str(&format!("{}\n", terminal.wrap(&words, 0)));
    if calls.calls.iter().any(|call| call.ending() == Ending::Pending) {
        say("pending: not seen again after the decision. It runs, or somebody else denied it, or it was cancelled.".into());
    }
    if tests > 0 {
        say(format!(
            "{tests} calls of doctor's self-test are not shown; all are in: holdpoint receipts list --json"
        ));
    }
    if calls.unreadable > 0 {
        let many = calls.unreadable;
        say(format!("{many} lines are no receipts: holdpoint receipts verify"));
    }
    text
}

/// The calls that did not run as they were decided, in front of everything else.
fn otherwise(calls: &Calls, terminal: &Terminal) -> String {
    let mut text = String::new();
    let mut more = 0;
    for (at, call) in calls
        .calls
        .iter()
        .rev()
        .filter(|call| call.deviation().is_some())
        .enumerate()
    {
        let Some(deviation) = call.deviation().filter(|_| at < MOST_OTHERWISE) else {
            more += 1;
            continue;
        };
        let says = format!(
            "{:.8} {}: {} ({})",
            call.receipt().digest.hex(),
            deviation.words(),
            deviation.machines(),
            as_in_tags(&call.call().tool)
        );
        let says = terminal.wrap(&clean_line(&says, LONGEST_LINE), 2);
        text.push_str(&format!("{}\n", terminal.paint(Tone::Bad, &says)));
    }
    if more > 0 {
        text.push_str(&format!("and {more} more\n"));
    }
    if !text.is_empty() {
        text.push('\n');
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
        cell(&call.outcome()),
    ]
    .map(|cell| if cell.is_empty() { "-".to_owned() } else { cell })
}

/// Prints what a name led to, and the way back.
pub(super) fn show(all: &Calls, found: &Found, json: bool) -> Done {
    let calls: &[CallRecord] = match found {
        Found::Call(call) => std::slice::from_ref(call),
        Found::Several(calls) => calls,
        Found::Event(receipt) => {
            let Body::Event(event) = &receipt.body else {
                unreachable!("an event's receipt has an event")
            };
            return print_json(&json!({ "receipt": named(receipt), "event": event }));
        }
    };
    if json {
        let with_uncovered = |call: &CallRecord| {
            let mut described = described(call);
            let uncovered = all.uncovered(call);
            let told: Vec<Value> = uncovered.iter().map(without_checkpoint).collect();
            if !told.is_empty() {
                described["without_checkpoint"] = told.into();
            }
            described
        };
        let calls: Vec<_> = calls.iter().map(with_uncovered).collect();
        return print_json(&json!(calls));
    }
    let terminal = Terminal::stdout();
    let newest_first = calls.iter().rev();
    let texts: Vec<String> = newest_first
        .map(|call| in_words(call, &all.uncovered(call), &terminal))
        .collect();
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
        "outcome": call.outcome(),
        "deviation": call.deviation(),
        "environment": about.environment,
        "self_test": self_test_calls::on_record(call),
        "checkpoints": call.checkpoints(),
        "decision": call.decision.as_ref().map(|receipt| json!({ "receipt": named(receipt), "facts": call.decided() })),
        "observations": observations,
        "way_back": call.way_back(),
    })
}

/// A machine that the call ran on without a checkpoint, and the way back to its last one.
fn without_checkpoint(uncovered: &Uncovered) -> Value {
    json!({
        "machine": uncovered.machine,
        "earlier": uncovered.earlier.as_ref().map(|(_, seen)| seen),
        "way_back": uncovered.way_back(),
    })
}

fn in_words(call: &CallRecord, uncovered: &[Uncovered], terminal: &Terminal) -> String {
    let about = call.call();
    let mut text = String::new();
    let mut say = |name: &str, what: &str| {
        if !what.is_empty() {
            let what = terminal.wrap(&clean_line(what, LONGEST_LINE), 12);
            text.push_str(&format!("{name:<11} {what}\n"));
        }
    };
    if let Some(deviation) = call.deviation() {
        say(
            "ATTENTION",
            &format!("{}: {}", deviation.words(), deviation.machines()),
        );
    }
    let receipt = call.receipt();
    say("receipt", &format!("#{} {}", receipt.seq, receipt.digest));
    let local = Local::system()
        .whole(receipt.issued_at)
        .map(|local| format!(" ({local})"));
    let local = local.filter(|_| terminal.is_terminal()).unwrap_or_default();
    say("when", &format!("{}{local}", receipt.issued_at));
    say("tool", &about.tool);
    say("call", about.id.as_deref().unwrap_or_default());
    say("session", about.session.as_deref().unwrap_or_default());
    for (name, value) in about.environment.facts() {
        say(name, value);
    }
    say("arguments", &about.arguments.digest.to_string());
    say(
        "ran",
        &call
            .ran_arguments()
            .map(|digest| digest.to_string())
            .unwrap_or_default(),
    );
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
            if let Some(zvm) = &decided.zvm {
                let site = zvm.site.as_ref().map(|site| format!(", site {site}"));
                say("ZVM", &format!("{}{}", zvm.url, site.unwrap_or_default()));
            }
            say("signer", decided.signer.as_deref().unwrap_or_default());
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
    for machine in uncovered {
        say("missing", &machine.words());
    }
    say("outcome", &call.outcome());
    let earlier = uncovered.iter().flat_map(Uncovered::way_back);
    for step in call.way_back().into_iter().chain(earlier) {
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
