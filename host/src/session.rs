//! The session tally in the host: what the hook makes of an event, what a policy is told, and the commands.

use std::io::{self, Read as _, Write as _};

use holdpoint_common::way;
use holdpoint_session::verbs::{self, Options, Verb};
use holdpoint_session::{Payload, Scope};

use crate::config::{self, Config, ConfigError};
use crate::exit::ExitCode;
use crate::harness::stdin::LARGEST_EVENT;
use crate::runtime::capabilities::Tally;
use crate::verdict::{Fault, FaultKind};

/// Does to the tally what an event asks for, and says what the model is told of that, if anything.
///
/// # Errors
///
/// A fault where the tally cannot be kept.
pub fn observe(config: &config::Config, event: &[u8]) -> Result<Option<String>, Fault> {
    let durable = config.policy.asks_by_session();
    let config = &config.session;
    if !config.enabled() {
        return Ok(None);
    }
    // A power cut must not set the count back where decisions rest on it.
    let store = config.store().map_err(fault)?.durable(durable);
    let observed =
        holdpoint_session::observe(&store, &Payload::read(event), &config.tools()).map_err(fault)?;
    Ok(observed.note().filter(|_| config.tell()))
}

/// The session that a call belongs to. Nothing is read before a policy asks.
#[derive(Debug)]
pub struct Session {
    config: config::Session,
    id: String,
    cwd: Option<String>,
}

impl Session {
    /// The session with this id, in the workspace that the harness named.
    pub fn new(config: config::Session, id: String, cwd: Option<String>) -> Self {
        Self { config, id, cwd }
    }

    /// Its tally; none where nothing is known of it: nothing failed, nothing is counted, or the harness did not say which
    /// session in which workspace it is.
    ///
    /// # Errors
    ///
    /// A fault where it cannot be read.
    pub fn tally(&self) -> Result<Option<Tally>, Fault> {
        let scope = Scope::new(&self.id, self.cwd.as_deref().unwrap_or_default());
        let Some(scope) = scope.filter(|_| self.config.enabled()) else {
            return Ok(None);
        };
        let tally = self.config.store().map_err(fault)?.read(&scope).map_err(fault)?;
        // A link that leads nowhere is not a session without failures.
        if let (None, Some(link)) = (&tally, way::dangling(&self.config.folder().map_err(fault)?)) {
            let cause = format!(
                "the session tally cannot be read (the link {} leads nowhere)",
                link.display()
            );
            return Err(fault(cause));
        }
        Ok(tally.map(|tally| Tally {
            failures: tally.failures,
            level: tally.level,
        }))
    }
}

fn fault(error: impl ToString) -> Fault {
    Fault::new(FaultKind::Session, error.to_string())
}

/// Runs one of the original helper's verbs: an event from standard input, a line to standard output, and 0 whatever
/// happens.
pub fn run(verb: Verb, options: &Options) -> ExitCode {
    let mut event = Vec::new();
    // What is longer than any event is cut, and so no event.
    let read = io::stdin()
        .lock()
        .take(LARGEST_EVENT as u64)
        .read_to_end(&mut event);
    if read.is_err() {
        event.clear();
    }
    let line = verbs::run(verb, options, |name| std::env::var_os(name), &event);
    // Nobody is there to be told that nobody reads.
    let _ = writeln!(io::stdout(), "{line}");
    ExitCode::OK
}

/// Shows a person what is on record, as text or as JSON.
pub fn show(config: Result<Config, ConfigError>, json: bool) -> ExitCode {
    let overview = config
        .map_err(|error| error.to_string())
        .and_then(|config| config.session.store().map_err(|error| error.to_string()))
        .and_then(|store| store.overview().map_err(|error| error.to_string()));
    let text = overview.and_then(|overview| {
        if json {
            let text = serde_json::to_string_pretty(&overview).map_err(|error| error.to_string())?;
            return Ok(format!("{text}\n"));
        }
        Ok(overview.to_string())
    });
    match text {
        Ok(text) => {
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::OK
        }
        Err(cause) => {
            let _ = writeln!(io::stderr(), "holdpoint: {cause}");
            ExitCode::FAILED
        }
    }
}
