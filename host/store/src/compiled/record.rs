//! The record beside compiled code: for what it was made and what it is, authenticated with the store's key.

use hmac::{Hmac, KeyInit as _, Mac as _};
use holdpoint_artifact::Digest;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{Build, Recompile};
use crate::files::FORMAT;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    format: u32,
    policy: Digest,
    /// SHA-256 of the file that was compiled, which the code says too.
    pub(super) file: Digest,
    engine: String,
    host: String,
    cpu: String,
    pub(super) code: Digest,
    /// HMAC-SHA-256 over all of the above. A digest by form only.
    mac: Digest,
}

impl Record {
    pub(super) fn new(policy: Digest, file: Digest, build: &Build<'_>, code: Digest, key: &[u8]) -> Self {
        let mut record = Self {
            format: FORMAT,
            policy,
            file,
            engine: build.engine.to_owned(),
            host: build.host.to_owned(),
            cpu: build.cpu.to_owned(),
            code,
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

    pub(super) fn is_authentic(&self, key: &[u8]) -> bool {
        self.authenticator(key).verify_slice(self.mac.as_bytes()).is_ok()
    }

    /// Every field with its length before it, so that no two records have the same bytes.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    fn authenticator(&self, key: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
        let fields: [&[u8]; 8] = [
            b"holdpoint compiled code",
            &self.format.to_be_bytes(),
            self.policy.as_bytes(),
            self.file.as_bytes(),
            self.engine.as_bytes(),
            self.host.as_bytes(),
            self.cpu.as_bytes(),
            self.code.as_bytes(),
        ];
        for field in fields {
            mac.update(&(field.len() as u64).to_be_bytes());
            mac.update(field);
        }
        mac
    }
}
