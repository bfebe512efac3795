//! The rows: whole processes, each beside empty ones, in random order round by round.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use holdpoint_runtime::policy::built;
use serde_json::{Value, json};

use crate::empty;
use crate::growth;
use crate::installed::{self, Installed};
use crate::measure::{Launcher, Measured};
use crate::random::Random;
use crate::report::{Gate, Row, Spread};
use crate::support::{World, before, chmod};

/// A site whose tags surface at once.
const INSTANT: &str = "[[vpgs]]\nname = 'APP-VPG'\ninstant = true\nvms = [{ name = 'jp-ubuntu' }]";
const WARM_UP: usize = 5;

/// One thing that is measured.
pub(crate) struct Subject {
    name: String,
    program: PathBuf,
    arguments: &'static [&'static str],
    event: PathBuf,
    /// An event that is another call's in each run, so that it counts.
    failure: Option<Value>,
    /// A folder that is emptied before each run.
    emptied: Option<PathBuf>,
    /// How many times the empty program's time it may take; aimed at by nobody where none.
    aim: Option<f64>,
    world: Rc<World>,
    /// Whose process it is, if not this one's user's.
    user: Option<u32>,
    /// Whether its policy passes the gate at each start.
    gated: bool,
    /// What has to stand in its answer; none where the answer has to be empty.
    says: Option<&'static str>,
    /// It is run in every so many rounds: slow ones in fewer.
    every: usize,
    runs: Vec<(usize, Measured)>,
}

/// Which rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// One of everything.
    All,
    /// Only those of which something is wanted, with the shipped policy, and what they are compared with: then every cache
    /// is warm with what they need.
    Alone,
    /// Those with much of something.
    Growth,
}

/// Measures all rows, of each program: what stands before its rows' names, and where it is.
pub(crate) fn measure_all(
    programs: &[(&str, PathBuf)],
    rounds: usize,
    which: Which,
    random: &mut Random,
) -> (Vec<Row>, Vec<Gate>) {
    let world = World::with_zvm(INSTANT);
    // So that every run of a row answers the same.
    world.configure("session.tell = false");
    let world = Rc::new(world);
    let mut subjects = bases(&world);
    if which == Which::Alone {
        // Nothing large in between.
        subjects.retain(|subject| subject.every == 1);
    }
    let bases = subjects.len();
    let policies = if which == Which::All {
        installed::all()
    } else {
        Vec::new()
    };
    for (label, program) in programs {
        match which {
            Which::All => {
                subjects.extend(hooks(label, program, &world));
                subjects.extend(policies.iter().map(|policy| with_policy(label, program, policy)));
            }
            Which::Alone => {
                subjects.extend(
                    hooks(label, program, &world)
                        .into_iter()
                        .filter(|row| row.aim.is_some()),
                );
            }
            Which::Growth => subjects.extend(growth::subjects(label, program)),
        }
    }
    run_all(&mut subjects, rounds, random);
    let (bases, _) = subjects.split_at(bases);
    let rows = subjects.iter().map(|subject| subject.row(bases)).collect();
    let gates = subjects.iter().filter(|subject| subject.gated);
    (rows, gates.map(Subject::gate).collect())
}

/// Runs them round by round, each time in another order.
fn run_all(subjects: &mut [Subject], rounds: usize, random: &mut Random) {
    let mut launchers = BTreeMap::new();
    for round in 0..WARM_UP + rounds {
        let mut order: Vec<&mut Subject> = subjects
            .iter_mut()
            .filter(|subject| round % subject.every == 0)
            .collect();
        random.shuffle(&mut order);
        for subject in order {
            subject.renew(round);
            let launcher = launchers
                .entry(subject.user)
                .or_insert_with(|| Launcher::start(subject.user));
            let measured = subject.run(launcher);
            if round >= WARM_UP {
                subject.runs.push((round, measured));
            }
        }
    }
}

