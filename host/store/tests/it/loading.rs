//! What is in force where something is broken.

use std::fs;

use holdpoint_artifact::Refusal;
use holdpoint_store::{LoadError, Store, StoreError, Trouble};

use crate::common::{BUILD, House};
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
        matches!(expired, Err(LoadError::Refused(Refusal::Expired { .. }))),
        "{expired:?}"
    );
    house.team.trust.keys[0].revoked = true;
    let revoked = house.store.load_active(&house.team.admission(), &BUILD);
    assert!(
        matches!(revoked, Err(LoadError::Refused(Refusal::RevokedKey { .. }))),
        "{revoked:?}"
    );
}
