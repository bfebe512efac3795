//! The state of the simulated ZVM: what the scenario gave, what was inserted and what was asked.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::Request;

use crate::clock::Clock;
use crate::journal::{Checkpoint, Journal, NEVER};
use crate::names;
use crate::request;
use crate::scenario::{Outcome, Scenario, ScenarioError, Vm, Vpg};
use crate::trouble::Trouble;

/// A request as it arrived. It holds no secret: passwords and client secrets in a form are replaced by `***`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The method, in capitals.
    pub method: String,
    /// The path as it was sent.
    pub path: String,
    /// The query as it was sent, without the question mark; empty when there was none.
    pub query: String,
    /// The body; bytes that are no UTF-8 are replaced.
    pub body: String,
    /// Milliseconds from the start of the simulation to the arrival.
    pub at: u64,
    /// How the request identified itself: `Bearer`, `Basic` or `Session`.
    pub authorization: Option<&'static str>,
}

/// A tagged checkpoint that was inserted. Times are milliseconds since the start of the simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inserted {
    /// The VPG's identifier.
    pub vpg_identifier: String,
    /// The VPG's name.
    pub vpg_name: String,
    /// The tag.
    pub tag: String,
    /// The checkpoint's identifier.
    pub checkpoint_identifier: String,
    /// When it was inserted.
    pub inserted_ms: u64,
    /// When it can be seen in the journal; `None` when it never can.
    pub visible_ms: Option<u64>,
}

/// How a request was answered, for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The method, in capitals.
    pub method: String,
    /// The path as it was sent.
    pub path: String,
    /// The HTTP status; `None` when a trouble keeps the answer back.
    pub status: Option<u16>,
    /// From arrival to the first byte of the answer.
    pub took: Duration,
}

/// An insert's task; times are milliseconds since the start.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) identifier: String,
    /// Index of the VPG.
    pub(crate) vpg: usize,
    pub(crate) started: i64,
    pub(crate) ends: i64,
    /// Why it fails, when it does.
    pub(crate) failure: Option<String>,
    pub(crate) user: String,
}

/// A token or session that was given out.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) ends: Instant,
}

/// The state of one simulated ZVM.
pub(crate) struct Zvm {
    pub(crate) scenario: Scenario,
    pub(crate) clock: Clock,
    pub(crate) url: String,
    pub(crate) site: String,
    /// Makes the tokens of this simulation its own.
    seed: String,
    state: Mutex<State>,
}

/// What changes while the ZVM runs.
pub(crate) struct State {
    pub(crate) journals: Vec<Journal>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) logins: HashMap<String, Login>,
    pub(crate) inserted: Vec<Inserted>,
    pub(crate) seen: Vec<Seen>,
    /// For each trouble, how many matching requests there were and how many of them it was applied to.
    troubles: Vec<(u64, u64)>,
    issued: u64,
}

impl Zvm {
    pub(crate) fn new(scenario: Scenario, url: String, seed: String) -> Result<Self, ScenarioError> {
        scenario.check()?;
        let state = State {
            journals: scenario.vpgs.iter().map(Journal::new).collect(),
            tasks: Vec::new(),
            logins: HashMap::new(),
            inserted: Vec::new(),
            seen: Vec::new(),
            troubles: vec![(0, 0); scenario.troubles.len()],
            issued: 0,
        };
        let (clock, site) = (Clock::new(&scenario.site), scenario.site.identifier());
        Ok(Self {
            scenario,
            clock,
            url,
            site,
            seed,
            state: Mutex::new(state),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A GUID that nothing else in this simulation or another has.
    pub(crate) fn fresh_guid(&self, state: &mut State) -> String {
        state.issued += 1;
        names::guid(&self.seed, &state.issued.to_string())
    }

    /// Every VM of every VPG, each with the VPG's index.
    pub(crate) fn vms(&self) -> impl Iterator<Item = (usize, &Vm)> {
        let vpgs = self.scenario.vpgs.iter().enumerate();
        vpgs.flat_map(|(index, vpg)| vpg.vms.iter().map(move |vm| (index, vm)))
    }

    /// Notes a request and picks the trouble that meets it.
    ///
    /// A trouble counts every request that matches it, whichever trouble is applied in the end.
    pub(crate) fn arrive(&self, request: &Request<Bytes>) -> Option<&Trouble> {
        let mut state = self.state();
        let seen = Seen::new(request, self.clock.now() as u64);
        let mut picked = None;
        for (trouble, (matched, applied)) in self.scenario.troubles.iter().zip(&mut state.troubles) {
            if !trouble.matches(&seen.method, &seen.path) {
                continue;
            }
            *matched += 1;
            if picked.is_none()
                && *matched > trouble.after
                && trouble.times.is_none_or(|times| *applied < times)
            {
                *applied += 1;
                picked = Some(trouble);
            }
        }
        state.seen.push(seen);
        picked
    }

    /// Inserts a tagged checkpoint and gives the task's identifier, or Zerto's words why not.
    pub(crate) fn insert(&self, index: usize, tag: &str, user: &str) -> Result<String, String> {
        let vpg = &self.scenario.vpgs[index];
        if vpg.outcome == Outcome::Refused {
            return Err(vpg.reason.clone());
        }
        let mut state = self.state();
        let now = self.clock.now();
        let failure = (vpg.outcome == Outcome::TaskFails).then(|| vpg.reason.clone());
        if failure.is_none() {
            let surfaces = vpg.outcome != Outcome::NeverSurfaces;
            let checkpoint = state.journals[index].insert(tag, now, surfaces);
            state.inserted.push(Inserted::new(vpg, checkpoint, now));
        }
        let identifier = format!("{}.{}", self.fresh_guid(&mut state), self.site);
        let ends = now + vpg.task_ms as i64;
        let user = user.to_owned();
        state.tasks.push(Task {
            identifier: identifier.clone(),
            vpg: index,
            started: now,
            ends,
            failure,
            user,
        });
        Ok(identifier)
    }
}

impl Task {
    /// The state's number: in progress, failed or completed.
    pub(crate) fn state(&self, now: i64) -> u8 {
        match (now < self.ends, &self.failure) {
            (true, _) => 1,
            (false, Some(_)) => 4,
            (false, None) => 6,
        }
    }
}

impl Inserted {
    fn new(vpg: &Vpg, checkpoint: Checkpoint, now: i64) -> Self {
        Self {
            vpg_identifier: vpg.identifier(),
            vpg_name: vpg.name.clone(),
            checkpoint_identifier: checkpoint.number.to_string(),
            tag: checkpoint.tag.unwrap_or_default(),
            inserted_ms: now as u64,
            visible_ms: (checkpoint.at != NEVER).then_some(checkpoint.at as u64),
        }
    }
}

impl Seen {
    fn new(request: &Request<Bytes>, at: u64) -> Self {
        let body = String::from_utf8_lossy(request.body());
        Self {
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            body: match request::is_form(request) {
                true => without_secrets(&body),
                false => body.into_owned(),
            },
            at,
            authorization: request::scheme(request),
        }
    }
}

/// A form without the values that are nobody's business.
fn without_secrets(form: &str) -> String {
    let hide = |field: &str| match field.split_once('=') {
        Some((key @ ("password" | "client_secret" | "refresh_token"), _)) => format!("{key}=***"),
        _ => field.to_owned(),
    };
    form.split('&').map(hide).collect::<Vec<_>>().join("&")
}