impl Subject {
    pub(crate) fn new(name: String, world: &Rc<World>, program: &Path, event: &Value) -> Self {
        let path = world.path(&format!("{name}.json"));
        fs::write(&path, event.to_string()).expect("a file");
        Self {
            name,
            program: program.to_owned(),
            arguments: &["hook"],
            event: path,
            failure: None,
            emptied: None,
            aim: None,
            world: Rc::clone(world),
            user: None,
            gated: false,
            says: None,
            every: 1,
            runs: Vec::new(),
        }
    }

    /// With an event that is another call's in each run.
    pub(crate) fn counting(self, failure: Value) -> Self {
        Self {
            failure: Some(failure),
            ..self
        }
    }

    fn renew(&self, round: usize) {
        if let Some(folder) = &self.emptied {
            // Not there before the first run.
            let _ = fs::remove_dir_all(folder);
        }
        if let Some(failure) = &self.failure {
            let mut failure = failure.clone();
            failure["tool_use_id"] = format!("{}-{round}", self.name).into();
            fs::write(&self.event, failure.to_string()).expect("a file");
        }
    }

    fn run(&self, launcher: &mut Launcher) -> Measured {
        let measured = launcher.measure(&self.world, &self.event, &self.program, self.arguments);
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

    fn row(&self, bases: &[Self]) -> Row {
        let of = |value: fn(&Measured) -> u64| {
            Spread::of(self.runs.iter().map(|(_, run)| value(run) as f64).collect())
        };
        Row {
            name: self.name.clone(),
            runs: self.runs.len(),
            wall_us: of(|run| run.wall_us),
            ratios: bases.iter().map(|base| self.ratio(base)).collect(),
            aim: self.aim,
            cpu_us: of(|run| run.cpu_us).median,
            faults: of(|run| run.faults).median,
            peak_kib: of(|run| run.peak_kib).median,
        }
    }

    /// How many times as long as the other, the median. Round by round, so that what slows the machine for a while slows
    /// both.
    fn ratio(&self, base: &Self) -> f64 {
        let ratios = self.runs.iter().filter_map(|(round, run)| {
            let (_, base) = base.runs.iter().find(|(other, _)| other == round)?;
            Some(run.wall_us as f64 / base.wall_us as f64)
        });
        Spread::of(ratios.collect()).median
    }

    /// What the gate took of the whole process, by the host's own log: one line a run, in their order.
    fn gate(&self) -> Gate {
        let gates = Installed::gate_us(&self.world);
        let measured = &gates[gates.len() - self.runs.len()..];
        let whole = self.runs.iter().map(|(_, run)| run.wall_us as f64);
        Gate {
            name: self.name.clone(),
            us: Spread::of(measured.to_vec()),
            share: Spread::of(
                measured
                    .iter()
                    .zip(whole)
                    .map(|(gate, whole)| gate / whole)
                    .collect(),
            ),
        }
    }
}

/// What the rows are compared with; the names are the heads of the columns.
fn bases(world: &Rc<World>) -> Vec<Subject> {
    let base = |name: &str, program: &Path, arguments, every| Subject {
        arguments,
        every,
        ..Subject::new(name.to_owned(), world, program, &json!({}))
    };
    let mut bases = vec![base("empty", &empty::dynamic(world), &[], 1)];
    if let Some(program) = empty::fixed(world) {
        bases.push(base("static empty", &program, &[], 1));
    }
    if let Some(python) = empty::python() {
        bases.push(base("python3 -c pass", &python, &["-c", "pass"], 5));
    }
    bases
}

pub(crate) fn read_only() -> Value {
    before("mcp__esxi__listVMs", json!({}))
}

/// The rows with the shipped policy.
fn hooks(label: &str, program: &Path, world: &Rc<World>) -> Vec<Subject> {
    let hook = |name: &str, event: &Value| Subject::new(format!("{label}{name}"), world, program, event);
    let failed = json!({
        "hook_event_name": "PostToolUseFailure", "session_id": "s", "cwd": "/", "tool_name": "Bash",
        "error": "Exit code 1",
    });
    let power_off = before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }));
    // Of an id of its own: the rows share one, and what ran is compared with what was decided under it.
    let mut after = read_only();
    after["tool_use_id"] = "toolu_ended".into();
    after["hook_event_name"] = "PostToolUse".into();
    after["tool_response"] = "done".into();
    let large = json!({ "text": "x".repeat(20 * 1024 * 1024) });

    let published = !label.is_empty();
    let mut subjects = vec![
        Subject {
            aim: Some(if published { 0.85 } else { 1.6 }),
            ..hook("read-only call", &read_only())
        },
        Subject {
            says: Some("\"ask\""),
            ..hook("unknown tool", &before("mcp__nobody__knows", json!({})))
        },
        hook(
            "tool of the harness (Bash)",
            &before("Bash", json!({ "command": "ls" })),
        ),
        hook("event that is not gated (PostToolUse)", &after),
        Subject {
            failure: Some(failed.clone()),
            ..hook("failed call, counted (PostToolUseFailure)", &json!({}))
        },
        Subject {
            arguments: &["session", "record", "--home", "."],
            failure: Some(failed),
            says: Some("updated"),
            ..hook("session record", &json!({}))
        },
        Subject {
            every: 5,
            ..hook(
                "read-only call, 20 MB of arguments",
                &before("mcp__esxi__listVMs", large),
            )
        },
        Subject {
            says: Some("additionalContext"),
            every: 2,
            ..hook("mutating call, checkpoint seen at once", &power_off)
        },
        Subject {
            says: Some("additionalContext"),
            every: 2,
            emptied: Some(world.path("home/.local/state/holdpoint/zerto")),
            ..hook("the same, nothing kept from an earlier call", &power_off)
        },
    ];
    subjects.extend(
        [
            (
                "read-only call, with a receipt (audit)",
                "audit",
                published.then_some(1.2),
            ),
            ("read-only call, with a receipt on the disk (gate)", "gate", None),
        ]
        .map(|(name, mode, aim)| {
            let world = Rc::new(with_receipts(program, mode));
            Subject {
                aim,
                ..Subject::new(format!("{label}{name}"), &world, program, &read_only())
            }
        }),
    );
    let shadow = Rc::new(with_shadow());
    let name = format!("{label}read-only call, with a shadow");
    subjects.push(Subject::new(name, &shadow, program, &read_only()));
    let recorded = World::without_zvm();
    recorded.configure("record.enabled = true");
    let name = format!("{label}read-only call, recorded");
    subjects.push(Subject::new(name, &Rc::new(recorded), program, &read_only()));
    subjects
}

