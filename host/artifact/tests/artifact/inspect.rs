//! What is told of a file.

use holdpoint_artifact::{
    CATALOG_SECTION, Digest, KeyPair, LARGEST, Lent, Manifest, Trust, TrustedKey, inspect, sign,
};
use serde_json::json;

use crate::file::*;

fn told(file: &[u8]) -> holdpoint_artifact::Inspection {
    inspect(file, &trust(), &contract(), NOW)
}

#[test]
fn tells_everything_of_a_policy_that_loads() {
    let trust = Trust {
        keys: vec![TrustedKey {
            not_before: Some(days(-30)),
            not_after: Some(days(335)),
            ..trusted(&KEY)
        }],
        ..trust()
    };
    let told = inspect(&signed(), &trust, &contract(), NOW);
    let digest = pass(&signed(), &trust).unwrap().facts().digest;
    let (key, file) = (KEY.public().id(), Digest::of(&signed()));
    let expected = format!(
        "policy      zerto-guard 1.2.3
digest      {digest}
file        {file}, {} bytes
built for   holdpoint:policy/guest@0.1.0
made        2027-01-14T08:00:00Z
use until   2027-04-15T08:00:00Z
signed by   ops-2027, key {key}, from 2026-12-16T08:00:00Z, until 2027-12-16T08:00:00Z
imports     holdpoint:policy/types@0.1.0 (types only)
imports     holdpoint:policy/zerto@0.1.0 (granted)
imports     wasi:cli/environment@0.2.6 (empty)
exports     holdpoint:policy/policy@0.1.0
loads       yes",
        signed().len()
    );
    assert_eq!(told.to_string(), expected);
}

#[test]
fn says_the_same_to_programs() {
    let file = [signed(), custom("extra", b"x")].concat();
    let told = serde_json::to_value(told(&file)).unwrap();
    assert_eq!(told["loads"], json!(false));
    assert!(
        told["refusal"]
            .as_str()
            .unwrap()
            .starts_with("the file was changed after it was signed")
    );
    assert_eq!(told["manifest"]["version"], json!("1.2.3"));
    assert_eq!(told["manifest"]["not_after"], json!("2027-04-15T08:00:00Z"));
    assert_eq!(told["world"], json!("holdpoint:policy/guest@0.1.0"));
    assert_eq!(
        told["imports"][1],
        json!({"name": "holdpoint:policy/zerto@0.1.0", "lent": "granted"})
    );
    assert_eq!(told["file"], json!(Digest::of(&file).to_string()));
    assert_eq!(told["signers"][0]["key"], json!(KEY.public().id().to_string()));
    assert_eq!(told["signers"][0]["counts"], json!(false));
}

#[test]
fn tells_what_every_import_would_be_lent() {
    let imports = [
        "holdpoint:policy/session@0.1.0",
        "holdpoint:policy/zerto@0.2.0",
        "wasi:sockets/tcp@0.2.0",
    ];
    let told = told(&component_of(&imports, &[POLICY]));
    let lent = told.imports.iter().map(|import| import.lent).collect::<Vec<_>>();
    assert_eq!(lent, [Lent::NotGranted, Lent::OtherVersion, Lent::Unknown]);
    let text = told.to_string();
    assert!(
        text.contains("imports     holdpoint:policy/session@0.1.0 (NOT GRANTED)\n"),
        "{text}"
    );
    assert!(
        text.contains("signed by   nobody\n") && text.contains("loads       no: the file is not signed"),
        "{text}"
    );
}

#[test]
fn tells_whose_signature_counts_and_whose_does_not() {
    let stranger = KeyPair::generate().unwrap();
    let told_of = |key: &KeyPair, trust: &Trust| {
        let file = sign(&component(), &manifest(), key).unwrap();
        inspect(&file, trust, &contract(), NOW).signers.remove(0)
    };
    let unknown = told_of(&stranger, &trust());
    assert_eq!((unknown.trusted.as_deref(), unknown.counts), (None, false));
    assert_eq!(
        unknown.to_string(),
        format!("key {}, not trusted here", stranger.public().id())
    );
    let revoked = Trust {
        keys: vec![TrustedKey {
            revoked: true,
            ..trusted(&KEY)
        }],
        ..trust()
    };
    let revoked = told_of(&KEY, &revoked);
    assert_eq!(
        (revoked.trusted.as_deref(), revoked.counts),
        (Some("ops-2027"), false)
    );
    assert!(revoked.to_string().ends_with(", does not count"));
    let good = told_of(&KEY, &trust());
    assert_eq!((good.trusted.as_deref(), good.counts), (Some("ops-2027"), true));
}

#[test]
fn tells_of_the_catalog_what_the_policy_says() {
    let summary = br#"{"esxi":{"reads":3,"changes":5}}"#;
    let carrying = [component(), custom(CATALOG_SECTION, summary)].concat();
    let manifest = Manifest {
        catalog: Some(Digest::of(summary)),
        ..manifest()
    };
    let told = told(&sign(&carrying, &manifest, &KEY).unwrap());
    assert!(told.loads, "{told}");
    let catalog = told.catalog.unwrap();
    assert_eq!(catalog.digest, Digest::of(summary));
    assert_eq!(catalog.summary, Some(json!({"esxi": {"reads": 3, "changes": 5}})));
}

#[test]
fn tells_what_can_be_told_of_what_is_no_policy() {
    for file in [&b""[..], b"#!/bin/sh", b"\0asm\x01\0\0\0", &signed()[..40]] {
        let told = told(file);
        assert!(!told.loads && told.digest.is_none());
        assert_eq!(told.file, Digest::of(file));
        assert!(told.to_string().contains("loads       no: "), "{told}");
    }
    let told = told(&vec![0; LARGEST + 1]);
    assert!(told.to_string().contains("more than 64 MiB"), "{told}");
}

#[test]
fn tells_at_most_so_many_names() {
    let names = vec!["wasi:io/poll@0.2.0"; 1000];
    let told = told(&component_of(&names, &[POLICY]));
    assert_eq!(told.imports.len(), 256);
    assert_eq!(told.exports, [POLICY]);
}
