//! What comes after the answer: the record of the decision, and the shadow's opinion of it.
//!
//! The answer is out by then and the exit code is settled, so nothing that goes wrong here can touch either: a trap, an
//! endless loop, a panic, a signal, a disk that hangs. All of it has a share of the time that is left, and no more.

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::bench::compare::{Change, Deed, change};
use crate::bench::recorded::Recollection;
use crate::bench::stage::{Asking, Stage};
use crate::config::Config;
use crate::exit::ExitCode;
use crate::log::Log;
use crate::policy::{self, Identity};
use crate::recording::{Decider, FORMAT, Recorded, Recorder, Said};
use crate::runtime::capabilities::Capabilities;
use crate::runtime::{Call, Clock, Prepared};
use crate::verdict::{Fault, FaultKind, Verdict};
use crate::{hook, log, text, watchdog};

/// The longest text that a shadow's line keeps, in characters, and the most captures and questions.
const LONGEST_REASON: usize = 400;
const MOST_KEPT: usize = 8;

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
}

/// Does what is to be done after the answer.
pub fn follow(witness: Witness, config: &Config, deadline: Instant, code: ExitCode) {
    watchdog::delivered(code);
    // A policy that was interrupted used the time up: the shadow gets none.
    let interrupted = watchdog::too_late();
    let left = deadline.saturating_duration_since(Instant::now());
    watchdog::set_deadline(Instant::now() + left.mul_f64(config.policy.shadow_share()));
    let Some(decided) = Decided::from(witness) else {
        return;
    };
    if config.record.enabled
        && let Err(cause) = decided.record(config, code)
    {
        let entry = hook::entry(
            &decided.call.session_id,
            &decided.call.call_id,
            &decided.call.tool,
        );
        tell(config, |log| {
            log.append(&mut entry.failed("silent", FaultKind::Record, &cause))
        });
    }
    if config.policy.shadow().is_some() && !interrupted {
        decided.look_on(config);
    }
}

/// Writes to the decision log. Where that fails there is nobody left to tell: the answer is out.
fn tell(config: &Config, write: impl FnOnce(&Log) -> std::io::Result<()>) {
    if let Ok(log) = config.log.open() {
        let _ = write(&log);
    }
}

/// A decision that was made.
struct Decided {
    call: Call,
    policy: Identity,
    asking: Asking,
    time_left_ms: u64,
    verdict: Result<Verdict, Fault>,
}

impl Decided {
    fn from(witness: Witness) -> Option<Self> {
        let mut asking = witness.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let asking = std::mem::take(&mut *asking);
        Some(Self {
            call: witness.call,
            policy: witness.policy,
            asking,
            time_left_ms: witness.time_left_ms,
            verdict: witness.verdict?,
        })
    }

    fn record(&self, config: &Config, code: ExitCode) -> Result<(), String> {
        let answered = match self.verdict.clone() {
            // Also where no receipt could be had for the verdict, or nobody took the answer to it.
            _ if code == ExitCode::BLOCKED => "deny",
            Ok(verdict) => config
                .ask
                .resolve(verdict, self.call.permission_mode.as_deref())
                .word(),
            Err(_) => "deny",
        };
        let mut record = Recorded {
            format: FORMAT,
            at: log::now(),
            host: env!("CARGO_PKG_VERSION").into(),
            policy: Decider {
                origin: self.policy.origin.clone(),
                digest: self.policy.digest,
            },
            call: self.call.clone().into(),
            time_left_ms: self.time_left_ms,
            exchanges: self.asking.exchanges.clone(),
            cut: self.asking.cut,
            lines: self.asking.lines.clone(),
            verdict: Said::from(&self.verdict),
            answered: answered.into(),
            redacted: 0,
        };
        config.record.rules().apply(&mut record);
        let mut line = serde_json::to_vec(&record).map_err(|error| error.to_string())?;
        line.push(b'\n');
        let files = config.record.files().map_err(|error| error.to_string())?;
        files
            .append(&line, &record.at)
            .map_err(|error| format!("{} cannot be written ({error})", files.directory.display()))
    }

