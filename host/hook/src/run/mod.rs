//! The way of one event from end to end: `before` is what becomes of a call that waits for the answer, `after` of everything
//! else.

mod after;
mod before;

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holdpoint_artifact::Digest;
use holdpoint_config::{self as config, Config, ConfigError, DEFAULT_DEADLINE_SECONDS, Places};
use holdpoint_runtime::verdict::{Fault, FaultKind, Verdict};

pub use after::heard;

use crate::event::Event;
use crate::exit::ExitCode;
use crate::harness::{Answer, claude_code, stdin};
use crate::log::{Entry, Log};
use crate::post_decision::Witness;
use crate::watchdog::Waiting;
use crate::{post_decision, receipts, stdio, watchdog};

/// Handles one event from standard input, as a harness starts us, and says how the process has to end.
pub fn run(named_config: Option<PathBuf>, started: Instant) -> ExitCode {
    let mut deadline = started + Duration::from_secs_f64(DEFAULT_DEADLINE_SECONDS);
    watchdog::arm(deadline);
    let config = config::load_watched(&Places::find(named_config), |limit| {
        deadline = started + limit;
        watchdog::set_deadline(deadline);
    });
    if let Ok(config) = &config {
        deadline = started + config.deadline();
        watchdog::set_deadline(deadline);
    }
    leave_lines(&config, &Entry::new("", "", ""));
    let bytes = stdin::read(io::stdin().lock(), watchdog::too_late);
    let event = match &bytes {
        Ok(bytes) => claude_code::read(bytes),
        Err(fault) => Err(fault.clone()),
    };
    let read = started.elapsed();
    let answered = match event {
        Ok(Event::Before(call)) => {
            watchdog::expect(Waiting::Call);
            before::judge(&config, &call, started, deadline)
        }
        Ok(Event::Tallied(name)) => {
            watchdog::expect(Waiting::Nothing);
            after::observe(&config, name, bytes.as_deref().unwrap_or_default())
        }
        Ok(Event::Other(name)) => {
            watchdog::expect(Waiting::Nothing);
            after::notice(&config, name)
        }
        Err(fault) => {
            let receipt = receipts::unread(&config, &fault, bytes.as_deref().unwrap_or_default(), deadline);
            Answered::unreadable(fault, receipt, bytes.as_deref().ok())
        }
    };
    deliver(answered, &config, started, read, deadline)
}

/// What is answered to an event, and what there is to do besides.
struct Answered {
    answer: Answer,
    /// What the log says of it; none where nothing was decided and nothing went wrong.
    entry: Option<Entry>,
    /// Whether a call waits, or may wait, for the answer: then it has to be delivered.
    awaited: bool,
    /// What is to be looked at after the answer, and the verdict that was answered.
    follow: Option<(Witness, Verdict)>,
}

impl Answered {
    /// Silence, which nothing waits for, and what the log says of the event.
    fn unawaited(entry: Option<Entry>) -> Self {
        Self {
            answer: Answer::silence(),
            entry,
            awaited: false,
            follow: None,
        }
    }

    /// An event that cannot be read: whether a call waits for it is not known, so it is blocked.
    fn unreadable(fault: Fault, receipt: Option<String>, event: Option<&[u8]>) -> Self {
        let reason = fault.reason();
        Self {
            answer: claude_code::block(&reason),
            entry: Some(Entry {
                receipt,
                event: event.map(Digest::of),
                ..Entry::new("", "", "").failed("deny", fault.kind, &fault.cause)
            }),
            awaited: true,
            follow: None,
        }
    }
}

/// Writes the log line, then the answer: a call must not run before its decision is on record. What is to be done after
/// the answer is handed to another process before it, so that this one ends with the answer: nothing that can fail, wait
/// or be killed comes after it.
fn deliver(
    answered: Answered,
    config: &Result<Config, ConfigError>,
    started: Instant,
    read: Duration,
    deadline: Instant,
) -> ExitCode {
    let Answered {
        mut answer,
        mut entry,
        awaited,
        follow,
    } = answered;
    let follow = || {
        if let (Some((witness, verdict)), Ok(config)) = (follow, config) {
            post_decision::start(witness, &verdict, config, deadline);
        }
    };
    if let Some(entry) = &mut entry {
        (entry.ms.read, entry.ms.total) = (milliseconds(read), milliseconds(started.elapsed()));
        // A call that may run now may still be blocked, by whatever ends this process before its answer is out.
        let appended = if awaited && answer.code == ExitCode::OK {
            watchdog::keep_lines_while(|| write_line(config, entry))
        } else {
            append(config, entry)
        };
        if let Err(trouble) = appended {
            answer
                .stderr
                .extend_from_slice(format!("holdpoint: {trouble}\n").as_bytes());
        }
    }
    let is_silence = answer.code == ExitCode::OK && answer.stdout.is_empty();
    if awaited && !is_silence {
        follow();
        watchdog::expect(Waiting::Answer);
    } else {
        // Silence is out already, and nothing takes it back.
        watchdog::expect(Waiting::Nothing);
        follow();
    }
    stdio::explain(&answer.stderr);
    match stdio::answer(&answer.stdout) {
        Ok(()) => answer.code,
        Err(error) if awaited => undelivered(&error, config, entry.as_ref()),
        // A note that nobody waited for: the tally counts without it.
        Err(_) => answer.code,
    }
}

/// The harness did not take the answer. Only the exit code is left to say that the call must not run.
fn undelivered(error: &io::Error, config: &Result<Config, ConfigError>, told: Option<&Entry>) -> ExitCode {
    let fault = Fault::new(
        FaultKind::Answer,
        format!("the answer cannot be written ({error})"),
    );
    watchdog::blocked();
    stdio::explain(format!("{}\n", fault.reason()).as_bytes());
    let call = told.map_or_else(
        || Entry::new("", "", ""),
        |told| Entry::new(&told.session, &told.call, &told.tool),
    );
    let _ = append(config, &mut call.failed("deny", fault.kind, &fault.cause));
    ExitCode::BLOCKED
}

/// What the log gets where the watchdog has the last word.
fn leave_lines(config: &Result<Config, ConfigError>, entry: &Entry) {
    // What is wrong with the log is told when the decision is written.
    let Ok(log) = log_of(config) else { return };
    let _ = log.create_directory();
    watchdog::leave_lines(&log.path, |ends| entry.clone().lines_if_failed("deny", ends));
}

fn log_of(config: &Result<Config, ConfigError>) -> Result<Log, ConfigError> {
    let defaults = Config::default();
    Log::of(&config.as_ref().unwrap_or(&defaults).log)
}

fn append(config: &Result<Config, ConfigError>, entry: &mut Entry) -> Result<(), String> {
    watchdog::withdraw_lines();
    write_line(config, entry)
}

fn write_line(config: &Result<Config, ConfigError>, entry: &mut Entry) -> Result<(), String> {
    let log = log_of(config).map_err(|error| error.to_string())?;
    log.append(entry).map_err(|error| {
        format!(
            "the decision log {} cannot be written ({error})",
            log.path.display()
        )
    })
}

fn milliseconds(duration: Duration) -> f64 {
    // To microseconds: more digits than that are noise.
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}
