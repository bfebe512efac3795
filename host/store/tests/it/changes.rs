//! Install, downgrade, rollback, revoke, and what the history says of them.

use std::fs;

use holdpoint_artifact::{Refusal, RevokedIn, gate};
use holdpoint_store::{ChangeError, LoadError, Revocation, StoreError, Target, Trouble, What, Which};

use crate::common::{BUILD, DOWNGRADE, House, PLAIN};
use crate::policies::{Team, manifest};

#[test]
fn a_newer_version_replaces_an_older_one_and_both_are_kept() {
    let house = House::new();
    house.install("1.0.0");
    house.install("1.1.0");
    assert_eq!(house.in_force(), "1.1.0");
    let list = house.store.list(&house.team.admission()).unwrap();
    let versions: Vec<_> = list
        .iter()
        .map(|kept| {
            (
                kept.facts.manifest.as_ref().unwrap().version.to_string(),
                kept.active,
            )
        })
        .collect();
    assert_eq!(
        versions,
        [("1.0.0".to_owned(), false), ("1.1.0".to_owned(), true)]
    );
}

#[test]
fn the_history_says_who_when_from_where_which_key_and_what() {
    let house = House::new();
    let policy = house.install("1.0.0");
    let history = house.store.history().unwrap();
    let [entry] = history.as_slice() else {
        panic!("{history:?}")
    };
    assert_eq!(entry.what, What::Install);
    assert_eq!(entry.from.as_deref(), Some("a file"));
    assert_eq!(entry.key.as_deref(), Some("team"));
    assert_eq!(entry.digest, Some(house.team.digest(&policy)));
    assert!(entry.who.uid.is_some());
    assert!(entry.at.unix() > 1_700_000_000);
}

#[test]
fn an_older_or_equal_version_needs_to_be_allowed_and_is_written_down() {
    let house = House::new();
    house.install("1.1.0");
    let mut other = manifest("guard", "1.1.0");
    other.not_after = Some("9999-01-01T00:00:00Z".parse().unwrap());
    for policy in [house.team.policy("1.0.9"), house.team.sign(&other)] {
        let refused = house.put(&policy, PLAIN);
        assert!(
            matches!(refused, Err(ChangeError::Downgrade { .. })),
            "{refused:?}"
        );
        assert_eq!(house.in_force(), "1.1.0");
        let changed = house.put(&policy, DOWNGRADE).unwrap();
        assert_eq!(changed.what, Some(What::Downgrade));
        house.store.rollback(None, None, &house.team.admission()).unwrap();
    }
    let what: Vec<_> = house
        .store
        .history()
        .unwrap()
        .iter()
        .map(|entry| entry.what)
        .collect();
    let round = [What::Failure, What::Downgrade, What::Rollback];
    assert_eq!(
        what,
        [&[What::Install], round.as_slice(), round.as_slice()].concat()
    );
}

#[test]
fn a_policy_of_another_name_is_no_update() {
    let house = House::new();
    house.install("1.0.0");
    let other = house.team.sign(&manifest("other", "2.0.0"));
    assert!(matches!(
        house.put(&other, PLAIN),
        Err(ChangeError::Downgrade { .. })
    ));
    assert_eq!(house.in_force(), "1.0.0");
}

#[test]
fn installing_what_is_in_force_changes_nothing_and_mends_it() {
    let house = House::new();
    let policy = house.install("1.0.0");
    fs::write(house.object(&policy).join("policy.wasm"), "broken").unwrap();
    assert_eq!(house.put(&policy, PLAIN).unwrap().what, None);
    assert_eq!(house.in_force(), "1.0.0");
    assert_eq!(house.store.history().unwrap().len(), 1);
}

