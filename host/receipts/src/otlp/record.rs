//! One receipt as a log record. The receipt itself goes along, so that what a collector keeps can be verified.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::body::{Body, Call, Decision, Event, Observation, Outcome, Verdict};
use crate::envelope::Receipt;

/// Severities, by the specification's numbers.
const INFO: (u32, &str) = (9, "INFO");
const WARN: (u32, &str) = (13, "WARN");
const ERROR: (u32, &str) = (17, "ERROR");

/// The log record of a receipt and its line.
pub(super) fn of(line: &str, receipt: &Receipt, observed: SystemTime) -> Value {
    let (name, severity, says) = summary(&receipt.body);
    let mut attributes = vec![
        text("log.record.original", line.trim_end()),
        text("holdpoint.receipt.digest", &receipt.digest.to_string()),
        text("holdpoint.receipt.previous", &receipt.previous.to_string()),
        number("holdpoint.receipt.seq", receipt.seq),
        text("holdpoint.receipt.key", &receipt.signature.kid),
    ];
    if let Some(call) = receipt.body.call() {
        of_call(&mut attributes, call);
    }
    match &receipt.body {
        Body::Decision(_, decision) => of_decision(&mut attributes, decision),
        Body::Observation(_, observation) => of_observation(&mut attributes, observation),
        Body::Event(event) => of_event(&mut attributes, event),
    }
    let checkpoints = receipt.body.checkpoints();
    if !checkpoints.is_empty() {
        attributes.push(texts(
            "holdpoint.checkpoints",
            checkpoints.iter().map(|at| at.id.as_str()),
        ));
        attributes.push(texts(
            "holdpoint.vpgs",
            checkpoints.iter().map(|at| at.vpg.as_str()),
        ));
    }
    let observed = observed.duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "timeUnixNano": (u128::from(receipt.issued_at.unix_millis()) * 1_000_000).to_string(),
        "observedTimeUnixNano": observed.as_nanos().to_string(),
        "severityNumber": severity.0,
        "severityText": severity.1,
        "eventName": name,
        "body": { "stringValue": says },
        "attributes": attributes,
    })
}

fn summary(body: &Body) -> (&'static str, (u32, &'static str), String) {
    match body {
        Body::Decision(call, decision) => {
            let severity = match (&decision.fault, decision.verdict) {
                (Some(_), _) => ERROR,
                (None, Verdict::Pass) => INFO,
                (None, Verdict::Ask | Verdict::Deny) => WARN,
            };
            let on = match decision.targets.as_slice() {
                [] => String::new(),
                targets => format!(" on {}", targets.join(", ")),
            };
            let why = decision
                .why
                .as_ref()
                .map_or_else(String::new, |why| format!(": {why}"));
            let says = format!("{} {}{on}{why}", decision.verdict.word(), call.tool);
            ("holdpoint.decision", severity, says)
        }
        Body::Observation(call, observation) => {
            let severity = match (&observation.deviation, observation.outcome) {
                (Some(_), _) => ERROR,
                (None, Outcome::Ran) => INFO,
                (None, Outcome::Failed | Outcome::Interrupted) => WARN,
            };
            let ended = format!("{} {}", call.tool, observation.outcome.word());
            let says = observation.deviation.as_ref().map_or_else(
                || ended.clone(),
                |deviation| format!("{} ({}): {ended}", deviation.words(), deviation.machines()),
            );
            ("holdpoint.observation", severity, says)
        }
        Body::Event(Event::KeyChanged { .. }) => ("holdpoint.log", INFO, "the key was changed".into()),
        Body::Event(Event::LineSetAside { file, .. }) => (
            "holdpoint.log",
            WARN,
            format!("an unfinished line was set aside in {file}"),
        ),
        Body::Event(Event::Archived { through, file, .. }) => (
            "holdpoint.log",
            INFO,
            format!("the receipts up to #{through} were archived in {file}"),
        ),
    }
}

