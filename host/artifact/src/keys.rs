//! Ed25519 keys: made, written as PEM, read from PEM.
//!
//! Private keys are PKCS#8 (RFC 5958), in the clear or protected by a passphrase (PBES2: scrypt and AES-256); public
//! keys are SPKI (RFC 8410). OpenSSL and `wasmsign2` read and write the same. Where a key's text lies, and who may read
//! it there, is the caller's business.

use std::fmt;

use ed25519_compact as ed25519;
use pkcs8::der::asn1::{BitStringRef, OctetStringRef};
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode, Document, SecretDocument};
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pkcs8::{EncryptedPrivateKeyInfoRef, ObjectIdentifier, PrivateKeyInfoRef};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::digest::hex;

const PUBLIC: &str = "PUBLIC KEY";
const PRIVATE: &str = "PRIVATE KEY";
const ENCRYPTED: &str = "ENCRYPTED PRIVATE KEY";

/// `id-Ed25519` (RFC 8410), which has no parameters.
const ED25519: AlgorithmIdentifierRef<'static> = AlgorithmIdentifierRef {
    oid: ObjectIdentifier::new_unwrap("1.3.101.112"),
    parameters: None,
};

/// What stands before the 32 bytes of a private key: RFC 8410 puts an OCTET STRING into PKCS#8's own.
const SEED_HEADER: [u8; 2] = [4, 32];

/// Why a text is no key that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Not PEM at all, or PEM of something else.
    #[error("no {wanted} in PEM: the file has to begin with -----BEGIN {wanted}-----")]
    NotPem {
        /// What PEM calls the kind of key that is needed.
        wanted: &'static str,
    },
    /// PEM of the right kind with something wrong inside.
    #[error("a damaged key: make a new one, or bring it back from where it is kept")]
    Damaged,
    /// A key of another algorithm.
    #[error("not an Ed25519 key: make one with `holdpoint policy keygen`")]
    OtherAlgorithm,
    /// A public key that any signature would fit, or none.
    #[error("not a usable Ed25519 key: make one with `holdpoint policy keygen`")]
    Weak,
    /// The private key is protected and no passphrase was given.
    #[error("the private key is protected by a passphrase, and none was given")]
    PassphraseNeeded,
    /// The private key is protected by another passphrase.
    #[error("the passphrase does not open the private key")]
    WrongPassphrase,
    /// No random bytes for a new key.
    #[error("the operating system gives no random bytes: {0}")]
    NoRandomness(String),
}

/// Names a key: the first 12 bytes of HMAC-SHA-256 of the text `key_id` with the raw public key as its key, as 24
/// hexadecimal digits. It is the id that `wasmsign2` gives a key by default, and its command line verifies no
/// signature under any other. An id is a name, never a proof: whoever is looked up by it still has to verify.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; Self::BYTES]);

impl KeyId {
    /// How many bytes an id has.
    pub const BYTES: usize = 12;

    /// The bytes, as they stand in a signature.
    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    fn of(public: &[u8; 32]) -> Self {
        let mac = hmac_sha256(public, b"key_id");
        let mut id = [0; Self::BYTES];
        id.copy_from_slice(&mac[..Self::BYTES]);
        Self(id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// HMAC (RFC 2104) with a key shorter than a block.
fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let pad = |with: u8| {
        let mut block = [with; 64];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        block
    };
    let inner = Sha256::new()
        .chain_update(pad(0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(pad(0x5c))
        .chain_update(inner)
        .finalize()
        .into()
}

/// A public key. Any value of this type is a point of the curve that is fit to verify with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The key that these bytes are.
    ///
    /// # Errors
    ///
    /// [`KeyError::Weak`] where they are no point of the curve, or one of small order.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<Self, KeyError> {
        ed25519::PublicKey::new(bytes)
            .validate()
            .map_err(|_| KeyError::Weak)?;
        Ok(Self(bytes))
    }

    /// Reads `-----BEGIN PUBLIC KEY-----`.
    ///
    /// # Errors
    ///
    /// Where the text is not the PEM of an Ed25519 public key.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let (label, document) =
            Document::from_pem(text.trim()).map_err(|_| KeyError::NotPem { wanted: PUBLIC })?;
        if label != PUBLIC {
            return Err(KeyError::NotPem { wanted: PUBLIC });
        }
        let info = SubjectPublicKeyInfoRef::from_der(document.as_bytes()).map_err(|_| KeyError::Damaged)?;
        if info.algorithm != ED25519 {
            return Err(KeyError::OtherAlgorithm);
        }
        let bytes = info
            .subject_public_key
            .as_bytes()
            .and_then(|bytes| bytes.try_into().ok());
        Self::from_bytes(bytes.ok_or(KeyError::Damaged)?)
    }

    /// Writes `-----BEGIN PUBLIC KEY-----`.
    pub fn to_pem(&self) -> String {
        BitStringRef::from_bytes(&self.0)
            .map(|subject_public_key| SubjectPublicKeyInfoRef {
                algorithm: ED25519,
                subject_public_key,
            })
            .and_then(|info| Document::encode_msg(&info))
            .and_then(|document| document.to_pem(PUBLIC, LineEnding::LF))
            .expect("32 bytes can be encoded")
    }

    /// The raw 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key's id.
    pub fn id(&self) -> KeyId {
        KeyId::of(&self.0)
    }

    /// Whether this key made this signature of this message.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        ed25519::PublicKey::new(self.0)
            .verify(message, &ed25519::Signature::new(*signature))
            .is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id())
    }
}

