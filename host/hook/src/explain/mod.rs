//! The reasoning for one event, without doing anything: the policy judges it in one scripted world after another, so that
//! what it asks of Zerto and what each answer leads to is seen, whichever policy it is.

mod scripted;

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use holdpoint_common::safe_text;
use holdpoint_config::{Config, ConfigError};
use holdpoint_runtime::verdict::{Fault, FaultKind, Verdict};
use holdpoint_runtime::{policy, sandbox};
use serde::Serialize;

use crate::event::{Call, Event};
use crate::harness::claude_code;
use crate::{question, unattended};

pub use scripted::{Asked, Case};
use scripted::{Heard, Scripted};

/// How long the policy may take for one case. It waits for nothing, so this is for one that does not end.
const LONGEST: Duration = Duration::from_secs(10);

/// What would be done with an event, and why.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The harness's word for the event; none where it cannot be read.
    pub event: Option<String>,
    /// The tool, where it is a call.
    pub tool: Option<String>,
    /// The policy that was asked.
    pub policy: Option<String>,
    /// What the policy says of the call: how it reads it, and by which catalogs.
    pub notes: Vec<String>,
    /// What it asks of Zerto and of the session where everything is as it should be.
    pub asked: Vec<Asked>,
    /// What each state of the world leads to. One branch with no condition where the answer does not depend on any.
    pub branches: Vec<Branch>,
}

/// What one state of the world leads to.
#[derive(Debug, Serialize)]
pub struct Branch {
    /// The state; none where it is the same in all of them.
    #[serde(rename = "if")]
    pub case: Option<Case>,
    /// `pass`, `ask` or `deny`; `silent` for an event that cannot be gated, `block` where it cannot be read.
    pub verdict: &'static str,
    /// The kind of fault, where it is one.
    pub fault: Option<&'static str>,
    /// The reason or note.
    pub why: Option<String>,
}

/// Explains one event.
pub fn explain(config: &Result<Config, ConfigError>, bytes: &[u8]) -> Explanation {
    let nothing = |event, branch| Explanation {
        event,
        tool: None,
        policy: None,
        notes: Vec::new(),
        asked: Vec::new(),
        branches: vec![branch],
    };
    match claude_code::read(bytes) {
        Ok(Event::Before(call)) => of_call(config, &call),
        Ok(Event::Tallied(name)) => {
            let why = "no call waits for this event; the session tally is kept by it";
            nothing(Some(name.to_owned()), Branch::silent(why))
        }
        Ok(Event::Other(name)) => nothing(Some(name), Branch::silent("no call waits for this event")),
        Err(fault) => nothing(None, Branch::of_fault("block", &fault)),
    }
}

/// The machines that the policy reads from a call: what it would ask Zerto for. Nothing is asked; where the policy cannot be
/// run there are none.
pub fn machines(config: &Config, call: &Call<'_>) -> Vec<String> {
    let asked = || -> Option<Vec<Asked>> {
        let settings = policy::settings(&config.policy).ok()?;
        let loaded = policy::load(&config.policy).ok()?;
        let component = ManuallyDrop::new(loaded.component);
        let heard = Arc::default();
        let deadline = u64::try_from(config.deadline().as_millis()).unwrap_or(u64::MAX);
        let lent = Box::new(Scripted::new(Case::Unknown, deadline, Arc::clone(&heard)));
        interrupt_later();
        let prepared = sandbox::Prepared::new(&component, &config.policy.grants()).ok()?;
        // What it says does not matter.
        let _ = prepared.before(lent, &question::question(call, settings, question::nonce()));
        Some(taken(&heard).asked)
    };
    asked()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|asked| match asked {
            Asked::VmsByName { name } => Some(name),
            Asked::VmByIdentifier { identifier } => Some(identifier),
            _ => None,
        })
        .collect()
}

fn of_call(config: &Result<Config, ConfigError>, call: &Call<'_>) -> Explanation {
    let mut explanation = Explanation {
        event: Some("PreToolUse".into()),
        tool: Some(safe_text::clean_line(&call.tool, 200)),
        policy: None,
        notes: Vec::new(),
        asked: Vec::new(),
        branches: Vec::new(),
    };
    if let Err(fault) = play(config, call, &mut explanation) {
        explanation.branches = vec![Branch::of_fault("deny", &fault)];
    }
    explanation
}

/// Has the policy judge the call in every world that can make a difference.
fn play(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    explanation: &mut Explanation,
) -> Result<(), Fault> {
    let unusable = |error: &ConfigError| Fault::new(FaultKind::Configuration, error.to_string());
    let config = config.as_ref().map_err(unusable)?;
    let settings = policy::settings(&config.policy).map_err(|error| unusable(&error))?;
    let policy::Loaded {
        component, identity, ..
    } = policy::load(&config.policy).map_err(|error| Fault::new(error.kind(), error.to_string()))?;
    let component = ManuallyDrop::new(component);
    explanation.policy = Some(identity.to_string());
    let question = question::question(call, settings, question::nonce());
    let deadline = u64::try_from(config.deadline().as_millis()).unwrap_or(u64::MAX);
    let mode = call.permission_mode.as_deref();
    let judge = |case| {
        let heard = Arc::default();
        let lent = Box::new(Scripted::new(case, deadline, Arc::clone(&heard)));
        interrupt_later();
        let verdict = sandbox::Prepared::new(&component, &config.policy.grants())
            .and_then(|prepared| prepared.before(lent, &question))
            .map(|verdict| unattended::resolve(&config.ask, verdict, mode).cleaned());
        (Branch::of(case, verdict), taken(&heard))
    };
    let (mut first, heard) = judge(Case::Seen);
    explanation.notes = heard
        .notes
        .iter()
        .map(|line| safe_text::clean_line(line, 400))
        .collect();
    explanation.asked = heard.asked;
    let asks_zerto = explanation.asked.iter().any(|asked| *asked != Asked::Tally);
    let asks_tally = explanation.asked.contains(&Asked::Tally);
    if !asks_zerto && !asks_tally {
        first.case = None;
    }
    explanation.branches.push(first);
    for case in Case::ALL.into_iter().skip(1) {
        let matters = if case == Case::Strained {
            asks_tally
        } else {
            asks_zerto
        };
        if matters {
            explanation.branches.push(judge(case).0);
        }
    }
    Ok(())
}

fn taken(heard: &Mutex<Heard>) -> Heard {
    std::mem::take(&mut heard.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Ends what the policy is doing then. Where it has long ended, the next run's deadline is counted from a later epoch.
fn interrupt_later() {
    thread::spawn(|| {
        thread::sleep(LONGEST);
        sandbox::interrupt();
    });
}

impl Branch {
    fn of(case: Case, verdict: Result<Verdict, Fault>) -> Self {
        let case = Some(case);
        match verdict {
            Ok(verdict) => Self {
                case,
                verdict: verdict.word(),
                fault: None,
                why: match verdict {
                    Verdict::Pass(note) => note,
                    Verdict::Ask(reason) | Verdict::Deny(reason) => Some(reason),
                },
            },
            Err(fault) => Self {
                case,
                ..Self::of_fault("deny", &fault)
            },
        }
    }

    fn of_fault(verdict: &'static str, fault: &Fault) -> Self {
        Self {
            case: None,
            verdict,
            fault: Some(fault.kind.word()),
            why: Some(fault.reason()),
        }
    }

    fn silent(why: &str) -> Self {
        Self {
            case: None,
            verdict: "silent",
            fault: None,
            why: Some(why.to_owned()),
        }
    }
}
