//! What is written to Claude Code: one JSON object or nothing on stdout, a reason on stderr, and an exit code.

use holdpoint_runtime::verdict::Verdict;
use serde::Serialize;

use super::GATE;
use crate::exit::ExitCode;
use crate::harness::Answer;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireAnswer<'a> {
    /// Shown to the user, who is not asked anything; the model does not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<WireDecision<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireDecision<'a> {
    hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
}

impl WireDecision<'_> {
    const NONE: Self = Self {
        hook_event_name: GATE,
        permission_decision: None,
        permission_decision_reason: None,
        additional_context: None,
    };
}

/// The answer to a call that is about to run.
pub fn write(verdict: &Verdict) -> Answer {
    match verdict {
        Verdict::Pass(None) => Answer::silence(),
        Verdict::Pass(Some(note)) => object(
            WireDecision {
                additional_context: Some(note),
                ..WireDecision::NONE
            },
            ExitCode::OK,
        ),
        Verdict::Ask(reason) => object(
            WireDecision {
                permission_decision: Some("ask"),
                permission_decision_reason: Some(reason),
                ..WireDecision::NONE
            },
            ExitCode::OK,
        ),
        Verdict::Deny(reason) => {
            let decision = WireDecision {
                permission_decision: Some("deny"),
                permission_decision_reason: Some(reason),
                ..WireDecision::NONE
            };
            Answer {
                stderr: line(reason),
                ..object(decision, ExitCode::BLOCKED)
            }
        }
    }
}

/// What is told at an event that nothing waits for: a note to the model, a warning to the user.
pub fn tell(event: &'static str, note: Option<&str>, warning: Option<&str>) -> Answer {
    if note.is_none() && warning.is_none() {
        return Answer::silence();
    }
    let to_the_model = |note| WireDecision {
        hook_event_name: event,
        additional_context: Some(note),
        ..WireDecision::NONE
    };
    let answer = WireAnswer {
        system_message: warning,
        hook_specific_output: note.map(to_the_model),
    };
    written(&answer, ExitCode::OK)
}

/// The answer to a fault of which it is not known whether a call waits for it: the one form that needs no knowledge of
/// the event or of the harness's version.
pub fn block(reason: &str) -> Answer {
    Answer {
        stdout: Vec::new(),
        stderr: line(reason),
        code: ExitCode::BLOCKED,
    }
}

fn object(decision: WireDecision<'_>, code: ExitCode) -> Answer {
    let answer = WireAnswer {
        system_message: None,
        hook_specific_output: Some(decision),
    };
    written(&answer, code)
}

fn written(answer: &WireAnswer<'_>, code: ExitCode) -> Answer {
    let mut stdout = serde_json::to_vec(answer).expect("strings and fixed keys are always JSON");
    stdout.push(b'\n');
    Answer {
        stdout,
        stderr: Vec::new(),
        code,
    }
}

fn line(reason: &str) -> Vec<u8> {
    format!("{reason}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdout(verdict: &Verdict) -> String {
        String::from_utf8(write(verdict).stdout).unwrap()
    }

    #[test]
    fn the_wire_knows_no_word_but_ask_and_deny() {
        assert_eq!(write(&Verdict::Pass(None)), Answer::silence());
        assert_eq!(
            stdout(&Verdict::Pass(Some("note".into()))),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"additionalContext\":\"note\"}}\n"
        );
        assert_eq!(
            stdout(&Verdict::Ask("why".into())),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\",\
             \"permissionDecisionReason\":\"why\"}}\n"
        );
        let deny = write(&Verdict::Deny("no".into()));
        assert_eq!(
            String::from_utf8(deny.stdout).unwrap(),
            "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\
             \"permissionDecisionReason\":\"no\"}}\n"
        );
        assert_eq!((deny.stderr, deny.code), (b"no\n".to_vec(), ExitCode::BLOCKED));
    }
}
