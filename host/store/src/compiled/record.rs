//! The record beside compiled code: for what it was made and what it is, authenticated with the store's key.
//!
//! At each start, bytes of a store that its user can write are held against what stands here. That is done by BLAKE3, which
//! takes a quarter of SHA-256's time on processors with AVX-512 and half of it with AVX2.

use hmac::{Hmac, KeyInit as _, Mac as _};
use holdpoint_artifact::Digest;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{Build, Recompile};
use crate::entries::FORMAT;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    format: u32,
    policy: Digest,
    /// SHA-256 of the file that was compiled, which the code says too.
    pub(super) file: Digest,
    engine: String,
    host: String,
    cpu: String,
    /// BLAKE3 of the same file, in hexadecimal digits.
    component: String,
    /// BLAKE3 of the code.
    code: String,
    /// HMAC-SHA-256 over all of the above. A digest by form only.
    mac: Digest,
}

impl Record {
    pub(super) fn new(policy: Digest, build: &Build<'_>, component: &[u8], code: &[u8], key: &[u8]) -> Self {
        let mut record = Self {
            format: FORMAT,
            policy,
            file: Digest::of(component),
            engine: build.engine.to_owned(),
            host: build.host.to_owned(),
            cpu: build.cpu.to_owned(),
            component: blake3(component),
            code: blake3(code),
            mac: Digest::of(b""),
        };
        let mac: [u8; 32] = record.authenticator(key).finalize().into_bytes().into();
        record.mac = Digest::from_bytes(mac);
        record
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(bytes).ok()?;
        (record.format == FORMAT).then_some(record)
    }

    pub(super) fn is_for(&self, policy: Digest, build: &Build<'_>) -> Result<(), Recompile> {
        let policy = policy.to_string();
        let pairs = [
            ("policy", self.policy.to_string(), policy.as_str()),
            ("engine", self.engine.clone(), build.engine),
            ("host", self.host.clone(), build.host),
            ("processor", self.cpu.clone(), build.cpu),
        ];
        match pairs.into_iter().find(|(_, theirs, ours)| theirs != ours) {
            Some((what, theirs, _)) => Err(Recompile::Other { what, theirs }),
            None => Ok(()),
        }
    }

    /// Whether this is the file whose code it is: then its policy's digest need not be computed again.
    pub(crate) fn is_of_component(&self, policy: Digest, bytes: &[u8]) -> bool {
        self.policy == policy && self.component == blake3(bytes)
    }

    pub(super) fn is_of_code(&self, code: &[u8]) -> bool {
        self.code == blake3(code)
    }

    pub(super) fn is_authentic(&self, key: &[u8]) -> bool {
        self.authenticator(key).verify_slice(self.mac.as_bytes()).is_ok()
    }

    /// Every field with its length before it, so that no two records have the same bytes.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    fn authenticator(&self, key: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
        let fields: [&[u8]; 9] = [
            b"holdpoint compiled code",
            &self.format.to_be_bytes(),
            self.policy.as_bytes(),
            self.file.as_bytes(),
            self.engine.as_bytes(),
            self.host.as_bytes(),
            self.cpu.as_bytes(),
            self.component.as_bytes(),
            self.code.as_bytes(),
        ];
        for field in fields {
            mac.update(&(field.len() as u64).to_be_bytes());
            mac.update(field);
        }
        mac
    }
}

fn blake3(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
