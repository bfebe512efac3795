//! The stance table in the docs names every kind of fault, and tests that there are.

use std::collections::BTreeSet;

use holdpoint::verdict::FaultKind;

const TABLE: &str = include_str!("../../docs/stances.md");

const TESTS: [(&str, &str); 10] = [
    ("config", include_str!("config.rs")),
    ("decisions", include_str!("decisions.rs")),
    ("events", include_str!("events.rs")),
    ("panics", include_str!("panics.rs")),
    ("policies", include_str!("policies.rs")),
    ("process", include_str!("process.rs")),
    ("receipts", include_str!("receipts.rs")),
    ("session", include_str!("session.rs")),
    ("signed", include_str!("signed.rs")),
    ("stdin", include_str!("stdin.rs")),
];

#[test]
fn every_kind_of_fault_has_a_row() {
    for kind in FaultKind::ALL {
        assert!(TABLE.contains(&format!("\n| `{}` |", kind.word())), "{kind:?}");
    }
}

#[test]
fn every_test_that_the_table_names_is_there() {
    let named: BTreeSet<&str> = TABLE.split('`').filter(|word| word.contains("::")).collect();
    assert!(named.len() > 20);
    for name in named {
        let (module, test) = name.split_once("::").unwrap();
        let (_, source) = TESTS.iter().find(|(file, _)| *file == module).expect(name);
        assert!(source.contains(&format!("#[test]\nfn {test}()")), "{name}");
    }
}
