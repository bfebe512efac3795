//! Whole-process benchmarks: what a hook costs from its start to its end, and how soon a capture is noticed.
//!
//! `cargo bench --bench process -- [--quick | --growth] [--save FILE] [--against FILE]`, where nothing is asserted about
//! time, and `cargo bench --bench process -- --instructions`, which fails where more is executed than before.

mod captures;
mod empty;
mod growth;
mod guests;
mod installed;
mod instructions;
mod measure;
mod random;
mod report;
mod rows;
mod together;
use test_support as support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use random::Random;
use report::Report;
use rows::Which;

const HOLDPOINT: &str = env!("CARGO_BIN_EXE_holdpoint");

/// Measures whole processes, each beside an empty program, and captures at several cadences.
#[derive(clap::Parser)]
struct Arguments {
    /// Fewer rounds, and the shortest cadence only.
    #[arg(long)]
    quick: bool,
    /// What becomes of a start where there is much of something, instead.
    #[arg(long, conflicts_with = "quick")]
    growth: bool,
    /// Counts instructions instead, and compares them with the baseline.
    #[arg(long)]
    instructions: bool,
    /// The build that is published; where it is not given and has been made, that one.
    #[arg(long, value_name = "FILE")]
    published: Option<PathBuf>,
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

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == measure::MODE)
    {
        measure::small_process();
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::parse();
    // Absolute, since each process is started in a folder of its own.
    let given = arguments.published.as_ref().map(|program| program.canonicalize());
    let published = given
        .transpose()
        .expect("the published build can be read")
        .or_else(published);
    if arguments.instructions {
        return instructions::check(published.as_deref());
    }
    measure(&arguments, published);
    ExitCode::SUCCESS
}

fn measure(arguments: &Arguments, published: Option<PathBuf>) {
    let earlier = arguments.against.as_deref().map(Report::read);
    let (rounds, cadences): (_, &[u64]) = if arguments.quick {
        (20, &[500])
    } else {
        (200, &[500, 2000, 5000])
    };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut programs = vec![("", copied(Path::new(HOLDPOINT), &folder.path().join("ordinary")))];
    match published {
        Some(published) => {
            let copy = copied(&published, &folder.path().join("published"));
            programs.push(("published: ", copy));
        }
        None => println!("NOT MEASURED: the published build, which has not been made"),
    }
    let mut random = Random::new();
    let which = if arguments.growth {
        Which::Growth
    } else {
        Which::All
    };
    let (rows, gates) = rows::measure_all(&programs, rounds, which, &mut random);
    let alone = match which {
        Which::All => rows::measure_all(&programs, rounds, Which::Alone, &mut random).0,
        _ => Vec::new(),
    };
    let cadences = if arguments.growth { &[] } else { cadences };
    let captures = cadences
        .iter()
        .map(|&cadence| captures::at_cadence(Duration::from_millis(cadence), &mut random))
        .collect();
    let together = (!arguments.growth && !arguments.quick).then(together::measure);
    let report = Report {
        rows,
        alone,
        gates,
        captures,
        together,
    };
    report.print(earlier.as_ref());
    if !arguments.growth {
        report::print_round_trips(&captures::round_trips());
        let long = Duration::from_secs(128);
        report::print_schedule(long, &captures::schedule(long));
    }
    if let Some(path) = &arguments.save {
        report.save(path);
    }
}

/// A program as installing leaves it. What a linker writes piece by piece lies in small pieces in the system's cache, too,
/// until it is read anew, and starting it takes a sixth longer.
pub(crate) fn copied(program: &Path, copy: &Path) -> PathBuf {
    let bytes = fs::read(program).expect("the program can be read");
    fs::write(copy, bytes).expect("a copy");
    fs::set_permissions(copy, fs::Permissions::from_mode(0o755)).expect("its owner may");
    copy.to_owned()
}

/// Where cargo puts the build that is published, if it has been made.
fn published() -> Option<PathBuf> {
    let target = Path::new(HOLDPOINT).ancestors().nth(2)?;
    let program = target.join(empty::published_target()?).join("dist/holdpoint");
    program.is_file().then_some(program)
}
