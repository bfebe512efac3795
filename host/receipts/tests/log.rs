//! The log on a real disk: links, segments, torn ends, and what verification makes of all that.

mod support;

use std::fs::{self, File};
use std::io::Write as _;
use std::time::Duration;

use holdpoint_artifact::{Digest, KeyPair};
use holdpoint_receipts::{
    Body, Calls, Checked, Ending, Event, Filter, Found, Log, LogError, Manner, Outcome, Source, Trust,
    Verdict, verify,
};

use support::{
    AUDIT, append, at, begun, decision, keys, lines, observation, report, segments, write_private,
};

const LARGE: u64 = 1 << 20;

#[test]
fn links_run_on_across_segments_and_every_answer_is_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 4_000);
    let mut last = None;
    for number in 0..20 {
        append(&log, &decision(&format!("call-{number}"), Verdict::Pass));
        last = Some(append(
            &log,
            &observation(&format!("call-{number}"), Outcome::Ran),
        ));
    }
    let last = last.unwrap();
    assert!(segments(&log).len() > 5, "{:?}", segments(&log));
    let plain = report(&log);
    assert_eq!(
        (plain.receipts, plain.decisions, plain.observations),
        (40, 20, 20)
    );
    assert_eq!(
        (plain.first, plain.last, plain.head),
        (Some(1), Some(40), Some(last.digest))
    );
    assert_eq!(plain.integrity.outcome, Checked::Pass, "{plain:#?}");
    // What was not checked against anything from elsewhere is not passed.
    assert_eq!(plain.signer_trust.outcome, Checked::NotChecked);
    assert_eq!(plain.completeness.outcome, Checked::NotChecked);

    let source = Source::open(&log.directory).unwrap();
    let known = Trust {
        keys: Some(keys(&log)),
        head: Some(last.digest),
    };
    let checked = verify(&source, &known).unwrap();
    assert_eq!(checked.signer_trust.outcome, Checked::Pass, "{checked:#?}");
    assert_eq!(checked.completeness.outcome, Checked::Pass, "{checked:#?}");
    assert!(!checked.failed());

    // Cut off at the end: the chain alone cannot tell, who noted the last receipt can.
    let path = segments(&log).pop().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let kept = text.trim_end().rfind('\n').map_or(0, |end| end + 1);
    fs::write(&path, &text[..kept]).unwrap();
    let cut = verify(&Source::open(&log.directory).unwrap(), &known).unwrap();
    assert_eq!(cut.integrity.outcome, Checked::Pass, "{cut:#?}");
    assert_eq!(cut.completeness.outcome, Checked::Fail, "{cut:#?}");
}

#[test]
fn an_empty_log_passes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let empty = report(&begun(home.path(), LARGE));
    for part in [&empty.integrity, &empty.signer_trust, &empty.completeness] {
        assert_eq!(part.outcome, Checked::NotChecked, "{empty:#?}");
    }
}

