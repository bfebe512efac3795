//! Many processes on one log, and processes that are killed.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use holdpoint_receipts::{Checked, Outcome, Source, Verdict};

use support::{AUDIT, at, begun, decision, observation, report};

/// Set for a process of this program that is to write receipts: where to, and how many.
const WRITER: &str = "HOLDPOINT_TEST_WRITER";

const SEGMENT: u64 = 200_000;

/// No test of its own: what the other two start. Prints the digest of every receipt that it was told is in the log.
#[test]
fn writer() {
    let Some(order) = std::env::var_os(WRITER) else {
        return;
    };
    let order = order.into_string().unwrap();
    let (count, home) = order.split_once(' ').unwrap();
    let log = at(Path::new(home), SEGMENT);
    for number in 0..count.parse().unwrap() {
        let call = format!("{}-{number}", std::process::id());
        let body = match number % 2 {
            0 => decision(&call, Verdict::Pass),
            _ => observation(&call, Outcome::Ran),
        };
        let appended = log.append(&body, AUDIT).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "digest {}", appended.digest.hex()).unwrap();
        out.flush().unwrap();
    }
}

fn start(home: &Path, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(WRITER, format!("{count} {}", home.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a writer was told is in the log, until its end.
fn acknowledged(child: &mut Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines
        .map_while(Result::ok)
        .filter_map(|line| Some(line.strip_prefix("digest ")?.to_owned()))
        .collect()
}

fn in_the_log(directory: &Path) -> HashSet<String> {
    let source = Source::open(directory).unwrap();
    source
        .receipts()
        .filter_map(Result::ok)
        .map(|receipt| receipt.digest.hex())
        .collect()
}

#[test]
fn sixteen_processes_lose_nothing() {
    const PROCESSES: usize = 16;
    const EACH: usize = 500;
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), SEGMENT);
    let mut children: Vec<_> = (0..PROCESSES).map(|_| start(home.path(), EACH)).collect();
    let told: Vec<String> = thread::scope(|scope| {
        let readers: Vec<_> = children
            .iter_mut()
            .map(|child| scope.spawn(|| acknowledged(child)))
            .collect();
        readers
            .into_iter()
            .flat_map(|reader| reader.join().unwrap())
            .collect()
    });
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(told.len(), PROCESSES * EACH);
    let report = report(&log);
    assert_eq!(report.receipts, (PROCESSES * EACH) as u64);
    assert_eq!((report.first, report.last), (Some(1), Some(report.receipts)));
    assert_eq!(report.integrity.outcome, Checked::Pass, "{report:#?}");
    assert!(
        report.notes.iter().all(|note| note.contains("clock")),
        "{report:#?}"
    );
    let there = in_the_log(&log.directory);
    assert!(told.iter().all(|digest| there.contains(digest)));
}

/// SIGKILL at random points: the log verifies every time, and holds what its writers were told that it holds.
#[cfg(unix)]
#[test]
fn killed_writers_leave_a_log_that_verifies() {
    const KILLS: u32 = 200;
    // A new log now and then, so that every verification is short.
    const KILLS_PER_LOG: u32 = 20;
    let mut home = tempfile::tempdir().unwrap();
    let mut log = begun(home.path(), 20_000);
    let mut receipts = 0;
    for kill in 0..KILLS / 2 {
        if kill % (KILLS_PER_LOG / 2) == 0 {
            home = tempfile::tempdir().unwrap();
            log = begun(home.path(), 20_000);
        }
        let mut pair = [start(home.path(), 1_000_000), start(home.path(), 1_000_000)];
        let told: Vec<String> = thread::scope(|scope| {
            let mut ids = pair.each_ref().map(Child::id);
            let readers: Vec<_> = pair
                .iter_mut()
                .map(|child| scope.spawn(|| acknowledged(child)))
                .collect();
            for id in &mut ids {
                thread::sleep(at_random(Duration::from_millis(30)));
                let killed = Command::new("kill")
                    .args(["-9", &id.to_string()])
                    .status()
                    .unwrap();
                assert!(killed.success());
            }
            readers
                .into_iter()
                .flat_map(|reader| reader.join().unwrap())
                .collect()
        });
        for child in &mut pair {
            assert!(!child.wait().unwrap().success(), "it was killed");
        }
        let report = report(&log);
        if report.receipts > 0 {
            assert_eq!(report.integrity.outcome, Checked::Pass, "{report:#?}");
            assert_ne!(report.completeness.outcome, Checked::Fail, "{report:#?}");
        }
        let there = in_the_log(&log.directory);
        assert!(told.iter().all(|digest| there.contains(digest)), "{report:#?}");
        receipts += told.len();
    }
    assert!(receipts > 0, "the writers were killed before they wrote anything");
}

/// From nothing to this, as the clock's last digits have it.
fn at_random(most: Duration) -> Duration {
    let origin = Instant::now();
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.subsec_nanos());
    let mixed = u64::from(nanos).wrapping_mul(6_364_136_223_846_793_005) >> 40;
    Duration::from_micros(mixed % most.as_micros() as u64).saturating_sub(origin.elapsed())
}
