//! Stands between a policy and the host, and keeps what passes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use holdpoint_runtime::sandbox::capabilities::{Capabilities, CaptureResult, Error, Tally, VmRow, VpgState};
use holdpoint_runtime::verdict::Fault;

use super::Asking;
use super::{Answer, Asked, Captured, Count, Exchange, Row, State};

/// The host's capabilities, and what was asked of them.
pub struct Recorder {
    host: Box<dyn Capabilities>,
    asking: Arc<Mutex<Asking>>,
}

impl Recorder {
    /// Keeps what is asked of this host.
    pub fn new(host: Box<dyn Capabilities>) -> Self {
        Self {
            host,
            asking: Arc::default(),
        }
    }

    /// Where what is asked will stand.
    pub fn asking(&self) -> Arc<Mutex<Asking>> {
        Arc::clone(&self.asking)
    }

    fn keep(&self, asked: Asked, answer: Answer, since: Instant) {
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        asking.keep(Exchange { asked, answer, ms });
    }
}

fn answer<T: Clone>(result: &Result<T, Error>, answer: impl FnOnce(T) -> Answer) -> Answer {
    match result {
        Ok(value) => answer(value.clone()),
        Err(error) => Answer::Error(error.clone().into()),
    }
}

fn rows(rows: Vec<VmRow>) -> Answer {
    Answer::Rows(rows.into_iter().map(Row::from).collect())
}

impl Capabilities for Recorder {
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, Error> {
        let since = Instant::now();
        let result = self.host.find_vms_by_name(name);
        let asked = Asked::FindVmsByName {
            name: name.to_owned(),
        };
        self.keep(asked, answer(&result, rows), since);
        result
    }

    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<VmRow>, Error> {
        let since = Instant::now();
        let result = self.host.find_vms_by_identifier(identifier);
        let asked = Asked::FindVmsByIdentifier {
            identifier: identifier.to_owned(),
        };
        self.keep(asked, answer(&result, rows), since);
        result
    }

    fn vpg(&mut self, identifier: &str) -> Result<VpgState, Error> {
        let since = Instant::now();
        let result = self.host.vpg(identifier);
        let asked = Asked::Vpg {
            vpg: identifier.to_owned(),
        };
        let state = |state| Answer::State(State::from(state));
        self.keep(asked, answer(&result, state), since);
        result
    }

    fn capture(&mut self, vpgs: Vec<String>, tag: String) -> Vec<CaptureResult> {
        let since = Instant::now();
        let asked = Asked::Capture {
            vpgs: vpgs.clone(),
            tag: tag.clone(),
        };
        let results = self.host.capture(vpgs, tag);
        let captured = results.iter().cloned().map(Captured::from).collect();
        self.keep(asked, Answer::Captured(captured), since);
        results
    }

    fn cadence(&mut self, vpg: &str) -> Result<Option<u64>, Error> {
        let since = Instant::now();
        let result = self.host.cadence(vpg);
        let asked = Asked::Cadence { vpg: vpg.to_owned() };
        self.keep(asked, answer(&result, Answer::Cadence), since);
        result
    }

    fn tally(&mut self) -> Result<Option<Tally>, Fault> {
        let since = Instant::now();
        let result = self.host.tally();
        let answer = match &result {
            Ok(tally) => Answer::Session(tally.map(Count::from)),
            Err(fault) => Answer::Fault(fault.cause.clone()),
        };
        self.keep(Asked::Session, answer, since);
        result
    }

    fn note(&mut self, line: String) {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        asking.line(&line);
        drop(asking);
        self.host.note(line);
    }

    fn time_left(&mut self) -> u64 {
        let since = Instant::now();
        let left = self.host.time_left();
        self.keep(Asked::TimeLeft, Answer::TimeLeft(left), since);
        left
    }
}
