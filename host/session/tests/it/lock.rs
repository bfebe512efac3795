//! One directory for ours and the original.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use holdpoint_session::verbs::Verb;

use crate::{Home, failure, pre_compact, session_start};

/// What the original does to lock.
fn lock_as_original(home: &Home) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(home.lock())
}

#[test]
fn the_originals_lock_is_waited_for_and_never_removed() {
    let home = Home::new();
    home.record("1");
    home.run(Verb::Checkpoint, &pre_compact());
    lock_as_original(&home).unwrap();
    let before = fs::read(home.state()).unwrap();
    let started = Instant::now();
    for (verb, event) in [
        (Verb::Record, failure("2")),
        (Verb::Checkpoint, pre_compact()),
        (Verb::Restore, session_start("compact")),
        (Verb::Clear, session_start("clear")),
    ] {
        assert_eq!(home.run(verb, &event), "ignored\t0\t0\t-", "{verb:?}");
    }
    assert!(started.elapsed() >= Duration::from_secs(4), "each waits a second");
    assert!(home.lock().is_file());
    assert_eq!(fs::read(home.state()).unwrap(), before);
    fs::remove_file(home.lock()).unwrap();
    assert!(home.record("2").starts_with("updated\t2"));
}

#[test]
fn the_originals_lock_does_not_hold_up_other_sessions() {
    let home = Home::new();
    home.record("1");
    lock_as_original(&home).unwrap();
    thread::scope(|threads| {
        let blocked = threads.spawn(|| home.record("2"));
        let mut other = failure("1");
        other["session_id"] = "session-2".into();
        for number in 0..20 {
            other["tool_use_id"] = number.to_string().into();
            assert!(home.run(Verb::Record, &other).starts_with("updated\t"));
        }
        assert!(!blocked.is_finished());
        fs::remove_file(home.lock()).unwrap();
        assert!(blocked.join().unwrap().starts_with("updated\t2"));
    });
}

#[test]
fn an_abandoned_lock_of_the_original_is_taken_away() {
    let home = Home::new();
    home.record("1");
    let lock = lock_as_original(&home).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(31))
        .unwrap();
    assert!(home.record("2").starts_with("updated\t2"));
    assert_eq!(home.names().len(), 1);
}

#[test]
fn what_a_killed_process_left_stops_nobody_of_ours() {
    let home = Home::new();
    home.record("1");
    fs::create_dir(home.lock()).unwrap();
    fs::write(
        home.states()
            .join(format!(".{}.holdpoint.tmp", crate::scope().as_str())),
        "{",
    )
    .unwrap();
    let started = Instant::now();
    assert!(home.record("2").starts_with("updated\t2"));
    assert!(started.elapsed() < Duration::from_millis(900));
    assert_eq!(home.names().len(), 1);
}

/// While ours holds the lock, the original can neither lock nor steal, however old the lock is.
#[test]
fn the_original_cannot_get_past_ours() {
    let home = Home::new();
    home.record("1");
    fs::create_dir(home.lock()).unwrap();
    File::open(home.lock())
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    assert_eq!(
        lock_as_original(&home).unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    fs::remove_file(home.lock()).unwrap_err();
    assert!(home.lock().is_dir());
}

#[test]
fn threads_exclude_each_other_too() {
    let home = Home::new();
    thread::scope(|threads| {
        for thread in 0..8 {
            let home = &home;
            threads.spawn(move || {
                for number in 0..20 {
                    assert!(
                        home.record(&format!("{thread}-{number}"))
                            .starts_with("updated\t")
                    );
                }
            });
        }
    });
    assert_eq!(home.read()["failure_count"], 160);
}
