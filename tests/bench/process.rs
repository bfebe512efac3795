//! Whole-process benchmarks: what a hook costs from its start to its end, and how soon a capture is noticed.
//!
//! `cargo bench --bench process -- [--quick] [--save FILE] [--against FILE]`. Nothing is asserted about time.

mod captures;
mod installed;
mod measure;
mod random;
mod report;
mod rows;
use test_support as support;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser as _;

use random::Random;
use report::Report;

/// Measures whole processes, each beside an empty program, and captures at several cadences.
#[derive(clap::Parser)]
struct Arguments {
    /// Fewer rounds, and the shortest cadence only.
    #[arg(long)]
    quick: bool,
    /// Where the result is kept for a later run, as JSON.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// An earlier run's result, to print beside this one's.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// What cargo says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let mut given = std::env::args_os().skip(1);
    if given.next().is_some_and(|first| first == measure::MODE) {
        return measure::small_process(given);
    }
    let arguments = Arguments::parse();
    let earlier = arguments.against.as_deref().map(Report::read);
    let (rounds, cadences): (_, &[u64]) = if arguments.quick {
        (20, &[500])
    } else {
        (200, &[500, 2000, 5000])
    };
    let mut random = Random::new();
    let rows = rows::measure_all(rounds, &mut random);
    let captures = cadences
        .iter()
        .map(|&cadence| captures::at_cadence(Duration::from_millis(cadence), &mut random))
        .collect();
    let report = Report { rows, captures };
    report.print(earlier.as_ref());
    report::print_round_trips(&captures::round_trips());
    let long = Duration::from_secs(128);
    report::print_schedule(long, &captures::schedule(long));
    if let Some(path) = &arguments.save {
        report.save(path);
    }
}
