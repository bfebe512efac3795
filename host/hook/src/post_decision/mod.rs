//! What comes after the answer: the record of the decision, and the shadow's opinion of it.
//!
//! A hook that dies after it said *deny* is "go on" for some harnesses, and others wait for every child that holds the
//! hook's standard output. So none of this runs in the hook's process: a process of its own does it, which is started
//! before the answer is written, begins when the hook has ended, and holds nothing of the hook's. The hook leaves it all
//! that it needs in a file without a name; what cannot be started costs a line in the log and no answer.
//!
//! [`start`] is the hook's part, `worker` the other process's, and `process` is what the operating system has to do
//! with either.

mod process;
mod shadow;
mod worker;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use holdpoint_config::{Config, Sources};
use holdpoint_recording::exchange::{Asking, Recorder};
use holdpoint_recording::{Decider, FORMAT, Recorded, Said};
use holdpoint_runtime::policy::Identity;
use holdpoint_runtime::sandbox::Call;
use holdpoint_runtime::sandbox::capabilities::Capabilities;
use holdpoint_runtime::verdict::{Fault, FaultKind, Verdict};
use serde::{Deserialize, Serialize};

use crate::log::{self, Log};
use crate::watchdog;

pub use process::VERB;
pub use worker::run;

/// What is kept of a decision while it is made.
pub struct Witness {
    call: Call,
    policy: Identity,
    asking: Arc<Mutex<Asking>>,
    time_left_ms: u64,
    verdict: Option<Result<Verdict, Fault>>,
}

impl Witness {
    /// Stands between the policy and the host, where somebody wants to know afterwards what passed.
    pub fn attend(
        config: &Config,
        mut lent: Box<dyn Capabilities>,
        call: &Call,
        policy: &Identity,
    ) -> (Box<dyn Capabilities>, Option<Self>) {
        if !config.record.enabled && config.policy.shadow().is_none() {
            return (lent, None);
        }
        let time_left_ms = lent.time_left();
        let recorder = Recorder::new(lent);
        let witness = Self {
            call: call.clone(),
            policy: policy.clone(),
            asking: recorder.asking(),
            time_left_ms,
            verdict: None,
        };
        (Box::new(recorder), Some(witness))
    }

    /// The policy's verdict, before anything is made of it.
    pub fn heard(&mut self, verdict: &Result<Verdict, Fault>) {
        self.verdict = Some(verdict.clone());
    }

    /// The decision as it is recorded, with nothing redacted yet; none where the policy said nothing.
    fn recorded(self, answered: &Verdict) -> Option<Recorded> {
        let verdict = self.verdict?;
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let asking = std::mem::take(&mut *asking);
        Some(Recorded {
            format: FORMAT,
            at: log::now(),
            host: env!("CARGO_PKG_VERSION").into(),
            policy: Decider {
                origin: self.policy.origin,
                digest: self.policy.digest,
            },
            call: self.call.into(),
            time_left_ms: self.time_left_ms,
            exchanges: asking.exchanges,
            cut: asking.cut,
            lines: asking.lines,
            verdict: Said::from(&verdict),
            answered: answered.word().into(),
            redacted: 0,
        })
    }
}

/// What the harness was answered where the call does not run.
const DENIED: &str = "deny";

/// What the other process is left.
#[derive(Serialize, Deserialize)]
struct Task {
    /// The configuration that decided, whatever its files hold by now.
    sources: Sources,
    decided: Recorded,
    /// What is left of the hook's time, in milliseconds.
    left_ms: u64,
    /// Whether the policy was interrupted. It used the time up, so the shadow gets none.
    interrupted: bool,
}

/// Starts the process that does what is to be done after this answer. It begins when this process has ended.
pub fn start(witness: Witness, answered: &Verdict, config: &Config, deadline: Instant) {
    let Some(decided) = witness.recorded(answered) else {
        return;
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let task = Task {
        sources: config.sources.clone(),
        decided,
        left_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        interrupted: watchdog::too_late(),
    };
    let started = serde_json::to_vec(&task)
        .map_err(std::io::Error::from)
        .and_then(|task| process::start(&task));
    if let Err(error) = started {
        let cause = format!("the process that follows the answer cannot be started ({error})");
        tell_of_fault(config, &task.decided, kind(config), &cause);
    }
}

/// What is lost first where nothing can be done after an answer.
fn kind(config: &Config) -> FaultKind {
    match config.record.enabled {
        true => FaultKind::Record,
        false => FaultKind::Shadow,
    }
}

/// The line that the log gets of a fault after the answer.
fn fault_line(decided: &Recorded, kind: FaultKind, cause: &str) -> Vec<u8> {
    let call = &decided.call;
    let entry = log::Entry::new(&call.session_id, &call.call_id, &call.tool);
    entry.failed("silent", kind, cause).line().unwrap_or_default()
}

/// Writes that line. Where that fails too there is nobody left to tell.
fn tell_of_fault(config: &Config, decided: &Recorded, kind: FaultKind, cause: &str) {
    tell(config, &fault_line(decided, kind, cause));
}

fn tell(config: &Config, line: &[u8]) {
    if let Ok(log) = Log::of(&config.log) {
        let _ = log.append_line(line);
    }
}
