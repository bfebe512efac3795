//! The host that the fuzzed files come to.

use holdpoint_artifact::{
    Contract, PublicKey, Required, Signature, StoreRevocations, Trust, TrustedKey, UtcTime, Version,
};

pub const NOW: UtcTime = UtcTime::from_unix(1_800_000_000);

pub fn versions() -> [Version; 1] {
    [Version::new(0, 1, 0)]
}

pub fn contract(versions: &[Version]) -> Contract<'_> {
    Contract {
        package: "holdpoint:policy",
        world: "guest",
        export: "policy",
        versions,
        types: &["types"],
        capabilities: &["deadline", "log", "session", "zerto"],
        grants: &[],
        wasi: &["wasi:cli/environment", "wasi:io/poll"],
    }
}

/// Trusts one key that no fuzzer has: what passes with a signature has forged one.
pub fn trust(signature: Signature) -> Trust {
    // RFC 8032, section 7.1, test 1.
    let public = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
        -----END PUBLIC KEY-----\n";
    Trust {
        signature,
        keys: vec![TrustedKey {
            id: "trusted".into(),
            public: PublicKey::from_pem(public).expect("a public key"),
            not_before: None,
            not_after: None,
            revoked: false,
        }],
        revoked_policies: Vec::new(),
        stored: StoreRevocations::default(),
        required: Required::default(),
    }
}
