//! What is sent to be signed: the members that the `asqav` package's hook sends, and no argument in clear.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::error::Error;
use super::strict;

/// A call as the harness's event names it.
#[derive(Debug, Clone, Copy)]
pub struct Action<'a> {
    /// The tool, exactly as the harness spells it.
    pub tool: &'a str,
    /// The arguments: one JSON text.
    pub arguments: &'a str,
    /// The session's id, empty where the harness sent none.
    pub session_id: &'a str,
    /// The call's id (`tool_use_id`), empty where the harness sent none.
    pub call_id: &'a str,
}

/// A request for a decision receipt: there is no way to make one of a result.
#[derive(Debug)]
pub struct Decision(pub(super) Request);

/// A request for an observation receipt: there is no way to make it claim a decision.
#[derive(Debug)]
pub struct Observation(pub(super) Request);

/// What both have in common.
#[derive(Debug)]
pub(super) struct Request {
    /// The body without its nonce.
    pub(super) body: Map<String, Value>,
    pub(super) digest: String,
    pub(super) receipt_type: &'static str,
    pub(super) call_id: Option<String>,
}

impl Decision {
    /// A call that Holdpoint lets go on. The service decides in its turn.
    ///
    /// # Errors
    ///
    /// [`Error::Canonical`] where the arguments have no canonical form.
    pub fn permit(action: &Action<'_>, agent_id: &str) -> Result<Self, Error> {
        Self::of(action, agent_id, "permit")
    }

    /// A call that a human is asked about. The service knows no such decision: it is sent as a permit, with a reason that
    /// says what it is.
    ///
    /// # Errors
    ///
    /// As for [`Decision::permit`].
    pub fn ask(action: &Action<'_>, agent_id: &str) -> Result<Self, Error> {
        let mut decision = Self::permit(action, agent_id)?;
        decision.0.set("reason", "ask");
        Ok(decision)
    }

    /// A call that Holdpoint denied, with a reason in one word.
    ///
    /// # Errors
    ///
    /// As for [`Decision::permit`].
    pub fn deny(action: &Action<'_>, agent_id: &str, reason: &'static str) -> Result<Self, Error> {
        let mut decision = Self::of(action, agent_id, "deny")?;
        decision.0.set("reason", reason);
        Ok(decision)
    }

    fn of(action: &Action<'_>, agent_id: &str, decision: &str) -> Result<Self, Error> {
        let mut request = Request::new(action, agent_id, "protectmcp:decision")?;
        request.set("policy_decision", decision);
        request.set("capture_topology", "in_process_sdk");
        Ok(Self(request))
    }
}

impl Observation {
    /// A call that has run. The result (one JSON text) is bound by its digest.
    ///
    /// # Errors
    ///
    /// [`Error::Canonical`] where the arguments or the result have no canonical form.
    pub fn new(action: &Action<'_>, agent_id: &str, result: &str) -> Result<Self, Error> {
        let mut request = Request::new(action, agent_id, "protectmcp:observation:result_bound")?;
        // The package sends "permit" here as well; the service signs no decision of it.
        request.set("policy_decision", "permit");
        request.set("capture_topology", "passive_telemetry");
        request.set("result_digest", &digest(&canonical(result)?));
        Ok(Self(request))
    }
}

impl Request {
    fn new(action: &Action<'_>, agent_id: &str, receipt_type: &'static str) -> Result<Self, Error> {
        let action_type = action_type(action.tool);
        let signed = signed_bytes(&action_type, action)?;
        let digest = digest(&signed);
        let mut metadata = json!({ "agent_id": agent_id, "action_type": action_type });
        let session_id = Some(action.session_id).filter(|id| !id.is_empty());
        if let Some(id) = session_id {
            metadata["session_id"] = id.into();
        }
        let body = json!({
            "action_type": action_type,
            "hash": digest,
            "hash_algo": "sha256",
            "payload_size": signed.len(),
            "metadata": metadata,
            "session_id": session_id,
            "compliance_mode": true,
            "receipt_type": receipt_type,
            // The package adds this member to what its dry run shows.
            "action_ref": digest,
        });
        let Value::Object(body) = body else {
            unreachable!("it was made as an object")
        };
        let call_id = Some(action.call_id.to_owned()).filter(|id| !id.is_empty());
        let mut request = Self {
            body,
            digest,
            receipt_type,
            call_id: call_id.clone(),
        };
        if let Some(id) = call_id {
            request.set("invocation_ref", &id);
        }
        Ok(request)
    }

    fn set(&mut self, name: &str, value: &str) {
        self.body.insert(name.to_owned(), value.into());
    }
}

/// The name that the service knows the tool by. The package trims what Python takes for white space, which is more than
/// Unicode does.
fn action_type(tool: &str) -> String {
    let blank = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    format!("tool:{tool}").trim_matches(blank).to_lowercase()
}

/// The bytes that the digest is over: the canonical form of the action and its context.
fn signed_bytes(action_type: &str, action: &Action<'_>) -> Result<Vec<u8>, Error> {
    let mut context = Map::new();
    context.insert("tool_input".into(), read(action.arguments)?);
    if !action.session_id.is_empty() {
        context.insert("_trace_id".into(), action.session_id.into());
    }
    bytes(&json!({ "action_type": action_type, "context": context }))
}

fn canonical(text: &str) -> Result<Vec<u8>, Error> {
    bytes(&read(text)?)
}

fn read(text: &str) -> Result<Value, Error> {
    strict::read(text.as_bytes()).map_err(|error| Error::Canonical(error.to_string()))
}

fn bytes(value: &Value) -> Result<Vec<u8>, Error> {
    serde_json_canonicalizer::to_vec(value).map_err(|error| Error::Canonical(error.to_string()))
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}