/// What each kind of tampering comes to.
#[test]
fn tampering_is_found_and_told_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), LARGE);
    for number in 0..6 {
        append(&log, &decision(&format!("call-{number}"), Verdict::Deny));
    }
    let path = segments(&log).remove(0);
    let good = lines(&log);
    let check = |lines: Vec<String>, wanted: (Checked, Checked), words: &str| {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let report = report(&log);
        let found = (report.integrity.outcome, report.completeness.outcome);
        assert_eq!(found, wanted, "{report:#?}");
        let told = [report.integrity.found, report.completeness.found]
            .concat()
            .join("\n");
        assert!(told.contains(words), "{words} not in {told}");
    };
    let fails = (Checked::Fail, Checked::NotChecked);
    let changed = |index: usize, from: &str, to: &str| {
        let mut lines = good.clone();
        lines[index] = lines[index].replacen(from, to, 1);
        assert_ne!(lines, good);
        lines
    };
    check(changed(2, "call-2", "call-9"), fails, "receipt 3: its signature");
    // Another text for the same JSON is not what was signed.
    check(
        changed(2, "\"seq\":3", "\"seq\": 3"),
        fails,
        "receipt 3: its signature",
    );
    check(
        changed(2, "\"seq\":3", "\"seq\":3,\"seq\":3"),
        (Checked::Fail, Checked::Fail),
        "line 3:",
    );
    check(
        changed(0, &"0".repeat(64), &"1".repeat(64)),
        fails,
        "the first by its number",
    );

    let mut removed = good.clone();
    removed.remove(2);
    check(removed, (Checked::Fail, Checked::Fail), "receipt 3 is missing");
    let mut beginning = good.clone();
    beginning.drain(..2);
    check(
        beginning,
        (Checked::Pass, Checked::Fail),
        "receipts 1 to 2 are missing",
    );
    let mut swapped = good.clone();
    swapped.swap(2, 3);
    check(
        swapped,
        (Checked::Fail, Checked::Fail),
        "receipt 4 does not continue 2",
    );
    let mut twice = good.clone();
    twice.insert(2, good[1].clone());
    check(twice, fails, "receipt 2 stands after 2");
    let mut moved = good.clone();
    let signature = |line: &str| line.rsplit_once("\"sig\":").unwrap().1.to_owned();
    moved[2] = good[2].replace(&signature(&good[2]), &signature(&good[3]));
    check(moved, fails, "receipt 3: its signature");
    let mut garbage = good.clone();
    garbage[3] = "{}".into();
    check(garbage, (Checked::Fail, Checked::Fail), "line 4: not a receipt");
    check(good.clone(), (Checked::Pass, Checked::NotChecked), "6 receipts");
}

#[test]
fn a_torn_line_is_set_aside_told_and_kept() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), LARGE);
    append(&log, &decision("call-1", Verdict::Pass));
    let path = segments(&log).remove(0);
    let whole = fs::read(&path).unwrap();
    // Every place where a writer can be stopped, and what a power cut can leave.
    let line = whole.clone();
    let cuts = [1, line.len() / 2, line.len() - 2, line.len() - 1].map(|cut| line[..cut].to_vec());
    let zeros = [
        vec![0; 100],
        [vec![0; 64], line[64..].to_vec()].concat(),
        b"\n\n".to_vec(),
    ];
    for torn in cuts.into_iter().chain(zeros) {
        let before = report(&log);
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(&torn)
            .unwrap();
        if !torn.ends_with(b"\n") {
            let torn_report = report(&log);
            assert_eq!(torn_report.integrity.outcome, Checked::Pass, "{torn_report:#?}");
            assert!(
                torn_report.notes.iter().any(|note| note.contains("has no end")),
                "{torn_report:#?}"
            );
        }
        let appended = append(&log, &decision("call-2", Verdict::Pass));
        let [Event::LineSetAside { file, digest, bytes }] = appended.set_aside.as_slice() else {
            panic!("{appended:?}");
        };
        assert_eq!(*bytes, torn.len() as u64);
        assert_eq!(
            fs::read(log.directory.join(file)).unwrap(),
            torn,
            "nothing of it is lost"
        );
        assert_eq!(*digest, Digest::of(&torn));
        let after = report(&log);
        assert_eq!(
            after.receipts,
            before.receipts + 2,
            "the receipt, and one of what was set aside"
        );
        assert_eq!(after.integrity.outcome, Checked::Pass, "{after:#?}");
        assert!(
            after.notes.iter().any(|note| note.contains(file.as_str())),
            "{after:#?}"
        );
    }
}

/// A new segment in which nothing whole was written: the chain goes on from the one before.
#[test]
fn a_segment_that_is_torn_from_its_beginning_is_no_gap() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 10);
    for number in 0..3 {
        append(&log, &decision(&format!("call-{number}"), Verdict::Pass));
    }
    let path = segments(&log).pop().unwrap();
    let line = fs::read(&path).unwrap();
    for kept in [0, line.len() - 1] {
        fs::write(&path, &line[..kept]).unwrap();
        append(&log, &decision("again", Verdict::Pass));
        let checked = report(&log);
        assert_eq!(checked.integrity.outcome, Checked::Pass, "{kept}: {checked:#?}");
        assert_ne!(
            checked.completeness.outcome,
            Checked::Fail,
            "{kept}: {checked:#?}"
        );
    }
}

