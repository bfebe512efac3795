//! What is recorded of what has already happened.

use crate::model::Outcome;

/// The facts of a call that has ended: a JSON object.
pub fn after(outcome: Outcome) -> String {
    let word = match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
        Outcome::Interrupted => "interrupted",
    };
    serde_json::json!({ "outcome": word }).to_string()
}

/// The facts of something that happened to a session: a JSON object.
pub fn session(kind: &str, reason: &str) -> String {
    serde_json::json!({ "kind": kind, "reason": reason }).to_string()
}
