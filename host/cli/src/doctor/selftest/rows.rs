//! The known calls, and what may come of each by the decision table.

use holdpoint_hook::self_test_calls::{CALL, FOREIGN, NO_VM, SESSION, UNREADABLE};
use serde_json::{Value, json};

use super::Effect;

/// What may come of a call, from the mildest to the strictest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected(pub(super) Effect, pub(super) Effect);

/// One row of the decision table.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) event: String,
    pub(super) expected: Expected,
    /// Whether the policy decides, and not the host: another policy than the shipped one may see it otherwise.
    pub(super) by_policy: bool,
}

/// Which calls are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::doctor) enum Which {
    /// Those for which nothing is asked of Zerto.
    Offline,
    /// All of them.
    All,
    /// One whose answer is an exit code, and one whose answer is printed: both ways have to be open.
    Two,
}

/// The settings of the policy that rows depend on.
#[derive(Debug, Clone, Copy)]
pub(in crate::doctor) struct Stances {
    unknown_tool: Effect,
    control_plane: Effect,
}

impl Stances {
    /// As the policy's settings have them.
    pub(in crate::doctor) fn of(settings: &Value) -> Self {
        let effect = |key: &str| match settings[key].as_str() {
            Some("pass") => Effect::Passed,
            Some("deny") => Effect::Blocked,
            _ => Effect::Asked,
        };
        Self {
            unknown_tool: effect("unknown_tool"),
            control_plane: effect("control_plane"),
        }
    }
}

const NO_EVENT: &str = "an event that cannot be read";
const NO_MACHINE: &str = "a change that names no machine";

/// The calls that are played, and what may come of each.
pub(super) fn rows(stances: Stances, which: Which) -> Vec<Row> {
    let call = |tool: &str, input: Value| {
        json!({
            "session_id": SESSION,
            "transcript_path": "/nonexistent",
            "cwd": "/",
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": CALL
        })
    };
    let row = |name, event: Value, expected| Row {
        name,
        event: event.to_string(),
        expected,
        by_policy: true,
    };
    // A human may be asked; where nobody would answer, the configuration makes a deny of it.
    let asks = Expected(Effect::Asked, Effect::Blocked);
    let at_least = |effect| Expected(effect, Effect::Blocked.max(effect));
    let exactly = |effect| Expected(effect, effect);
    let stance = |effect| match effect {
        Effect::Passed => exactly(effect),
        effect => at_least(effect),
    };
    // Nothing of these two is known to the hook but their text.
    let blocked = |name, event: &str| Row {
        name,
        event: event.to_owned(),
        expected: exactly(Effect::Blocked),
        by_policy: false,
    };
    let mut rows = vec![
        blocked(NO_EVENT, UNREADABLE),
        blocked("a call of another harness", FOREIGN),
        row(
            "a call that only reads",
            call("mcp__esxi__listVMs", json!({})),
            exactly(Effect::Passed),
        ),
        row(NO_MACHINE, call("mcp__esxi__powerOff", json!({})), asks),
        row(
            "a change of a control plane",
            call("mcp__esxi__createVM", json!({ "name": NO_VM })),
            stance(stances.control_plane),
        ),
        row(
            "a tool that no catalog lists",
            call("mcp__holdpoint-doctor__unlisted", json!({})),
            stance(stances.unknown_tool),
        ),
        row(
            "a tool of the harness",
            call("Read", json!({ "file_path": "/nonexistent" })),
            exactly(Effect::Passed),
        ),
    ];
    if which == Which::Two {
        rows.retain(|row| [NO_EVENT, NO_MACHINE].contains(&row.name));
    }
    if which == Which::All {
        rows.push(row(
            "a change of a VM that Zerto does not know",
            call("mcp__esxi__powerOff", json!({ "name": NO_VM })),
            asks,
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_policy_decides_may_differ_under_another_policy() {
        let rows = rows(Stances::of(&json!({"unknown_tool": "deny"})), Which::All);
        let forbidden = rows.iter().filter(|row| row.expected.0 == Effect::Blocked);
        let names: Vec<_> = forbidden.map(|row| (row.name, row.by_policy)).collect();
        assert_eq!(
            names,
            [
                ("an event that cannot be read", false),
                ("a call of another harness", false),
                ("a tool that no catalog lists", true)
            ]
        );
    }
}
