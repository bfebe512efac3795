//! Whether what came back is a receipt of the service, about this call, and what it says. Does no I/O.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::error::Error;
use super::keys::{KeySet, decode};
use super::request::Request;
use super::strict;

/// A receipt as it came.
#[derive(Debug)]
pub(super) struct Receipt {
    pub(super) signature_id: String,
    payload: Map<String, Value>,
    signature: Value,
    anchors: Value,
}

impl Receipt {
    /// Reads the answer to a request.
    pub(super) fn read(answer: &[u8]) -> Result<Self, Error> {
        let bad = |why: &str| Error::Malformed(why.to_owned());
        let mut answer = strict::read(answer).map_err(|error| Error::Malformed(error.to_string()))?;
        let Value::Object(payload) = answer["payload"].take() else {
            return Err(bad("it holds no signed payload"));
        };
        let signature = answer["signature"].take();
        if !["alg", "kid", "sig"]
            .iter()
            .all(|name| signature[name].is_string())
        {
            return Err(bad("its signature is not of the form {alg, kid, sig}"));
        }
        let signature_id = answer["signature_id"]
            .as_str()
            .ok_or_else(|| bad("it has no signature_id"))?;
        Ok(Self {
            signature_id: signature_id.to_owned(),
            payload,
            signature,
            anchors: answer["anchors"].take(),
        })
    }

    /// What the service decided, in its word.
    pub(super) fn decision(&self) -> Option<&str> {
        self.text("decision")
    }

    /// The receipt alone, as verifiers take it.
    pub(super) fn envelope(self) -> Value {
        let anchors = match self.anchors {
            Value::Array(anchors) => anchors,
            _ => Vec::new(),
        };
        json!({ "payload": self.payload, "signature": self.signature, "anchors": anchors })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.payload.get(name).and_then(Value::as_str)
    }

    /// Checks the signature against the agent's published keys. The key is chosen by what stands inside the signed bytes;
    /// the signature's `kid` stands outside and decides nothing.
    pub(super) fn verify(&self, keys: &KeySet) -> Result<(), Error> {
        let bad = |why: &str| Err(Error::Unverified(why.to_owned()));
        let message = serde_json_canonicalizer::to_vec(&self.payload)
            .map_err(|error| Error::Unverified(format!("its payload has no canonical form ({error})")))?;
        let part = |name: &str| self.signature[name].as_str().unwrap_or_default();
        let Some(signature) = decode(part("sig")) else {
            return bad("its signature is no base64");
        };
        let mut any = false;
        let signer = keys.keys().find(|key| {
            any = true;
            key.verifies(part("alg"), &message, &signature)
        });
        let Some(key) = signer else {
            return match any {
                true => bad("no published key of this agent made its signature"),
                false => bad("no key is published for this agent"),
            };
        };
        if !key.is_active() {
            return bad("the key that signed it is not active");
        }
        if self.text("issuer_id").is_none() || key.issuer() != self.text("issuer_id") {
            return bad("the key that signed it is published for another issuer");
        }
        match self.payload.get("key_thumbprint") {
            Some(named) if named.as_str() != key.thumbprint().as_deref() => {
                bad("it names another key than the one that signed it")
            }
            _ => Ok(()),
        }
    }

    /// Checks that a genuine receipt is the answer to this request: this agent, this action, this call, now.
    pub(super) fn answers(
        &self,
        request: &Request,
        agent_id: &str,
        nonce: &str,
        now: SystemTime,
        deadline: Duration,
    ) -> Result<(), Error> {
        let differs = |why: &str| Err(Error::Mismatch(why.to_owned()));
        if self.text("agent_id") != Some(agent_id) {
            return differs("it is another agent's");
        }
        if self.text("type") != Some(request.receipt_type) {
            return differs("it is of another type than was asked for");
        }
        // Either name holds the digest, depending on the service's mode; where both are there, both count.
        let digests = ["hash", "action_ref"].map(|name| self.payload.get(name));
        let mut present = digests.into_iter().flatten().peekable();
        if present.peek().is_none() || !present.all(|digest| digest == request.digest.as_str()) {
            return differs("its digest is not the one that was sent");
        }
        if self.payload.get("invocation_ref").map(Value::as_str) != request.call_id.as_deref().map(Some) {
            return differs("its invocation_ref names another call, or none");
        }
        if self.payload.get("nonce").is_some_and(|theirs| theirs != nonce) {
            return differs("its nonce is another request's");
        }
        self.is_fresh(now, deadline).map_err(Error::Mismatch)
    }

    fn is_fresh(&self, now: SystemTime, deadline: Duration) -> Result<(), String> {
        let time = |name: &str| {
            let text = self.text(name)?;
            OffsetDateTime::parse(text, &Rfc3339).ok()
        };
        let now = OffsetDateTime::from(now);
        let issued = time("issued_at").ok_or("its issued_at is missing or no time")?;
        let apart = now - issued;
        if apart.unsigned_abs() > deadline {
            return Err(format!(
                "it was issued {:.1} s {} the time here, and {:.1} s are allowed",
                apart.abs().as_seconds_f64(),
                if apart.is_negative() { "after" } else { "before" },
                deadline.as_secs_f64()
            ));
        }
        match self.payload.contains_key("expires_at")
            && time("expires_at").is_none_or(|expires| expires <= now)
        {
            true => Err("it has expired".into()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/support/python.rs"]
mod python;

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use serde_json::{Value, json};

    use super::super::keys::KeySet;
    use super::{Receipt, python};

    /// Receipts that the real service signed, and the package's own makings, kept by the package as its known answers:
    /// their keys and signatures have to be read here as they are there. See `tests/asqav.rs` for the variable.
    #[ignore = "needs HOLDPOINT_ASQAV_PYTHON"]
    #[test]
    fn the_packages_known_answers_are_ours() {
        let python = python::python();
        let output = Command::new(python)
            .args([
                "-c",
                "import asqav, os; print(os.path.dirname(asqav.__file__), end='')",
            ])
            .output()
            .unwrap();
        let vectors = Path::new(&String::from_utf8(output.stdout).unwrap()).join("conformance_vectors");
        for (name, good) in [
            ("asqav-06-mldsa65-payload-prod", true),
            ("asqav-21-key-thumbprint-binds", true),
            ("asqav-35-invocation-ref-binds-pre-post", true),
            ("asqav-04-tamper-sig", false),
            ("asqav-07-revoked-key", false),
            ("asqav-22-key-substituted", false),
        ] {
            let read = |file: &str| -> Value {
                let path = vectors.join(name).join(file);
                let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                serde_json::from_slice(&text).unwrap()
            };
            let (receipt, keys) = (read("receipt.json"), read("jwks.json"));
            let agent = receipt["payload"]["agent_id"].as_str().unwrap_or_default();
            let mut keys = keys["keys"].as_array().unwrap().clone();
            for key in &mut keys {
                // Keys that were made for a vector name no agent.
                if key.get("agent_id").is_none() {
                    key["agent_id"] = agent.into();
                }
            }
            let answer = json!({
                "signature_id": name,
                "payload": receipt["payload"],
                "signature": receipt["signature"],
            });
            let verified = Receipt::read(answer.to_string().as_bytes())
                .unwrap()
                .verify(&KeySet::new(keys, agent));
            assert_eq!(verified.is_ok(), good, "{name}: {verified:?}");
        }
    }
}
