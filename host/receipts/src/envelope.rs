//! A signed receipt: one line of the log.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use holdpoint_artifact::{Digest, KeyPair, PublicKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::body::Body;
use crate::error::ReceiptError;
use crate::limit::LARGEST_RECEIPT;
use crate::moment::Moment;
use crate::wire::{self, Place};

/// What the first receipt has in the place of the one before.
pub(crate) const GENESIS: Digest = Digest::from_bytes([0; 32]);

/// The algorithm's name, as RFC 9864 has it and the format's verifier wants it.
pub(crate) const ALGORITHM: &str = "Ed25519";

/// A receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its number in the chain, from 1.
    pub seq: u64,
    /// The digest of the one before.
    pub previous: Digest,
    /// When it was made, by the machine's clock.
    pub issued_at: Moment,
    /// Who made it: `holdpoint:` and the id of the log's first key.
    pub issuer: String,
    /// The version of the host that made it.
    pub host: String,
    /// What it says.
    pub body: Body,
    /// SHA-256 of its canonical payload: its name, and the next one's link.
    pub digest: Digest,
    /// Its signature.
    pub signature: Signature,
}

/// A receipt's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The id of the key, which also stands in the payload.
    pub kid: String,
    /// The signature of the payload's canonical bytes.
    pub bytes: [u8; 64],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow)]
    payload: &'a RawValue,
    signature: WireSignature,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireSignature {
    alg: String,
    kid: String,
    sig: String,
}

/// A line taken apart, with the bytes that were signed.
pub(crate) struct Parsed<'a> {
    pub(crate) receipt: Receipt,
    pub(crate) payload: &'a str,
}

impl Receipt {
    /// Reads a receipt: a line of the log, or of an export.
    ///
    /// # Errors
    ///
    /// Where it is no receipt of this format, or contradicts itself. The signature is not looked at: see
    /// [`verify`](crate::verify()).
    pub fn read(line: &str) -> Result<Self, ReceiptError> {
        parse(line).map(|parsed| parsed.receipt)
    }
}

/// Takes a line apart.
pub(crate) fn parse(line: &str) -> Result<Parsed<'_>, ReceiptError> {
    let unreadable = |error: serde_json::Error| ReceiptError::Unreadable(error.to_string());
    let envelope: Envelope<'_> = serde_json::from_str(line).map_err(unreadable)?;
    let payload = envelope.payload.get();
    let (place, body) = wire::read(payload)?;
    if place.key != envelope.signature.kid {
        return Err(ReceiptError::Contradiction(
            "signature names another key than its payload",
        ));
    }
    if envelope.signature.alg != ALGORITHM {
        return Err(ReceiptError::Contradiction("signature is of another algorithm"));
    }
    let bytes = BASE64_URL_SAFE_NO_PAD
        .decode(&envelope.signature.sig)
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(ReceiptError::Contradiction(
            "signature is not 64 bytes in base64url",
        ))?;
    let receipt = Receipt {
        seq: place.seq,
        previous: place.previous,
        issued_at: place.issued_at,
        issuer: place.issuer,
        host: place.host,
        body,
        digest: Digest::of(payload.as_bytes()),
        signature: Signature {
            kid: place.key,
            bytes,
        },
    };
    Ok(Parsed { receipt, payload })
}

/// Whether this key signed these very bytes. What is canonical only after reading and writing it again is not what was
/// signed.
pub(crate) fn is_signed(payload: &str, signature: &Signature, key: &PublicKey) -> bool {
    key.verifies(payload.as_bytes(), &signature.bytes)
}

