//! The shadow: what a candidate says of a decision that was made, as a line of the log.

use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use holdpoint_common::safe_text;
use holdpoint_config::Config;
use holdpoint_recording::change::{Change, PolicyRun, change};
use holdpoint_recording::exchange::{RecordedAnswers, Stage};
use holdpoint_recording::{Recorded, Said};
use holdpoint_runtime::policy;
use holdpoint_runtime::sandbox::{Call, Clock, Prepared};
use holdpoint_runtime::verdict::{FaultKind, Verdict};
use serde::Serialize;

use super::{tell, worker};
use crate::{log, watchdog};

/// The longest text that a shadow's line keeps, in characters, and the most captures and questions.
const LONGEST_REASON: usize = 400;
const MOST_KEPT: usize = 8;

/// Asks the shadow the same, with the answers that the active policy got, and logs what it says.
pub(super) fn look_on(decided: &Recorded, config: &Config, time: Duration) {
    // Should it not come back, or take the process with it: then this is what the log gets.
    worker::guard(config, time, |why| fault_line(decided, config, why));
    let opinion = opinion(decided, config);
    watchdog::withdraw_lines();
    tell(config, &line(decided, config, &opinion));
}

/// The line of a shadow that has no opinion, and why.
pub(super) fn fault_line(decided: &Recorded, config: &Config, why: &str) -> Vec<u8> {
    line(decided, config, &Opinion::fault(why))
}

fn opinion(decided: &Recorded, config: &Config) -> Opinion {
    let started = Instant::now();
    let loaded = match policy::load_shadow(&config.policy) {
        Ok(Some(loaded)) => loaded,
        Ok(None) => return Opinion::fault("there is none"),
        Err(error) => return Opinion::fault(&error.to_string()),
    };
    let component = ManuallyDrop::new(loaded.component);
    let source = RecordedAnswers::new(decided.exchanges.clone());
    let stage = Stage::new(source, Clock::default(), decided.time_left_ms);
    let asking = stage.asking();
    let call = Call::from(decided.call.clone());
    let verdict = Prepared::new(&component, &config.policy.grants())
        .and_then(|prepared| prepared.before(Box::new(stage), &call))
        .map(Verdict::cleaned);
    let asking = std::mem::take(&mut *asking.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let said = Said::from(&verdict);
    let from = PolicyRun {
        said: &decided.verdict,
        exchanges: &decided.exchanges,
    };
    let to = PolicyRun {
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

fn line(decided: &Recorded, config: &Config, opinion: &Opinion) -> Vec<u8> {
    let named = || {
        config
            .policy
            .shadow()
            .map_or_else(String::new, |shadow| shadow.to_string())
    };
    let shown = |text: &str| safe_text::clean_line(text, LONGEST_REASON);
    let unforeseen = opinion.unforeseen.iter().take(MOST_KEPT);
    let captures = opinion.captures.iter().take(MOST_KEPT);
    let line = Line {
        at: log::now(),
        session: shown(&decided.call.session_id),
        call: shown(&decided.call.call_id),
        tool: shown(&decided.call.tool),
        shadow: Looked {
            policy: shown(&opinion.policy.clone().unwrap_or_else(named)),
            change: opinion.change,
            active: &decided.verdict.word,
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
