//! Runs a policy on the bench: instructions are counted, time is virtual, and nothing is left to chance.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use wasmtime::Engine;
use wasmtime::component::Component;

use super::capabilities::Capabilities;
use super::{Call, Clock, Prepared, ask};
use crate::verdict::{Fault, Verdict};

/// The most instructions of one decision, its start included.
pub const MOST_FUEL: u64 = 10_000_000_000;
/// How long one decision may take by the real clock, in ticks: an instruction that fills memory counts as one.
const MOST_TICKS: u64 = 30;
const TICK: Duration = Duration::from_secs(1);

/// What one decision cost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Instructions, the start included.
    pub fuel: u64,
    /// Of these, what the component's start took before it was asked anything.
    pub start: u64,
    /// The most memory that it had, in bytes.
    pub memory: usize,
}

/// What a policy on the bench came to.
#[derive(Debug)]
pub struct Measured {
    /// Its verdict, or the fault.
    pub verdict: Result<Verdict, Fault>,
    /// What it cost.
    pub cost: Cost,
}

static METERED: OnceLock<Engine> = OnceLock::new();

/// The engine of the bench, made once; with a thread that ends what hangs.
pub fn metered_engine() -> &'static Engine {
    METERED.get_or_init(|| {
        let engine = Engine::new(&holdpoint_engine::metered_config())
            .expect("the engine's settings are known to be good");
        let ticking = engine.weak();
        thread::spawn(move || {
            while let Some(engine) = ticking.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        });
        engine
    })
}

impl Prepared {
    /// Links a component of the metered engine, with nothing left to chance.
    ///
    /// # Errors
    ///
    /// As for [`Prepared::new`].
    pub fn metered(component: &Component, grants: &[String]) -> Result<Self, Fault> {
        Self::link(component, grants, true)
    }

    /// Asks before a call, with at most so much fuel.
    pub fn measure(&self, lent: Box<dyn Capabilities>, clock: Clock, call: &Call, fuel: u64) -> Measured {
        debug_assert!(self.still, "only what was linked for the bench can be measured");
        let mut store = self.store(lent, Some(clock));
        store.set_epoch_deadline(MOST_TICKS);
        store.set_fuel(fuel).expect("the metered engine counts");
        let started = self.start(&mut store);
        let left = |store: &wasmtime::Store<_>| store.get_fuel().expect("the metered engine counts");
        let start = fuel - left(&store);
        let verdict = started.and_then(|policy| ask(&policy, &mut store, call));
        Measured {
            verdict,
            cost: Cost {
                fuel: fuel - left(&store),
                start,
                memory: store.data().limits.memory,
            },
        }
    }
}
