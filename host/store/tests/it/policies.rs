//! Policies that pass the gate, made for these tests.

use std::sync::LazyLock;
use std::time::SystemTime;

use holdpoint_artifact::{
    Contract, Digest, KeyPair, Manifest, Trust, TrustedKey, UtcTime, Version, gate, sign,
};
use holdpoint_store::Admission;

static VERSIONS: LazyLock<Vec<Version>> = LazyLock::new(|| vec![Version::new(0, 1, 0)]);

static CONTRACT: LazyLock<Contract<'static>> = LazyLock::new(|| Contract {
    package: "holdpoint:policy",
    world: "guest",
    export: "policy",
    versions: &VERSIONS,
    types: &[],
    capabilities: &[],
    grants: &[],
    wasi: &[],
});

/// The least component that exports a policy: an empty instance under the policy's name.
fn component() -> Vec<u8> {
    let name = b"holdpoint:policy/policy@0.1.0";
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    // Section 5, instances: one, made of no exports.
    bytes.extend_from_slice(&[5, 3, 1, 1, 0]);
    // Section 11, exports: one, the instance 0, of no given type.
    let length = u8::try_from(name.len()).unwrap();
    bytes.extend_from_slice(&[11, length + 6, 1, 0, length]);
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(&[5, 0, 0]);
    bytes
}

pub(crate) fn manifest(name: &str, version: &str) -> Manifest {
    Manifest {
        name: name.into(),
        version: version.parse().unwrap(),
        wit: Version::new(0, 1, 0),
        catalog: None,
        made: SystemTime::now().into(),
        not_after: None,
    }
}

/// A policy's makers.
pub(crate) struct Team {
    pub(crate) key: KeyPair,
    pub(crate) trust: Trust,
}

impl Team {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let trust = Trust {
            keys: vec![trusted("team", &key)],
            ..Trust::default()
        };
        Self { key, trust }
    }

    /// The policy `guard` of this version.
    pub(crate) fn policy(&self, version: &str) -> Vec<u8> {
        self.sign(&manifest("guard", version))
    }

    pub(crate) fn sign(&self, manifest: &Manifest) -> Vec<u8> {
        sign(&component(), manifest, &self.key).unwrap()
    }

    pub(crate) fn admission(&self) -> Admission<'_> {
        admission(&self.trust)
    }

    pub(crate) fn digest(&self, policy: &[u8]) -> Digest {
        let now = UtcTime::from(SystemTime::now());
        gate(policy, &self.trust, &CONTRACT, now).unwrap().facts().digest
    }
}

pub(crate) fn trusted(id: &str, key: &KeyPair) -> TrustedKey {
    TrustedKey {
        id: id.into(),
        public: key.public(),
        not_before: None,
        not_after: None,
        revoked: false,
    }
}

pub(crate) fn admission(trust: &Trust) -> Admission<'_> {
    Admission {
        trust,
        contract: &CONTRACT,
        now: SystemTime::now().into(),
        map: None,
    }
}
