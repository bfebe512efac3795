//! Whom the configuration trusts to make policies: the keys' files read, for the gate.

use holdpoint_artifact::{PublicKey, Signature, StoreRevocations, Trust, TrustedKey};
use holdpoint_common::read::limit;
use holdpoint_config::{ConfigError, Key, Policy, SignatureRule, read_private, resolved};

/// Whom the host trusts. Reads the keys' files.
///
/// # Errors
///
/// Where a key cannot be read, is open to others, or is none.
pub fn trust(config: &Policy) -> Result<Trust, ConfigError> {
    let keys = config.keys().iter().map(|(id, key)| trusted(id, key));
    Ok(Trust {
        signature: match config.signature_rule() {
            SignatureRule::Required => Signature::Required,
            SignatureRule::NotRequired => Signature::NotRequired,
        },
        keys: keys.collect::<Result<_, _>>()?,
        revoked_policies: config.revoked().to_vec(),
        stored: StoreRevocations::default(),
        required: config.required(),
    })
}

fn trusted(id: &str, key: &Key) -> Result<TrustedKey, ConfigError> {
    let name = format!("policy.keys.{id}");
    let text = match (&key.public, &key.public_file) {
        (Some(text), None) => text.clone(),
        (None, Some(path)) => {
            let path =
                resolved(path).map_err(|cause| ConfigError::value(&format!("{name}.public_file"), cause))?;
            read_private(&path, limit::KEY)?
        }
        _ => {
            let cause = "needs one of public (the key, PEM) and public_file (its file)";
            return Err(ConfigError::value(&name, cause));
        }
    };
    let public = PublicKey::from_pem(&text)
        .map_err(|error| ConfigError::value(&name, format!("is no key that can be used: {error}")))?;
    Ok(TrustedKey {
        id: id.to_owned(),
        public,
        not_before: key.not_before,
        not_after: key.not_after,
        revoked: key.revoked,
    })
}