fn of_call(attributes: &mut Vec<Value>, call: &Call) {
    let harness = call.harness.as_deref();
    attributes.extend(harness.map(|harness| text("holdpoint.harness", harness)));
    attributes.push(text("gen_ai.tool.name", &call.tool));
    attributes.extend(call.id.as_deref().map(|id| text("gen_ai.tool.call.id", id)));
    attributes.extend(call.session.as_deref().map(|id| text("session.id", id)));
    attributes.push(text(
        "holdpoint.arguments.digest",
        &call.arguments.digest.to_string(),
    ));
    let facts = call.environment.facts();
    attributes.extend(facts.map(|(name, value)| text(&format!("holdpoint.{name}"), value)));
}

fn of_decision(attributes: &mut Vec<Value>, decision: &Decision) {
    attributes.push(text("holdpoint.verdict", decision.verdict.word()));
    attributes.extend(
        decision
            .fault
            .as_deref()
            .map(|fault| text("holdpoint.fault", fault)),
    );
    attributes.extend(decision.why.as_deref().map(|why| text("holdpoint.why", why)));
    let signer = decision.signer.as_deref();
    attributes.extend(signer.map(|signer| text("holdpoint.signer", signer)));
    let mode = decision.permission_mode.as_deref();
    attributes.extend(mode.map(|mode| text("holdpoint.permission_mode", mode)));
    if let Some(policy) = &decision.policy {
        attributes.push(text("holdpoint.policy.digest", &policy.digest.to_string()));
        attributes.push(text("holdpoint.policy.wit", &policy.wit));
        let named = [("version", &policy.version), ("signer", &policy.signer)];
        for (name, value) in named {
            attributes.extend(
                value
                    .as_deref()
                    .map(|value| text(&format!("holdpoint.policy.{name}"), value)),
            );
        }
    }
    if let Some(zvm) = &decision.zvm {
        attributes.push(text("holdpoint.zvm", &zvm.url));
        attributes.extend(zvm.site.as_deref().map(|site| text("holdpoint.site", site)));
    }
    let lists = [
        ("holdpoint.targets", &decision.targets),
        ("holdpoint.troubles", &decision.troubles),
    ];
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        attributes.push(texts(name, list.iter().map(String::as_str)));
    }
    if !decision.machines.is_empty() {
        attributes.push(texts(
            "holdpoint.machines",
            decision.machines.iter().map(|vm| vm.name.as_str()),
        ));
    }
}

fn of_observation(attributes: &mut Vec<Value>, observation: &Observation) {
    attributes.push(text("holdpoint.outcome", observation.outcome.word()));
    let results = observation.results.as_ref();
    attributes.extend(results.map(|results| text("holdpoint.results.digest", &results.digest.to_string())));
    let decision = observation.decision.as_ref();
    attributes.extend(decision.map(|digest| text("holdpoint.decision.digest", &digest.to_string())));
    if let Some(deviation) = &observation.deviation {
        attributes.push(text("holdpoint.deviation", &deviation.words()));
        let sides = [
            ("holdpoint.deviation.checked", &deviation.checked),
            ("holdpoint.deviation.ran", &deviation.ran),
        ];
        for (name, machines) in sides {
            attributes.push(texts(name, machines.iter().map(String::as_str)));
        }
    }
}

fn of_event(attributes: &mut Vec<Value>, event: &Event) {
    match event {
        Event::KeyChanged { public_key } => {
            attributes.push(text("holdpoint.new_key", &public_key.id().to_string()));
        }
        Event::LineSetAside { file, .. } => attributes.push(text("holdpoint.set_aside", file)),
        Event::Archived {
            through,
            digest,
            file,
        } => {
            attributes.push(text("holdpoint.archive", file));
            attributes.push(number("holdpoint.archive.through", *through));
            attributes.push(text("holdpoint.archive.digest", &digest.to_string()));
        }
    }
}

pub(super) fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// A whole number, which this encoding writes as a text.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn texts<'a>(key: &str, values: impl Iterator<Item = &'a str>) -> Value {
    let values: Vec<_> = values.map(|value| json!({ "stringValue": value })).collect();
    json!({ "key": key, "value": { "arrayValue": { "values": values } } })
}
