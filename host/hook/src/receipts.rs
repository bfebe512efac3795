//! Receipts in the host: what the hook knows, made into one, and what becomes of a call whose receipt cannot be written.

use std::time::{Duration, Instant};

use holdpoint_common::safe_text::clean_line;
use holdpoint_config::{Config, ConfigError, Mode, Receipts};
use holdpoint_receipts::{
    Appended, Arguments, Body, Checkpoint, Decision, Deviation, Environment, Event, Log, Machine, Manner,
    Observation, Outcome, Policy, Results, Stance, Verdict,
};
use holdpoint_runtime::policy::Identity;
use holdpoint_runtime::sandbox;
use holdpoint_runtime::verdict::{self, Fault, FaultKind};

use crate::decision::Decided;
use crate::event::{Call, Ended, How};
use crate::harness::claude_code;
use crate::log::Entry;
use crate::origin;
use crate::{signer, watchdog};

/// How long others are waited for where only the receipt is at stake.
const SHORT_WAIT: Duration = Duration::from_secs(2);
/// The longest name, in characters. The same before and after a call, as it joins the two.
const LONGEST_NAME: usize = 400;
/// The longest reason, in characters.
const LONGEST_REASON: usize = 2_000;

/// The receipts that the configuration wants written.
///
/// # Errors
///
/// Where nothing is configured and there is no home directory.
pub fn log(config: &Receipts) -> Result<Log, ConfigError> {
    Ok(Log {
        directory: config.directory()?,
        key: config.key()?,
        largest_segment: config.segment_bytes(),
        host: env!("CARGO_PKG_VERSION").into(),
    })
}

/// What came of writing a decision's receipt.
#[derive(Debug, Default)]
pub struct Written {
    /// Its number and digest, or why there is none; none where receipts are off.
    pub note: Option<String>,
    /// In gate mode: the fault that takes the place of a decision that would let the call run, where the receipt is not on
    /// the disk.
    pub instead: Option<Fault>,
}

/// Writes a decision's receipt, with what the remote signer said.
pub fn decided(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    environment: &Environment,
    decided: &Decided,
    signer: Option<&str>,
    deadline: Instant,
) -> Written {
    let Some((settings, mode)) = wanted(config) else {
        return Written::default();
    };
    let tool = name(&call.tool);
    let arguments = Arguments::of(&tool, call.arguments, settings.arguments);
    let body = Body::Decision(
        holdpoint_receipts::Call {
            harness: call.origin.harness.clone(),
            environment: environment.clone(),
            ..called(&call.session_id, &call.call_id, tool, arguments)
        },
        decision(decided, signer, call.permission_mode.as_deref()),
    );
    match append(settings, &body, before_a_call(mode, config, deadline)) {
        Ok(appended) => Written {
            note: Some(in_words(&appended)),
            instead: None,
        },
        Err(cause) => {
            let fault = || {
                let cause = format!("no receipt could be written, and receipts.mode is \"gate\": {cause}");
                Fault::new(FaultKind::Receipt, cause)
            };
            Written {
                note: Some(format!("none: {cause}")),
                instead: (mode == Mode::Gate && !decided.is_deny()).then(fault),
            }
        }
    }
}

/// Writes the receipt of an event that was blocked because it could not be read; says its number, or why there is none.
pub fn unread(
    config: &Result<Config, ConfigError>,
    fault: &Fault,
    event: &[u8],
    deadline: Instant,
) -> Option<String> {
    let (settings, mode) = wanted(config)?;
    let decision = Decision {
        verdict: Verdict::Deny,
        stance: Stance::Closed,
        fault: Some(fault.kind.word().into()),
        why: Some(clean_line(&fault.cause, LONGEST_REASON)),
        permission_mode: None,
        policy: None,
        targets: Vec::new(),
        machines: Vec::new(),
        checkpoints: Vec::new(),
        troubles: Vec::new(),
        zvm: None,
        signer: None,
    };
    let call = holdpoint_receipts::Call {
        harness: claude_code::harness_of(event),
        ..called("", "", String::new(), Arguments::unread(event))
    };
    let body = Body::Decision(call, decision);
    let appended = append(settings, &body, before_a_call(mode, config, deadline));
    Some(appended.map_or_else(|cause| format!("none: {cause}"), |appended| in_words(&appended)))
}

/// What there is to tell of the receipt of a call's end.
#[derive(Default)]
pub struct Seen {
    /// The log is told this; none where there is nothing.
    pub line: Option<Entry>,
    /// The user is told this.
    pub warning: Option<String>,
}

/// Writes the receipt of what was seen of a call that has ended, and how it differs from what was decided. What there is to
/// tell of it goes into the entry.
pub fn observed(config: &Config, entry: Entry, ended: &Ended<'_>, deviation: Option<&Deviation>) -> Seen {
    let settings = &config.receipts;
    if settings.mode == Mode::Off {
        return Seen::default();
    }
    let here = observe(settings, ended, deviation);
    let there = signer::observed(settings, ended).err();
    let warning = there.as_ref().and_then(signer::warning);
    let there = there.map(|cause| cause.to_string());
    Seen {
        line: line(entry, here, there),
        warning,
    }
}

/// The log's line of a receipt here and one of the remote signer's, where there is something to tell of them.
fn line(entry: Entry, here: Result<Appended, String>, there: Option<String>) -> Option<Entry> {
    let entry = Entry {
        signer: there.as_ref().map(|cause| format!("none: {cause}")),
        ..entry
    };
    match here {
        Ok(appended) if appended.set_aside.is_empty() && there.is_none() => None,
        Ok(appended) => {
            let entry = Entry {
                receipt: Some(in_words(&appended)),
                ..entry
            };
            Some(match there {
                Some(cause) => entry.failed("silent", FaultKind::Receipt, &cause),
                None => entry,
            })
        }
        Err(cause) => Some(entry.failed("silent", FaultKind::Receipt, &cause)),
    }
}

