//! What holds of any text in a receipt, and of any change to a log.

mod support;

use std::fs;
use std::sync::LazyLock;

use holdpoint_receipts::{Arguments, Body, Checked, Outcome, Receipt, Results, Verdict};
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use support::{append, begun, decision, observation, report};

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(Value::from_iter),
        ]
    })
}

/// The same JSON, written with as much room as the grammar lets one take and every character escaped.
fn written_otherwise(value: &Value) -> String {
    let text = |text: &str| {
        let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{units}\"")
    };
    match value {
        Value::String(string) => text(string),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(written_otherwise).collect();
            format!("[ {} ]", values.join(" ,\n"))
        }
        Value::Object(members) => {
            let members = members.iter().rev();
            let members: Vec<_> = members
                .map(|(key, value)| format!("{} :\t{}", text(key), written_otherwise(value)))
                .collect();
            format!("{{ {} }}", members.join(" , "))
        }
        value => value.to_string(),
    }
}

fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).expect("JSON")
}

/// A log of three receipts: its key set and its segment.
static LOG: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a directory");
    let log = begun(home.path(), 1 << 20);
    append(&log, &decision("call-1", Verdict::Pass));
    append(&log, &observation("call-1", Outcome::Ran));
    append(&log, &decision("call-2", Verdict::Deny));
    let read = |name: &str| fs::read(log.directory.join(name)).expect("a file of the log");
    (read("keys.json"), read("000000000001.jsonl"))
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a value is written, its digests are the same.
    #[test]
    fn digests_are_of_values_and_not_of_texts(value in json(), tool in any::<String>()) {
        let (one, other) = (raw(value.to_string()), raw(written_otherwise(&value)));
        prop_assert_eq!(Results::of(&one, false), Results::of(&other, false));
        prop_assert_eq!(Arguments::of(&tool, &one, true), Arguments::of(&tool, &other, true));
    }

    /// Whatever text a receipt holds: it is read as it was written, is canonical, links and verifies.
    #[test]
    fn any_text_makes_a_receipt(texts in prop::collection::vec(any::<String>(), 4), arguments in json()) {
        let home = tempfile::tempdir().unwrap();
        let log = begun(home.path(), 1 << 20);
        let mut body = decision(&texts[0], Verdict::Ask);
        if let Body::Decision(call, decision) = &mut body {
            call.session = Some(texts[1].clone());
            call.tool.clone_from(&texts[2]);
            call.arguments = Arguments::of(&texts[2], &raw(arguments.to_string()), true);
            decision.why = Some(texts[3].clone());
        }
        append(&log, &body);
        append(&log, &observation(&texts[0], Outcome::Interrupted));
        let text = fs::read_to_string(log.directory.join("000000000001.jsonl")).unwrap();
        let line = text.split_inclusive('\n').next().unwrap();
        prop_assert_eq!(Receipt::read(line.trim_end()).unwrap().body, body);
        let value: Value = serde_json::from_str(line).unwrap();
        prop_assert_eq!(serde_json_canonicalizer::to_string(&value).unwrap() + "\n", line);
        let report = report(&log);
        prop_assert_eq!(report.integrity.outcome, Checked::Pass, "{:#?}", report);
    }

    /// No byte of a log can be another one unseen.
    #[test]
    fn no_byte_can_be_changed(at in any::<prop::sample::Index>(), by in 1..=255u8) {
        let (keys, bytes) = &*LOG;
        let mut changed = bytes.clone();
        // Without the last line break, which is not missed: the line then counts as not finished.
        let at = at.index(changed.len() - 1);
        changed[at] ^= by;
        let home = tempfile::tempdir().unwrap();
        let copy = home.path().join("receipts");
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("keys.json"), keys).unwrap();
        fs::write(copy.join("000000000001.jsonl"), changed).unwrap();
        let report = report(&support::at(home.path(), 1 << 20));
        prop_assert_ne!(report.integrity.outcome, Checked::Pass, "byte {}: {:#?}", at, report);
    }
}
