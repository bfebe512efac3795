//! A call that is about to run: the policy judges it, the signer and the receipts are told, and the harness gets the answer.

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdpoint_config::{Config, ConfigError};
use holdpoint_receipts::Arguments;
use holdpoint_runtime::policy::{self, Identity};
use holdpoint_runtime::sandbox::{self, Prepared};
use holdpoint_runtime::verdict::{Fault, FaultKind, Verdict};
use wasmtime::component::Component;

use super::{Answered, leave_lines, milliseconds};
use crate::decision::{Decided, Times};
use crate::event::Call;
use crate::harness::{Answer, claude_code};
use crate::log::Entry;
use crate::post_decision::Witness;
use crate::record::Record;
use crate::session::Session;
use crate::zerto::Zerto;
use crate::{compare, question, receipts, signer, unattended, watchdog};

/// Judges a call that is about to run. Whatever goes wrong here becomes a deny.
pub(super) fn judge(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    started: Instant,
    deadline: Instant,
) -> Answered {
    let entry = Entry::of_call(call);
    leave_lines(config, &entry);
    let (decided, witness) = decide(config, call, started, deadline);
    let signed = signer::decided(config, call, &decided, deadline);
    let decided = decided.unless(signed.instead);
    let note = signed.note.as_deref();
    let written = receipts::decided(config, call, &entry.environment, &decided, note, deadline);
    let decided = decided.unless(written.instead.map(Err));
    let is_compared = compare::is_watched(&call.tool, decided.verdict.word(), &decided.record.targets);
    let answer = answer(call, &decided.verdict);
    Answered {
        answer,
        follow: witness.map(|witness| (witness, decided.verdict.clone())),
        entry: Some(Entry {
            arguments: is_compared.then(|| Arguments::digest_of(call.arguments)),
            signer: signed.note,
            receipt: written.note,
            ..entry.decided(decided)
        }),
        awaited: true,
    }
}

fn answer(call: &Call<'_>, verdict: &Verdict) -> Answer {
    match verdict {
        // In the one form that every harness takes for a block.
        Verdict::Deny(reason) if call.foreign.is_some() => claude_code::block(reason),
        verdict => claude_code::write(verdict),
    }
}

/// What a call is judged with.
struct Ready<'a> {
    config: &'a Config,
    component: ManuallyDrop<Component>,
    identity: Identity,
    gate: Duration,
    question: sandbox::Call,
}

/// Decides, and keeps what is to be looked at after the answer.
fn decide(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    started: Instant,
    deadline: Instant,
) -> (Decided, Option<Witness>) {
    let ready = match ready(config, call, deadline) {
        Ok(ready) => ready,
        Err(fault) => return (Decided::new(Err(fault)), None),
    };
    let times = Times {
        load: milliseconds(started.elapsed()),
        gate: milliseconds(ready.gate),
        ..Times::default()
    };
    let (said, record, witness) = ask(&ready, call, deadline);
    let verdict = said.and_then(|verdict| answerable(ready.config, call, verdict));
    let decided = Decided {
        record,
        policy: Some(ready.identity),
        times,
        ..Decided::new(verdict)
    };
    (decided, witness)
}

fn ready<'a>(
    config: &'a Result<Config, ConfigError>,
    call: &Call<'_>,
    deadline: Instant,
) -> Result<Ready<'a>, Fault> {
    let unusable = |error: &ConfigError| Fault::new(FaultKind::Configuration, error.to_string());
    let config = config.as_ref().map_err(unusable)?;
    let settings = policy::settings(&config.policy).map_err(|error| unusable(&error))?;
    let policy::Loaded {
        component,
        identity,
        gate,
    } = policy::load_by(deadline, &config.policy)
        .map_err(|error| Fault::new(error.kind(), error.to_string()))?;
    Ok(Ready {
        config,
        // The process is about to end: taking the component apart would be a tenth of its work, for nothing.
        component: ManuallyDrop::new(component),
        identity,
        gate,
        question: question::question(call, settings, question::nonce()),
    })
}

/// Asks the policy: what it says, what the host saw of that, and the witness where something is to be done afterwards.
fn ask(
    ready: &Ready<'_>,
    call: &Call<'_>,
    deadline: Instant,
) -> (Result<Verdict, Fault>, Record, Option<Witness>) {
    let config = ready.config;
    let record = Arc::new(Mutex::new(Record::default()));
    // Zerto's waits end before the policy is interrupted, so that it can still put the cause into words.
    let zerto_deadline = deadline - 2 * watchdog::grace(config.deadline());
    let zerto = Box::new(Zerto::new(
        config.zerto.clone(),
        zerto_deadline,
        Arc::clone(&record),
        Session::new(config.session.clone(), call.session_id.clone(), call.cwd.clone()),
    ));
    let (lent, mut witness) = Witness::attend(config, zerto, &ready.question, &ready.identity);
    let said = Prepared::new(&ready.component, &config.policy.grants())
        .and_then(|prepared| prepared.before(lent, &ready.question))
        .map(Verdict::cleaned);
    if let Some(witness) = &mut witness {
        witness.heard(&said);
    }
    let record = record.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (said, record, witness)
}

/// The verdict as this harness, in this permission mode, can be told it.
fn answerable(config: &Config, call: &Call<'_>, said: Verdict) -> Result<Verdict, Fault> {
    let verdict = unattended::resolve(&config.ask, said, call.permission_mode.as_deref()).cleaned();
    match (call.foreign, &verdict) {
        // Some take an ask for a pass.
        (Some(harness), Verdict::Ask(reason) | Verdict::Deny(reason)) => {
            Err(claude_code::foreign_fault(harness, Some(reason)))
        }
        _ => Ok(verdict),
    }
}
