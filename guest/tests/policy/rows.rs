//! What the rows that Zerto gives mean.

use holdpoint_guest::judge::{Judgement, judge};
use holdpoint_guest::model::{Direction, VmRow};
use holdpoint_guest::state::{takes_checkpoints, words};

use crate::world::{holds, row};

fn in_state(vpg: &str, status: i32, sub_status: i32) -> VmRow {
    VmRow {
        status,
        sub_status,
        ..row("web01", 38, vpg)
    }
}

#[track_caller]
fn ask(rows: &[VmRow]) -> String {
    match judge("web01", rows) {
        Judgement::Ask(why) => why,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn deny(rows: &[VmRow]) -> String {
    match judge("web01", rows) {
        Judgement::Deny(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_vpgs_of_one_vm_are_captured() {
    let mut again = row("web01", 38, "B");
    again.vm_identifier = again.vm_identifier.to_uppercase();
    let Judgement::Capture(machine) = judge("web01", &[row("web01", 38, "A"), again, row("web01", 38, "A")])
    else {
        panic!("not captured");
    };
    let vpgs: Vec<&str> = machine.vpgs.iter().map(|vpg| vpg.name.as_str()).collect();
    assert_eq!((machine.name.as_str(), vpgs), ("web01", vec!["A", "B"]));
}

#[test]
fn several_vms_of_one_name_ask_and_are_told_apart() {
    let mut other = row("web01", 99, "B");
    other.direction = Direction::RecoveredHere;
    let why = ask(&[row("web01", 38, "A"), other]);
    holds(
        &why,
        &[
            "several VMs",
            "vm-38\" in VPG \"A\"",
            "vm-99\" in VPG \"B\", replicated from another site",
        ],
    );
}

#[test]
fn rows_that_nothing_here_can_rewind_ask_and_say_why() {
    let elsewhere = VmRow {
        direction: Direction::RecoveredHere,
        ..row("web01", 38, "A")
    };
    holds(
        &ask(std::slice::from_ref(&elsewhere)),
        &["nothing here to rewind", "from another site"],
    );
    let gone = VmRow {
        vm_exists: false,
        ..row("web01", 38, "A")
    };
    holds(&ask(std::slice::from_ref(&gone)), &["gone"]);
    holds(&ask(&[]), &["knows no VM \"web01\""]);
}

#[test]
fn one_unfit_row_beside_a_fit_one_denies() {
    let elsewhere = VmRow {
        direction: Direction::RecoveredHere,
        ..row("web01", 38, "B")
    };
    holds(
        &deny(&[row("web01", 38, "A"), elsewhere]),
        &["VPG \"B\"", "another site"],
    );
    let why = deny(&[row("web01", 38, "A"), in_state("B", 1, 25)]);
    holds(&why, &["every VPG", "VPG \"B\"", "replication paused by a user"]);
    assert!(!why.contains("\"A\""), "{why}");
}

#[test]
fn a_row_without_identifiers_is_not_captured() {
    deny(&[VmRow {
        vpg_identifier: String::new(),
        ..row("web01", 38, "A")
    }]);
    deny(&[VmRow {
        vm_identifier: String::new(),
        ..row("web01", 38, "A")
    }]);
}

#[test]
fn a_direction_that_the_zvm_did_not_say_is_left_to_the_journal() {
    let unsaid = VmRow {
        direction: Direction::Unknown,
        ..row("web01", 38, "A")
    };
    assert!(matches!(judge("web01", &[unsaid]), Judgement::Capture(_)));
}

#[test]
fn states_are_judged_by_status_and_sub_status() {
    for status in -1..=10 {
        for sub_status in -1..=45 {
            let expected = (1..=4).contains(&status) && [0, 4, 5, 23, 28].contains(&sub_status);
            assert_eq!(takes_checkpoints(status, sub_status), expected);
            let captured = matches!(
                judge("web01", &[in_state("A", status, sub_status)]),
                Judgement::Capture(_)
            );
            assert_eq!(captured, expected, "{status} {sub_status}");
        }
    }
}

#[test]
fn statuses_3_and_4_have_the_same_words_and_unknown_numbers_stay_numbers() {
    assert_eq!(words(3, 0), words(4, 0));
    assert_eq!(words(2, 24), "not meeting its SLA, disconnected from its peer");
    assert_eq!(words(5, 15), "failing over, failover before its commit");
    assert_eq!(words(9, 40), "status 9, sub-status 40");
    assert_eq!(words(1, -2), "meeting its SLA, sub-status -2");
    holds(
        &deny(&[in_state("A", 3, 40)]),
        &["not meeting its SLA, sub-status 40"],
    );
}
