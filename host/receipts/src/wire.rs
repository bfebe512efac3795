//! The payload as it is signed. Only here is known how the format spells things.

use holdpoint_artifact::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::body::{Body, Call, Decision, Environment, Event, Observation, Verdict};
use crate::bound::{self, Arguments, Form};
use crate::error::ReceiptError;
use crate::moment::Moment;

/// The version of what stands under `holdpoint`: 2 added where a call came from, the ZVM, how what ran differs from what
/// was decided, archives, a remote signer's receipt, and calls of a harness that is not known. What 1 has is read as before.
const FORMAT: u32 = 2;

/// Where a receipt stands, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seq: u64,
    pub(crate) previous: Digest,
    pub(crate) issued_at: Moment,
    pub(crate) issuer: String,
    pub(crate) key: String,
    pub(crate) host: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    v: u32,
    mode: Mode,
    #[serde(rename = "type")]
    kind: Kind,
    capture_topology: Topology,
    decision: Word,
    issued_at: Moment,
    issuer_id: String,
    seq: u64,
    #[serde(rename = "previousReceiptHash", with = "bare")]
    previous: Digest,
    action_type: String,
    action_ref: Digest,
    payload_digest: PayloadDigest,
    policy_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    invocation_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result_digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
    holdpoint: Ours,
}