    /// Asks the shadow the same, with the answers that the policy in force got, and logs what it says.
    fn look_on(&self, config: &Config) {
        let Ok(log) = config.log.open() else { return };
        // Should it not come back, or take the process with it: then this is what the log gets.
        watchdog::leave_lines(&log.path, |_, why| self.line(config, &Opinion::fault(why)));
        let opinion = self.opinion(config);
        watchdog::withdraw_lines();
        tell(config, |log| log.append_line(&self.line(config, &opinion)));
    }

    fn opinion(&self, config: &Config) -> Opinion {
        let started = Instant::now();
        let loaded = match policy::load_shadow(&config.policy) {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return Opinion::fault("there is none"),
            Err(error) => return Opinion::fault(&error.to_string()),
        };
        let component = ManuallyDrop::new(loaded.component);
        let source = Recollection::new(self.asking.exchanges.clone());
        let stage = Stage::new(source, Clock::default(), self.time_left_ms);
        let asking = stage.asking();
        let verdict = Prepared::new(&component, &config.policy.grants())
            .and_then(|prepared| prepared.before(Box::new(stage), &self.call))
            .map(Verdict::cleaned);
        let asking = std::mem::take(&mut *asking.lock().unwrap_or_else(PoisonError::into_inner));
        let said = Said::from(&verdict);
        let active = Said::from(&self.verdict);
        let from = Deed {
            said: &active,
            exchanges: &self.asking.exchanges,
        };
        let to = Deed {
            said: &said,
            exchanges: &asking.exchanges,
        };
        Opinion {
            change: change(&from, &to, !asking.unforeseen.is_empty()),
            policy: Some(loaded.identity.to_string()),
            captures: to.captures().into_iter().map(str::to_owned).collect(),
            said,
            unforeseen: asking.unforeseen,
            took: started.elapsed(),
        }
    }

    fn line(&self, config: &Config, opinion: &Opinion) -> Vec<u8> {
        let named = || {
            config
                .policy
                .shadow()
                .map_or_else(String::new, |shadow| shadow.to_string())
        };
        let shown = |text: &str| text::clean_line(text, LONGEST_REASON);
        let unforeseen = opinion.unforeseen.iter().take(MOST_KEPT);
        let captures = opinion.captures.iter().take(MOST_KEPT);
        let line = Line {
            at: log::now(),
            session: shown(&self.call.session_id),
            call: shown(&self.call.call_id),
            tool: shown(&self.call.tool),
            shadow: Looked {
                policy: shown(&opinion.policy.clone().unwrap_or_else(named)),
                change: opinion.change,
                active: self.verdict.as_ref().map_or("fault", Verdict::word),
                candidate: &opinion.said.word,
                why: shown(&opinion.said.text),
                captures: captures.map(|vpg| shown(vpg)).collect(),
                unforeseen: unforeseen.map(|asked| shown(asked)).collect(),
                ms: opinion.took.as_secs_f64() * 1_000.0,
            },
        };
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// What the shadow says of a decision.
struct Opinion {
    change: Change,
    policy: Option<String>,
    said: Said,
    captures: Vec<String>,
    unforeseen: Vec<String>,
    took: Duration,
}

impl Opinion {
    /// It has none: what went wrong.
    fn fault(why: &str) -> Self {
        Self {
            change: Change::Fault,
            policy: None,
            said: Said {
                word: "fault".into(),
                text: why.to_owned(),
                fault: Some(FaultKind::Shadow.word().into()),
            },
            captures: Vec::new(),
            unforeseen: Vec::new(),
            took: Duration::ZERO,
        }
    }
}

/// A line of the decision log: it has no `verdict`, since nothing was decided.
#[derive(Serialize)]
struct Line<'a> {
    at: String,
    session: String,
    call: String,
    tool: String,
    shadow: Looked<'a>,
}

#[derive(Serialize)]
struct Looked<'a> {
    policy: String,
    change: Change,
    active: &'a str,
    candidate: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    captures: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unforeseen: Vec<String>,
    ms: f64,
}
