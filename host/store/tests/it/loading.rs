//! What is in force where something is broken.

use std::fs;

use holdpoint_artifact::Refusal;
use holdpoint_store::{ChangeError, LoadError, Store, StoreError, Trouble, What, Which};

use crate::common::{BUILD, House, PLAIN};
use crate::policies::manifest;

#[test]
fn an_empty_store_and_no_store_say_what_to_do() {
    let house = House::new();
    let nothing = house.store.load_active(&house.team.admission(), &BUILD);
    assert!(matches!(nothing, Err(LoadError::Nothing)), "{nothing:?}");
    let none = Store::open(&house.path("elsewhere"));
    assert!(matches!(none, Err(StoreError::NoStore(_))), "{none:?}");
}

#[test]
fn a_broken_policy_gives_way_to_the_last_good_one_and_says_so() {
    let house = House::new();
    let first = house.install("1.0.0");
    let second = house.install("1.1.0");
    let third = house.install("1.2.0");
    let file = house.object(&third).join("policy.wasm");
    let breaks: [&dyn Fn(); 4] = [
        &|| fs::write(&file, &third[..third.len() - 1]).unwrap(),
        &|| fs::write(&file, &second).unwrap(),
        &|| fs::write(&file, "").unwrap(),
        &|| fs::remove_file(&file).unwrap(),
    ];
    for breaks in breaks {
        breaks();
        let loaded = house.store.load_active(&house.team.admission(), &BUILD).unwrap();
        assert_eq!(loaded.facts.digest, house.team.digest(&second));
        assert_eq!(loaded.fallback.unwrap().wanted, house.team.digest(&third));
        let troubles = house.store.troubles(&house.team.admission());
        assert!(
            matches!(troubles.as_slice(), [Trouble::FellBack { .. }]),
            "{troubles:?}"
        );
    }
    fs::remove_dir_all(house.object(&second)).unwrap();
    assert_eq!(house.in_force(), "1.0.0");
    fs::remove_dir_all(house.object(&first)).unwrap();
    let broken = house.store.load_active(&house.team.admission(), &BUILD);
    assert!(matches!(broken, Err(LoadError::Broken(_))), "{broken:?}");
}

#[test]
fn every_flipped_byte_of_the_kept_policy_is_noticed() {
    let house = House::new();
    let policy = house.install("1.0.0");
    let file = house.object(&policy).join("policy.wasm");
    for at in 0..policy.len() {
        let mut flipped = policy.clone();
        flipped[at] ^= 1;
        fs::write(&file, &flipped).unwrap();
        let loaded = house.store.load_active(&house.team.admission(), &BUILD);
        assert!(loaded.is_err(), "byte {at}");
    }
}

#[test]
fn what_has_expired_is_refused_and_nothing_takes_its_place() {
    let mut house = House::new();
    house.install("1.0.0");
    let mut short = manifest("guard", "1.1.0");
    let later = house
        .team
        .admission()
        .now
        .plus(std::time::Duration::from_secs(3600));
    short.not_after = Some(later);
    house.put(&house.team.sign(&short), crate::common::PLAIN).unwrap();
    assert_eq!(house.in_force(), "1.1.0");
    let mut admission = house.team.admission();
    admission.now = later.plus(std::time::Duration::from_secs(1));
    let expired = house.store.load_active(&admission, &BUILD);
    assert!(
        matches!(
            expired,
            Err(LoadError::Refused {
                refusal: Refusal::Expired { .. },
                ..
            })
        ),
        "{expired:?}"
    );
    house.team.trust.keys[0].revoked = true;
    let revoked = house.store.load_active(&house.team.admission(), &BUILD);
    assert!(
        matches!(
            revoked,
            Err(LoadError::Refused {
                refusal: Refusal::RevokedKey { .. },
                ..
            })
        ),
        "{revoked:?}"
    );
}

#[test]
fn a_store_that_lost_what_is_in_force_is_not_taken_for_an_empty_one() {
    let house = House::new();
    house.install("1.0.0");
    let second = house.install("1.1.0");
    let admission = house.team.admission();
    let lose = || fs::remove_file(house.store.root().join("active")).unwrap();
    lose();
    let lost = house.store.load_active(&admission, &BUILD);
    assert!(
        matches!(&lost, Err(LoadError::Deactivated(which)) if which == "guard 1.1.0"),
        "{lost:?}"
    );
    let troubles = house.store.troubles(&admission);
    assert!(
        matches!(troubles.as_slice(), [Trouble::Unusable(_)]),
        "{troubles:?}"
    );

    // What takes its place has to be newer, as ever.
    let older = house.put(&house.team.policy("1.0.5"), PLAIN);
    assert!(matches!(older, Err(ChangeError::Downgrade { .. })), "{older:?}");
    assert_eq!(house.put(&second, PLAIN).unwrap().what, Some(What::Install));
    assert_eq!(house.in_force(), "1.1.0");

    lose();
    let unnamed = house.store.rollback(None, None, &admission);
    assert!(
        matches!(unnamed, Err(ChangeError::Store(StoreError::NoWayBack))),
        "{unnamed:?}"
    );
    let first = Which::Version("1.0.0".parse().unwrap());
    house.store.rollback(Some(&first), None, &admission).unwrap();
    assert_eq!(house.in_force(), "1.0.0");
}

#[test]
fn a_store_that_lost_its_policies_keeps_what_was_revoked() {
    let house = House::new();
    let policy = house.install("1.0.0");
    house.revoke_key();
    fs::remove_dir_all(house.store.root().join("objects")).unwrap();
    let store = Store::create(house.store.root()).unwrap();
    let refused = store.install(&policy, "a file", PLAIN, &house.team.admission());
    assert!(
        matches!(refused, Err(ChangeError::Refused(Refusal::RevokedKey { .. }))),
        "{refused:?}"
    );
}

#[test]
fn a_change_that_failed_is_told_at_every_start_until_one_succeeds() {
    let house = House::new();
    let current = house.install("1.1.0");
    let told = || {
        let loaded = house.store.load_active(&house.team.admission(), &BUILD).unwrap();
        loaded.failed.and_then(|entry| entry.why)
    };
    assert_eq!(told(), None);
    house.put(&house.team.policy("1.0.0"), PLAIN).unwrap_err();
    assert!(told().unwrap().contains("is not newer than"));
    let troubles = house.store.troubles(&house.team.admission());
    assert!(
        matches!(troubles.as_slice(), [Trouble::NotChanged(_)]),
        "{troubles:?}"
    );
    house.put(b"nothing", PLAIN).unwrap_err();
    assert!(told().unwrap().contains("is not WebAssembly"));
    assert_eq!(house.put(&current, PLAIN).unwrap().what, None);
    assert_eq!(told(), None);
    assert_eq!(house.store.troubles(&house.team.admission()), []);

    house.put(b"nothing", PLAIN).unwrap_err();
    house.install("1.2.0");
    assert_eq!(told(), None);
}
