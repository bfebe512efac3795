//! Which keys sign, and when: a JSON Web Key Set beside the log, which the format's verifier reads as well.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use holdpoint_artifact::{KeyPair, PublicKey};
use holdpoint_common::access;
use holdpoint_common::read::{self, limit};
use serde::{Deserialize, Serialize};

use crate::envelope::ALGORITHM;
use crate::error::LogError;
use crate::moment::Moment;
use crate::{permissions, public_key};

/// Keys that sign receipts, or did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet {
    /// The keys, oldest first.
    pub keys: Vec<Key>,
}

/// One key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The public key.
    pub public: PublicKey,
    /// Whose it is: what its receipts have for an issuer.
    pub issuer: String,
    /// The first moment at which it signs, where that is known.
    pub not_before: Option<Moment>,
    /// The last moment, where it does not sign any more.
    pub not_after: Option<Moment>,
    /// Whether it is to be trusted.
    pub status: KeyStatus,
}

/// Whether a key is to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    /// Within its dates. A key that was changed for another stays active: what it signed within them is good.
    Active,
    /// Not from this moment on; where there is none, not at all.
    Revoked(Option<Moment>),
}

impl Key {
    /// The key's id, which its receipts name.
    pub fn id(&self) -> String {
        self.public.id().to_string()
    }
}

#[derive(Serialize, Deserialize)]
struct WireSet {
    keys: Vec<WireKey>,
}

/// Members that are not ours are not looked at: key sets of others have more.
#[derive(Serialize, Deserialize)]
struct WireKey {
    kty: String,
    crv: String,
    alg: String,
    #[serde(rename = "use", default = "signing")]
    usage: String,
    kid: String,
    issuer_id: String,
    status: String,
    /// As RFC 8037 has it.
    x: String,
    /// As the format's verifier wants it.
    #[serde(default)]
    public_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<Moment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_after: Option<Moment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Moment>,
}

fn signing() -> String {
    "sig".into()
}

impl KeySet {
    /// The key with this id.
    pub fn find(&self, id: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.id() == id)
    }

    /// Reads a key set's file.
    ///
    /// # Errors
    ///
    /// Where it cannot be read or has a key that cannot be used.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        let text = read::read_text(path, limit::KEY_SET).map_err(LogError::file(path, "read"))?;
        Self::from_json(&text).map_err(|cause| LogError::KeySet {
            path: path.to_owned(),
            cause,
        })
    }

    /// Reads a key set's text.
    ///
    /// # Errors
    ///
    /// Says what is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let set: WireSet = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let keys = set
            .keys
            .into_iter()
            .map(Key::from_wire)
            .collect::<Result<_, _>>()?;
        Ok(Self { keys })
    }

    /// The key set as text.
    pub fn to_json(&self) -> String {
        let keys = self.keys.iter().map(Key::to_wire).collect();
        let text = serde_json::to_string_pretty(&WireSet { keys });
        text.expect("strings can be written") + "\n"
    }

    /// Puts the key set into a file, whole, whichever process is killed at whichever moment.
    pub(crate) fn write(&self, path: &Path) -> Result<(), LogError> {
        let temporary = path.with_extension("json.new");
        let mut file =
            permissions::replace(&temporary, true).map_err(LogError::file(&temporary, "written"))?;
        file.write_all(self.to_json().as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, path))
            .map_err(LogError::file(path, "written"))
    }
}

impl Key {
    fn from_wire(wire: WireKey) -> Result<Self, String> {
        let about = |cause: &str| format!("the key {}: {cause}", wire.kid);
        if (wire.kty.as_str(), wire.crv.as_str(), wire.alg.as_str()) != ("OKP", "Ed25519", ALGORITHM) {
            return Err(about("not an Ed25519 key"));
        }
        let public = public_key::decode(&wire.x).map_err(|error| about(&error))?;
        // The verifier of the format looks at this member only: it must not be another key there than here.
        let other = wire
            .public_key
            .as_deref()
            .map(|text| BASE64_STANDARD.decode(text));
        if other.is_some_and(|other| other.as_deref() != Ok(public.as_bytes())) {
            return Err(about("x and public_key are different keys"));
        }
        if public.id().to_string() != wire.kid {
            return Err(about("kid is not this key's id"));
        }
        let status = match (wire.status.as_str(), wire.revoked_at) {
            ("active", None) => KeyStatus::Active,
            ("revoked", at) => KeyStatus::Revoked(at),
            _ => return Err(about("status is neither active nor revoked")),
        };
        Ok(Self {
            public,
            issuer: wire.issuer_id,
            not_before: wire.not_before,
            not_after: wire.not_after,
            status,
        })
    }

