//! Surroundings without chance, for the bench: time is virtual, and random numbers are always the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::clocks::{HostMonotonicClock, HostWallClock, WasiClocksCtxView, WasiClocksView as _};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use super::capabilities::State;

/// Virtual time: passes only where somebody lets it. Clones share it.
#[derive(Debug, Default, Clone)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// The milliseconds that have passed.
    pub fn passed_ms(&self) -> u64 {
        self.passed() / 1_000_000
    }

    /// Lets milliseconds pass.
    pub fn pass_ms(&self, ms: u64) {
        self.pass(ms.saturating_mul(1_000_000));
    }

    fn passed(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn pass(&self, nanoseconds: u64) {
        let passed = self.passed().saturating_add(nanoseconds);
        self.0.store(passed, Ordering::Relaxed);
    }
}

/// The empty context, with nothing in it that differs from run to run.
pub(super) fn context(clock: &Clock) -> WasiCtx {
    // Any bytes do; a table of hashes is as good with these as with others.
    let bytes = || Deterministic::new((0..=u8::MAX).rev().collect());
    super::wasi::nothing(&mut WasiCtxBuilder::new())
        .wall_clock(clock.clone())
        .monotonic_clock(clock.clone())
        .secure_random(bytes())
        .insecure_random(bytes())
        .insecure_random_seed(0)
        .build()
}

/// 2026-01-01T00:00:00Z, in seconds.
const BEGINNING: u64 = 1_767_225_600;

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::from_secs(BEGINNING + self.passed() / 1_000_000_000)
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        self.passed()
    }
}

/// Links WASI's monotonic clock so that waiting for it takes no time: what is waited for has passed at once.
pub(super) fn link_monotonic_clock(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    monotonic_clock::add_to_linker::<State, Waiting>(linker, |state| Wait {
        clock: state.clock().cloned().unwrap_or_default(),
        clocks: state.clocks(),
    })
}

struct Waiting;

impl HasData for Waiting {
    type Data<'a> = Wait<'a>;
}

struct Wait<'a> {
    clock: Clock,
    clocks: WasiClocksCtxView<'a>,
}

impl monotonic_clock::Host for Wait<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        monotonic_clock::Host::now(&mut self.clocks)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        monotonic_clock::Host::resolution(&mut self.clocks)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.subscribe_duration(when.saturating_sub(self.clock.passed()))
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.clock.pass(duration);
        monotonic_clock::Host::subscribe_duration(&mut self.clocks, 0)
    }
}
