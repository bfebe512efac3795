//! A public key as text: 32 bytes in base64url.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use holdpoint_artifact::PublicKey;
use serde::{Deserialize as _, Deserializer, Serializer, de};

pub(crate) fn decode(text: &str) -> Result<PublicKey, String> {
    let bytes = BASE64_URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or("a public key is 32 bytes in base64url")?;
    PublicKey::from_bytes(bytes).map_err(|error| error.to_string())
}

pub(crate) fn serialize<S: Serializer>(key: &PublicKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_URL_SAFE_NO_PAD.encode(key.as_bytes()))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PublicKey, D::Error> {
    decode(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}
