//! The rows: whole processes, each beside an empty one, in random order round by round.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::measure::{Measured, measure};
use crate::random::Random;
use crate::report::{Row, Spread};
use crate::support::{World, before};

const HOLDPOINT: &str = env!("CARGO_BIN_EXE_holdpoint");
/// The row that the others are compared with.
const BASE: &str = "empty Rust program";
/// A site whose tags surface at once.
const INSTANT: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";
const WARM_UP: usize = 5;

/// One thing that is measured.
struct Subject {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
    event: PathBuf,
    /// An event that is another call's in each run, so that it counts.
    failure: Option<Value>,
    /// Where it runs, if not where the others do.
    world: Option<World>,
    /// What has to stand in its answer; none where the answer has to be empty.
    says: Option<&'static str>,
    /// It is run in every so many rounds: slow ones in fewer.
    every: usize,
    runs: Vec<(usize, Measured)>,
}

/// Measures all rows.
pub(crate) fn measure_all(rounds: usize, random: &mut Random) -> Vec<Row> {
    let world = World::with_zvm(INSTANT);
    // So that every run of a row answers the same.
    world.configure("session.tell = false");
    let mut subjects = subjects(&world);
    for round in 0..WARM_UP + rounds {
        let mut order: Vec<&mut Subject> = subjects
            .iter_mut()
            .filter(|subject| round % subject.every == 0)
            .collect();
        random.shuffle(&mut order);
        for subject in order {
            subject.renew(round);
            let measured = subject.run(&world);
            if round >= WARM_UP {
                subject.runs.push((round, measured));
            }
        }
    }
    let base = subjects.iter().find(|subject| subject.name == BASE);
    let base = &base.expect("the base is a row").runs;
    subjects.iter().map(|subject| subject.row(base)).collect()
}

impl Subject {
    fn renew(&self, round: usize) {
        if let Some(failure) = &self.failure {
            let mut failure = failure.clone();
            failure["tool_use_id"] = format!("call-{round}").into();
            fs::write(&self.event, failure.to_string()).expect("a file");
        }
    }

    fn run(&self, world: &World) -> Measured {
        let world = self.world.as_ref().unwrap_or(world);
        let measured = measure(world, &self.event, &self.program, self.arguments);
        let answered = match self.says {
            None => measured.stdout.is_empty(),
            Some(says) => measured.stdout.contains(says),
        };
        assert!(
            answered && measured.code == Some(0),
            "{}: {measured:?}",
            self.name
        );
        measured
    }

    fn row(&self, base: &[(usize, Measured)]) -> Row {
        let of = |value: fn(&Measured) -> u64| {
            Spread::of(self.runs.iter().map(|(_, run)| value(run) as f64).collect())
        };
        // Round by round, so that what slows the machine for a while slows both sides.
        let ratios = self.runs.iter().filter_map(|(round, run)| {
            let (_, base) = base.iter().find(|(other, _)| other == round)?;
            Some(run.wall_us as f64 / base.wall_us as f64)
        });
        Row {
            name: self.name.to_owned(),
            runs: self.runs.len(),
            wall_us: of(|run| run.wall_us),
            ratio: Spread::of(ratios.collect()).median,
            cpu_us: of(|run| run.cpu_us).median,
            faults: of(|run| run.faults).median,
            peak_kib: of(|run| run.peak_kib).median,
        }
    }
}

fn subjects(world: &World) -> Vec<Subject> {
    let subject = |name, program: &Path, arguments, event: &Value, says, every| {
        let path = world.path(&format!("{name}.json"));
        fs::write(&path, event.to_string()).expect("a file");
        Subject {
            name,
            program: program.to_owned(),
            arguments,
            event: path,
            failure: None,
            world: None,
            says,
            every,
            runs: Vec::new(),
        }
    };
    let hook = |name, event, says, every| subject(name, Path::new(HOLDPOINT), &["hook"], &event, says, every);
    let read = |input| before("mcp__esxi__listVMs", input);
    let failed = json!({
        "hook_event_name": "PostToolUseFailure", "session_id": "s", "cwd": "/", "tool_name": "Bash",
        "error": "Exit code 1",
    });
    let mut after = before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }));
    after["hook_event_name"] = "PostToolUse".into();
    after["tool_response"] = "done".into();

    let mut subjects = vec![
        subject(BASE, &empty_program(world), &[], &json!({}), None, 1),
        hook("read-only call", read(json!({})), None, 1),
        hook(
            "unknown tool",
            before("mcp__nobody__knows", json!({})),
            Some("\"ask\""),
            1,
        ),
        hook(
            "tool of the harness (Bash)",
            before("Bash", json!({ "command": "ls" })),
            None,
            1,
        ),
        hook("event that is not gated (PostToolUse)", after, None, 1),
        Subject {
            failure: Some(failed.clone()),
            ..hook("failed call, counted (PostToolUseFailure)", json!({}), None, 1)
        },
        Subject {
            failure: Some(failed),
            ..subject(
                "session record",
                Path::new(HOLDPOINT),
                &["session", "record", "--home", "."],
                &json!({}),
                Some("updated"),
                1,
            )
        },
        hook(
            "read-only call, 20 MB of arguments",
            read(json!({ "text": "x".repeat(20 * 1024 * 1024) })),
            None,
            5,
        ),
        hook(
            "mutating call, checkpoint seen at once",
            before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" })),
            Some("additionalContext"),
            2,
        ),
    ];
    let mut installed = hook(
        "read-only call, the same policy signed and installed",
        read(json!({})),
        None,
        1,
    );
    installed.world = Some(crate::installed::world(HOLDPOINT));
    subjects.push(installed);
    for (name, mode) in [
        ("read-only call, with a receipt (audit)", "audit"),
        ("read-only call, with a receipt on the disk (gate)", "gate"),
    ] {
        let mut receipt = hook(name, read(json!({})), None, 1);
        receipt.world = Some(with_receipts(mode));
        subjects.push(receipt);
    }
    if let Some(python) = python() {
        subjects.push(subject(
            "python3 -c pass",
            &python,
            &["-c", "pass"],
            &json!({}),
            None,
            5,
        ));
    }
    subjects
}

/// A world whose decisions get receipts.
fn with_receipts(mode: &str) -> World {
    let world = World::without_zvm();
    world.configure(&format!("receipts.mode = '{mode}'"));
    let mut keygen = world.command(HOLDPOINT);
    let status = keygen
        .args(["receipts", "keygen"])
        .output()
        .map(|output| output.status);
    assert!(status.expect("the program starts").success(), "a key is made");
    world
}

/// A program that does nothing, built as an ordinary one is.
fn empty_program(world: &World) -> PathBuf {
    let (source, program) = (world.path("empty.rs"), world.path("empty"));
    fs::write(&source, "fn main() {}\n").expect("a file");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .arg("-O")
        .arg("-o")
        .args([&program, &source])
        .status();
    assert!(
        status.expect("rustc starts").success(),
        "the empty program is compiled"
    );
    program
}

/// The system's Python rather than a version manager's, whose `python3` is a shell script.
fn python() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::iter::once(PathBuf::from("/usr/bin"))
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join("python3"))
        .find(|python| python.is_file())
}
