//! The keys of agents.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ed25519_compact::{KeyPair, Seed};
use ml_dsa::signature::{Keypair as _, Signer as _};
use ml_dsa::{MlDsa65, SigningKey};
use serde_json::{Value, json};

use crate::digest::{canonical, sha256};
use crate::names::ISSUER;

/// What agents sign by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Quick to make and to check.
    Ed25519,
    /// What the hosted service gives its agents (FIPS 204).
    MlDsa65,
}

impl Algorithm {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "Ed25519",
            Self::MlDsa65 => "ML-DSA-65",
        }
    }
}

pub(crate) enum Key {
    Ed25519(KeyPair),
    MlDsa65(Box<SigningKey<MlDsa65>>),
}

/// A line of the key set.
pub(crate) struct Published {
    pub(crate) agent_id: &'static str,
    pub(crate) status: &'static str,
    algorithm: Algorithm,
    public: Vec<u8>,
}

impl Key {
    pub(crate) fn generate(algorithm: Algorithm) -> Self {
        let seed = *Seed::generate();
        match algorithm {
            Algorithm::Ed25519 => Self::Ed25519(KeyPair::from_seed(Seed::new(seed))),
            Algorithm::MlDsa65 => Self::MlDsa65(Box::new(SigningKey::from_seed(&seed.into()))),
        }
    }

    pub(crate) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ed25519(_) => Algorithm::Ed25519,
            Self::MlDsa65(_) => Algorithm::MlDsa65,
        }
    }

    pub(crate) fn published(&self, agent_id: &'static str, status: &'static str) -> Published {
        let public = match self {
            Self::Ed25519(key) => key.pk.to_vec(),
            Self::MlDsa65(key) => key.verifying_key().encode().to_vec(),
        };
        Published {
            agent_id,
            status,
            algorithm: self.algorithm(),
            public,
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> String {
        let signature = match self {
            Self::Ed25519(key) => key.sk.sign(message, None).to_vec(),
            Self::MlDsa65(key) => key.sign(message).encode().to_vec(),
        };
        BASE64_URL_SAFE_NO_PAD.encode(signature)
    }
}

impl Published {
    /// The key's own name.
    pub(crate) fn kid(&self) -> String {
        sha256(&self.public)[..22].to_owned()
    }

    /// The thumbprint that a receipt names the key by; only keys of ML-DSA have one.
    pub(crate) fn thumbprint(&self) -> Option<String> {
        let public = BASE64_URL_SAFE_NO_PAD.encode(&self.public);
        let key = json!({ "alg": "ML-DSA-65", "kty": "AKP", "pub": public });
        (self.algorithm == Algorithm::MlDsa65).then(|| format!("sha256:{}", sha256(&canonical(&key))))
    }

    pub(crate) fn json(&self) -> Value {
        let mut key = json!({
            "kid": self.kid(),
            "agent_id": self.agent_id,
            "issuer_id": ISSUER,
            "org_id": ISSUER,
            "alg": self.algorithm.name(),
            "public_key": BASE64_STANDARD.encode(&self.public),
            "status": self.status,
        });
        if let Some(thumbprint) = self.thumbprint() {
            key["key_thumbprint"] = thumbprint.into();
        }
        key
    }
}
