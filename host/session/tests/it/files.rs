//! Links, other users' files, old scopes, and what a person sees.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use holdpoint_session::verbs::{self, Options, Verb};
use holdpoint_session::{CallId, KEPT_FOR, Scope, SessionError, Store};

use crate::{Home, failure, pre_compact, session_start};

fn make_old(path: &Path) {
    let old = SystemTime::now() - KEPT_FOR - Duration::from_secs(60);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(old)
        .unwrap();
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    const IGNORED: &str = "ignored\t0\t0\t-";

    /// Every verb is refused, and nothing beyond the link changes.
    fn is_refused(home: &Home, beyond: &Path) {
        let before = fs::read_dir(beyond).map(Iterator::count).ok();
        let verbs = [
            (Verb::Record, failure("9")),
            (Verb::Checkpoint, pre_compact()),
            (Verb::Restore, session_start("resume")),
            (Verb::Clear, session_start("clear")),
        ];
        for (verb, event) in verbs {
            assert_eq!(home.run(verb, &event), IGNORED, "{verb:?}");
        }
        assert!(matches!(
            home.store().read(&crate::scope()),
            Err(SessionError::Refused { .. })
        ));
        assert_eq!(fs::read_dir(beyond).map(Iterator::count).ok(), before);
    }

    #[test]
    fn a_linked_directory_is_refused() {
        for linked in [".pua/runtime-state", ".pua"] {
            let (home, beyond) = (Home::new(), tempfile::tempdir().unwrap());
            let link = home.path().join(linked);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(beyond.path(), link).unwrap();
            is_refused(&home, beyond.path());
        }
    }

    #[test]
    fn a_linked_directory_is_refused_also_with_a_separator_at_its_end() {
        let (home, beyond) = (Home::new(), tempfile::tempdir().unwrap());
        symlink(beyond.path(), home.path().join("link")).unwrap();
        let options = Options {
            home: home.path().into(),
            state_dir: Some(format!("{}/link/", home.path().display()).into()),
            cwd: None,
        };
        let event = failure("1").to_string();
        let line = verbs::run(Verb::Record, &options, |_| None, event.as_bytes());
        assert_eq!(line.to_string(), IGNORED);
        assert_eq!(fs::read_dir(beyond.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_linked_state_is_refused() {
        let home = Home::new();
        home.record("1");
        let beyond = home.path().join("beyond");
        fs::rename(home.state(), &beyond).unwrap();
        symlink(&beyond, home.state()).unwrap();
        let before = fs::read(&beyond).unwrap();
        is_refused(&home, home.path());
        assert_eq!(fs::read(&beyond).unwrap(), before);
        assert!(home.state().is_symlink());
    }

    #[test]
    fn what_is_no_file_is_refused_and_not_waited_for() {
        let home = Home::new();
        home.record("1");
        fs::remove_file(home.state()).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(home.state())
                .status()
                .unwrap()
                .success()
        );
        is_refused(&home, &home.states());
        fs::remove_file(home.state()).unwrap();
        fs::create_dir(home.state()).unwrap();
        is_refused(&home, &home.states());
    }

    #[test]
    fn another_users_files_are_refused() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        let home = Home::new();
        let is_refused_at = |directory: &Path| {
            let recorded = Store::at(directory).record(&crate::scope(), CallId::new("1").unwrap());
            let refused = matches!(
                recorded,
                Err(SessionError::Refused {
                    what: "another user's",
                    ..
                })
            );
            assert!(refused, "{recorded:?}");
        };
        if fs::metadata(home.path()).unwrap().uid() != 0 {
            // Only root can give files away; everybody else finds a directory of root's.
            is_refused_at(Path::new("/"));
            return;
        }
        let directory = home.path().join("foreign");
        fs::create_dir(&directory).unwrap();
        chown(&directory, Some(65_534), None).unwrap();
        is_refused_at(&directory);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        home.record("1");
        chown(home.state(), Some(65_534), None).unwrap();
        is_refused(&home, &home.states());
        assert_eq!(home.store().overview().unwrap().refused, 1);
    }

    #[test]
    fn a_directory_that_others_could_enter_is_closed() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = Home::new();
        fs::create_dir_all(home.states()).unwrap();
        fs::set_permissions(home.states(), fs::Permissions::from_mode(0o777)).unwrap();
        home.record("1");
        assert_eq!(crate::mode(&home.states()), 0o700);
        assert_eq!(crate::mode(&home.state()), 0o600);
    }
}

#[test]
fn a_file_that_is_too_large_holds_nothing() {
    let home = Home::new();
    home.record("1");
    let filler = " ".repeat(2 << 20);
    fs::write(home.state(), format!("{{\"failure_count\":7{filler}}}")).unwrap();
    assert!(home.record("2").starts_with("updated\t1\t0"));
}

