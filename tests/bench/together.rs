//! Calls that wait at the same time for a checkpoint of one VPG.

use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::HOLDPOINT;
use crate::report::Together;
use crate::support::{World, before};

/// How many calls at once.
const CALLS: usize = 100;
/// How often the VPG has a checkpoint, in milliseconds.
const CADENCE_MS: u64 = 5000;

/// Runs so many calls at once, each for a VM of its own, and says what they shared.
pub(crate) fn measure() -> Together {
    let vms: Vec<String> = (0..CALLS)
        .map(|number| format!("{{ name = 'vm-{number}' }}"))
        .collect();
    let world = World::with_zvm(&format!(
        "[[vpgs]]\nname = 'APP-VPG'\ncadence_ms = {CADENCE_MS}\nvms = [{}]",
        vms.join(", ")
    ));
    let begun = Instant::now();
    let mut answered: Vec<f64> = thread::scope(|scope| {
        let call = |number: usize| {
            let mut event = before("mcp__esxi__powerOff", json!({ "name": format!("vm-{number}") }));
            event["tool_use_id"] = format!("toolu_{number:08}").into();
            let outcome = world.hook(HOLDPOINT, &event);
            assert_eq!(outcome.decision(), "context", "{outcome:?}");
            begun.elapsed().as_secs_f64()
        };
        let threads: Vec<_> = (0..CALLS)
            .map(|number| scope.spawn(move || call(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a call"))
            .collect()
    });
    answered.sort_by(f64::total_cmp);
    Together {
        calls: CALLS,
        cadence_s: CADENCE_MS as f64 / 1000.0,
        inserted: world.sim.as_ref().expect("there is a ZVM").checkpoints().len(),
        older: older(&world),
        median_s: answered[CALLS / 2],
        last_s: answered[CALLS - 1],
    }
}

/// How many calls passed with a checkpoint that was inserted before they asked for their VM, and so before they waited.
fn older(world: &World) -> usize {
    let sim = world.sim.as_ref().expect("there is a ZVM");
    let (inserted, requests) = (sim.checkpoints(), sim.requests());
    let is_older = |line: &serde_json::Value| {
        let tag = line["checkpoints"][0]["shared_tag"]
            .as_str()
            .or_else(|| line["tag"].as_str());
        let inserted = inserted
            .iter()
            .find(|inserted| Some(inserted.tag.as_str()) == tag);
        let vm = format!("vmName={}", line["targets"][0].as_str().expect("a VM"));
        let asked = requests
            .iter()
            .find(|request| request.query == vm)
            .expect("it was looked up");
        inserted.expect("its checkpoint was inserted").inserted_ms < asked.at
    };
    world.log().iter().filter(|line| is_older(line)).count()
}