#[test]
fn a_refused_policy_leaves_the_one_in_force_and_doctor_hears_of_it() {
    let house = House::new();
    house.install("1.0.0");
    let foreign = Team::new().policy("9.0.0");
    let refused = house.put(&foreign, PLAIN);
    let Err(ChangeError::Refused(Refusal::UnknownKey { .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(house.in_force(), "1.0.0");
    let troubles = house.store.troubles(&house.team.admission());
    assert!(matches!(troubles.as_slice(), [Trouble::NotChanged(entry)] if entry.file.is_some()));
    house.install("1.1.0");
    assert_eq!(house.store.troubles(&house.team.admission()), []);
}

#[test]
fn the_same_failure_again_and_again_is_one_entry() {
    let house = House::new();
    house.install("1.0.0");
    let foreign = Team::new().policy("9.0.0");
    for _ in 0..5 {
        house.put(&foreign, PLAIN).unwrap_err();
    }
    assert_eq!(house.store.history().unwrap().len(), 2);
}

#[test]
fn rollback_goes_back_step_by_step() {
    let house = House::new();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        house.install(version);
    }
    let back = || house.store.rollback(None, None, &house.team.admission());
    back().unwrap();
    assert_eq!(house.in_force(), "1.1.0");
    back().unwrap();
    assert_eq!(house.in_force(), "1.0.0");
    let no_way = back();
    assert!(
        matches!(no_way, Err(ChangeError::Store(StoreError::NoWayBack))),
        "{no_way:?}"
    );
    assert_eq!(house.in_force(), "1.0.0");
    house.install("1.2.0");
    assert_eq!(house.in_force(), "1.2.0");
}

#[test]
fn rollback_to_a_version_or_a_digest_by_name() {
    let house = House::new();
    let first = house.install("1.0.0");
    house.install("1.1.0");
    house.install("1.2.0");
    let to = |which| house.store.rollback(Some(&which), None, &house.team.admission());
    to(Which::Version("1.1.0".parse().unwrap())).unwrap();
    assert_eq!(house.in_force(), "1.1.0");
    to(Which::Digest(house.team.digest(&first))).unwrap();
    assert_eq!(house.in_force(), "1.0.0");
    let unknown = to(Which::Version("7.0.0".parse().unwrap()));
    assert!(
        matches!(unknown, Err(ChangeError::Store(StoreError::Unknown(_)))),
        "{unknown:?}"
    );
}

#[test]
fn a_revoked_policy_is_neither_loaded_nor_installed_nor_gone_back_to() {
    let house = House::new();
    let first = house.install("1.0.0");
    let second = house.install("1.1.0");
    let revoke = |policy: &[u8]| {
        let target = Target::Policy(house.team.digest(policy));
        let admission = house.team.admission();
        house.store.revoke(&target, "a hole in it", &admission).unwrap()
    };
    assert_eq!(revoke(&first), Revocation::Elsewhere);
    let back = house.store.rollback(None, None, &house.team.admission());
    assert!(
        matches!(back, Err(ChangeError::Refused(Refusal::RevokedPolicy { .. }))),
        "{back:?}"
    );
    assert!(matches!(
        house.put(&first, DOWNGRADE),
        Err(ChangeError::Refused(_))
    ));
    assert_eq!(house.in_force(), "1.1.0");

    // What was before it is revoked as well, so going back is nothing to offer.
    assert_eq!(revoke(&second), Revocation::InForce { way_back: None });
    let loaded = house.store.load_active(&house.team.admission(), &BUILD);
    assert!(
        matches!(
            loaded,
            Err(LoadError::Refused {
                refusal: Refusal::RevokedPolicy { .. },
                ..
            })
        ),
        "{loaded:?}"
    );
    assert!(
        house
            .store
            .list(&house.team.admission())
            .unwrap()
            .iter()
            .all(|kept| kept.revoked)
    );
    house.install("1.2.0");
    assert_eq!(house.in_force(), "1.2.0");
}

#[test]
fn a_revoked_key_stays_revoked_whatever_it_is_called() {
    let mut house = House::new();
    house.install("1.0.0");
    let second = house.install("1.1.0");
    assert_eq!(house.revoke_key(), Revocation::InForce { way_back: None });
    for name in ["team", "renamed"] {
        house.team.trust.keys[0].id = name.into();
        let loaded = house.store.load_active(&house.team.admission(), &BUILD);
        let place = RevokedIn::Store;
        assert!(
            matches!(
                &loaded,
                Err(LoadError::Refused { refusal: Refusal::RevokedKey { place: there, .. }, way_back: false })
                    if *there == place
            ),
            "{loaded:?}"
        );
        let refused = house.put(&house.team.policy("2.0.0"), PLAIN);
        assert!(
            matches!(refused, Err(ChangeError::Refused(Refusal::RevokedKey { .. }))),
            "{refused:?}"
        );
        let list = house.store.list(&house.team.admission()).unwrap();
        assert!(list.iter().all(|kept| kept.revoked), "{list:?}");
        let trust = house.store.trust_of(&house.team.trust).unwrap();
        let gated = gate(
            &second,
            &trust,
            house.team.admission().contract,
            house.team.admission().now,
        );
        assert!(matches!(gated, Err(Refusal::RevokedKey { .. })), "{gated:?}");
    }
    // Another key under the old name is another key.
    let other = Team::new();
    house.store.load_active(&other.admission(), &BUILD).unwrap_err();
    let change = house
        .store
        .install(&other.policy("2.0.0"), "a file", PLAIN, &other.admission());
    change.unwrap();
}

#[test]
fn an_operators_name_that_was_revoked_earlier_goes_on_counting() {
    let house = House::new();
    house.install("1.0.0");
    let file = house.store.root().join("revoked.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"keys\": []", "\"keys\": [\"team\"]")).unwrap();
    let loaded = house.store.load_active(&house.team.admission(), &BUILD);
    assert!(
        matches!(
            loaded,
            Err(LoadError::Refused {
                refusal: Refusal::RevokedKey { .. },
                ..
            })
        ),
        "{loaded:?}"
    );
}

#[test]
fn the_first_policy_has_no_way_back_and_another_policy_is_not_called_older() {
    let house = House::new();
    house.install("1.0.0");
    let back = house.store.rollback(None, None, &house.team.admission());
    let told = back.unwrap_err().to_string();
    assert!(told.starts_with("guard 1.0.0 is the first policy"), "{told}");
    let other = house.team.sign(&manifest("my-guard", "9.0.0"));
    let told = house.put(&other, PLAIN).unwrap_err().to_string();
    assert!(
        told.starts_with("my-guard 9.0.0 is another policy and no newer version of guard 1.0.0"),
        "{told}"
    );
}

#[test]
fn revocations_cannot_be_forgotten_by_removing_their_file() {
    let house = House::new();
    house.install("1.0.0");
    fs::remove_file(house.store.root().join("revoked.json")).unwrap();
    assert!(house.store.load_active(&house.team.admission(), &BUILD).is_err());
}

#[test]
fn a_torn_line_and_a_long_history_are_no_obstacle() {
    let house = House::new();
    house.install("1.0.0");
    let file = house.store.root().join("history.jsonl");
    let line = fs::read_to_string(&file).unwrap();
    // 9 MiB of old entries, and half a line after them.
    let filler = line
        .replace("1.0.0", "0.0.1")
        .repeat(9 * 1024 * 1024 / line.len() + 1);
    fs::write(&file, filler + &line + &line[..line.len() / 2]).unwrap();
    house.install("1.1.0");
    let history = house.store.history().unwrap();
    let [.., first, second] = history.as_slice() else {
        panic!()
    };
    assert_eq!(first.version.as_ref().unwrap().to_string(), "1.0.0");
    assert_eq!(second.version.as_ref().unwrap().to_string(), "1.1.0");
    assert!(history.len() as u64 * line.len() as u64 <= 8 * 1024 * 1024);
}
