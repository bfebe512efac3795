//! Where the time goes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::Timings;

/// A part of the work whose time is told apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    LogIn,
    LookUp,
    Insert,
    Journal,
}

/// Adds the time up by phase, and counts requests. What is done several times at once counts once.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    phases: [Spent; 4],
    requests: u64,
}

#[derive(Debug, Default)]
struct Spent {
    /// How often it is being done now, and since when.
    running: usize,
    since: Option<Instant>,
    total: Duration,
}

/// Ends a phase when it is dropped.
#[derive(Debug)]
pub(crate) struct Timing<'a> {
    meter: &'a Meter,
    phase: Phase,
}

impl Meter {
    pub(crate) fn start(&self, phase: Phase) -> Timing<'_> {
        let spent = &mut self.counts().phases[phase as usize];
        spent.running += 1;
        spent.since.get_or_insert_with(Instant::now);
        Timing { meter: self, phase }
    }

    pub(crate) fn count_request(&self) {
        self.counts().requests += 1;
    }

    pub(crate) fn read(&self) -> Timings {
        let counts = self.counts();
        let milliseconds = |phase: Phase| {
            let total = counts.phases[phase as usize].total;
            u64::try_from(total.as_millis()).unwrap_or(u64::MAX)
        };
        Timings {
            log_in: milliseconds(Phase::LogIn),
            look_up: milliseconds(Phase::LookUp),
            insert: milliseconds(Phase::Insert),
            journal: milliseconds(Phase::Journal),
            requests: counts.requests,
        }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        let spent = &mut self.meter.counts().phases[self.phase as usize];
        spent.running -= 1;
        if spent.running == 0 {
            spent.total += spent.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_twice_at_once_counts_once() {
        let meter = Meter::default();
        let begun = Instant::now();
        let (first, second) = (meter.start(Phase::Insert), meter.start(Phase::Insert));
        std::thread::sleep(Duration::from_millis(30));
        drop(first);
        assert_eq!(meter.read().insert, 0, "it is still being done");
        drop(second);
        let whole = u64::try_from(begun.elapsed().as_millis()).unwrap();
        assert!((30..=whole).contains(&meter.read().insert));
        assert_eq!(meter.read().journal, 0);
    }
}
