//! The way of one call: event in, verdict, log line, answer out. Everything else in this library is a station on it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdpoint_artifact::Digest;
use holdpoint_receipts::{Arguments, Environment};

use crate::config::{self, Config, ConfigError, DEFAULT_DEADLINE_SECONDS, Places};
use crate::event::{Call, Event};
use crate::exit::ExitCode;
use crate::harness::{Answer, claude_code, stdin};
use crate::log::{self, Entry, Log, Phases};
use crate::policy;
use crate::post_decision::{self, Witness};
use crate::record::Record;
use crate::runtime::Prepared;
use crate::runtime::capabilities::Capabilities;
use crate::session::{self, Session};
use crate::verdict::{Fault, FaultKind, Verdict};
use crate::watchdog::{self, Waiting};
use crate::zerto::Zerto;
use crate::{arguments, compare, origin, receipts, runtime, signer, stdio};

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
    leave_lines(&config, &entry("", "", ""));
    let bytes = stdin::read(io::stdin().lock(), watchdog::too_late);
    let event = match &bytes {
        Ok(bytes) => claude_code::read(bytes),
        Err(fault) => Err(fault.clone()),
    };
    let read = started.elapsed();
    let mut witness = None;
    let decision = match event {
        Ok(Event::Before(call)) => {
            watchdog::expect(Waiting::Call);
            judge(&config, &call, started, deadline, &mut witness)
        }
        Ok(Event::Tallied(name)) => {
            watchdog::expect(Waiting::Nothing);
            observe(&config, name, bytes.as_deref().unwrap_or_default())
        }
        Ok(Event::Other(name)) => {
            watchdog::expect(Waiting::Nothing);
            notice(&config, name)
        }
        Err(fault) => {
            let receipt = receipts::unread(&config, &fault, bytes.as_deref().unwrap_or_default(), deadline);
            Decision::unreadable(fault, receipt, bytes.as_deref().ok())
        }
    };
    deliver(decision, &config, started, read, |code| {
        if let (Some(witness), Ok(config)) = (witness, &config) {
            post_decision::start(witness, config, deadline, code);
        }
    })
}

/// What came of an event: the answer, and what the log says of it.
struct Decision {
    answer: Answer,
    /// None where nothing was decided and nothing went wrong.
    entry: Option<Entry>,
    /// Whether a call waits, or may wait, for the answer: then it has to be delivered.
    awaited: bool,
}

impl Decision {
    /// An event that cannot be read: whether a call waits for it is not known, so it is blocked.
    fn unreadable(fault: Fault, receipt: Option<String>, event: Option<&[u8]>) -> Self {
        let reason = fault.reason();
        let mut entry = entry("", "", "").failed("deny", fault.kind, &fault.cause);
        entry.receipt = receipt;
        entry.event = event.map(Digest::of);
        Self {
            answer: claude_code::block(&reason),
            entry: Some(entry),
            awaited: true,
        }
    }
}

/// What the log says of a call, as far as it is known from the beginning.
pub(crate) fn entry(session: &str, call: &str, tool: &str) -> Entry {
    Entry {
        at: log::now(),
        session: session.to_owned(),
        call: call.to_owned(),
        tool: tool.to_owned(),
        verdict: "silent",
        fault: None,
        why: None,
        event: None,
        arguments: None,
        deviation: None,
        environment: Environment::default(),
        record: Record::default(),
        policy: None,
        receipt: None,
        signer: None,
        ms: Phases::default(),
    }
}

/// An event that cannot be gated is answered with silence. A configuration that cannot be used is a fault all the same,
/// and the log is the place for it.
fn notice(config: &Result<Config, ConfigError>, name: String) -> Decision {
    let failed = |error: &ConfigError| {
        entry("", "", &name).failed("silent", FaultKind::Configuration, &error.to_string())
    };
    let entry = config.as_ref().err().map(failed);
    Decision {
        answer: Answer::silence(),
        entry,
        awaited: false,
    }
}