/// What the format has no words for.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ours {
    format: u32,
    host: String,
    /// The key's id once more: the one in the signature is not signed.
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    harness: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<Form>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    environment: Option<Environment>,
    facts: Facts,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Facts {
    Decision(Decision),
    Observation(Observation),
    Event(Event),
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    #[serde(rename = "protectmcp:decision")]
    Decision,
    #[serde(rename = "protectmcp:observation")]
    Observation,
    #[serde(rename = "protectmcp:observation:result_bound")]
    ResultBound,
    #[serde(rename = "protectmcp:lifecycle")]
    Lifecycle,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Topology {
    /// Decided here, before the call.
    InProcessSdk,
    /// Heard of afterwards.
    PassiveTelemetry,
}

/// The format's word for a verdict; it wants one of an observation as well, and has a word that says it is none.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Allow,
    Ask,
    Deny,
    Observation,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Digests only.
    Hash,
    /// With the arguments in `context`.
    Payload,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PayloadDigest {
    #[serde(with = "bare")]
    hash: Digest,
    size: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Context {
    tool_input: Value,
}

/// The canonical bytes of a payload: what is signed.
pub(crate) fn write(place: &Place, body: &Body) -> Result<Vec<u8>, ReceiptError> {
    let (kind, capture_topology, decision, facts) = match body {
        Body::Decision(_, facts) => (
            Kind::Decision,
            Topology::InProcessSdk,
            word(facts.verdict),
            Facts::Decision(facts.clone()),
        ),
        Body::Observation(_, facts) => (
            observation(facts),
            Topology::PassiveTelemetry,
            Word::Observation,
            Facts::Observation(facts.clone()),
        ),
        Body::Event(facts) => (
            Kind::Lifecycle,
            Topology::InProcessSdk,
            Word::Observation,
            Facts::Event(facts.clone()),
        ),
    };
    let (action_type, action_ref, payload_digest) = match body {
        Body::Decision(call, _) | Body::Observation(call, _) => (
            bound::action_type(&call.tool),
            call.arguments.action,
            PayloadDigest {
                hash: call.arguments.digest,
                size: call.arguments.bytes,
            },
        ),
        Body::Event(event) => of_event(event)?,
    };
    let call = body.call();
    let context = call.and_then(|call| call.arguments.value.clone());
    let wire = Wire {
        v: 1,
        mode: if context.is_some() {
            Mode::Payload
        } else {
            Mode::Hash
        },
        kind,
        capture_topology,
        decision,
        issued_at: place.issued_at,
        issuer_id: place.issuer.clone(),
        seq: place.seq,
        previous: place.previous,
        action_type,
        action_ref,
        payload_digest,
        policy_digest: match body {
            Body::Decision(_, decision) => decision.policy.as_ref().map(|policy| policy.digest),
            _ => None,
        },
        tool_name: call.map(|call| call.tool.clone()),
        session_id: call.and_then(|call| call.session.clone()),
        invocation_ref: call.and_then(|call| call.id.clone()),
        result_digest: results(body),
        context: context.map(|tool_input| Context { tool_input }),
        holdpoint: Ours {
            format: FORMAT,
            host: place.host.clone(),
            key: place.key.clone(),
            harness: call.and_then(|call| call.harness.clone()),
            arguments: call.map(|call| call.arguments.form),
            environment: call
                .map(|call| call.environment.clone())
                .filter(|environment| !environment.is_empty()),
            facts,
        },
    };
    canonical(&wire)
}

/// Reads a payload, and refuses one whose parts contradict each other.
pub(crate) fn read(payload: &str) -> Result<(Place, Body), ReceiptError> {
    let wire: Wire = match serde_json::from_str(payload) {
        Ok(wire) => wire,
        Err(error) => return Err(unreadable(payload, &error)),
    };
    if wire.v != 1 || !(1..=FORMAT).contains(&wire.holdpoint.format) {
        return Err(ReceiptError::Newer(wire.holdpoint.format));
    }
    let claimed = (wire.kind, wire.capture_topology, wire.decision);
    let result_digest = wire.result_digest;
    let policy_digest = wire.policy_digest;
    let place = Place {
        seq: wire.seq,
        previous: wire.previous,
        issued_at: wire.issued_at,
        issuer: wire.issuer_id,
        key: wire.holdpoint.key,
        host: wire.holdpoint.host,
    };
    let has_context = wire.context.is_some();
    let environment = wire.holdpoint.environment.unwrap_or_default();
    let call = wire
        .tool_name
        .zip(wire.holdpoint.arguments)
        .map(|(tool, form)| Call {
            harness: wire.holdpoint.harness,
            session: wire.session_id,
            id: wire.invocation_ref,
            tool,
            arguments: Arguments {
                digest: wire.payload_digest.hash,
                bytes: wire.payload_digest.size,
                action: wire.action_ref,
                form,
                value: wire.context.map(|context| context.tool_input),
            },
            environment,
        });
    let (body, fitting) = match (wire.holdpoint.facts, call) {
        (Facts::Decision(facts), Some(call)) => {
            let fitting = (Kind::Decision, Topology::InProcessSdk, word(facts.verdict));
            (Body::Decision(call, facts), fitting)
        }
        (Facts::Observation(facts), Some(call)) => {
            let fitting = (observation(&facts), Topology::PassiveTelemetry, Word::Observation);
            (Body::Observation(call, facts), fitting)
        }
        (Facts::Event(event), None) => (
            Body::Event(event),
            (Kind::Lifecycle, Topology::InProcessSdk, Word::Observation),
        ),
        _ => {
            return Err(ReceiptError::Contradiction(
                "facts do not fit a call, or lack one",
            ));
        }
    };
    if claimed != fitting {
        return Err(ReceiptError::Contradiction(
            "type, capture_topology and decision do not fit its facts",
        ));
    }
    let policy = match &body {
        Body::Decision(_, decision) => decision.policy.as_ref().map(|policy| policy.digest),
        _ => None,
    };
    if result_digest != results(&body) || policy_digest != policy {
        return Err(ReceiptError::Contradiction("digests do not fit its facts"));
    }
    if (wire.mode == Mode::Payload) != has_context {
        return Err(ReceiptError::Contradiction("mode does not fit its context"));
    }
    Ok((place, body))
}

fn word(verdict: Verdict) -> Word {
    match verdict {
        Verdict::Pass => Word::Allow,
        Verdict::Ask => Word::Ask,
        Verdict::Deny => Word::Deny,
    }
}

fn observation(facts: &Observation) -> Kind {
    match facts.results {
        Some(_) => Kind::ResultBound,
        None => Kind::Observation,
    }
}

fn results(body: &Body) -> Option<Digest> {
    match body {
        Body::Observation(_, observation) => observation.results.as_ref().map(|results| results.digest),
        _ => None,
    }
}

/// The format wants every receipt to bind an action; of an event it is the event itself.
fn of_event(event: &Event) -> Result<(String, Digest, PayloadDigest), ReceiptError> {
    let name = match event {
        Event::KeyChanged { .. } => "holdpoint:key_changed",
        Event::LineSetAside { .. } => "holdpoint:line_set_aside",
        Event::Archived { .. } => "holdpoint:archived",
    };
    let text = canonical(event)?;
    let digest = Digest::of(&text);
    let bound = PayloadDigest {
        hash: digest,
        size: text.len() as u64,
    };
    Ok((name.to_owned(), digest, bound))
}

fn canonical(value: &impl Serialize) -> Result<Vec<u8>, ReceiptError> {
    serde_json_canonicalizer::to_vec(value).map_err(|error| ReceiptError::Unreadable(error.to_string()))
}

/// Why a payload cannot be read: where it says so itself, because it is of a newer format.
fn unreadable(payload: &str, error: &serde_json::Error) -> ReceiptError {
    let format = serde_json::from_str::<Value>(payload)
        .ok()
        .and_then(|value| value["holdpoint"]["format"].as_u64())
        .and_then(|format| u32::try_from(format).ok());
    match format {
        Some(format) if format > FORMAT => ReceiptError::Newer(format),
        _ => ReceiptError::Unreadable(error.to_string()),
    }
}

/// Digests as 64 hexadecimal digits, without a prefix.
mod bare {
    use super::{Deserialize, Deserializer, Digest, Serializer, de};

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&digest.hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digest: Digest = text.parse().map_err(de::Error::custom)?;
        if text == digest.hex() {
            Ok(digest)
        } else {
            Err(de::Error::custom(
                "64 lower-case hexadecimal digits were expected",
            ))
        }
    }
}
