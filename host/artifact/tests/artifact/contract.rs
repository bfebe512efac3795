//! What a policy is built against, and what it imports.

use holdpoint_artifact::{Contract, Refusal, Version, gate};

use crate::file::*;

#[test]
fn a_policy_runs_on_a_host_of_a_compatible_version() {
    for wit in ["0.1.0", "0.1.3", "0.1.9"] {
        let file = signed_with(|manifest| manifest.wit = wit.parse().unwrap());
        assert!(pass(&file, &trust()).is_ok(), "{wit}");
    }
    for wit in ["0.2.0", "1.0.0", "0.0.1", "0.1.0-draft"] {
        let file = signed_with(|manifest| manifest.wit = wit.parse().unwrap());
        let refusal = Refusal::UnservedWit {
            package: "holdpoint:policy".into(),
            wit: wit.parse().unwrap(),
            served: contract().versions.to_vec(),
        };
        assert_eq!(refused(&file), refusal, "{wit}");
    }
}

#[test]
fn after_version_one_the_major_version_decides() {
    let versions = [Version::new(1, 4, 0), Version::new(0, 1, 0)];
    let contract = Contract {
        versions: &versions,
        ..contract()
    };
    for (wit, served) in [
        ("1.0.0", true),
        ("1.9.9", true),
        ("2.0.0", false),
        ("0.1.5", true),
        ("0.2.0", false),
    ] {
        assert_eq!(contract.serves(&wit.parse().unwrap()), served, "{wit}");
    }
    let exact = [Version::new(0, 0, 3)];
    let contract = Contract {
        versions: &exact,
        ..contract
    };
    assert!(contract.serves(&Version::new(0, 0, 3)) && !contract.serves(&Version::new(0, 0, 4)));
}

#[test]
fn what_the_component_exports_counts_beside_what_the_manifest_says() {
    let file = signed_component(&[], &["holdpoint:policy/policy@0.2.0"]);
    assert!(matches!(refused(&file), Refusal::UnservedWit { wit, .. } if wit == Version::new(0, 2, 0)));
    let versions = [Version::new(0, 1, 0), Version::new(0, 2, 0)];
    let contract = Contract {
        versions: &versions,
        ..contract()
    };
    let refusal = gate(&file, &trust(), &contract, NOW).unwrap_err();
    assert!(matches!(refusal, Refusal::OtherWit { .. }), "{refusal}");
}

#[test]
fn a_component_that_exports_no_policy_is_none() {
    for exports in [
        &[][..],
        &["holdpoint:policy/log@0.1.0"],
        &["policy"],
        &["holdpoint:policy/policy"],
        &["other:policy/policy@0.1.0"],
    ] {
        let refusal = refused(&signed_component(&["wasi:io/poll@0.2.0"], exports));
        assert!(
            matches!(refusal, Refusal::NotAPolicy { .. }),
            "{exports:?}: {refusal}"
        );
    }
}

#[test]
fn every_import_is_granted_or_empty_or_refused_by_name() {
    let refusal = |import: &str| {
        pass(
            &signed_component(&["wasi:cli/environment@0.2.6", import], &[POLICY]),
            &trust(),
        )
        .err()
    };
    for import in [
        "holdpoint:policy/zerto@0.1.9",
        "holdpoint:policy/types@0.1.0",
        "wasi:io/poll@0.2.0",
    ] {
        assert_eq!(refusal(import), None);
    }
    for import in [
        "holdpoint:policy/session@0.1.0",
        "holdpoint:policy/deadline@0.1.0",
    ] {
        assert_eq!(
            refusal(import),
            Some(Refusal::NotGranted {
                import: import.into()
            })
        );
    }
    for import in [
        "holdpoint:policy/teleport@0.1.0",
        "holdpoint:policy/zerto@0.2.0",
        "holdpoint:policy/zerto",
        "wasi:sockets/tcp@0.2.0",
        "wasi:io/poll@0.3.0",
        "wasi:io/poll@0.2.0-rc1",
        "wasi:io/poll",
        "other:policy/zerto@0.1.0",
        "zerto",
    ] {
        assert_eq!(
            refusal(import),
            Some(Refusal::UnknownImport {
                import: import.into()
            })
        );
    }
}

#[test]
fn a_grant_lends_only_what_the_host_has() {
    let grants = ["teleport".to_owned(), "types".to_owned()];
    let contract = Contract {
        grants: &grants,
        ..contract()
    };
    let file = signed_component(&["holdpoint:policy/teleport@0.1.0"], &[POLICY]);
    let refusal = gate(&file, &trust(), &contract, NOW).unwrap_err();
    assert!(matches!(refusal, Refusal::UnknownImport { .. }), "{refusal}");
}

#[test]
fn the_name_of_an_import_cannot_act_on_a_terminal() {
    let file = signed_component(&["\u{1b}[2Jwasi@\u{202e}"], &[POLICY]);
    assert_eq!(
        refused(&file),
        Refusal::UnknownImport {
            import: "\\u{1b}[2Jwasi@\\u{202e}".into()
        }
    );
}
