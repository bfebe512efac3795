//! What policies are tested with: runs a policy while something else answers in the host's place, and says what comes out.
//!
//! A script ([`case`]), a simulated world ([`check`]) or a record ([`replay`]) answers. A [`Subject`] is a policy that went
//! through the hook's gate, and a [`Runner`] runs it in the hook's sandbox.

pub mod case;
pub mod check;
pub mod replay;
pub mod report;
mod runner;
mod subject;
pub mod transcript;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use holdpoint_recording::exchange::Asking;
use holdpoint_runtime::sandbox::Cost;
use holdpoint_runtime::verdict::{Fault, Verdict};

pub use runner::Runner;
pub use subject::{Subject, SubjectError};

/// What a policy did with one call.
#[derive(Debug)]
pub struct RunOutcome {
    /// Its verdict, as the harness would get it, or the fault.
    pub verdict: Result<Verdict, Fault>,
    /// The verdict as it said it, before it was cleaned and cut.
    pub said: Option<Verdict>,
    /// What it asked of the host.
    pub asking: Asking,
    /// What it cost.
    pub cost: Cost,
}

impl RunOutcome {
    /// `pass`, `ask`, `deny` or `fault`.
    pub fn word(&self) -> &'static str {
        match &self.verdict {
            Ok(verdict) => verdict.word(),
            Err(_) => "fault",
        }
    }

    /// The note, the reason, or the fault's cause; empty where nothing is said.
    pub fn text(&self) -> &str {
        match &self.verdict {
            Ok(verdict) => verdict.text(),
            Err(fault) => &fault.cause,
        }
    }

    /// What it asked, as cases write it.
    pub fn calls(&self) -> Vec<String> {
        let exchanges = self.asking.exchanges.iter();
        exchanges.map(|exchange| exchange.asked.to_string()).collect()
    }
}

/// Does work for each of the items, on as many threads as there are processors; results in the order of the items.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(items.len());
    let take = || {
        let mut done = Vec::new();
        while let Some((number, item)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            items.get(number).map(|item| (number, item))
        } {
            done.push((number, work(item)));
        }
        done
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
