//! The tally as the hook uses it.

use holdpoint_session::{Observed, Payload, Recorded, SessionError, Tools, observe};
use serde_json::{Value, json};

use crate::{Home, failure, pre_compact, scope, session_start};

fn hook(home: &Home, event: &Value) -> Observed {
    let payload = Payload::read(event.to_string().as_bytes());
    observe(&home.store(), &payload, &Tools::default()).unwrap()
}

fn mcp_failure(call: &str) -> Value {
    let mut event = failure(call);
    event["tool_name"] = "mcp__falcon__run_command".into();
    event
}

#[test]
fn the_model_is_told_at_new_levels_only() {
    let home = Home::new();
    let mut told = Vec::new();
    for call in 1..=8 {
        told.extend(
            hook(&home, &mcp_failure(&call.to_string()))
                .note()
                .map(|note| (call, note)),
        );
        assert_eq!(
            hook(&home, &mcp_failure(&call.to_string())).note(),
            None,
            "a repeated event"
        );
    }
    let calls: Vec<_> = told.iter().map(|(call, _)| *call).collect();
    assert_eq!(calls, [2, 3, 4, 5]);
    for ((call, note), level) in told.iter().zip(1..) {
        assert!(
            note.starts_with(&format!("{call} tool calls have failed")),
            "{note}"
        );
        assert!(note.contains(&format!("(level {level} of 4)")), "{note}");
        assert_eq!(note.matches(". ").count(), 1, "two sentences: {note}");
    }
}

#[test]
fn a_level_that_was_reached_before_is_no_news_but_a_count_may_be() {
    let home = Home::new();
    std::fs::create_dir_all(home.states()).unwrap();
    std::fs::write(home.state(), r#"{"failure_count":1,"peak_pressure_level":3}"#).unwrap();
    let Observed::Recorded(Recorded::Counted { now, before }) = hook(&home, &failure("2")) else {
        panic!("not counted")
    };
    assert_eq!((before.failures, before.level, before.peak), (1, 0, 3));
    assert_eq!((now.failures, now.level, now.peak), (2, 1, 3));
}

#[test]
fn a_session_goes_on_after_compaction_and_starts_anew_when_cleared_or_forked() {
    for fresh in ["clear", "fork"] {
        let home = Home::new();
        assert_eq!(hook(&home, &session_start("startup")), Observed::Nothing);
        for call in ["1", "2"] {
            hook(&home, &failure(call));
        }
        assert_eq!(
            hook(&home, &session_start("resume")),
            Observed::Nothing,
            "nothing was saved"
        );
        assert!(matches!(hook(&home, &pre_compact()), Observed::Saved(tally) if tally.failures == 2));
        hook(&home, &failure("3"));
        let restored = hook(&home, &session_start("compact"));
        let Observed::Restored(facts) = restored else {
            panic!("{restored:?}")
        };
        assert_eq!(
            (facts.saved.failures, facts.saved.peak, facts.now.failures),
            (2, 1, 3)
        );
        let note = restored.note().unwrap();
        assert!(
            note.contains("3 tool calls had failed") && note.contains("(level 2 of 4)"),
            "{note}"
        );
        let cleared = hook(&home, &session_start(fresh));
        assert_eq!((cleared, cleared.note()), (Observed::Cleared, None));
        assert_eq!(home.store().read(&scope()).unwrap(), None);
        assert_eq!(hook(&home, &session_start("compact")), Observed::Nothing);
    }
}

#[test]
fn a_restored_zero_is_not_worth_a_word() {
    let home = Home::new();
    hook(&home, &pre_compact());
    let restored = hook(&home, &session_start("compact"));
    assert!(matches!(restored, Observed::Restored(_)));
    assert_eq!(restored.note(), None);
}

#[test]
fn which_tools_count_is_a_parameter() {
    let home = Home::new();
    let payload = Payload::read(mcp_failure("1").to_string().as_bytes());
    for (tools, counts) in [
        (Tools::original(), false),
        (Tools::new(["mcp__falcon"]), false),
        (Tools::new(Vec::<String>::new()), false),
        (Tools::new(["mcp__falcon__*"]), true),
    ] {
        let observed = observe(&home.store(), &payload, &tools).unwrap();
        assert_eq!(observed != Observed::Nothing, counts, "{tools:?}");
    }
    assert_eq!(home.store().read(&scope()).unwrap().unwrap().failures, 1);
}

#[test]
fn events_that_are_none_of_ours_do_nothing() {
    let home = Home::new();
    for event in [
        json!({}),
        json!([]),
        json!({ "hook_event_name": "Stop", "session_id": "s", "cwd": "/" }),
    ] {
        assert_eq!(hook(&home, &event), Observed::Nothing);
    }
    let mut success = failure("1");
    success["hook_event_name"] = "PostToolUse".into();
    success["tool_response"] = json!({ "exit_code": 0 });
    assert_eq!(hook(&home, &success), Observed::Nothing);
    assert!(!home.states().exists());
}

#[test]
fn trouble_is_told_apart() {
    let home = Home::new();
    std::fs::create_dir(home.path().join(".pua")).unwrap();
    std::fs::write(home.states(), "a file").unwrap();
    let payload = Payload::read(failure("1").to_string().as_bytes());
    let error = observe(&home.store(), &payload, &Tools::default()).unwrap_err();
    assert!(matches!(error, SessionError::Refused { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("is no directory, so nothing in it is used")
    );
}