#[test]
fn an_old_scope_is_forgotten_when_it_is_touched() {
    let home = Home::new();
    for call in ["1", "2", "3"] {
        home.record(call);
    }
    home.run(Verb::Checkpoint, &pre_compact());
    make_old(&home.state());
    assert_eq!(home.store().read(&crate::scope()).unwrap(), None);
    assert!(home.store().overview().unwrap().scopes.is_empty());
    assert!(
        home.run(Verb::Restore, &session_start("resume"))
            .starts_with("ignored")
    );
    assert!(home.names().is_empty());
    home.record("1");
    make_old(&home.state());
    assert!(home.record("1").starts_with("updated\t1"));
}

#[test]
fn a_new_scope_sweeps_old_ones() {
    let home = Home::new();
    let store = Store::at(&home.states()).sweeping();
    let scopes: Vec<_> = (0..200)
        .map(|number| Scope::new(&format!("s{number}"), "/srv").unwrap())
        .collect();
    let call = || CallId::new("call").unwrap();
    let digit = &scopes[0].as_str()[..1];
    let near: Vec<_> = scopes[1..]
        .iter()
        .filter(|scope| scope.as_str().starts_with(digit))
        .collect();
    assert!(near.len() > 3);
    let file = |scope: &Scope, ending| home.states().join(format!("{}.{ending}", scope.as_str()));
    for scope in &near {
        store.record(scope, call()).unwrap();
    }
    let [old, locked, marked, ..] = near[..] else {
        unreachable!()
    };
    make_old(&file(old, "json"));
    make_old(&file(locked, "json"));
    File::create(file(locked, "lock")).unwrap();
    fs::create_dir(file(marked, "lock")).unwrap();
    fs::write(home.states().join("notes.txt"), "a user's own").unwrap();
    make_old(&home.states().join("notes.txt"));
    // Of the name of a state, and another program's.
    let foreign = home.states().join(format!("{digit}{}.json", "0".repeat(63)));
    fs::write(&foreign, r#"{"cache": true}"#).unwrap();
    make_old(&foreign);

    store.record(&scopes[0], call()).unwrap();
    assert!(!file(old, "json").exists());
    assert!(file(locked, "json").exists(), "an original is in it");
    assert!(!file(marked, "lock").exists() && file(marked, "json").exists());
    assert!(home.states().join("notes.txt").exists());
    assert!(foreign.exists(), "it is not a state");
}

/// The original's folder is the original's: it removes nothing there, and neither does this.
#[test]
fn a_folder_that_others_use_is_never_swept() {
    let home = Home::new();
    fs::create_dir_all(home.states()).unwrap();
    let scopes: Vec<_> = (0..200)
        .map(|number| Scope::new(&format!("s{number}"), "/srv").unwrap())
        .collect();
    let file = |scope: &Scope| home.states().join(format!("{}.json", scope.as_str()));
    for store in [
        home.store(),
        Store::at(&home.states()),
        Store::at(&home.states()).sweeping(),
    ] {
        for scope in &scopes[1..] {
            store.record(scope, CallId::new("call").unwrap()).unwrap();
            make_old(&file(scope));
        }
        store.clear(&scopes[0]).unwrap();
        store.record(&scopes[0], CallId::new("call").unwrap()).unwrap();
        assert!(scopes.iter().all(|scope| file(scope).exists()));
    }
}

#[test]
fn a_durable_count_is_the_same_count() {
    let home = Home::new();
    let scope = crate::scope();
    for (number, durable) in [true, false, true].into_iter().enumerate() {
        let call = CallId::new(&format!("call-{number}")).unwrap();
        home.store().durable(durable).record(&scope, call).unwrap();
    }
    assert_eq!(home.store().read(&scope).unwrap().unwrap().failures, 3);
}

#[test]
fn a_person_sees_numbers_and_no_identities() {
    let home = Home::new();
    for call in ["1", "2", "3"] {
        home.record(call);
    }
    home.run(Verb::Checkpoint, &pre_compact());
    let mut other = failure("1");
    other["session_id"] = "session-2".into();
    home.run(Verb::Record, &other);
    let earlier = SystemTime::UNIX_EPOCH + Duration::from_secs(4_102_444_799);
    File::options()
        .write(true)
        .open(home.state())
        .unwrap()
        .set_modified(earlier)
        .unwrap();

    let overview = home.store().overview().unwrap();
    assert_eq!(overview.scopes.len(), 2);
    let shown = overview.to_string();
    let first = shown.lines().nth(1).unwrap();
    let fields: Vec<_> = first.split_whitespace().collect();
    assert_eq!(
        fields,
        [crate::scope().short(), "3", "2", "2", "3", "2099-12-31T23:59:59Z"]
    );
    let data = serde_json::to_value(&overview).unwrap();
    assert_eq!(data["scopes"][0]["failures"], 3);
    assert_eq!(data["scopes"][0]["saved"]["failures"], 3);
    assert_eq!(data["scopes"][1]["saved"], serde_json::Value::Null);
    for text in [shown, data.to_string()] {
        assert!(
            !text.contains("session-") && !text.contains("hp-project"),
            "{text}"
        );
    }
}
