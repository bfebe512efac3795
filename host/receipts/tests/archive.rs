//! Archives: whatever the log, wherever the move is interrupted and whoever writes meanwhile, nothing is lost and the chain
//! holds.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use holdpoint_receipts::{Checked, Log, Outcome, Report, Source, Trust, Verdict, verify};
use proptest::prelude::*;

use support::{append, begun, decision, lines, observation, segments};

const WAIT: Duration = Duration::from_secs(60);

fn together(log: &Log, archives: &[PathBuf]) -> Report {
    let source = Source::with_archives(&log.directory, archives).unwrap();
    verify(&source, &Trust::default()).unwrap()
}

fn digests(log: &Log, archives: &[PathBuf]) -> Vec<String> {
    let source = Source::with_archives(&log.directory, archives).unwrap();
    source
        .receipts()
        .map(|receipt| receipt.unwrap().digest.hex())
        .collect()
}

fn fill(log: &Log, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| {
            let call = format!("call-{number}");
            let body = match number % 2 {
                0 => decision(&call, Verdict::Pass),
                _ => observation(&call, Outcome::Ran),
            };
            append(log, &body).digest.hex()
        })
        .collect()
}

/// Every receipt is there once, in order, and all of them are as they were signed.
fn assert_whole(log: &Log, archives: &[PathBuf], made: &[String]) {
    let report = together(log, archives);
    assert_eq!(report.integrity.outcome, Checked::Pass, "{report:?}");
    assert_eq!(report.completeness.outcome, Checked::NotChecked, "{report:?}");
    assert!(report.completeness.found[0].starts_with("no gap"), "{report:?}");
    assert_eq!(report.first, Some(1));
    let there = digests(log, archives);
    let mut at = there.iter();
    for digest in made {
        assert!(at.any(|other| other == digest), "{digest} is there, in its order");
    }
}

#[test]
fn the_log_goes_on_from_a_signed_base() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 1 << 20);
    let made = fill(&log, 3);
    let file = home.path().join("old.jsonl");
    let archived = log.archive(&file, None, WAIT).unwrap();
    assert_eq!((archived.through, archived.digest.hex()), (3, made[2].clone()));
    assert!(archived.keys.exists());
    let line = lines(&log).remove(0);
    assert!(
        line.contains("holdpoint:archived") && line.contains(&made[2]),
        "{line}"
    );
    let alone = together(&log, &[]);
    assert_eq!(alone.integrity.outcome, Checked::Pass);
    assert_eq!(alone.completeness.outcome, Checked::NotChecked);
    assert!(
        alone.completeness.found[0].contains("begins at a base"),
        "{alone:?}"
    );
    assert_eq!(log.standing().end.unwrap().broken, None);
    assert_whole(&log, std::slice::from_ref(&file), &made);
    // There is only the base.
    let nothing = log
        .archive(&home.path().join("more.jsonl"), None, WAIT)
        .unwrap_err();
    assert!(nothing.to_string().contains("nothing to archive"), "{nothing}");
}

/// Whoever changes the base, or has another one signed by nobody, does not get the receipts before it forgotten.
#[test]
fn a_base_that_was_changed_fails() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 1 << 20);
    fill(&log, 3);
    log.archive(&home.path().join("old.jsonl"), None, WAIT).unwrap();
    fill(&log, 2);
    let segment = segments(&log).remove(0);
    let text = fs::read_to_string(&segment).unwrap();
    fs::write(&segment, text.replace("\"through\":3", "\"through\":4")).unwrap();
    assert_eq!(together(&log, &[]).integrity.outcome, Checked::Fail);
    // Without any base, what is missing is missing.
    let rest: Vec<_> = text.lines().skip(1).collect();
    fs::write(&segment, rest.join("\n") + "\n").unwrap();
    let report = together(&log, &[]);
    assert_eq!(report.completeness.outcome, Checked::Fail, "{report:?}");
}

#[test]
fn files_are_moved_whole_and_only_where_all_in_them_is_old() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 1);
    let made = fill(&log, 2);
    thread::sleep(Duration::from_millis(5));
    let now = holdpoint_receipts::Moment::now();
    thread::sleep(Duration::from_millis(5));
    let later = fill(&log, 3);
    let file = home.path().join("old.jsonl");
    let archived = log.archive(&file, Some(now), WAIT).unwrap();
    assert_eq!((archived.through, archived.files), (2, 2));
    // The base stands at the end, and lets the log begin with the third.
    let alone = together(&log, &[]);
    assert_eq!((alone.first, alone.integrity.outcome), (Some(3), Checked::Pass));
    assert!(
        alone.completeness.found[0].contains("begins at a base"),
        "{alone:?}"
    );
    assert_whole(&log, &[file], &[made, later].concat());
    let taken = log.archive(&home.path().join("receipts/000000000099.jsonl"), None, WAIT);
    assert!(taken.unwrap_err().to_string().contains("choose another name"));
}

