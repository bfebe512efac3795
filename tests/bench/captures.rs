//! Captures: what the ZVM is asked, in which round trips, and how soon after a checkpoint can be seen the answer is out.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::HOLDPOINT;
use crate::measure::{Launcher, since_1970};
use crate::random::Random;
use crate::report::{Capture, Spread};
use crate::support::{World, before};

/// Runs at each cadence.
const RUNS: usize = 12;
/// How long the simulated ZVM holds every answer back where round trips are told apart, in milliseconds.
const ROUND_TRIP_MS: u64 = 60;

/// The requests of one capture, round trip by round trip.
pub(crate) fn round_trips() -> Vec<Vec<String>> {
    let world = World::with_zvm(&format!(
        "[[vpgs]]\ninstant = true\n[[troubles]]\non = '* /*'\nkind = 'delay'\ndelay_ms = {ROUND_TRIP_MS}"
    ));
    change(&world);
    let mut trips: Vec<Vec<String>> = Vec::new();
    let mut latest = None;
    for request in world.sim.as_ref().expect("there is a ZVM").requests() {
        // Every answer takes so long that what waits for one comes in much later.
        if latest.is_none_or(|latest| request.at > latest + ROUND_TRIP_MS / 2) {
            trips.push(Vec::new());
        }
        latest = Some(request.at);
        let trip = trips.last_mut().expect("there is one now");
        trip.push(format!("{} {}", request.method, shape(&request.path)));
    }
    trips
}

/// A path with `*` for what differs from ZVM to ZVM.
fn shape(path: &str) -> String {
    let plain = |part: &str| !part.contains(|c: char| c == '.' || c == '-' && part.len() > 20);
    let parts = path.split('/').map(|part| if plain(part) { part } else { "*" });
    parts.collect::<Vec<_>>().join("/")
}

/// Captures at a cadence, all at once, each against a ZVM of its own and at a random moment between two checkpoints.
pub(crate) fn at_cadence(cadence: Duration, random: &mut Random) -> Capture {
    let threads: Vec<_> = (0..RUNS)
        .map(|_| {
            let (before, after) = (random.below(1000), random.below(1000));
            let part = move |thousandths: u64| cadence.mul_f64(thousandths as f64 / 1000.0);
            thread::spawn(move || {
                thread::sleep(part(before));
                one(cadence, part(after))
            })
        })
        .collect();
    let runs: Vec<(f64, usize)> = threads
        .into_iter()
        .map(|thread| thread.join().expect("a capture"))
        .collect();
    let delays: Vec<f64> = runs.iter().map(|(delay, _)| *delay).collect();
    let polls: Vec<f64> = runs.iter().map(|(_, polls)| *polls as f64).collect();
    Capture {
        cadence_ms: cadence.as_millis() as f64,
        allowed_ms: (cadence.as_millis() as f64 / 10.0).max(250.0),
        delay_ms: Spread::of(delays),
        polls: Spread::of(polls).median,
    }
}

/// Milliseconds from the moment that the checkpoint could be seen to the end of the process, and how often the journal
/// was read.
fn one(cadence: Duration, wait: Duration) -> (f64, usize) {
    // The simulation's clock starts within `with_zvm`, so delays come out too long by what that takes: milliseconds.
    let started = SystemTime::now();
    let world = World::with_zvm(&format!("[[vpgs]]\ncadence_ms = {}", cadence.as_millis()));
    thread::sleep(wait);
    let ended_us = change(&world);
    let sim = world.sim.as_ref().expect("there is a ZVM");
    let visible_ms = sim.checkpoints().first().and_then(|inserted| inserted.visible_ms);
    let visible_us = since_1970(started) + visible_ms.expect("it surfaces") * 1000;
    let polls = sim
        .requests()
        .iter()
        .filter(|request| request.method == "GET" && request.path.ends_with("/checkpoints"))
        .count();
    ((ended_us as f64 - visible_us as f64) / 1000.0, polls)
}

/// Runs a call that changes a machine, and says when its process ended: microseconds since 1970.
fn change(world: &World) -> u64 {
    let event = world.path("event.json");
    let call = before("mcp__esxi__powerOff", json!({ "name": "jp-ubuntu" }));
    fs::write(&event, call.to_string()).expect("a file");
    let measured = Launcher::start(None).measure(world, &event, Path::new(HOLDPOINT), &["hook"]);
    assert!(measured.stdout.contains("additionalContext"), "{measured:?}");
    measured.ended_us
}

/// When the journal is read after an insert whose checkpoint surfaces just before the next one of the VPG: the rule of
/// `host/zerto/src/journal.rs`, with answers that take no time.
pub(crate) fn schedule(cadence: Duration) -> Vec<Duration> {
    let mut polls = vec![Duration::ZERO];
    let mut elapsed = Duration::ZERO;
    while elapsed < cadence {
        let usual = cadence.mul_f64(0.09).min(elapsed / 2);
        let usual = usual.clamp(Duration::from_millis(200), Duration::from_secs(6));
        // Up to the promised moment and not beyond it.
        elapsed += usual.min((cadence - elapsed).max(Duration::from_secs(1)));
        polls.push(elapsed);
    }
    polls
}