/// A read-only call with a policy that is installed.
pub(crate) fn with_policy(label: &str, program: &Path, policy: &Installed) -> Subject {
    let world = Rc::new(policy.world(program));
    let name = format!("{label}read-only call, {}", policy.name);
    Subject {
        user: policy.user,
        gated: true,
        aim: policy.aim.filter(|_| !label.is_empty()),
        ..Subject::new(name, &world, &world.path("bin/holdpoint"), &read_only())
    }
}

/// A world in which another policy looks on, which is the same here.
fn with_shadow() -> World {
    let world = World::without_zvm();
    for (name, file) in [("shadow.wasm", built::COMPONENT), ("shadow.cwasm", built::CODE)] {
        fs::copy(file, world.path(name)).expect("a file");
        chmod(&world.path(name), 0o600);
    }
    world.configure(&format!(
        "[policy]\nsignature = 'not-required'\nshadow = '{}'\n",
        world.path("shadow.wasm").display()
    ));
    world
}

/// A world whose decisions get receipts.
pub(crate) fn with_receipts(program: &Path, mode: &str) -> World {
    let world = World::without_zvm();
    world.configure(&format!("receipts.mode = '{mode}'"));
    let mut keygen = world.command(program);
    let status = keygen
        .args(["receipts", "keygen"])
        .output()
        .map(|output| output.status);
    assert!(status.expect("the program starts").success(), "a key is made");
    world
}
