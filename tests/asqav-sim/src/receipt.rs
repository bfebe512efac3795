//! Receipts as the service makes them.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::digest::{canonical, sha256};
use crate::key::Key;
use crate::names::{AGENT_ID, ISSUER};
use crate::service::State;
use crate::trouble::Trouble;

fn time(at: SystemTime) -> String {
    OffsetDateTime::from(at)
        .format(&Rfc3339)
        .expect("a time of today")
}

/// Answers a request for a signature.
pub(crate) fn sign(state: &mut State, body: &Value) -> Value {
    let trouble = state.trouble.clone();
    let now = SystemTime::now();
    let issued = match trouble {
        Some(Trouble::Stale(ago)) => now - ago,
        _ => now,
    };
    let key = match trouble {
        Some(Trouble::NeighboursKey) => &state.neighbours,
        _ => &state.ours,
    };
    let published = state.ours.published(AGENT_ID, "active");
    let mut payload = payload(body, &state.previous, issued);
    if let Some(thumbprint) = published.thumbprint() {
        payload["key_thumbprint"] = thumbprint.into();
    }
    match &trouble {
        Some(Trouble::Decision(decision)) => payload["decision"] = (*decision).into(),
        Some(Trouble::Says(name, value)) => payload[*name] = (*value).into(),
        Some(Trouble::Omits(name)) => {
            payload.as_object_mut().map(|payload| payload.remove(*name));
        }
        _ => {}
    }
    let message = canonical(&payload);
    let signature = match trouble {
        Some(Trouble::OtherKey) => Key::generate(key.algorithm()).sign(&message),
        _ => key.sign(&message),
    };
    state.previous = sha256(&message);
    if let Some(Trouble::Tampered(name, value)) = &trouble {
        payload[*name] = (*value).into();
    }
    let name = match trouble {
        Some(Trouble::Named(name)) => name,
        _ => format!("sig_{}", state.nonces.len()),
    };
    json!({
        "signature_id": name,
        "action_id": payload["action_id"],
        "timestamp": time(issued),
        "verification_url": format!("https://asqav.example/verify/{name}"),
        "algorithm": key.algorithm().name(),
        "compliance_mode": true,
        "payload": payload,
        "signature": { "alg": key.algorithm().name(), "kid": ISSUER, "sig": signature },
        "anchors": [],
    })
}

fn payload(body: &Value, previous: &str, issued: SystemTime) -> Value {
    let decision = match (body["receipt_type"].as_str(), body["policy_decision"].as_str()) {
        (Some("protectmcp:decision"), Some("permit")) => "allow",
        (Some("protectmcp:decision"), _) => "deny",
        _ => "observation",
    };
    let digest = body["hash"].as_str().unwrap_or_default();
    let mut payload = json!({
        "v": 1,
        "mode": "hash",
        "action_id": format!("act_{}", &sha256(body.to_string().as_bytes())[..16]),
        "agent_id": AGENT_ID,
        "org_id": ISSUER,
        "issuer_id": ISSUER,
        "type": body["receipt_type"],
        "capture_topology": body["capture_topology"],
        "issued_at": time(issued),
        "expires_at": time(issued + Duration::from_secs(24 * 3600)),
        "action_type": body["action_type"],
        "action_ref": digest,
        "hash": digest,
        "hash_algo": body["hash_algo"],
        "payload_digest": { "hash": digest.trim_start_matches("sha256:"), "size": body["payload_size"] },
        "policy_digest": format!("sha256:{}", sha256(b"")),
        "previousReceiptHash": previous,
        "decision": decision,
        "nonce": body["nonce"],
    });
    for name in ["invocation_ref", "result_digest", "reason"] {
        if let Some(value) = body.get(name) {
            payload[name] = value.clone();
        }
    }
    payload
}