#[test]
fn what_cannot_be_used_is_refused_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let log = at(home.path(), LARGE);
    let attempt = |log: &Log| log.append(&decision("c", Verdict::Pass), AUDIT).unwrap_err();
    assert!(matches!(attempt(&log), LogError::NoLog(_)));
    log.begin().unwrap();
    assert!(matches!(log.begin(), Err(LogError::KeyExists(_))));
    let pem = fs::read(&log.key).unwrap();
    fs::remove_file(&log.key).unwrap();
    // Both verbs and the hook say how to begin anew, and none sends to the other.
    assert!(matches!(attempt(&log), LogError::LostKey { .. }));
    assert!(matches!(log.begin(), Err(LogError::LostKey { .. })));
    assert!(matches!(
        log.change_key(Duration::ZERO),
        Err(LogError::LostKey { .. })
    ));
    let key_set = fs::read(log.directory.join("keys.json")).unwrap();
    fs::remove_file(log.directory.join("keys.json")).unwrap();
    write_private(&log.key, &pem);
    assert!(matches!(attempt(&log), LogError::KeyWithoutLog { .. }));
    assert!(matches!(log.begin(), Err(LogError::KeyWithoutLog { .. })));
    fs::write(log.directory.join("keys.json"), key_set).unwrap();
    // A key that nobody has the public part of would make a log that nobody can verify.
    let stranger = KeyPair::generate().unwrap().to_pem(None).unwrap();
    write_private(&log.key, stranger.as_bytes());
    assert!(matches!(attempt(&log), LogError::OtherKey { .. }));
    write_private(&log.key, b"no key");
    assert!(matches!(attempt(&log), LogError::Key { .. }));
    write_private(&log.key, &pem);
    append(&log, &decision("c", Verdict::Pass));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let key_mode = fs::metadata(&log.key).unwrap().permissions().mode();
        assert_eq!(key_mode & 0o777, 0o600);
        mode(&log.key, 0o640);
        assert!(matches!(attempt(&log), LogError::KeyExposed(_)));
        mode(&log.key, 0o600);
        mode(&log.directory, 0o770);
        assert!(matches!(attempt(&log), LogError::Exposed(_)));
        mode(&log.directory, 0o700);
    }
    let lock = File::open(log.directory.join("lock")).unwrap();
    lock.lock().unwrap();
    let impatient = Manner {
        sync: false,
        wait: Duration::from_millis(5),
    };
    let busy = log.append(&decision("c", Verdict::Pass), impatient).unwrap_err();
    assert!(matches!(busy, LogError::Busy(_)), "{busy}");
    drop(lock);
    append(&log, &decision("c", Verdict::Pass));
    assert_eq!(report(&log).receipts, 2);
}

/// Its end is looked at across segments and keys, and an unfinished line is no harm: the next writer sets it aside.
#[test]
fn a_log_is_looked_at_from_its_end_without_being_changed() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 4_000);
    assert!(log.standing().end.unwrap().last.is_none());
    for number in 0..20 {
        append(&log, &decision(&format!("call-{number}"), Verdict::Pass));
    }
    let new = log.change_key(Duration::from_secs(1)).unwrap();
    assert_eq!(
        log.standing().key.unwrap(),
        new.id(),
        "what signs next, not what signed last"
    );
    append(&log, &decision("call-20", Verdict::Pass));
    let path = segments(&log).pop().unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    file.write_all(b"{\"payload\":").unwrap();
    let before = fs::read(&path).unwrap();
    let standing = log.standing();
    let end = standing.end.unwrap();
    assert_eq!((end.last.unwrap().seq, end.looked_at, end.broken), (22, 22, None));
    assert!(standing.key.is_ok() && standing.unwritable.is_none());
    assert_eq!(fs::read(&path).unwrap(), before);

    fs::remove_file(segments(&log).remove(0)).unwrap();
    assert!(
        log.standing()
            .end
            .unwrap()
            .broken
            .unwrap()
            .contains("the first one here")
    );
}

