//! Keys of a log on a real disk: whom to trust, changes of keys, and their dates.

mod support;

use std::fs;

use holdpoint_receipts::{Checked, KeyStatus, LogError, Receipt, Source, Trust, Verdict, verify};

use support::{AUDIT, append, begun, decision, keys, lines, report, write_private};

const LARGE: u64 = 1 << 20;

/// A whole log made anew with a key of one's own is in order by itself, and not by who signed it.
#[test]
fn a_log_made_anew_with_another_key_is_not_trusted() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (log, forged) = (begun(home.path(), LARGE), begun(other.path(), LARGE));
    append(&log, &decision("call-1", Verdict::Deny));
    append(&forged, &decision("call-1", Verdict::Pass));
    let source = Source::open(&forged.directory).unwrap();
    let trust = Trust {
        keys: Some(keys(&log)),
        head: None,
    };
    let report = verify(&source, &trust).unwrap();
    assert_eq!(report.integrity.outcome, Checked::Pass, "{report:#?}");
    assert_eq!(report.signer_trust.outcome, Checked::Fail, "{report:#?}");
    // Without its key set nothing is known of the key: that is not "pass".
    fs::remove_file(forged.directory.join("keys.json")).unwrap();
    let unknown = verify(&Source::open(&forged.directory).unwrap(), &Trust::default()).unwrap();
    assert_eq!(unknown.integrity.outcome, Checked::NotChecked, "{unknown:#?}");
}

#[test]
fn a_change_of_keys_stays_in_the_chain_and_carries_trust() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), LARGE);
    let first_keys = keys(&log);
    append(&log, &decision("call-1", Verdict::Pass));
    let old = fs::read(&log.key).unwrap();
    let new = log.change_key(AUDIT.wait).unwrap();
    append(&log, &decision("call-2", Verdict::Pass));
    assert_eq!(keys(&log).keys.len(), 2);
    assert!(keys(&log).keys[0].not_after.is_some());
    assert_eq!(keys(&log).keys[1].id(), new.id());
    let last: Receipt = Receipt::read(lines(&log).last().unwrap()).unwrap();
    assert_eq!(last.signature.kid, new.id());
    assert_eq!(last.issuer, format!("holdpoint:{}", first_keys.keys[0].id()));

    // Who knows only the first key trusts the second by the first one's word.
    let trust = Trust {
        keys: Some(first_keys.clone()),
        head: Some(last.digest),
    };
    let source = Source::open(&log.directory).unwrap();
    let checked = verify(&source, &trust).unwrap();
    assert!(
        [&checked.integrity, &checked.signer_trust, &checked.completeness]
            .into_iter()
            .all(|part| part.outcome == Checked::Pass),
        "{checked:#?}"
    );
    // Even where the key set beside the log was lost.
    fs::rename(log.directory.join("keys.json"), home.path().join("keys.json")).unwrap();
    assert_eq!(verify(&source, &trust).unwrap().integrity.outcome, Checked::Pass);
    fs::rename(home.path().join("keys.json"), log.directory.join("keys.json")).unwrap();

    // The old key is not taken for the new one.
    let new_pem = fs::read(&log.key).unwrap();
    fs::write(&log.key, old).unwrap();
    let refused = log.append(&decision("call-3", Verdict::Pass), AUDIT).unwrap_err();
    assert!(matches!(refused, LogError::OtherKey { .. }), "{refused}");
    fs::write(&log.key, new_pem).unwrap();

    // A key that is revoked is not trusted, whatever it signed.
    let mut revoked = first_keys;
    revoked.keys[0].status = KeyStatus::Revoked(None);
    let trust = Trust {
        keys: Some(revoked),
        head: None,
    };
    assert_eq!(
        verify(&source, &trust).unwrap().signer_trust.outcome,
        Checked::Fail
    );
}

#[test]
fn what_is_signed_outside_a_keys_dates_is_told() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), LARGE);
    append(&log, &decision("call-1", Verdict::Pass));
    let mut set = keys(&log);
    set.keys[0].not_after = Some("2020-01-01T00:00:00Z".parse().unwrap());
    fs::write(log.directory.join("keys.json"), set.to_json()).unwrap();
    let dated = report(&log);
    assert_eq!(dated.signer_trust.outcome, Checked::Fail, "{dated:#?}");
    assert!(
        dated.signer_trust.found[0].contains("outside the dates"),
        "{dated:#?}"
    );
}

/// A process that was killed between the receipt of a change and the change itself: the next append ends it.
#[test]
fn a_change_of_keys_that_was_cut_short_is_ended_by_the_next_append() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), LARGE);
    append(&log, &decision("call-1", Verdict::Pass));
    let (old, old_set) = (
        fs::read(&log.key).unwrap(),
        fs::read(log.directory.join("keys.json")).unwrap(),
    );
    let new = log.change_key(AUDIT.wait).unwrap();
    let to_be = log.directory.join("key.pem.new");
    fs::rename(&log.key, &to_be).unwrap();
    write_private(&log.key, &old);
    fs::write(log.directory.join("keys.json"), old_set).unwrap();

    append(&log, &decision("call-2", Verdict::Pass));
    assert!(!to_be.exists());
    assert_eq!(keys(&log).keys.last().unwrap().id(), new.id());
    let checked = report(&log);
    assert_eq!(
        (checked.receipts, checked.integrity.outcome),
        (3, Checked::Pass),
        "{checked:#?}"
    );
    assert_ne!(checked.signer_trust.outcome, Checked::Fail, "{checked:#?}");
}
