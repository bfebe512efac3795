//! The remote signer: what the asqav service says of a call before it runs, and what it is told of it afterwards.

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holdpoint_receipts::remote::{Account, Action, Decision, Error, Gated, Observation, Service, Signed};

use crate::config::{Config, ConfigError, Mode, Receipts, Signer};
use crate::doctor::own;
use crate::event::{Call, Ended};
use crate::log::Entry;
use crate::text::clean_line;
use crate::verdict::{Fault, FaultKind, Verdict};
use crate::watchdog;

/// The keys that the service published, beside the receipts.
const KEYS: &str = "asqav-keys.json";
/// The service's receipts, beside ours.
const KEPT: &str = "asqav.jsonl";
/// The longest time that the service is given after a call; its own deadline is nearer as a rule.
const LONGEST_OBSERVATION: Duration = Duration::from_secs(30);
/// The longest time that a file which another process keeps locked is waited for: the service has the receipt as well.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// The longest name of a receipt and the longest word of the service that are shown, in characters.
const LONGEST_NAME: usize = 80;
/// What is said of a call of doctor's self-test.
const SELF_TEST: &str = "none: a call of doctor's self-test";

/// Asks the service for a decision receipt. The entry gets its name, or why there is none. Answers with the deny that takes
/// the verdict's place where, in gate mode, the service decided anything but `allow`.
///
/// # Errors
///
/// In gate mode: a fault in the place of a verdict that would let the call run, where there is no receipt that counts.
pub fn decided(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    entry: &mut Entry,
    deadline: Instant,
) -> Result<Option<Verdict>, Fault> {
    let Ok(config) = config else {
        return Ok(None);
    };
    let settings = &config.receipts;
    if !is_wanted(settings) {
        return Ok(None);
    }
    if own::is_call(&call.session_id, &call.call_id) {
        entry.signer = Some(SELF_TEST.to_owned());
        return Ok(None);
    }
    let until = deadline
        .checked_sub(watchdog::grace(config.deadline()))
        .unwrap_or(deadline);
    let action = Action {
        tool: &call.tool,
        arguments: call.arguments.get(),
        session_id: &call.session_id,
        call_id: &call.call_id,
    };
    let is_denied = entry.verdict == holdpoint_receipts::Verdict::Deny.word();
    let is_gated = settings.mode == Mode::Gate && !is_denied;
    let answer = service(settings).and_then(|service| {
        let request = request(entry, &action, service.account().agent_id())?;
        match is_gated {
            true => service.gate(&request, until),
            false => service.record(&request, until).map(Gated::Allowed),
        }
    });
    match answer {
        Ok(Gated::Allowed(signed)) => {
            let expected = if is_denied { "deny" } else { "allow" };
            entry.signer = Some(kept(settings, &signed, expected, until));
            Ok(None)
        }
        Ok(Gated::Refused(signed)) => {
            entry.signer = Some(kept(settings, &signed, "allow", until));
            Ok(Some(Verdict::Deny(refusal(&signed))))
        }
        Err(cause) => {
            entry.signer = Some(format!("none: {cause}"));
            match is_gated {
                true => Err(Fault::new(
                    FaultKind::Receipt,
                    format!("receipts.mode is \"gate\" and receipts.signer \"asqav\": {cause}"),
                )),
                false => Ok(None),
            }
        }
    }
}

/// Tells the service what was seen of a call.
///
/// # Errors
///
/// Why there is no receipt of the service's.
pub fn observed(settings: &Receipts, ended: &Ended<'_>) -> Result<(), Error> {
    if !is_wanted(settings) || own::is_call(&ended.session_id, &ended.call_id) {
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
    let service = service(settings)?;
    let observation = Observation::new(&action, service.account().agent_id(), result)?;
    let signed = service.observe(&observation, until)?;
    kept(settings, &signed, "observation", until);
    Ok(())
}

/// What the user is told after a call for which the service cannot sign anything until somebody changes the account.
pub fn warning(error: &Error) -> Option<String> {
    let is_account = matches!(error, Error::Identity(_) | Error::Setting(..));
    is_account.then(|| {
        let cause = clean_line(&error.to_string(), 400);
        format!("Holdpoint: the asqav service signs nothing: {cause}. holdpoint doctor says what to do.")
    })
}

fn is_wanted(settings: &Receipts) -> bool {
    settings.mode != Mode::Off && settings.signer == Signer::Asqav
}

/// What is sent: the verdict as it stands, in the service's terms.
fn request(entry: &Entry, action: &Action<'_>, agent: &str) -> Result<Decision, Error> {
    use holdpoint_receipts::Verdict::{Ask, Deny};
    match (entry.verdict, entry.fault) {
        (word, None) if word == Deny.word() => Decision::deny(action, agent, "policy"),
        (word, Some(_)) if word == Deny.word() => Decision::deny(action, agent, "fault"),
        (word, _) if word == Ask.word() => Decision::ask(action, agent),
        _ => Decision::permit(action, agent),
    }
}

/// Why a call does not run that the service did not allow.
fn refusal(signed: &Signed) -> String {
    let name = clean_line(&signed.signature_id, LONGEST_NAME);
    match signed.decision.as_str() {
        "deny" => format!("asqav denied this call ({name})"),
        word => format!(
            "asqav decided \"{}\" and not \"allow\" for this call ({name})",
            clean_line(word, LONGEST_NAME)
        ),
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

/// Keeps the receipt beside ours, and names it with what it says where that is not what was expected. One that cannot be
/// kept is still with the service.
fn kept(settings: &Receipts, signed: &Signed, expected: &str, until: Instant) -> String {
    let wait = LONGEST_WAIT.min(until.saturating_duration_since(Instant::now()));
    let directory = settings.directory().map_err(|error| error.to_string());
    let done = directory.and_then(|directory| {
        signed
            .keep(&directory.join(KEPT), wait)
            .map_err(|error| error.to_string())
    });
    let mut words = clean_line(&signed.signature_id, LONGEST_NAME);
    if signed.decision != expected {
        let says = clean_line(&signed.decision, LONGEST_NAME);
        words.push_str(&format!(", which says \"{says}\""));
    }
    if let Err(cause) = done {
        words.push_str(&format!(", not kept here: {cause}"));
    }
    words
}
