//! A process that is killed at any moment leaves the old or the new policy in force.

use std::env;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_artifact::KeyPair;
use holdpoint_store::{Store, What};

use crate::common::{BUILD, DOWNGRADE, House};
use crate::policies::{Team, trusted};

const ROUNDS: u32 = 200;

/// Not a test by itself: the process that the test below starts and kills. Puts one version after the other in force until
/// then.
#[test]
fn change_without_end() {
    let Ok(root) = env::var("HOLDPOINT_TEST_STORE") else {
        return;
    };
    let key = KeyPair::from_pem(&env::var("HOLDPOINT_TEST_KEY").unwrap(), None).unwrap();
    let mut team = Team::new();
    team.trust.keys = vec![trusted("team", &key)];
    team.key = key;
    let store = Store::open(root.as_ref()).unwrap();
    let policies = [team.policy("1.0.0"), team.policy("1.1.0")];
    loop {
        for policy in &policies {
            store
                .install(policy, "a file", DOWNGRADE, &team.admission())
                .unwrap();
        }
    }
}

#[test]
fn a_kill_at_any_moment_leaves_a_policy_in_force() {
    let house = House::new();
    house.install("1.0.0");
    let mut seen = [0, 0];
    for round in 0..ROUNDS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "stops::change_without_end"])
            .env("HOLDPOINT_TEST_STORE", house.store.root())
            .env(
                "HOLDPOINT_TEST_KEY",
                house.team.key.to_pem(None).unwrap().as_str(),
            )
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Each round a little later, over a few changes.
        let entries = house.store.history().unwrap().len();
        let patience = Instant::now() + Duration::from_secs(60);
        while house.store.history().unwrap().len() == entries && Instant::now() < patience {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_micros(u64::from(round) * 53 % 4000));
        child.kill().unwrap();
        child.wait().unwrap();

        match house.in_force().as_str() {
            "1.0.0" => seen[0] += 1,
            "1.1.0" => seen[1] += 1,
            other => panic!("{other}"),
        }
        let loaded = house.store.load_active(&house.team.admission(), &BUILD).unwrap();
        assert_eq!(loaded.fallback, None, "round {round}");
        // The history tells of exactly what is in force.
        let history = house.store.history().unwrap();
        let last = history.iter().rfind(|entry| entry.what != What::Failure).unwrap();
        assert_eq!(last.digest, Some(loaded.facts.digest), "round {round}");
    }
    assert!(
        seen.iter().all(|count| *count > 0),
        "killed too regularly: {seen:?}"
    );
    house.install("2.0.0");
    assert_eq!(house.in_force(), "2.0.0");
}