/// Makes and signs a receipt: its line with the line break, and its digest.
pub(crate) fn sign(place: &Place, body: &Body, key: &KeyPair) -> Result<(Vec<u8>, Digest), ReceiptError> {
    let payload = wire::write(place, body)?;
    let signature = BASE64_URL_SAFE_NO_PAD.encode(key.sign(&payload));
    let digest = Digest::of(&payload);
    let mut line = Vec::with_capacity(payload.len() + 192);
    line.extend_from_slice(b"{\"payload\":");
    line.extend_from_slice(&payload);
    let kid = &place.key;
    line.extend_from_slice(
        format!(",\"signature\":{{\"alg\":\"{ALGORITHM}\",\"kid\":\"{kid}\",\"sig\":\"{signature}\"}}}}\n")
            .as_bytes(),
    );
    if line.len() > LARGEST_RECEIPT {
        return Err(ReceiptError::TooLarge(line.len()));
    }
    Ok((line, digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::{Event, Outcome, Stance, Verdict};
    use crate::test_bodies::{decision, observation};

    fn place(key: &KeyPair) -> Place {
        Place {
            seq: 1,
            previous: GENESIS,
            issued_at: Moment::from_unix_millis(1_800_000_000_123),
            issuer: "holdpoint:test".into(),
            key: key.public().id().to_string(),
            host: "0.1.0".into(),
        }
    }

    fn line(body: &Body) -> String {
        let key = KeyPair::generate().unwrap();
        let (line, _) = sign(&place(&key), body, &key).unwrap();
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn every_body_is_read_as_it_was_written() {
        let key = KeyPair::generate().unwrap();
        let mut linked = observation("call-1", Outcome::Ran);
        if let Body::Observation(_, observation) = &mut linked {
            observation.decision = Some(Digest::of(b"decision"));
        }
        let bodies = [
            decision("call-1", Verdict::Deny),
            linked,
            Body::Event(Event::KeyChanged {
                public_key: key.public(),
            }),
            Body::Event(Event::LineSetAside {
                file: "torn-00.part".into(),
                digest: GENESIS,
                bytes: 7,
            }),
        ];
        for body in bodies {
            let (line, digest) = sign(&place(&key), &body, &key).unwrap();
            let line = String::from_utf8(line).unwrap();
            let parsed = parse(&line).unwrap();
            assert_eq!(parsed.receipt.body, body);
            assert_eq!(parsed.receipt.digest, digest);
            assert!(is_signed(
                parsed.payload,
                &parsed.receipt.signature,
                &key.public()
            ));
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(
                serde_json_canonicalizer::to_string(&value).unwrap() + "\n",
                line,
                "a line is canonical, the envelope included"
            );
        }
    }

    /// Whoever signs wrong combinations, with whatever key: they are not receipts.
    #[test]
    fn an_observation_cannot_claim_a_verdict_and_a_decision_cannot_be_telemetry() {
        let decided = line(&decision("c", Verdict::Pass));
        let seen = line(&observation("c", Outcome::Ran));
        let verdict_of_an_observation =
            seen.replace("\"outcome\":\"ran\"", "\"outcome\":\"ran\",\"verdict\":\"pass\"");
        let swapped = [
            decided.replace("in_process_sdk", "passive_telemetry"),
            decided.replace("protectmcp:decision", "protectmcp:observation"),
            decided.replace("\"decision\":\"allow\"", "\"decision\":\"deny\""),
            decided.replace("\"decision\":\"allow\"", "\"decision\":\"observation\""),
            decided.replace("\"verdict\":\"pass\"", "\"verdict\":\"allow\""),
            seen.replace("passive_telemetry", "in_process_sdk"),
            seen.replace("protectmcp:observation:result_bound", "protectmcp:decision"),
            seen.replace("protectmcp:observation:result_bound", "protectmcp:observation"),
            seen.replace("\"decision\":\"observation\"", "\"decision\":\"allow\""),
            verdict_of_an_observation,
        ];
        for line in swapped {
            assert!(line != decided && line != seen, "nothing was swapped: {line}");
            assert!(Receipt::read(&line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_key_in_the_signature_is_the_one_in_the_payload() {
        let decided = line(&decision("c", Verdict::Ask));
        let (payload, signature) = decided.rsplit_once("\"kid\":\"").unwrap();
        let other = format!("{payload}\"kid\":\"{}{}", "0".repeat(24), &signature[24..]);
        assert!(matches!(
            Receipt::read(&other),
            Err(ReceiptError::Contradiction(_))
        ));
        let unsigned = decided.replace(",\"signature\":", ",\"anchors\":[],\"signature\":");
        assert!(Receipt::read(&unsigned).is_err(), "nothing unsigned beside it");
    }

    #[test]
    fn a_newer_format_is_told_as_one() {
        let newer = line(&decision("c", Verdict::Ask)).replace("\"format\":2", "\"format\":3,\"new\":1");
        assert_eq!(Receipt::read(&newer), Err(ReceiptError::Newer(3)));
    }

    #[test]
    fn a_receipt_has_a_largest_size() {
        let mut body = decision("c", Verdict::Pass);
        if let Body::Decision(_, decision) = &mut body {
            decision.why = Some("x".repeat(LARGEST_RECEIPT));
            assert_eq!(decision.stance, Stance::Closed);
        }
        let key = KeyPair::generate().unwrap();
        assert!(matches!(
            sign(&place(&key), &body, &key),
            Err(ReceiptError::TooLarge(_))
        ));
    }
}
