//! The reader of JSON against JavaScript's own.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use holdpoint_setup::json::{Limits, Wrong, parse};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// Reads texts from standard input (a JSON list of strings) and says of each what `JSON.parse` makes of it, written by
/// `JSON.stringify`; `null` where it throws.
const PROGRAM: &str = "
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const read = text => { try { return JSON.stringify(JSON.parse(text)) } catch { return null } };
process.stdout.write(JSON.stringify(texts.map(read)));
";

fn node(texts: &[String]) -> Vec<Option<String>> {
    let mut node = Command::new("node")
        .args(["--stack-size=50000", "-e", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let list = serde_json::to_vec(texts).unwrap();
    node.stdin.take().unwrap().write_all(&list).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Numbers as JavaScript has them.
fn as_javascript(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(as_javascript).collect(),
        Value::Object(members) => {
            let members = members.iter();
            Value::Object(
                members
                    .map(|(name, value)| (name.clone(), as_javascript(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

/// Texts that are JSON, or nearly: pieces in any order, and values put together as they should be.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"a\"",
            "\"__proto__\"",
            "1",
            "-0",
            "1e999",
            "-1E+400",
            "1.0",
            "0.1e1",
            "9007199254740993",
            "18446744073709551616",
            "1e-400",
            "01",
            "1.",
            "null",
            "true",
            "false",
            "nul",
            " ",
            "\n",
            "\u{feff}",
            "\u{2028}",
            "\"\\ud83d\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ude00\\ud83d\"",
            "\"\\u0000\"",
            "\"\\x\"",
            "\"\t\"",
            "'a'",
            "/*x*/",
            "NaN",
            "\"\u{1f600}\"",
            "\0",
        ])
        .prop_map(str::to_owned),
        any::<f64>().prop_map(|number| number.to_string()),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    let leaf = piece.clone();
    let nested = leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(
                (
                    prop::sample::select(vec!["a", "b", "\\u0061", "__proto__"]),
                    inner
                ),
                0..5
            )
            .prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("\"{name}\" : {value}"))
                    .collect();
                format!("{{{}}}", members.join(" , "))
            }),
        ]
    });
    prop_oneof![
        nested,
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    ]
}

/// Every text is read as JavaScript reads it, or is known to be cut, or is refused by both.
#[ignore = "needs node"]
#[test]
fn every_text_is_read_as_javascript_reads_it_or_counts_as_cut() {
    let mut runner = TestRunner::deterministic();
    let strategy = texts();
    let mut all: Vec<String> = (0..20_000)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect();
    all.extend([99, 100, 101, 130, 5_000].map(|depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth))));
    let strict = Limits {
        lossy: false,
        ..Limits::FILE
    };
    let (mut same, mut cut, mut refused) = (0, 0, 0);
    for (text, theirs) in all.iter().zip(node(&all)) {
        match (parse(text, strict), theirs) {
            (Ok(ours), Some(_)) if ours.cut => cut += 1,
            (Ok(ours), Some(theirs)) => {
                // serde_json rounds some numbers otherwise.
                let theirs = parse(&theirs, strict).unwrap();
                assert!(theirs.is_plain, "{text:?}");
                assert_eq!(
                    as_javascript(&ours.value),
                    as_javascript(&theirs.value),
                    "{text:?}"
                );
                same += 1;
            }
            (Err(Wrong::TooMuch), Some(_)) => cut += 1,
            (Err(Wrong::Syntax(_)), None) => refused += 1,
            (ours, theirs) => panic!("{text:?}: {ours:?} and {theirs:?}"),
        }
    }
    assert!(
        same > 1_000 && cut > 100 && refused > 1_000,
        "{same}, {cut}, {refused}"
    );
}
