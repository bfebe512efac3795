//! Whether what ran is what was decided.
//!
//! Another hook's `updatedInput`, a permission prompt tool or a person who edits a dialog can change a call's arguments
//! after our answer, and nothing of that is told to a hook. What ran is known from the event of the call's end. The decision
//! is found by session and `tool_use_id` in the decision log, which has the digest of the arguments that were decided on
//! (or in the receipts, where the log does not have it). The digest is of the canonical form (RFC 8785), so that the order
//! of members, `1.0` for `1` and other spellings are no differences.

use holdpoint_artifact::Digest;
use holdpoint_common::safe_text::clean_line;
use holdpoint_config::{Config, Mode};
use holdpoint_receipts::{Arguments, Body, Deviation, DeviationKind};

use crate::event::{Call, Ended};
use crate::explain;
use crate::history::{self, coverage};
use crate::log::Log;
use crate::receipts;
use crate::self_test_calls;

/// The longest name of a machine, in characters, and the most machines of a side.
const LONGEST_NAME: usize = 200;
const MOST_MACHINES: usize = 16;
/// How tools of MCP servers are called.
const MCP: &str = "mcp__";
/// Tools of the client itself that can reach a machine. Others are not looked at unless a decision took them for a change:
/// the client completes their arguments itself.
const SHELLS: [&str; 2] = ["Bash", "PowerShell"];

/// What is known of one decision.
struct Decided {
    arguments: Option<Digest>,
    tool: String,
    verdict: String,
    machines: Vec<String>,
}

/// How the call that ended differs from what was decided on; none where it does not, or where that cannot be told.
pub fn compare(config: &Config, ended: &Ended<'_>) -> Option<Deviation> {
    let is_own = ended.session_id == self_test_calls::SESSION;
    if ended.call_id.is_empty() || is_own {
        return None;
    }
    let is_mcp = ended.tool.starts_with(MCP);
    let decisions = decisions(config, ended)?;
    let Some(last) = decisions.first() else {
        return (is_mcp && would_be_known(config, ended)).then(|| Deviation {
            kinds: [DeviationKind::Undecided].into(),
            ran: machines(config, ended),
            ..Deviation::default()
        });
    };
    if !decisions
        .iter()
        .any(|decided| is_watched(&ended.tool, &decided.verdict, &decided.machines))
    {
        return None;
    }
    let arguments = Arguments::digest_of(ended.arguments);
    let same_tool =
        last.tool == clean_line(&ended.tool, LONGEST_NAME) || ended.tool.starts_with(cut(&last.tool));
    let other_arguments = last.arguments.is_some_and(|decided| decided != arguments);
    let differ = |other: &Decided| {
        other.verdict != last.verdict
            || (other.arguments.is_some() && last.arguments.is_some() && other.arguments != last.arguments)
    };
    let kinds = [
        (same_tool && other_arguments, DeviationKind::OtherArguments),
        (!same_tool, DeviationKind::OtherTool),
        (
            decisions.iter().any(|decided| decided.verdict == "deny"),
            DeviationKind::Denied,
        ),
        (decisions.iter().any(differ), DeviationKind::DecidedTwice),
    ];
    let kinds: std::collections::BTreeSet<_> = kinds
        .into_iter()
        .filter_map(|(is_so, kind)| is_so.then_some(kind))
        .collect();
    (!kinds.is_empty()).then(|| Deviation {
        kinds,
        decided: last.arguments.filter(|_| other_arguments),
        checked: last.machines.clone(),
        ran: if other_arguments || !same_tool {
            machines(config, ended)
        } else {
            last.machines.clone()
        },
    })
}

/// Whether the arguments of such a call are compared with those that ran. Others are not worth a digest: a file of 20 MB
/// that is written is an argument too.
pub fn is_watched(tool: &str, verdict: &str, machines: &[String]) -> bool {
    tool.starts_with(MCP) || SHELLS.contains(&tool) || verdict != "pass" || !machines.is_empty()
}

/// What the log has of a name that it cut.
fn cut(tool: &str) -> &str {
    tool.strip_suffix('…').unwrap_or("\0")
}