/// A private key with its public key. Wiped from memory when it is dropped.
pub struct KeyPair {
    seed: Zeroizing<[u8; 32]>,
    public: PublicKey,
}

impl KeyPair {
    /// Makes a new key from the operating system's random bytes.
    ///
    /// # Errors
    ///
    /// [`KeyError::NoRandomness`] where there are none.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed).map_err(|error| KeyError::NoRandomness(error.to_string()))?;
        Self::from_seed(seed)
    }

    /// Reads `-----BEGIN PRIVATE KEY-----`, or with the passphrase `-----BEGIN ENCRYPTED PRIVATE KEY-----`. A
    /// passphrase for a key that has none is not used.
    ///
    /// # Errors
    ///
    /// Where the text is not the PEM of an Ed25519 private key, or the passphrase is missing or wrong.
    pub fn from_pem(text: &str, passphrase: Option<&str>) -> Result<Self, KeyError> {
        let (label, document) =
            SecretDocument::from_pem(text.trim()).map_err(|_| KeyError::NotPem { wanted: PRIVATE })?;
        match label {
            PRIVATE => Self::from_der(document.as_bytes()),
            ENCRYPTED => {
                let passphrase = passphrase.ok_or(KeyError::PassphraseNeeded)?;
                let info = EncryptedPrivateKeyInfoRef::from_der(document.as_bytes())
                    .map_err(|_| KeyError::Damaged)?;
                let document = info.decrypt(passphrase).map_err(|_| KeyError::WrongPassphrase)?;
                Self::from_der(document.as_bytes())
            }
            _ => Err(KeyError::NotPem { wanted: PRIVATE }),
        }
    }

    fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let info = PrivateKeyInfoRef::from_der(der).map_err(|_| KeyError::Damaged)?;
        if info.algorithm != ED25519 {
            return Err(KeyError::OtherAlgorithm);
        }
        let seed = info
            .private_key
            .as_bytes()
            .strip_prefix(&SEED_HEADER)
            .and_then(|seed| seed.try_into().ok());
        Self::from_seed(Zeroizing::new(seed.ok_or(KeyError::Damaged)?))
    }

    fn from_seed(seed: Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        let pair = ed25519::KeyPair::try_from_seed(ed25519::Seed::new(*seed)).map_err(|_| KeyError::Weak)?;
        Ok(Self {
            seed,
            public: PublicKey(*pair.pk),
        })
    }

    /// Writes the private key, protected where there is a passphrase. Deriving the key from a passphrase takes some
    /// tens of milliseconds, on purpose.
    ///
    /// # Errors
    ///
    /// [`KeyError::NoRandomness`] where there are no random bytes for the salt.
    pub fn to_pem(&self, passphrase: Option<&str>) -> Result<Zeroizing<String>, KeyError> {
        let mut key = Zeroizing::new([0; 34]);
        key[..2].copy_from_slice(&SEED_HEADER);
        key[2..].copy_from_slice(&*self.seed);
        let key = OctetStringRef::new(&*key).expect("34 bytes can be encoded");
        let info = PrivateKeyInfoRef::new(ED25519, key);
        let (label, document) = match passphrase {
            None => (
                PRIVATE,
                SecretDocument::encode_msg(&info).expect("34 bytes can be encoded"),
            ),
            Some(passphrase) => {
                let no_salt = |error: pkcs8::Error| KeyError::NoRandomness(error.to_string());
                (ENCRYPTED, info.encrypt(passphrase).map_err(no_salt)?)
            }
        };
        Ok(document
            .to_pem(label, LineEnding::LF)
            .expect("a short document can be encoded"))
    }

    /// The public key.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        let pair = ed25519::KeyPair::from_seed(ed25519::Seed::new(*self.seed));
        *pair.sk.sign(message, None)
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPair({})", self.public.id())
    }
}
