//! Every change, stopped before each of its steps on disk in turn: what is in force is always the old or the new.

#[path = "../tests/it/policies.rs"]
#[expect(dead_code, reason = "the tests of the whole store need more of it")]
mod policies;

use std::path::Path;

use crate::disk::stop_before;
use crate::{Build, Change, Store, Target, What, read_code};
use policies::Team;

const BUILD: Build<'static> = Build {
    engine: "",
    host: "",
    cpu: "",
    magic: b"",
    hold: read_code,
};

const CHANGE: Change<'static> = Change {
    allow_downgrade: true,
    compile: None,
};

fn in_force(store: &Store, team: &Team) -> String {
    let loaded = store.load_active(&team.admission(), &BUILD).unwrap();
    assert_eq!(loaded.fallback, None);
    loaded.facts.manifest.unwrap().version.to_string()
}

/// Stops the change before its first step, its second, and so on, each in a store of its own, until it is done before
/// it is stopped. Answers how many steps it has.
fn stop_everywhere(old: &str, new: &str, change: impl Fn(&Store, &Team) -> bool) -> u64 {
    for step in 0.. {
        let (folder, team) = (tempfile::tempdir().unwrap(), Team::new());
        let store = Store::create(&folder.path().join("store")).unwrap();
        for version in ["1.0.0", "1.1.0"] {
            let policy = team.policy(version);
            store
                .install(&policy, "a file", CHANGE, &team.admission())
                .unwrap();
        }

        stop_before(Some(step));
        let done = change(&store, &team);
        let finished = crate::disk::step().is_ok();
        stop_before(None);

        let store = Store::open(store.root()).unwrap();
        let now = in_force(&store, &team);
        assert!(now == old || now == new, "step {step}: {now}");
        assert!(!done || now == new, "step {step}: done, and yet {now}");
        // The history tells of what is in force, and the next change finds nothing in its way.
        let history = store.history().unwrap();
        let last = history.iter().rfind(|entry| entry.puts_in_force()).unwrap();
        assert_eq!(last.version.as_ref().unwrap().to_string(), now, "step {step}");
        let next = team.policy("2.0.0");
        store.install(&next, "a file", CHANGE, &team.admission()).unwrap();
        assert_eq!(in_force(&store, &team), "2.0.0");
        let written = store.files.history().unwrap();
        assert!(written.contains(last), "step {step}: {written:?}");
        assert_eq!(std::fs::read_dir(store.files.scratch()).unwrap().count(), 0);
        if finished {
            return step;
        }
    }
    unreachable!()
}

#[test]
fn an_installation() {
    let steps = stop_everywhere("1.1.0", "1.2.0", |store, team| {
        let policy = team.policy("1.2.0");
        store
            .install(&policy, "a file", CHANGE, &team.admission())
            .is_ok()
    });
    assert!(steps > 15, "only {steps} steps were seen");
}

#[test]
fn a_rollback() {
    let steps = stop_everywhere("1.1.0", "1.0.0", |store, team| {
        store.rollback(None, None, &team.admission()).is_ok()
    });
    assert!(steps > 5, "only {steps} steps were seen");
}

#[test]
fn a_revocation() {
    let steps = stop_everywhere("1.1.0", "1.1.0", |store, team| {
        let other = holdpoint_artifact::Digest::of(b"another policy");
        let done = store
            .revoke(&Target::Policy(other), "a try", &team.admission())
            .is_ok();
        let told = store
            .history()
            .unwrap()
            .iter()
            .any(|entry| entry.what == What::Revoke);
        assert!(!done || told);
        done
    });
    assert!(steps > 5, "only {steps} steps were seen");
}

#[test]
fn a_stores_own_making() {
    let create = |root: &Path, step| {
        stop_before(step);
        let made = Store::create(root);
        let finished = crate::disk::step().is_ok();
        stop_before(None);
        (made, finished)
    };
    for step in 0.. {
        let (folder, team) = (tempfile::tempdir().unwrap(), Team::new());
        let root = folder.path().join("store");
        let (_, finished) = create(&root, Some(step));
        let (store, _) = create(&root, None);
        let (store, policy) = (store.unwrap(), team.policy("1.0.0"));
        store
            .install(&policy, "a file", CHANGE, &team.admission())
            .unwrap();
        assert_eq!(in_force(&store, &team), "1.0.0", "step {step}");
        if finished {
            assert!(step > 10, "only {step} steps were seen");
            return;
        }
    }
}