    fn to_wire(&self) -> WireKey {
        let (status, revoked_at) = match self.status {
            KeyStatus::Active => ("active", None),
            KeyStatus::Revoked(at) => ("revoked", at),
        };
        WireKey {
            kty: "OKP".into(),
            crv: "Ed25519".into(),
            alg: ALGORITHM.into(),
            usage: signing(),
            kid: self.id(),
            issuer_id: self.issuer.clone(),
            status: status.into(),
            x: BASE64_URL_SAFE_NO_PAD.encode(self.public.as_bytes()),
            public_key: Some(BASE64_STANDARD.encode(self.public.as_bytes())),
            not_before: self.not_before,
            not_after: self.not_after,
            revoked_at,
        }
    }
}

/// Reads a private key that nobody but its owner can have read.
pub(crate) fn read_private(path: &Path) -> Result<KeyPair, LogError> {
    let (file, metadata) = match read::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(LogError::NoKey(path.to_owned())),
        opened => opened.map_err(LogError::file(path, "read"))?,
    };
    if access::readable_by_others(&metadata) {
        return Err(LogError::KeyExposed(path.to_owned()));
    }
    let text = read::read_opened(&file, &metadata, limit::KEY).and_then(read::text);
    let text = zeroize::Zeroizing::new(text.map_err(LogError::file(path, "read"))?);
    KeyPair::from_pem(&text, None).map_err(|cause| LogError::Key {
        path: path.to_owned(),
        cause,
    })
}

/// Writes a private key, for its owner only, over what is there.
pub(crate) fn write_private(path: &Path, key: &KeyPair) -> Result<(), LogError> {
    let pem = key.to_pem(None).map_err(|cause| LogError::Key {
        path: path.to_owned(),
        cause,
    })?;
    let written = permissions::replace(path, false).and_then(|mut file| {
        file.write_all(pem.as_bytes())?;
        file.sync_all()
    });
    written.map_err(LogError::file(path, "written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key {
            public: KeyPair::generate().unwrap().public(),
            issuer: "holdpoint:x".into(),
            not_before: Some(Moment::from_unix_millis(1)),
            not_after: None,
            status: KeyStatus::Active,
        }
    }

    #[test]
    fn a_key_set_is_read_as_it_is_written() {
        let mut revoked = key();
        revoked.status = KeyStatus::Revoked(Some(Moment::from_unix_millis(5)));
        let set = KeySet {
            keys: vec![key(), revoked],
        };
        assert_eq!(KeySet::from_json(&set.to_json()), Ok(set.clone()));
        let id = set.keys[1].id();
        assert_eq!(set.find(&id), Some(&set.keys[1]));
        assert_eq!(set.find("holdpoint:x"), None, "only a key's own id finds it");
    }

    #[test]
    fn a_key_under_another_name_is_refused() {
        let (one, other) = (key(), key());
        let text = KeySet {
            keys: vec![one.clone()],
        }
        .to_json();
        let renamed = text.replace(&one.id(), &other.id());
        assert!(KeySet::from_json(&renamed).unwrap_err().contains("kid"));
        let encode = |key: &Key| BASE64_STANDARD.encode(key.public.as_bytes());
        let two = text.replace(&encode(&one), &encode(&other));
        assert!(KeySet::from_json(&two).unwrap_err().contains("different keys"));
        let weak = text.replace("\"active\"", "\"forgotten\"");
        assert!(KeySet::from_json(&weak).unwrap_err().contains("status"));
    }
}
