//! A policy on the bench, ready to be asked.

use std::sync::{Arc, Mutex, PoisonError};

use holdpoint_recording::exchange::{Source, Stage};
use holdpoint_runtime::sandbox::{Call, Clock, MOST_FUEL, Prepared};
use holdpoint_runtime::verdict::{Fault, FaultKind, Verdict};

use super::{RunOutcome, Subject};

/// A policy in the sandbox, linked once and asked as often as one likes, from any thread.
pub struct Runner {
    prepared: Prepared,
    fuel: u64,
}

impl Runner {
    /// Links a policy.
    ///
    /// # Errors
    ///
    /// A fault where it does not fit the contract.
    pub fn new(subject: &Subject) -> Result<Self, Fault> {
        Self::with_fuel(subject, MOST_FUEL)
    }

    /// Links a policy that may execute so many instructions for one decision.
    ///
    /// # Errors
    ///
    /// As for [`Runner::new`].
    pub fn with_fuel(subject: &Subject, fuel: u64) -> Result<Self, Fault> {
        Ok(Self {
            prepared: Prepared::metered(&subject.component, &subject.grants)?,
            fuel,
        })
    }

    /// Asks the policy before a call, with this in the host's place and so many milliseconds left.
    pub fn ask(&self, source: impl Source + 'static, time_ms: u64, call: &Call) -> RunOutcome {
        let clock = Clock::default();
        let stage = Stage::new(source, clock.clone(), time_ms);
        let asking = stage.asking();
        let measured = self
            .prepared
            .measure(Box::new(stage), clock.clone(), call, self.fuel);
        // Who sleeps past the deadline would not have been waited for.
        let verdict = match measured.verdict {
            Ok(_) if clock.passed_ms() > time_ms => Err(Fault::new(
                FaultKind::Deadline,
                "the policy let all of its time pass",
            )),
            verdict => verdict,
        };
        RunOutcome {
            said: verdict.clone().ok(),
            verdict: verdict.map(Verdict::cleaned),
            asking: taken(&asking),
            cost: measured.cost,
        }
    }
}

fn taken<T: Default>(shared: &Arc<Mutex<T>>) -> T {
    std::mem::take(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}
