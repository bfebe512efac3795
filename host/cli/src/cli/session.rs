//! `holdpoint session`: the original helper's verbs, and what is on record.

use std::io::{self, Read as _, Write as _};

use holdpoint_config::{Config, ConfigError};
use holdpoint_hook::exit::ExitCode;
use holdpoint_hook::harness::stdin::LARGEST_EVENT;
use holdpoint_hook::session;
use holdpoint_session::verbs::{self, Options, Verb};

/// Runs one of the original helper's verbs: an event from standard input, a line to standard output, and 0 whatever
/// happens.
pub(super) fn run(verb: Verb, options: &Options) -> ExitCode {
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
pub(super) fn show(config: Result<Config, ConfigError>, json: bool) -> ExitCode {
    let overview = config
        .map_err(|error| error.to_string())
        .and_then(|config| session::store(&config.session).map_err(|error| error.to_string()))
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
