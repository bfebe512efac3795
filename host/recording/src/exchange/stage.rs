//! The host's part as something else plays it: a script, a record. Keeps what was asked, in virtual time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_runtime::sandbox::Clock;
use holdpoint_runtime::sandbox::capabilities::{Capabilities, CaptureResult, Error, Tally, VmRow, VpgState};
use holdpoint_runtime::verdict::{Fault, FaultKind};

use super::{Answer, Asked, Exchange, Trouble};

/// The most questions that are kept, and the most bytes of them. A policy can ask without end.
const MOST_EXCHANGES: usize = 1_000;
const MOST_BYTES: usize = 1024 * 1024;
/// The most lines for the log and the most unforeseen questions that are kept, and how much of each, in bytes.
const MOST_LINES: usize = 100;
const LONGEST_LINE: usize = 4_096;

/// What answers in the host's place.
pub trait Source: Send {
    /// The answer and how long it takes, in milliseconds; none where nobody foresaw the question.
    fn answer(&mut self, asked: &Asked) -> Option<(Answer, u64)>;
}

/// What a policy did with the host.
#[derive(Debug, Default, Clone)]
pub struct Asking {
    /// What it asked and was answered, in order.
    pub exchanges: Vec<Exchange>,
    /// What nobody foresaw, as cases write it.
    pub unforeseen: Vec<String>,
    /// Its lines for the log.
    pub lines: Vec<String>,
    /// How often it asked for anything, lines for the log included.
    pub calls: u64,
    /// Whether it asked for more than is kept.
    pub cut: bool,
    bytes: usize,
}

impl Asking {
    /// Keeps an exchange, unless enough is kept.
    pub fn keep(&mut self, exchange: Exchange) {
        self.calls += 1;
        self.bytes += exchange.size();
        self.cut |= self.exchanges.len() >= MOST_EXCHANGES || self.bytes > MOST_BYTES;
        if !self.cut {
            self.exchanges.push(exchange);
        }
    }

    /// Keeps a line for the log, cut to a length.
    pub fn line(&mut self, line: &str) {
        self.calls += 1;
        if self.lines.len() < MOST_LINES {
            self.lines.push(cut(line));
        }
    }

    fn unforeseen(&mut self, asked: &Asked) {
        if self.unforeseen.len() < MOST_LINES {
            self.unforeseen.push(cut(&asked.to_string()));
        }
    }
}

fn cut(line: &str) -> String {
    line[..line.floor_char_boundary(LONGEST_LINE)].to_owned()
}

/// The capabilities, answered by a source.
pub struct Stage<S> {
    source: S,
    clock: Clock,
    /// The time that is left as the decision begins, in milliseconds.
    time: u64,
    asking: Arc<Mutex<Asking>>,
}

impl<S: Source> Stage<S> {
    /// A stage on which `time` milliseconds are left by the clock.
    pub fn new(source: S, clock: Clock, time: u64) -> Self {
        Self {
            source,
            clock,
            time,
            asking: Arc::default(),
        }
    }

    /// Where what is asked will stand.
    pub fn asking(&self) -> Arc<Mutex<Asking>> {
        Arc::clone(&self.asking)
    }

    fn kept(&self) -> MutexGuard<'_, Asking> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left(&self) -> u64 {
        self.time.saturating_sub(self.clock.passed_ms())
    }

    fn ask(&mut self, asked: Asked) -> Answer {
        let (answer, ms) = match self.source.answer(&asked) {
            None => {
                self.kept().unforeseen(&asked);
                (nothing_foreseen(&asked), 0)
            }
            // As in the hook: whatever waits for Zerto is given up with the time.
            Some((_, ms)) if ms > self.left() => (late(&asked), self.left()),
            Some(answer) => answer,
        };
        self.clock.pass_ms(ms);
        self.kept().keep(Exchange {
            asked,
            answer: answer.clone(),
            ms,
        });
        answer
    }

    fn rows(&mut self, asked: Asked) -> Result<Vec<VmRow>, Error> {
        match self.ask(asked) {
            Answer::Rows(rows) => Ok(rows.into_iter().map(VmRow::from).collect()),
            answer => Err(error(answer)),
        }
    }
}

fn nothing_foreseen(asked: &Asked) -> Answer {
    match asked {
        Asked::Session => Answer::Session(None),
        _ => Answer::trouble(
            asked,
            &Trouble::Unreachable("nobody foresaw this question".into()),
        ),
    }
}

fn late(asked: &Asked) -> Answer {
    Answer::trouble(asked, &Trouble::TimedOut("no time is left".into()))
}

/// A source's answer that is none to the question is the source's mistake, and no answer.
fn error(answer: Answer) -> Error {
    match answer {
        Answer::Error(trouble) => trouble.into(),
        answer => Error::Malformed(format!("this answers another question: {answer:?}")),
    }
}

impl<S: Source> Capabilities for Stage<S> {
    fn find_vms_by_name(&mut self, name: &str) -> Result<Vec<VmRow>, Error> {
        self.rows(Asked::FindVmsByName {
            name: name.to_owned(),
        })
    }

    fn find_vms_by_identifier(&mut self, identifier: &str) -> Result<Vec<VmRow>, Error> {
        self.rows(Asked::FindVmsByIdentifier {
            identifier: identifier.to_owned(),
        })
    }

    fn vpg(&mut self, identifier: &str) -> Result<VpgState, Error> {
        match self.ask(Asked::Vpg {
            vpg: identifier.to_owned(),
        }) {
            Answer::State(state) => Ok(state.into()),
            answer => Err(error(answer)),
        }
    }

    fn capture(&mut self, vpgs: Vec<String>, tag: String) -> Vec<CaptureResult> {
        match self.ask(Asked::Capture { vpgs, tag }) {
            Answer::Captured(results) => results.into_iter().map(CaptureResult::from).collect(),
            // No results at all, which a policy has to take for a failure.
            _ => Vec::new(),
        }
    }

    fn cadence(&mut self, vpg: &str) -> Result<Option<u64>, Error> {
        match self.ask(Asked::Cadence { vpg: vpg.to_owned() }) {
            Answer::Cadence(cadence) => Ok(cadence),
            answer => Err(error(answer)),
        }
    }

    fn tally(&mut self) -> Result<Option<Tally>, Fault> {
        match self.ask(Asked::Session) {
            Answer::Session(count) => Ok(count.map(Tally::from)),
            Answer::Fault(cause) => Err(Fault::new(FaultKind::Session, cause)),
            answer => Err(Fault::new(
                FaultKind::Session,
                format!("this answers another question: {answer:?}"),
            )),
        }
    }

    fn note(&mut self, line: String) {
        self.kept().line(&line);
    }

    fn time_left(&mut self) -> u64 {
        self.kept().calls += 1;
        match self.source.answer(&Asked::TimeLeft) {
            Some((Answer::TimeLeft(recorded), _)) => recorded,
            _ => self.left(),
        }
    }
}