#[test]
fn an_archive_that_is_not_what_the_log_has_deletes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 400);
    let made = fill(&log, 6);
    let file = home.path().join("old.jsonl");
    let kept = backup(&log);
    log.archive(&file, None, WAIT).unwrap();
    restore(&log, &kept);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("web01", "web02", 1)).unwrap();
    let error = log.archive(&file, None, WAIT).unwrap_err();
    assert!(error.to_string().contains("nothing was deleted"), "{error}");
    assert_whole(&log, &[], &made);
    let foreign = home.path().join("foreign.jsonl");
    fs::write(&foreign, "notes\n").unwrap();
    log.archive(&foreign, None, WAIT).unwrap_err();
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "notes\n");
}

/// The files of a log, by name.
fn backup(log: &Log) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    };
    segments(log).into_iter().map(read).collect()
}

fn restore(log: &Log, files: &[(PathBuf, Vec<u8>)]) {
    for (path, bytes) in files {
        assert!(path.starts_with(&log.directory));
        fs::write(path, bytes).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The states that an interruption can leave: the base alone, a part of the copy, the copy, and any number of files
    /// deleted. In each of them everything is there, the log goes on, and the same command ends what was begun.
    #[test]
    fn no_interruption_loses_anything(count in 1usize..12, more in 0usize..4, segment in 1u64..9_000, deleted in 0usize..12, copied in 0usize..3) {
        let home = tempfile::tempdir().unwrap();
        let log = begun(home.path(), segment);
        let mut made = fill(&log, count);
        let before = backup(&log);
        let file = home.path().join("old.jsonl");
        log.archive(&file, None, WAIT).unwrap();
        let archive = fs::read(&file).unwrap();
        let left = before.get(deleted.min(before.len())..).unwrap();
        let archives = match copied {
            // Before the copy has its name nothing is deleted.
            0 => {
                restore(&log, &before);
                fs::remove_file(&file).unwrap();
                Vec::new()
            }
            1 => {
                restore(&log, &before);
                fs::remove_file(&file).unwrap();
                fs::write(home.path().join("old.jsonl.part"), &archive[..archive.len() / 2]).unwrap();
                Vec::new()
            }
            _ => {
                restore(&log, left);
                vec![file.clone()]
            }
        };
        made.extend(fill(&log, more));
        assert_whole(&log, &archives, &made);
        if archives.is_empty() || !left.is_empty() {
            log.archive(&file, None, WAIT).unwrap();
        }
        assert_whole(&log, std::slice::from_ref(&file), &made);
        made.extend(fill(&log, 1));
        assert_whole(&log, &[file], &made);
    }
}

#[test]
fn receipts_are_appended_by_others_while_archives_are_made() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 4_000);
    fill(&log, 5);
    let done = AtomicBool::new(false);
    let (made, archives) = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (log, done) = (&log, &done);
                scope.spawn(move || {
                    let mut made = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        let call = format!("{writer}-{}", made.len());
                        made.push(append(log, &decision(&call, Verdict::Pass)).digest.hex());
                    }
                    made
                })
            })
            .collect();
        let archives: Vec<PathBuf> = (0..5)
            .map(|number| {
                thread::sleep(Duration::from_millis(30));
                let file = home.path().join(format!("old-{number}.jsonl"));
                log.archive(&file, None, WAIT).unwrap();
                file
            })
            .collect();
        done.store(true, Ordering::Relaxed);
        let made: Vec<_> = writers
            .into_iter()
            .flat_map(|writer| writer.join().unwrap())
            .collect();
        (made, archives)
    });
    assert_whole(&log, &archives, &[]);
    let there: HashSet<_> = digests(&log, &archives).into_iter().collect();
    assert!(made.iter().all(|digest| there.contains(digest)));
    assert!(made.len() > 20, "{}", made.len());
    // In whatever order they are named.
    let backwards: Vec<_> = archives.iter().rev().cloned().collect();
    assert_whole(&log, &backwards, &[]);
    assert!(Path::new(&archives[0]).exists());
}
