//! Random sequences, with files that others have spoiled in between.

use std::collections::HashSet;
use std::fs;

use holdpoint_session::verbs::Verb;
use holdpoint_session::{Recorded, Store, level};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::{Home, failure, mode, pre_compact, session_start};

#[derive(Debug, Clone)]
enum Step {
    Record(u8),
    Checkpoint,
    Restore,
    Clear,
    /// Somebody replaces the file's contents.
    Spoil(Vec<u8>),
    /// A process was killed in the middle.
    Litter,
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        (0..12).prop_map(|number| format!("\" {number} \"")),
        "[0-9]{1,30}|true|null|\\[\\]|\\{\\}|\"[a-z]\"".prop_map(|text| text),
    ]
}

/// What may lie there instead of a state: states of other people's making, broken ones, and noise.
fn spoiled() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![Just("\"".to_owned() + &"a".repeat(64) + "\""), number()];
    let text = (number(), number(), vec(id, 0..140), number()).prop_map(|(count, peak, ids, saved)| {
        format!(
            r#"{{"failure_count":{count},"peak_pressure_level":{peak},"processed_tool_use_ids":[{}],
            "checkpoint":{{"saved_at":"t","failure_count":{saved},"peak_pressure_level":{peak}}},"prompt":"SECRET"}}"#,
            ids.join(",")
        )
    });
    let state = (text, any::<prop::sample::Index>(), prop::bool::weighted(0.2));
    prop_oneof![
        5 => state.prop_map(|(text, length, is_cut)| {
            let length = if is_cut { length.index(text.len()) } else { text.len() };
            text.as_bytes()[..length].to_vec()
        }),
        1 => vec(any::<u8>(), 0..64),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..12_u8).prop_map(Step::Record),
        2 => Just(Step::Checkpoint),
        2 => Just(Step::Restore),
        1 => Just(Step::Clear),
        2 => spoiled().prop_map(Step::Spoil),
        1 => Just(Step::Litter),
    ]
}

/// What has to be true of a file after ours wrote it.
fn check_file(home: &Home) {
    assert_eq!(mode(&home.states()), 0o700);
    assert_eq!(home.names().len(), 1, "{:?}", home.names());
    assert_eq!(mode(&home.state()), 0o600);
    let text = fs::read_to_string(home.state()).unwrap();
    assert!(!text.contains("SECRET"));
    let state: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(state["scope_fingerprint"], crate::scope().as_str());
    assert!(state["processed_tool_use_ids"].as_array().unwrap().len() <= 128);
    let known: HashSet<_> = [
        "checkpoint",
        "created_at",
        "failure_count",
        "peak_pressure_level",
        "processed_tool_use_ids",
        "schema_version",
        "scope_fingerprint",
        "updated_at",
    ]
    .into();
    assert!(
        state
            .as_object()
            .unwrap()
            .keys()
            .all(|key| known.contains(key.as_str()))
    );
}

fn failures(store: &Store) -> u32 {
    store.read(&crate::scope()).unwrap().unwrap_or_default().failures
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_invariants_hold(steps in vec(step(), 1..40)) {
        let home = Home::new();
        let store = home.store();
        // Calls that are certainly in the file's window.
        let mut counted = HashSet::new();
        for step in steps {
            let before = store.read(&crate::scope()).unwrap().unwrap_or_default();
            match step {
                Step::Record(call) => {
                    let id = holdpoint_session::CallId::new(&format!("call-{call}")).unwrap();
                    let fresh = counted.insert(call);
                    match store.record(&crate::scope(), id).unwrap() {
                        Recorded::Counted { now, before: seen } => {
                            prop_assert!(fresh, "call {} counted twice", call);
                            prop_assert_eq!(seen, before);
                            prop_assert_eq!(now.failures, (before.failures + 1).min(1_000_000));
                            prop_assert!(now.peak >= before.peak);
                        }
                        Recorded::Duplicate(tally) => {
                            prop_assert!(!fresh);
                            prop_assert_eq!(tally, before);
                            continue;
                        }
                    }
                    check_file(&home);
                }
                Step::Checkpoint => {
                    prop_assert_eq!(store.checkpoint(&crate::scope()).unwrap(), before);
                    check_file(&home);
                }
                Step::Restore => {
                    let restored = store.restore(&crate::scope()).unwrap();
                    prop_assert!(restored.is_none_or(|restored| restored.saved.peak <= 4));
                    prop_assert_eq!(failures(&store), before.failures);
                }
                Step::Clear => {
                    let line = home.run(Verb::Clear, &session_start("clear"));
                    prop_assert!(line.starts_with("cleared\t0\t0\t"));
                    prop_assert!(!home.state().exists());
                    counted.clear();
                    continue;
                }
                Step::Spoil(contents) => {
                    fs::create_dir_all(home.states()).unwrap();
                    fs::write(home.state(), contents).unwrap();
                    counted.clear();
                    continue;
                }
                Step::Litter => {
                    fs::create_dir_all(home.lock()).unwrap();
                    fs::write(home.states().join(format!(".{}.holdpoint.tmp", crate::scope().as_str())), "{").unwrap();
                    home.run(Verb::Checkpoint, &pre_compact());
                    check_file(&home);
                }
            }
            let now = store.read(&crate::scope()).unwrap().unwrap_or_default();
            prop_assert!(now.failures >= before.failures && now.failures <= 1_000_000);
            prop_assert_eq!(now.level, level(now.failures));
            prop_assert!(now.peak >= now.level && now.peak <= 4);
        }
    }

    #[test]
    fn lines_and_store_agree(calls in vec(0..20_u8, 1..30)) {
        let home = Home::new();
        let mut distinct = HashSet::new();
        for call in calls {
            let action = if distinct.insert(call) { "updated" } else { "duplicate" };
            let count = u32::try_from(distinct.len()).unwrap();
            let line = home.run(Verb::Record, &failure(&call.to_string()));
            prop_assert_eq!(line, format!("{action}\t{count}\t{}\t{}", level(count), crate::scope()));
        }
    }
}
