//! What a large log costs: `cargo test --release -p holdpoint-receipts --test size -- --nocapture` prints it.

mod support;

use std::fs;
use std::time::Instant;

use holdpoint_receipts::{Checked, Verdict};

use support::{append, begun, decision, report};

const RECEIPTS: u64 = 100_000;

#[test]
fn a_hundred_thousand_receipts_are_appended_at_one_price_and_verified_in_bounded_memory() {
    let home = tempfile::tempdir().unwrap();
    let log = begun(home.path(), 16 << 20);
    let body = decision("call", Verdict::Pass);
    let append_all = |count: u64| {
        let started = Instant::now();
        for _ in 0..count {
            append(&log, &body);
        }
        started.elapsed() / u32::try_from(count).unwrap()
    };
    let first = append_all(1_000);
    append_all(RECEIPTS - 2_000);
    let last = append_all(1_000);
    let started = Instant::now();
    let report = report(&log);
    let took = started.elapsed();
    println!("append: {first:?} at the beginning, {last:?} at the end; {RECEIPTS} verified in {took:?}");
    assert_eq!(
        (report.receipts, report.integrity.outcome),
        (RECEIPTS, Checked::Pass)
    );
    if let Ok(status) = fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: u64 = peak.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
        println!("peak memory: {kib} KiB");
        assert!(kib < 100 * 1024, "{kib} KiB for {RECEIPTS} receipts");
    }
}