/// A receipt of a later version is nothing torn: an older host must not take it apart.
#[test]
fn a_log_that_a_newer_host_went_on_with_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), LARGE);
    append(&log, &decision("call-1", Verdict::Pass));
    let path = segments(&log).remove(0);
    let newer = fs::read_to_string(&path)
        .unwrap()
        .replace("\"format\":2", "\"format\":3");
    fs::write(&path, &newer).unwrap();
    let refused = log.append(&decision("call-2", Verdict::Pass), AUDIT).unwrap_err();
    assert!(refused.to_string().contains("update holdpoint"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    assert_eq!(report(&log).integrity.outcome, Checked::NotChecked);
}

/// What is exported is all that somebody else needs.
#[test]
fn an_export_is_verified_as_the_log_is() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 4_000);
    for number in 0..5 {
        append(&log, &decision(&format!("call-{number}"), Verdict::Pass));
    }
    log.change_key(AUDIT.wait).unwrap();
    append(&log, &observation("call-0", Outcome::Ran));
    let source = Source::open(&log.directory).unwrap();
    let out = home.path().join("out.jsonl");
    let exported_keys = source.export(&out).unwrap();
    assert_eq!(exported_keys, home.path().join("out.keys.json"));
    assert_eq!(
        verify(&Source::open(&out).unwrap(), &Trust::default()).unwrap(),
        report(&log)
    );
    assert!(source.export(&out).is_err(), "nothing is written over");
}

#[test]
fn calls_are_joined_filtered_and_found() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 4_000);
    let passed = append(&log, &decision("passed", Verdict::Pass));
    append(&log, &decision("denied", Verdict::Deny));
    append(&log, &decision("asked", Verdict::Ask));
    append(&log, &observation("passed", Outcome::Failed));
    append(&log, &observation("never decided", Outcome::Ran));
    log.change_key(AUDIT.wait).unwrap();
    let source = Source::open(&log.directory).unwrap();
    let read = |filter: Filter| Calls::read(&source, &filter).unwrap();
    let all = read(Filter::default());
    let endings: Vec<_> = all
        .calls
        .iter()
        .map(|call| (call.call().id.clone().unwrap(), call.ending()))
        .collect();
    assert_eq!(
        endings,
        [
            ("passed".to_owned(), Ending::Seen(Outcome::Failed)),
            ("denied".to_owned(), Ending::Denied),
            ("asked".to_owned(), Ending::Pending),
            ("never decided".to_owned(), Ending::Seen(Outcome::Ran)),
        ]
    );
    assert_eq!((all.events.len(), all.unreadable), (1, 0));

    let count = |filter: Filter| read(filter).calls.len();
    let of = |change: fn(&mut Filter)| {
        let mut filter = Filter::default();
        change(&mut filter);
        count(filter)
    };
    assert_eq!(of(|filter| filter.verdict = Some(Verdict::Ask)), 1);
    assert_eq!(of(|filter| filter.vm = Some("WEB01".into())), 3);
    assert_eq!(of(|filter| filter.vm = Some("web02".into())), 0);
    assert_eq!(of(|filter| filter.session = Some("session-1".into())), 4);
    assert_eq!(of(|filter| filter.session = Some("session-2".into())), 0);
    assert_eq!(
        of(|filter| filter.until = Some("2020-01-01T00:00:00Z".parse().unwrap())),
        0
    );
    assert_eq!(
        of(|filter| filter.since = Some("2020-01-01T00:00:00Z".parse().unwrap())),
        4
    );

    let is_passed =
        |found: Found| matches!(found, Found::Call(call) if call.receipt().digest == passed.digest);
    for name in [
        "passed",
        "#1",
        "#4",
        &passed.digest.hex()[..8],
        &passed.digest.to_string(),
    ] {
        assert!(is_passed(all.find(name).unwrap()), "{name}");
    }
    assert!(matches!(all.find("Web01").unwrap(), Found::Several(calls) if calls.len() == 3));
    assert!(matches!(all.find("#6").unwrap(), Found::Event(_)));
    assert!(matches!(all.find("nothing"), Err(LogError::NotFound(_))));

    let newest = log.decision_of(Some("session-1"), "passed").unwrap().unwrap();
    assert_eq!(newest.digest, passed.digest);
    assert!(
        log.decision_of(None, "passed").unwrap().is_none(),
        "another session's"
    );
    assert!(log.decision_of(Some("session-1"), "pass").unwrap().is_none());
    assert!(matches!(newest.body, Body::Decision(..)));
}
