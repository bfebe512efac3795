//! The remote signer: what the asqav service says of a call before it runs, and what it is told of it afterwards.

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holdpoint_receipts::remote::{Account, Action, Decision, Error, Observation, Service, Signed};

use crate::config::{Config, ConfigError, Mode, Receipts, Signer};
use crate::event::{Call, Ended};
use crate::log::Entry;
use crate::verdict::{Fault, FaultKind};
use crate::watchdog;

/// The keys that the service published, beside the receipts.
const KEYS: &str = "asqav-keys.json";
/// The service's receipts, beside ours.
const KEPT: &str = "asqav.jsonl";
/// The longest time that the service is given after a call; its own deadline is nearer as a rule.
const LONGEST_OBSERVATION: Duration = Duration::from_secs(30);

/// Asks the service for a decision receipt. The entry gets its name, or why there is none.
///
/// # Errors
///
/// In gate mode: a fault in the place of a verdict that would let the call run, where the service does not permit it.
pub fn decided(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    entry: &mut Entry,
    deadline: Instant,
) -> Result<(), Fault> {
    let Ok(config) = config else {
        return Ok(());
    };
    let settings = &config.receipts;
    if settings.mode == Mode::Off || settings.signer == Signer::Local {
        return Ok(());
    }
    let until = deadline
        .checked_sub(watchdog::grace(config.deadline()))
        .unwrap_or(deadline);
    let denied = entry.verdict == holdpoint_receipts::Verdict::Deny.word();
    let action = Action {
        tool: &call.tool,
        arguments: call.arguments.get(),
        session_id: &call.session_id,
        call_id: &call.call_id,
    };
    let signed = service(settings).and_then(|service| {
        let agent = service.account().agent_id();
        match (denied, settings.mode) {
            (true, _) => service.record(&Decision::deny(&action, agent, "policy")?, until),
            (false, Mode::Gate) => service.gate(&Decision::permit(&action, agent)?, until),
            (false, _) => service.record(&Decision::permit(&action, agent)?, until),
        }
    });
    match signed {
        Ok(signed) => {
            entry.signer = Some(kept(settings, &signed));
            Ok(())
        }
        Err(cause) => {
            entry.signer = Some(format!("none: {cause}"));
            match settings.mode == Mode::Gate && !denied {
                true => Err(Fault::new(
                    FaultKind::Receipt,
                    format!("receipts.mode is \"gate\" and receipts.signer \"asqav\": {cause}"),
                )),
                false => Ok(()),
            }
        }
    }
}

/// Tells the service what was seen of a call.
///
/// # Errors
///
/// Says why there is no receipt of the service's.
pub fn observed(settings: &Receipts, ended: &Ended<'_>) -> Result<(), String> {
    if settings.mode == Mode::Off || settings.signer == Signer::Local {
        return Ok(());
    }
    let action = Action {
        tool: &ended.tool,
        arguments: ended.arguments.get(),
        session_id: &ended.session_id,
        call_id: &ended.call_id,
    };
    let result = ended.results.map_or("null", |results| results.get());
    let until = Instant::now() + LONGEST_OBSERVATION;
    let signed = service(settings).and_then(|service| {
        let observation = Observation::new(&action, service.account().agent_id(), result)?;
        service.observe(&observation, until)
    });
    match signed {
        Ok(signed) => {
            kept(settings, &signed);
            Ok(())
        }
        Err(cause) => Err(cause.to_string()),
    }
}

fn service(settings: &Receipts) -> Result<Service, Error> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let account = Account::read(
        |name| env::var(name).ok(),
        home.as_deref(),
        settings.asqav_url.as_deref(),
    )?;
    let keys = settings.directory().ok().map(|directory| directory.join(KEYS));
    Ok(Service::new(account, keys))
}

/// Keeps the receipt beside ours, and names it; one that cannot be kept is still with the service.
fn kept(settings: &Receipts, signed: &Signed) -> String {
    let directory = settings.directory().map_err(|error| error.to_string());
    let done = directory.and_then(|directory| {
        signed
            .keep(&directory.join(KEPT))
            .map_err(|error| error.to_string())
    });
    match done {
        Ok(()) => signed.signature_id.clone(),
        Err(cause) => format!("{}, not kept here: {cause}", signed.signature_id),
    }
}
