//! Canonical bytes and their digests, as the service makes them.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub(crate) fn canonical(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("a value that was read or made here")
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