fn observe(
    settings: &Receipts,
    ended: &Ended<'_>,
    deviation: Option<&Deviation>,
) -> Result<Appended, String> {
    let tool = name(&ended.tool);
    let arguments = Arguments::of(&tool, ended.arguments, settings.arguments);
    let call = holdpoint_receipts::Call {
        harness: ended.origin.harness.clone(),
        environment: origin::of(&ended.origin),
        ..called(&ended.session_id, &ended.call_id, tool, arguments)
    };
    // Where it cannot be found, the call's id still joins the two.
    let decision = call.id.as_deref().and_then(|id| {
        let log = log(settings).ok()?;
        log.decision_of(call.session.as_deref(), id).ok().flatten()
    });
    let observation = Observation {
        outcome: match ended.how {
            How::Ran => Outcome::Ran,
            How::Failed => Outcome::Failed,
            How::Interrupted => Outcome::Interrupted,
        },
        stance: Stance::Open,
        results: ended
            .results
            .map(|results| Results::of(results, settings.results)),
        checkpoints: decision
            .as_ref()
            .map(|decision| decision.body.checkpoints().to_vec())
            .unwrap_or_default(),
        decision: decision.map(|decision| decision.digest),
        deviation: deviation.cloned(),
    };
    let manner = Manner {
        sync: false,
        wait: SHORT_WAIT,
    };
    append(settings, &Body::Observation(call, observation), manner)
}

/// The settings, where receipts are wanted. Without a configuration nobody knows whether they are, or where.
fn wanted(config: &Result<Config, ConfigError>) -> Option<(&Receipts, Mode)> {
    let settings = &config.as_ref().ok()?.receipts;
    (settings.mode != Mode::Off).then_some((settings, settings.mode))
}

fn before_a_call(mode: Mode, config: &Result<Config, ConfigError>, deadline: Instant) -> Manner {
    let whole = config.as_ref().map(Config::deadline).unwrap_or_default();
    let left = deadline.saturating_duration_since(Instant::now());
    let left = left.saturating_sub(watchdog::grace(whole));
    match mode {
        Mode::Gate => Manner {
            sync: true,
            wait: left,
        },
        Mode::Off | Mode::Audit => Manner {
            sync: false,
            wait: left.min(SHORT_WAIT),
        },
    }
}

fn append(settings: &Receipts, body: &Body, manner: Manner) -> Result<Appended, String> {
    let log = log(settings).map_err(|error| error.to_string())?;
    log.append(body, manner).map_err(|error| error.to_string())
}

/// The receipt, for the decision log; and what was found torn, which somebody should hear of.
fn in_words(appended: &Appended) -> String {
    let mut words = format!("#{} sha256:{:.12}", appended.seq, appended.digest.hex());
    for event in &appended.set_aside {
        if let Event::LineSetAside { file, bytes, .. } = event {
            words.push_str(&format!(
                "; before it, {bytes} bytes of an unfinished receipt were set aside as {file}"
            ));
        }
    }
    words
}

fn name(text: &str) -> String {
    clean_line(text, LONGEST_NAME)
}

fn called(session: &str, id: &str, tool: String, arguments: Arguments) -> holdpoint_receipts::Call {
    let given = |text: &str| Some(name(text)).filter(|text| !text.is_empty());
    holdpoint_receipts::Call {
        harness: None,
        session: given(session),
        id: given(id),
        tool,
        arguments,
        environment: Environment::default(),
    }
}

fn decision(decided: &Decided, signer: Option<&str>, permission_mode: Option<&str>) -> Decision {
    let record = &decided.record;
    let machines = record.machines.iter().map(|machine| Machine {
        name: machine.name.clone(),
        vm: machine.vm.clone(),
        vpg: machine.vpg.clone(),
        vpg_name: machine.vpg_name.clone(),
    });
    let checkpoints = record.checkpoints.iter().map(|seen| Checkpoint {
        id: seen.checkpoint.clone(),
        vpg: seen.vpg.clone(),
        tag: record.tag.clone(),
        time: seen.time.clone(),
    });
    let reason = |text: &str| clean_line(text, LONGEST_REASON);
    Decision {
        verdict: match decided.verdict {
            verdict::Verdict::Pass(_) => Verdict::Pass,
            verdict::Verdict::Ask(_) => Verdict::Ask,
            verdict::Verdict::Deny(_) => Verdict::Deny,
        },
        stance: Stance::Closed,
        fault: decided.fault.as_ref().map(|fault| fault.kind.word().to_owned()),
        why: decided.why().map(reason),
        permission_mode: permission_mode.map(name),
        policy: decided.policy.as_ref().map(policy),
        targets: record.targets.clone(),
        machines: machines.collect(),
        checkpoints: checkpoints.collect(),
        troubles: record.troubles.clone(),
        zvm: record.zvm.clone(),
        signer: signer.map(reason),
    }
}

fn policy(identity: &Identity) -> Policy {
    let manifest = identity.facts.as_ref().and_then(|facts| facts.manifest.as_ref());
    Policy {
        digest: identity.digest,
        origin: name(&identity.origin),
        version: manifest.map(|manifest| manifest.version.to_string()),
        signer: identity.facts.as_ref().and_then(|facts| facts.signer.clone()),
        wit: manifest
            .map_or(&sandbox::SERVED[sandbox::SERVED.len() - 1], |manifest| {
                &manifest.wit
            })
            .to_string(),
    }
}