/// An event of a call that has ended, heard of in another way than by a hook's process: writes its receipt, and says why
/// there is none. What is to be told stands in the decision log as well.
pub fn heard(config: &Result<Config, ConfigError>, event: &[u8]) -> Option<String> {
    let usable = config.as_ref().ok()?;
    let End { lines, .. } = end(usable, "http", event);
    let mut told = Vec::new();
    for mut line in lines {
        told.extend(line.fault.and_then(|_| line.why.clone()));
        told.extend(append(config, &mut line).err());
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// What there is to tell of a call's end.
#[derive(Default)]
struct End {
    /// The model is told this.
    note: Option<String>,
    /// The user is.
    warning: Option<String>,
    /// The log is.
    lines: Vec<Entry>,
}

/// Compares a call that has ended with what was decided, and writes its receipt.
fn end(config: &Config, name: &str, event: &[u8]) -> End {
    let ended = match claude_code::read_ended(event) {
        Ok(Some(ended)) => ended,
        Ok(None) => return End::default(),
        // Only receipts would have come of it, and a comparison that cannot be made.
        Err(fault) => {
            let (session, call) = claude_code::ids_of(event);
            return End {
                lines: vec![entry(&session, &call, name).failed("silent", fault.kind, &fault.cause)],
                ..End::default()
            };
        }
    };
    let deviation = compare::compare(config, &ended);
    let mut lines: Vec<_> = deviation
        .as_ref()
        .map(|deviation| Entry {
            why: Some(compare::in_words(deviation)),
            arguments: Some(Arguments::digest_of(ended.arguments)),
            deviation: Some(deviation.clone()),
            environment: origin::of(&ended.origin),
            ..entry(&ended.session_id, &ended.call_id, &ended.tool)
        })
        .into_iter()
        .collect();
    let about = entry(&ended.session_id, &ended.call_id, name);
    let seen = receipts::observed(config, about, &ended, deviation.as_ref());
    lines.extend(seen.line);
    End {
        note: deviation.as_ref().and_then(compare::note),
        warning: seen.warning,
        lines,
    }
}

/// An event that the session tally is kept by, and that may be the end of a call. Whatever goes wrong is silent, and a
/// line in the log.
fn observe(config: &Result<Config, ConfigError>, name: &'static str, bytes: &[u8]) -> Decision {
    let Ok(usable) = config else {
        return notice(config, name.to_owned());
    };
    let mut decision = Decision {
        answer: Answer::silence(),
        entry: None,
        awaited: false,
    };
    let End {
        note,
        warning,
        mut lines,
    } = end(usable, name, bytes);
    let tallied = session::observe(usable, bytes).unwrap_or_else(|fault| {
        let (session, call) = claude_code::ids_of(bytes);
        lines.push(entry(&session, &call, name).failed("silent", fault.kind, &fault.cause));
        None
    });
    let notes: Vec<_> = note.into_iter().chain(tallied).collect();
    let note = (!notes.is_empty()).then(|| notes.join("\n"));
    decision.answer = claude_code::tell(name, note.as_deref(), warning.as_deref());
    // All are to be told, and only one goes the usual way.
    decision.entry = lines.pop();
    for mut line in lines {
        let _ = append(config, &mut line);
    }
    decision
}

/// Judges a call that is about to run. Whatever goes wrong here becomes a deny.
fn judge(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    started: Instant,
    deadline: Instant,
    witness: &mut Option<Witness>,
) -> Decision {
    let record = Arc::new(Mutex::new(Record::default()));
    let mut entry = entry(&call.session_id, &call.call_id, &call.tool);
    entry.environment = origin::of(&call.origin);
    leave_lines(config, &entry);
    let decided = decide(config, call, started, deadline, &record, &mut entry, witness);
    entry.record = record.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut verdict = told(decided, &mut entry);
    if let Some(decided) = signer::decided(config, call, &mut entry, deadline).transpose() {
        verdict = told(decided, &mut entry);
    }
    if let Err(fault) = receipts::decided(config, call, &mut entry, deadline) {
        verdict = told(Err(fault), &mut entry);
    }
    if compare::is_watched(&call.tool, entry.verdict, &entry.record.targets) {
        entry.arguments = Some(Arguments::digest_of(call.arguments));
    }
    let answer = match &verdict {
        // In the one form that every harness takes for a block.
        Verdict::Deny(reason) if call.foreign.is_some() => claude_code::block(reason),
        verdict => claude_code::write(verdict),
    };
    Decision {
        answer,
        entry: Some(entry),
        awaited: true,
    }
}

/// What the harness is told of a decision; the entry says the same.
fn told(decided: Result<Verdict, Fault>, entry: &mut Entry) -> Verdict {
    let (verdict, fault) = match decided {
        Ok(verdict) => (verdict, None),
        Err(fault) => (Verdict::Deny(fault.reason()), Some(fault)),
    };
    entry.verdict = verdict.word();
    entry.why = match (&fault, &verdict) {
        (Some(fault), _) => Some(fault.cause.clone()),
        (None, Verdict::Pass(note)) => note.clone(),
        (None, Verdict::Ask(reason) | Verdict::Deny(reason)) => Some(reason.clone()),
    };
    entry.fault = fault.map(|fault| fault.kind.word());
    verdict
}

fn decide(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    started: Instant,
    deadline: Instant,
    record: &Arc<Mutex<Record>>,
    entry: &mut Entry,
    witness: &mut Option<Witness>,
) -> Result<Verdict, Fault> {
    let unusable = |error: &ConfigError| Fault::new(FaultKind::Configuration, error.to_string());
    let config = config.as_ref().map_err(unusable)?;
    let settings = config.policy.settings_json().map_err(|error| unusable(&error))?;
    let policy::Loaded {
        component,
        identity,
        gate,
    } = policy::load_by(deadline, &config.policy)
        .map_err(|error| Fault::new(error.kind(), error.to_string()))?;
    // The process is about to end: taking the component apart would be a tenth of its work, for nothing.
    let component = ManuallyDrop::new(component);
    entry.ms.load = milliseconds(started.elapsed());
    entry.ms.gate = milliseconds(gate);
    let question = question(call, settings, nonce());
    // Zerto's waits end before the policy is interrupted, so that it can still put the cause into words.
    let zerto_deadline = deadline - 2 * watchdog::grace(config.deadline());
    let zerto = Box::new(Zerto::new(
        config.zerto.clone(),
        zerto_deadline,
        Arc::clone(record),
        Session::new(config.session.clone(), call.session_id.clone(), call.cwd.clone()),
    ));
    let lent: Box<dyn Capabilities>;
    (lent, *witness) = Witness::attend(config, zerto, &question, &identity);
    entry.policy = Some(identity);
    let verdict = Prepared::new(&component, &config.policy.grants())
        .and_then(|prepared| prepared.before(lent, &question))
        .map(Verdict::cleaned);
    if let Some(witness) = witness {
        witness.heard(&verdict);
    }
    let verdict = config
        .ask
        .resolve(verdict?, call.permission_mode.as_deref())
        .cleaned();
    match (call.foreign, &verdict) {
        // Some take an ask for a pass.
        (Some(harness), Verdict::Ask(reason) | Verdict::Deny(reason)) => {
            Err(claude_code::foreign_fault(harness, Some(reason)))
        }
        _ => Ok(verdict),
    }
}

/// A call as a policy is told of it.
pub fn question(call: &Call<'_>, settings: String, nonce: String) -> runtime::Call {
    let (text, cut) = arguments::bounded(call.arguments);
    runtime::Call {
        harness: call.foreign.map_or_else(
            || claude_code::NAME.to_owned(),
            |harness| harness.to_lowercase().replace(' ', "-"),
        ),
        session_id: call.session_id.clone(),
        call_id: call.call_id.clone(),
        tool: call.tool.clone(),
        server: call.server.as_ref().map(|server| runtime::Server {
            name: server.name.clone(),
            source: server.source.clone(),
        }),
        permission_mode: call.permission_mode.clone(),
        arguments: text.into_owned(),
        arguments_cut: cut,
        nonce,
        settings,
        extras: call.extras.to_string(),
    }
}

/// Eight fresh hexadecimal digits. The standard library seeds its hashers from the operating system.
pub(crate) fn nonce() -> String {
    format!("{:08x}", RandomState::new().build_hasher().finish() >> 32)
}

/// Writes the log line, then the answer: a call must not run before its decision is on record. What is to be done after
/// the answer is handed to another process before it, so that this one ends with the answer: nothing that can fail, wait
/// or be killed comes after it.
fn deliver(
    decision: Decision,
    config: &Result<Config, ConfigError>,
    started: Instant,
    read: Duration,
    follow: impl FnOnce(ExitCode),
) -> ExitCode {
    let Decision {
        mut answer,
        mut entry,
        awaited,
    } = decision;
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
        follow(answer.code);
        watchdog::expect(Waiting::Answer);
    } else {
        // Silence is out already, and nothing takes it back.
        watchdog::expect(Waiting::Nothing);
        follow(answer.code);
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
        || entry("", "", ""),
        |told| entry(&told.session, &told.call, &told.tool),
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
    config.as_ref().unwrap_or(&defaults).log.open()
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