/// Whether a decision of this call would be found if there had been one. Where receipts are kept there would be one of it,
/// too; without them, only a log that has another decision of the session shows that decisions of it were written there.
fn would_be_known(config: &Config, ended: &Ended<'_>) -> bool {
    let log = Log::of(&config.log).ok();
    let coverage = log.and_then(|log| coverage::of(&log, &ended.session_id).ok());
    coverage.is_some_and(|coverage| {
        coverage.whole && (coverage.knows_session || config.receipts.mode != Mode::Off)
    })
}

/// The decisions of a call, the last one first. None where the log cannot be read.
fn decisions(config: &Config, ended: &Ended<'_>) -> Option<Vec<Decided>> {
    let log = Log::of(&config.log).ok()?;
    let logged = history::of_call(&log, &ended.session_id, &ended.call_id).ok()?;
    let mut decisions: Vec<_> = logged
        .iter()
        .map(|decision| Decided {
            arguments: decision
                .arguments
                .as_deref()
                .and_then(|digest| digest.parse().ok()),
            tool: decision.tool.clone(),
            verdict: decision.verdict.clone(),
            machines: bounded(decision.machines().into_iter()),
        })
        .collect();
    if decisions.is_empty() && config.receipts.mode != Mode::Off {
        decisions.extend(on_record(config, ended));
    }
    Some(decisions)
}

/// The decision's receipt.
fn on_record(config: &Config, ended: &Ended<'_>) -> Option<Decided> {
    let name = |text: &str| Some(clean_line(text, 400)).filter(|text| !text.is_empty());
    let log = receipts::log(&config.receipts).ok()?;
    let session = name(&ended.session_id);
    let receipt = log
        .decision_of(session.as_deref(), &name(&ended.call_id)?)
        .ok()??;
    let Body::Decision(call, decision) = receipt.body else {
        return None;
    };
    Some(Decided {
        arguments: Some(call.arguments.digest),
        tool: call.tool,
        verdict: decision.verdict.word().to_owned(),
        machines: bounded(decision.targets.iter().map(String::as_str)),
    })
}

/// The machines that the policy reads from the arguments that ran. It is asked without any ZVM: nothing is looked up or
/// taken for that, and the names are what a decision on these arguments would have put on record as its targets.
fn machines(config: &Config, ended: &Ended<'_>) -> Vec<String> {
    let call = Call {
        foreign: None,
        session_id: ended.session_id.clone(),
        call_id: ended.call_id.clone(),
        cwd: ended.origin.cwd.clone(),
        tool: ended.tool.clone(),
        server: ended.server.clone(),
        permission_mode: None,
        arguments: ended.arguments,
        extras: serde_json::json!({}),
        origin: ended.origin.clone(),
    };
    let read = explain::machines(config, &call);
    bounded(read.iter().map(String::as_str))
}

fn bounded<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for name in names.map(|name| clean_line(name, LONGEST_NAME)) {
        if kept.len() < MOST_MACHINES && !kept.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
            kept.push(name);
        }
    }
    kept
}

/// What the log says of it.
pub fn in_words(deviation: &Deviation) -> String {
    format!("{} ({})", deviation.words(), deviation.machines())
}

/// What the model is told; nothing where nothing went another way than it was told to: a call that nobody decided on may
/// come from a hook entry that is missing, which `doctor` finds.
pub fn note(deviation: &Deviation) -> Option<String> {
    let mut sentences: Vec<_> = deviation.kinds.iter().filter_map(|kind| meaning(*kind)).collect();
    sentences.dedup();
    (!sentences.is_empty()).then(|| {
        format!(
            "Holdpoint on this call: {}. {} Stop changing machines, and tell the user.",
            in_words(deviation),
            sentences.join(" ")
        )
    })
}

/// What one kind of deviation means for whoever reads it.
const fn meaning(kind: DeviationKind) -> Option<&'static str> {
    match kind {
        DeviationKind::OtherArguments | DeviationKind::OtherTool => Some(
            "What was checked, and any checkpoint that was taken, is not of what ran. Something changed the call after it \
             was decided on: another hook, a permission prompt tool or an edited dialog.",
        ),
        DeviationKind::Denied => Some(
            "Holdpoint denied it, and it ran all the same, so nobody can count on a checkpoint from before it. The deny did \
             not reach the harness, or the harness did not heed it.",
        ),
        DeviationKind::DecidedTwice => Some(
            "Holdpoint was asked about it more than once and did not decide alike, so it is not known which decision it ran \
             on, or which checkpoint belongs to it.",
        ),
        DeviationKind::Undecided => None,
    }
}
