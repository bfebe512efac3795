use crate::{Digest, Facts};
#[derive(Debug, Clone, Default)]
pub struct Trust {
    pub keys: Vec<String>,
    pub revoked_policies: Vec<Digest>,
    pub revoked_keys: Vec<String>,
}
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[error("{0}")]
pub struct Refusal(pub String);
#[derive(serde::Deserialize)]
struct Sketch {
    name: String,
    version: semver::Version,
    key: String,
}
pub fn gate(bytes: &[u8], trust: &Trust) -> Result<Facts, Refusal> {
    let s: Sketch = serde_json::from_slice(bytes).map_err(|e| Refusal(format!("no policy: {e}")))?;
    let digest = Digest::of(bytes);
    if trust.revoked_keys.contains(&s.key) || !trust.keys.contains(&s.key) {
        return Err(Refusal(format!("key {} not trusted", s.key)));
    }
    if trust.revoked_policies.contains(&digest) {
        return Err(Refusal("revoked".into()));
    }
    Ok(Facts {
        digest,
        name: Some(s.name),
        version: Some(s.version),
        key: Some(s.key),
        size: bytes.len() as u64,
    })
}
