//! The stance table in the docs names every kind of fault, and tests that there are.

use std::collections::BTreeSet;

use holdpoint::verdict::FaultKind;

const TABLE: &str = include_str!("../../docs/stances.md");

const TESTS: &[(&str, &str)] = &[
    ("attacked", include_str!("attacked.rs")),
    ("broken", include_str!("broken.rs")),
    ("broken_setup", include_str!("broken_setup.rs")),
    ("broken_entries", include_str!("broken_entries.rs")),
    ("compiling", include_str!("compiling.rs")),
    ("config", include_str!("config.rs")),
    ("credentials", include_str!("credentials.rs")),
    ("daily", include_str!("daily.rs")),
    ("decisions", include_str!("decisions.rs")),
    ("deviations", include_str!("deviations.rs")),
    ("doctor", include_str!("doctor.rs")),
    ("events", include_str!("events.rs")),
    ("evidence", include_str!("evidence.rs")),
    ("following", include_str!("following.rs")),
    ("init", include_str!("init.rs")),
    ("init_files", include_str!("init_files.rs")),
    ("init_secrets", include_str!("init_secrets.rs")),
    ("init_terminal", include_str!("init_terminal.rs")),
    ("liveness", include_str!("liveness.rs")),
    ("managed", include_str!("managed.rs")),
    ("managed_level", include_str!("managed_level.rs")),
    ("oddities", include_str!("oddities.rs")),
    ("panics", include_str!("panics.rs")),
    ("plain_files", include_str!("plain_files.rs")),
    ("policies", include_str!("policies.rs")),
    ("process", include_str!("process.rs")),
    ("reading", include_str!("reading.rs")),
    ("receipts", include_str!("receipts.rs")),
    ("recording", include_str!("recording.rs")),
    ("session", include_str!("session.rs")),
    ("shadow", include_str!("shadow.rs")),
    ("signed", include_str!("signed.rs")),
    ("signer", include_str!("signer.rs")),
    ("stdin", include_str!("stdin.rs")),
    ("together", include_str!("together.rs")),
    ("updates", include_str!("updates.rs")),
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
