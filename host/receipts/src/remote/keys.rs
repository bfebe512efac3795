//! The keys that the service publishes for the agent, and the file that spares asking for them before every call.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_compact::{PublicKey, Signature};
use holdpoint_common::read;
use ml_dsa::MlDsa65;
use ml_dsa::signature::Verifier as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::strict;

/// How long a fetched set is used without asking again, as in the package.
const LONGEST_AGE: Duration = Duration::from_secs(24 * 3600);

/// The largest cache file that is read, in bytes. Eight keys of ML-DSA need a tenth of it.
const LARGEST_FILE: u64 = 256 * 1024;

/// More keys than one agent has in the middle of a rotation.
const MOST_KEYS: usize = 8;

/// The published keys of one agent: entries as the service has them, of which only those of this agent may vouch for
/// its receipts. The directory is everybody's, so another agent's key is as genuine as ours.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeySet(Vec<Value>);

/// One published key.
pub(super) struct Key<'a> {
    entry: &'a Value,
    public: Vec<u8>,
}

impl KeySet {
    /// Keeps what is published for the agent.
    pub(super) fn new(entries: Vec<Value>, agent_id: &str) -> Self {
        let ours = entries
            .into_iter()
            .filter(|entry| entry["agent_id"].as_str() == Some(agent_id));
        Self(ours.take(MOST_KEYS).collect())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        self.0.iter().filter_map(|entry| {
            let public = decode(entry["public_key"].as_str()?)?;
            Some(Key { entry, public })
        })
    }
}

impl Key<'_> {
    pub(super) fn issuer(&self) -> Option<&str> {
        self.entry["issuer_id"].as_str()
    }

    /// Whether the service vouches for the key today. A receipt that is a few seconds old has no need of any other.
    pub(super) fn is_active(&self) -> bool {
        let says = |name: &str, word: &str| {
            self.entry[name]
                .as_str()
                .is_some_and(|text| text.eq_ignore_ascii_case(word))
        };
        says("status", "active") && !says("revocation_reason", "compromised")
    }

    /// The thumbprint (RFC 7638) that a receipt names its key by; only keys of ML-DSA have one.
    pub(super) fn thumbprint(&self) -> Option<String> {
        let alg = self.algorithm()?;
        let public = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(&self.public);
        let key = json!({ "alg": alg, "kty": "AKP", "pub": public });
        let bytes = serde_json_canonicalizer::to_vec(&key).ok()?;
        let hex: String = Sha256::digest(bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        (alg == "ML-DSA-65").then(|| format!("sha256:{hex}"))
    }

    fn algorithm(&self) -> Option<&str> {
        self.entry["alg"].as_str()
    }

    /// Whether the signature is this key's over these bytes. The key's own algorithm counts, and the receipt has to name
    /// the same.
    pub(super) fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        match self.algorithm() {
            Some(own) if !own.eq_ignore_ascii_case(algorithm) => false,
            Some(own) if own.eq_ignore_ascii_case("Ed25519") => ed25519(&self.public, message, signature),
            Some("ML-DSA-65") => ml_dsa_65(&self.public, message, signature),
            _ => false,
        }
    }
}

fn ed25519(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(public), Ok(signature)) = (PublicKey::from_slice(public), Signature::from_slice(signature))
    else {
        return false;
    };
    public.verify(message, &signature).is_ok()
}

fn ml_dsa_65(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(public), Ok(signature)) = (public.try_into(), ml_dsa::Signature::try_from(signature)) else {
        return false;
    };
    ml_dsa::VerifyingKey::<MlDsa65>::decode(&public)
        .verify(message, &signature)
        .is_ok()
}

/// Bytes in base64 of either alphabet, padded or not, and of nothing else.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    const EITHER: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = match text.contains(['-', '_']) {
        true => &alphabet::URL_SAFE,
        false => &alphabet::STANDARD,
    };
    GeneralPurpose::new(alphabet, EITHER).decode(text).ok()
}

/// Where a fetched set is kept.
pub(super) struct Cache(pub(super) PathBuf);

/// What the file holds: a set, and what it was fetched for. One that was made for another service or another agent is
/// of no use, whoever put it there.
#[derive(Serialize, Deserialize)]
struct Kept {
    service: String,
    agent_id: String,
    fetched_at: u64,
    keys: Vec<Value>,
}

impl Cache {
    /// The kept set, unless it is missing, too old, from the future, or somebody else's.
    pub(super) fn read(&self, service: &str, agent_id: &str, now: SystemTime) -> Option<KeySet> {
        let (file, metadata) = read::open(&self.0).ok().filter(|(file, _)| only_ours(file))?;
        let text = read::read_opened(&file, &metadata, LARGEST_FILE).ok()?;
        let kept: Kept = serde_json::from_value(strict::read(&text).ok()?).ok()?;
        let fetched = UNIX_EPOCH.checked_add(Duration::from_secs(kept.fetched_at))?;
        let fresh = now.duration_since(fetched).is_ok_and(|age| age <= LONGEST_AGE);
        (fresh && kept.service == service && kept.agent_id == agent_id)
            .then(|| KeySet::new(kept.keys, agent_id))
    }

    /// Keeps the set. Where that fails, the next call asks the service again.
    pub(super) fn write(&self, service: &str, agent_id: &str, now: SystemTime, set: &KeySet) {
        let kept = Kept {
            service: service.to_owned(),
            agent_id: agent_id.to_owned(),
            fetched_at: now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            keys: set.0.clone(),
        };
        if let Ok(text) = serde_json::to_vec(&kept) {
            let _ = replace(&self.0, &text);
        }
    }
}

/// Writes beside the file and puts it in place: another process reads the old set or the new one.
fn replace(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    let beside = path.with_extension(format!("{:016x}.tmp", u64::from_ne_bytes(random)));
    let written = private(&beside).and_then(|mut file| file.write_all(text));
    let placed = written.and_then(|()| std::fs::rename(&beside, path));
    if placed.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    placed
}

#[cfg(unix)]
fn private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
fn private(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Whether nobody but this user (or the system) could have written the file.
#[cfg(unix)]
fn only_ours(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|file| {
        let ours = file.uid() == 0 || file.uid() == rustix::process::geteuid().as_raw();
        ours && file.mode() & 0o022 == 0
    })
}

#[cfg(not(unix))]
fn only_ours(_: &File) -> bool {
    true
}
