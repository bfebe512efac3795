//! Instructions of whole processes, counted by callgrind: they do not depend on what else the machine does, so a change for
//! the worse is seen for certain. Counted of the static build, which brings its own libc along.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use serde_json::{Value, json};

use crate::support::{World, before, run};

/// What was counted when somebody last looked and found it right.
const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/bench/instructions.json");
/// How much more may be executed than was, as a share.
const ALLOWED: f64 = 0.03;
/// Tables are hashed with another seed in each process, so that counts differ by a few thousandths.
const RUNS: usize = 5;

type Counts = BTreeMap<String, u64>;

/// Counts, and compares with the baseline, or writes it where `UPDATE` is set.
pub(crate) fn check(program: Option<&Path>) -> ExitCode {
    let (Some(program), Some(valgrind)) = (program, find("valgrind")) else {
        println!("NOT COUNTED: instructions, for want of valgrind or of the published build");
        // Where everything has to be checked, nothing may be left out in silence.
        return if env::var_os("CI").is_some() {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        };
    };
    let counts = count_all(&valgrind, program);
    if env::var_os("UPDATE").is_some() {
        let text = serde_json::to_string_pretty(&counts).expect("numbers and names");
        fs::write(BASELINE, text + "\n").expect("the baseline can be written");
    }
    let baseline = fs::read(BASELINE).expect("the baseline can be read");
    let baseline: Counts = serde_json::from_slice(&baseline).expect("numbers and names");
    compare(&counts, &baseline)
}

fn count_all(valgrind: &Path, program: &Path) -> Counts {
    let events = [
        ("read-only call", before("mcp__esxi__listVMs", json!({}))),
        ("unknown tool", before("mcp__nobody__knows", json!({}))),
        (
            "tool of the harness (Bash)",
            before("Bash", json!({ "command": "ls" })),
        ),
    ];
    let counted = |(name, event): (&str, Value)| {
        let mut runs: Vec<u64> = (0..RUNS).map(|_| count(valgrind, program, &event)).collect();
        runs.sort_unstable();
        (name.to_owned(), runs[RUNS / 2])
    };
    events.into_iter().map(counted).collect()
}

/// The instructions of one process, from its first to its last.
fn count(valgrind: &Path, program: &Path, event: &Value) -> u64 {
    let world = World::without_zvm();
    let out = world.path("callgrind.out");
    let mut command = world.command(valgrind);
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .arg("hook");
    let outcome = run(command, event.to_string().as_bytes());
    assert!(outcome.code == Some(0), "{outcome:?}");
    let text = fs::read_to_string(&out).expect("callgrind writes what it counted");
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.and_then(|total| total.trim().parse().ok());
    total.expect("callgrind says how many it counted")
}

fn compare(counts: &Counts, baseline: &Counts) -> ExitCode {
    println!("\n## Instructions of the published build\n");
    println!("| process | instructions | baseline | change | allowed: +3 % |");
    println!("|---|---|---|---|---|");
    let mut worse = false;
    for (name, &count) in counts {
        let before = *baseline.get(name).unwrap_or(&0);
        let change = count as f64 / before as f64 - 1.0;
        let failed = change > ALLOWED;
        worse |= failed;
        let verdict = if failed { "FAIL" } else { "PASS" };
        println!(
            "| {name} | {count} | {before} | {:+.1} % | {verdict} |",
            change * 100.0
        );
    }
    if worse {
        println!("\nWhere that is meant: UPDATE=1, and say in the commit why.");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut found = env::split_paths(&path).map(|directory| directory.join(program));
    found.find(|program| program.is_file())
}
