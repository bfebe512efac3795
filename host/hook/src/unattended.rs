//! What becomes of an ask, with a human there and without one.

use holdpoint_common::safe_text;
use holdpoint_config::Ask;
use holdpoint_runtime::verdict::Verdict;

/// Turns an ask into a deny where nobody would answer it: a harness without a human waits for ever, refuses, or, in
/// some versions, goes on.
pub fn resolve(ask: &Ask, verdict: Verdict, mode: Option<&str>) -> Verdict {
    let applies = |listed: &String| listed == "*" || Some(listed.as_str()) == mode;
    // What is added here must not be cut away.
    let shorter = |reason: String| safe_text::clean(&reason, safe_text::LONGEST - 300);
    match verdict {
        Verdict::Ask(reason) if ask.deny_in_modes.iter().any(applies) => Verdict::Deny(format!(
            "{} A human would have to decide, and nobody is there to be asked in this permission mode, so the \
             call does not run. Tell the user.",
            shorter(reason)
        )),
        Verdict::Ask(reason) => Verdict::Ask(asking(&shorter(reason))),
        verdict => verdict,
    }
}

/// A reason with the question that a human answers, and with what a model has to know where nobody was asked: a headless
/// harness refuses the call and hands the reason to the model.
fn asking(reason: &str) -> String {
    const QUESTION: &str = "Allow it?";
    let question = if reason.contains(QUESTION) {
        ""
    } else {
        " Allow it?"
    };
    format!("{reason}{question} Where no human could answer, the call did not run: tell the user.")
}
