//! The words of verdicts, for the human who decides and the model that is told.

use crate::classify::Judged;
use crate::model::{Tally, Verdict, ZertoError};
use crate::reading::{Change, Reading};
use crate::target::Target;
use crate::text::{cut, listed, quoted, shown, whole, words};

/// How a reason ends that asks a human.
pub const ASKED: &str = "No checkpoint was taken, so the change could not be rewound. Allow it?";
/// How every other reason ends that asks a human.
pub const QUESTION: &str = "Allow it?";
/// What a model may do after a deny.
pub const TELL: &str = "Tell the user.";
/// How a reason ends that denies.
pub const DENIED: &str = "No change is made without a checkpoint. Tell the user.";
/// Told where the operator's catalog did not count.
pub const IGNORED_OWN: &str = "An entry of the operator's own catalogs is milder than the shipped one and was ignored (allow_widening is off).";

/// `server/tool`, fit to be shown.
fn tool(judged: &Judged) -> String {
    if judged.server.is_empty() {
        return shown(&judged.tool);
    }
    format!("{}/{}", shown(&judged.server), shown(&judged.tool))
}

/// How a call was read, and by what, for the log; nothing of a tool that no MCP server has and no catalog lists.
pub fn reading(judged: &Judged) -> Option<String> {
    let does = match &judged.reading {
        Reading::NotMcp => return None,
        Reading::Read => "only reads".to_owned(),
        Reading::Foreign => "is spelt as another harness spells a server's tool".to_owned(),
        Reading::Other => "changes a control plane".to_owned(),
        Reading::Unlisted => "is in no catalog".to_owned(),
        Reading::Change(change) => {
            let verb = if change.obscure { "may change" } else { "changes" };
            let said: Vec<String> = change
                .found
                .targets
                .iter()
                .flat_map(Target::said)
                .map(quoted)
                .collect();
            match said.as_slice() {
                [] => format!("{verb} machines"),
                said => format!("{verb} machines: {}", listed(said)),
            }
        }
    };
    let by = match judged.catalogs.as_slice() {
        [] => String::new(),
        catalogs => format!(" (by {})", catalogs.join(", ")),
    };
    Some(format!("{} {does}{by}", tool(judged)))
}

/// The settings cannot be read.
pub fn bad_settings(why: &str) -> String {
    whole(&format!(
        "Holdpoint's policy settings cannot be used: {why}. Nothing is let through until the operator corrects them. Tell the user."
    ))
}

/// The tool changes a control plane.
pub fn control_plane(judged: &Judged) -> String {
    whole(&format!(
        "{} changes a control plane (inventory, templates, cases, new VMs), which no checkpoint of a VM can rewind.",
        tool(judged)
    ))
}

/// A call of another harness, or one that may be.
pub fn foreign(judged: &Judged) -> String {
    whole(&format!(
        "{} looks like a tool of the MCP server {}, and is not a call of Claude Code (which spells one mcp__server__tool and \
         sends no fields of another harness). Calls of other harnesses to servers are not judged yet, so it does not run. {TELL}",
        shown(&judged.tool),
        quoted(&judged.server)
    ))
}

/// No catalog lists the tool.
pub fn unlisted(judged: &Judged) -> String {
    whole(&format!(
        "{} is in no catalog, so nobody has said that it only reads. No checkpoint was taken: if it changes a VM, that cannot be rewound.",
        tool(judged)
    ))
}

/// A change that is not let through, with clauses that say why.
pub fn change(judged: &Judged, clauses: &[String], end: &str) -> String {
    let obscure = matches!(&judged.reading, Reading::Change(Change { obscure: true, .. }));
    let verb = if obscure { "may change" } else { "changes" };
    // What is said at the end must not be cut away.
    let clauses = cut(&clauses.join("; "), 1_400);
    whole(&format!("{} {verb} machines: {clauses}. {end}", tool(judged)))
}

/// A change that asks although its checkpoint was taken, with the note that names it.
pub fn strained(judged: &Judged, tally: Tally, from: u8, note: &str) -> String {
    // The question comes first, so that a long note cannot push it out.
    whole(&format!(
        "{} changes machines, and {} tool {} failed in this session and workspace (level {} of 4); from level {from} on, a human decides. Allow it? {note}",
        tool(judged),
        tally.failures,
        if tally.failures == 1 {
            "call has"
        } else {
            "calls have"
        },
        tally.level
    ))
}

/// Zerto could not be asked about a machine.
pub fn not_found_out(judged: &Judged, said: &str, error: &ZertoError) -> String {
    whole(&format!(
        "{} changes machines, and whether Zerto protects {} could not be found out: {}. {DENIED}",
        tool(judged),
        quoted(said),
        cause(error)
    ))
}

/// What went wrong with Zerto.
pub fn cause(error: &ZertoError) -> String {
    match error {
        ZertoError::NotFound => "Zerto no longer knows it".into(),
        ZertoError::Refused(said) => format!("Zerto refused ({})", words(said)),
        ZertoError::Unauthorized(said) => format!("no log-in to Zerto succeeded ({})", words(said)),
        ZertoError::Unreachable(said) => format!("Zerto could not be asked ({})", words(said)),
        ZertoError::TimedOut(said) => format!("it was not confirmed in time ({})", words(said)),
        ZertoError::Malformed(said) => format!("the ZVM's answer made no sense ({})", words(said)),
    }
}

/// A reason with one more sentence.
pub fn longer(reason: &str, sentence: &str) -> String {
    whole(&format!("{reason} {sentence}"))
}

/// A verdict with one more sentence; a silent pass gets it as its note.
pub fn add(verdict: Verdict, sentence: &str) -> Verdict {
    match verdict {
        Verdict::Pass(None) => Verdict::Pass(Some(sentence.to_owned())),
        Verdict::Pass(Some(note)) => Verdict::Pass(Some(longer(&note, sentence))),
        Verdict::Ask(reason) => Verdict::Ask(longer(&reason, sentence)),
        Verdict::Deny(reason) => Verdict::Deny(longer(&reason, sentence)),
    }
}
