//! The remote signer: what the asqav service says of a call before it runs, and what it is told of it afterwards.

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holdpoint_common::safe_text::clean_line;
use holdpoint_config::{Config, ConfigError, Mode, Receipts, Signer};
use holdpoint_receipts::remote::{Account, Action, Decision, Error, Gated, Observation, Service, Signed};
use holdpoint_runtime::verdict::{Fault, FaultKind, Verdict};

use crate::decision::Decided;
use crate::event::{Call, Ended};
use crate::{self_test_calls, watchdog};

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

/// What came of asking the service about a decision.
#[derive(Debug, Default)]
pub struct Asked {
    /// The name of its receipt, or why there is none; none where there is no remote signer.
    pub note: Option<String>,
    /// In gate mode: the deny that takes the decision's place where the service decided anything but `allow`, or the fault
    /// where there is no receipt that counts.
    pub instead: Option<Result<Verdict, Fault>>,
}

/// Asks the service for a receipt of the decision.
pub fn decided(
    config: &Result<Config, ConfigError>,
    call: &Call<'_>,
    decided: &Decided,
    deadline: Instant,
) -> Asked {
    let Some(config) = config.as_ref().ok().filter(|config| is_wanted(&config.receipts)) else {
        return Asked::default();
    };
    let settings = &config.receipts;
    if self_test_calls::is_call(&call.session_id, &call.call_id) {
        return Asked {
            note: Some(SELF_TEST.to_owned()),
            instead: None,
        };
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
    let is_gated = settings.mode == Mode::Gate && !decided.is_deny();
    let answer = service(settings).and_then(|service| {
        let request = request(decided, &action, service.account().agent_id())?;
        match is_gated {
            true => service.gate(&request, until),
            false => service.record(&request, until).map(Gated::Allowed),
        }
    });
    let (note, instead) = match answer {
        Ok(Gated::Allowed(signed)) => {
            let expected = if decided.is_deny() { "deny" } else { "allow" };
            (kept(settings, &signed, expected, until), None)
        }
        Ok(Gated::Refused(signed)) => {
            let denied = Verdict::Deny(refusal(&signed));
            (kept(settings, &signed, "allow", until), Some(Ok(denied)))
        }
        Err(cause) => {
            let fault = || {
                let cause = format!("receipts.mode is \"gate\" and receipts.signer \"asqav\": {cause}");
                Err(Fault::new(FaultKind::Receipt, cause))
            };
            (format!("none: {cause}"), is_gated.then(fault))
        }
    };
    Asked {
        note: Some(note),
        instead,
    }
}

/// Tells the service what was seen of a call.
///
/// # Errors
///
/// Why there is no receipt of the service's.
pub fn observed(settings: &Receipts, ended: &Ended<'_>) -> Result<(), Error> {
    if !is_wanted(settings) || self_test_calls::is_call(&ended.session_id, &ended.call_id) {
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
fn request(decided: &Decided, action: &Action<'_>, agent: &str) -> Result<Decision, Error> {
    match (&decided.verdict, &decided.fault) {
        (Verdict::Deny(_), None) => Decision::deny(action, agent, "policy"),
        (Verdict::Deny(_), Some(_)) => Decision::deny(action, agent, "fault"),
        (Verdict::Ask(_), _) => Decision::ask(action, agent),
        (Verdict::Pass(_), _) => Decision::permit(action, agent),
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
