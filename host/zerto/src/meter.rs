//! Where the time goes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::Timings;

/// A part of the work whose time is told apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    LogIn,
    LookUp,
    Insert,
    Journal,
}

/// Adds the time up by phase, and counts requests.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<(Spent, u64)>);

#[derive(Debug, Default)]
struct Spent {
    log_in: Duration,
    look_up: Duration,
    insert: Duration,
    journal: Duration,
}

impl Meter {
    pub(crate) fn add(&self, phase: Phase, time: Duration) {
        let (spent, _) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *match phase {
            Phase::LogIn => &mut spent.log_in,
            Phase::LookUp => &mut spent.look_up,
            Phase::Insert => &mut spent.insert,
            Phase::Journal => &mut spent.journal,
        } += time;
    }

    pub(crate) fn count_request(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 += 1;
    }

    pub(crate) fn read(&self) -> Timings {
        let (spent, requests) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Timings {
            log_in: milliseconds(spent.log_in),
            look_up: milliseconds(spent.look_up),
            insert: milliseconds(spent.insert),
            journal: milliseconds(spent.journal),
            requests: *requests,
        }
    }
}
