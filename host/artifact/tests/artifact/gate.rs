//! What passes, and each refusal with a file made for it.

use holdpoint_artifact::{
    CATALOG_SECTION, Digest, KeyPair, LARGEST, MANIFEST_SECTION, Manifest, Refusal, Required, RevokedIn,
    Trust, TrustedKey, Version, gate, sign, with_manifest,
};

use crate::file::*;

fn with_keys(keys: impl IntoIterator<Item = TrustedKey>) -> Trust {
    Trust {
        keys: keys.into_iter().collect(),
        ..trust()
    }
}

#[test]
fn a_signed_policy_passes_and_the_same_bytes_come_out() {
    let file = signed();
    let admitted = pass(&file, &trust()).unwrap();
    assert!(std::ptr::eq(admitted.bytes(), &raw const *file));
    let facts = admitted.into_facts();
    assert_eq!(facts.manifest, Some(manifest()));
    assert_eq!(facts.signer.as_deref(), Some("ops-2027"));
    assert_eq!(facts.size, file.len() as u64);
    assert_eq!(facts.digest, Digest::of(&file[boundaries(&file)[1]..]));
}

#[test]
fn the_digest_names_the_policy_however_it_is_signed() {
    let other = KeyPair::generate().unwrap();
    let unsigned = with_manifest(&component(), &manifest()).unwrap();
    let resigned = sign(&signed(), &manifest(), &other).unwrap();
    assert_ne!(resigned, signed());
    let trust = Trust {
        keys: vec![trusted(&KEY), trusted(&other)],
        ..lenient()
    };
    let digest = |file: &[u8]| pass(file, &trust).unwrap().into_facts().digest;
    assert_eq!(digest(&unsigned), digest(&signed()));
    assert_eq!(digest(&resigned), digest(&signed()));
}

#[test]
fn an_unsigned_file_passes_only_where_the_configuration_says_so() {
    let unsigned = with_manifest(&component(), &manifest()).unwrap();
    assert_eq!(refused(&unsigned), Refusal::Unsigned);
    let facts = pass(&unsigned, &lenient()).unwrap().into_facts();
    assert_eq!((facts.signer, facts.manifest), (None, Some(manifest())));
    assert_eq!(pass(&component(), &lenient()).unwrap().facts().manifest, None);
}

#[test]
fn a_file_that_was_stripped_of_its_signature_is_an_unsigned_file() {
    assert_eq!(refused(&without_first(&signed())), Refusal::Unsigned);
}

#[test]
fn a_signature_has_to_be_right_also_where_none_is_required() {
    let mut file = signed();
    *file.last_mut().unwrap() ^= 1;
    assert_eq!(pass(&file, &lenient()).unwrap_err(), Refusal::Changed);
    let stranger = sign(&component(), &manifest(), &KeyPair::generate().unwrap()).unwrap();
    assert!(matches!(
        pass(&stranger, &lenient()).unwrap_err(),
        Refusal::UnknownKey { .. }
    ));
}

#[test]
fn what_is_checked_of_a_signed_file_is_checked_of_an_unsigned_one() {
    let expired = Manifest {
        not_after: Some(days(-1)),
        ..manifest()
    };
    let expired = with_manifest(&component(), &expired).unwrap();
    assert!(matches!(
        pass(&expired, &lenient()).unwrap_err(),
        Refusal::Expired { .. }
    ));
    let twice = with_first(&expired, &custom(MANIFEST_SECTION, b"{}"));
    assert_eq!(pass(&twice, &lenient()).unwrap_err(), Refusal::SeveralManifests);
    let greedy = component_of(&["holdpoint:policy/session@0.1.0"], &[POLICY]);
    assert!(matches!(
        pass(&greedy, &lenient()).unwrap_err(),
        Refusal::NotGranted { .. }
    ));
}

#[test]
fn another_key_is_named_and_refused() {
    let stranger = KeyPair::generate().unwrap();
    let file = sign(&component(), &manifest(), &stranger).unwrap();
    let key = Some(stranger.public().id().to_string());
    assert_eq!(refused(&file), Refusal::UnknownKey { key });
}

#[test]
fn a_host_that_trusts_nobody_takes_nothing() {
    let refusal = pass(&signed(), &with_keys([])).unwrap_err();
    assert!(matches!(refusal, Refusal::UnknownKey { .. }), "{refusal}");
}

#[test]
fn a_revoked_key_does_not_count_whatever_else_is_said_of_it() {
    let mut revoked = trusted(&KEY);
    revoked.revoked = true;
    revoked.id = "ops-2026".into();
    for keys in [
        vec![revoked.clone()],
        vec![trusted(&KEY), revoked.clone()],
        vec![revoked, trusted(&KEY)],
    ] {
        let refusal = pass(&signed(), &with_keys(keys)).unwrap_err();
        assert!(matches!(refusal, Refusal::RevokedKey { .. }), "{refusal}");
    }
}

#[test]
fn a_key_counts_from_its_first_second_to_its_last() {
    let key = |from, until| {
        with_keys([TrustedKey {
            not_before: from,
            not_after: until,
            ..trusted(&KEY)
        }])
    };
    let id = || "ops-2027".to_owned();
    let file = signed();
    assert!(pass(&file, &key(Some(NOW), Some(NOW))).is_ok());
    assert_eq!(
        pass(&file, &key(Some(days(1)), None)).unwrap_err(),
        Refusal::KeyNotYetValid {
            key: id(),
            from: days(1)
        }
    );
    assert_eq!(
        pass(&file, &key(None, Some(days(-1)))).unwrap_err(),
        Refusal::KeyExpired {
            key: id(),
            until: days(-1)
        }
    );
}

#[test]
fn keys_overlap_while_one_takes_over_from_the_other() {
    let new = KeyPair::generate().unwrap();
    let old_key = TrustedKey {
        not_after: Some(days(7)),
        ..trusted(&KEY)
    };
    let new_key = TrustedKey {
        id: "ops-2028".into(),
        not_before: Some(days(-7)),
        ..trusted(&new)
    };
    let trust = with_keys([old_key, new_key]);
    let by_new = sign(&component(), &manifest(), &new).unwrap();
    assert_eq!(
        pass(&signed(), &trust).unwrap().facts().signer.as_deref(),
        Some("ops-2027")
    );
    assert_eq!(
        pass(&by_new, &trust).unwrap().facts().signer.as_deref(),
        Some("ops-2028")
    );
    let later = days(8);
    assert!(matches!(
        gate(&signed(), &trust, &contract(), later),
        Err(Refusal::KeyExpired { .. })
    ));
    assert!(gate(&by_new, &trust, &contract(), later).is_ok());
}

#[test]
fn a_revoked_policy_stays_revoked_when_it_is_signed_anew() {
    let facts = pass(&signed(), &trust()).unwrap().into_facts();
    let other = KeyPair::generate().unwrap();
    let trust = Trust {
        revoked_policies: vec![Digest::of(b"another"), facts.digest],
        ..with_keys([trusted(&KEY), trusted(&other)])
    };
    let refusal = Refusal::RevokedPolicy {
        digest: facts.digest,
        place: RevokedIn::Configuration,
    };
    assert_eq!(pass(&signed(), &trust).unwrap_err(), refusal);
    let resigned = sign(&component(), &manifest(), &other).unwrap();
    assert_eq!(pass(&resigned, &trust).unwrap_err(), refusal);
}

#[test]
fn a_file_is_revoked_by_the_digest_that_sha256sum_prints() {
    let digest = Digest::of(&signed());
    let trust = Trust {
        revoked_policies: vec![digest],
        ..trust()
    };
    assert_eq!(
        pass(&signed(), &trust).unwrap_err(),
        Refusal::RevokedPolicy {
            digest,
            place: RevokedIn::Configuration,
        }
    );
}

#[test]
fn a_file_that_is_too_large_is_not_looked_at() {
    let size = LARGEST + 1;
    assert_eq!(refused(&vec![0; size]), Refusal::TooLarge { size });
    assert_eq!(refused(&vec![0; LARGEST]), Refusal::NotWasm);
}

#[test]
fn a_core_module_is_no_component() {
    assert_eq!(refused(b"\0asm\x01\0\0\0"), Refusal::CoreModule);
    let mut file = signed();
    file[4..8].copy_from_slice(&[1, 0, 0, 0]);
    assert_eq!(refused(&file), Refusal::CoreModule);
}

#[test]
fn the_layer_byte_is_looked_at_though_no_signature_covers_it() {
    for (at, value) in [(6, 0), (6, 2), (7, 1), (4, 0x0e), (5, 1)] {
        let mut file = signed();
        file[at] = value;
        assert_eq!(refused(&file), Refusal::UnknownFormat, "byte {at}");
    }
    assert_eq!(refused(b""), Refusal::NotWasm);
    assert_eq!(refused(b"#!/bin/sh"), Refusal::NotWasm);
}

#[test]
fn a_signed_file_needs_its_manifest() {
    let unsigned = wasmsign2::Module::deserialize(&mut &component()[..]).unwrap();
    let key = wasmsign2::SecretKey::from_pem(&KEY.to_pem(None).unwrap()).unwrap();
    let mut file = Vec::new();
    key.sign(unsigned, None).unwrap().serialize(&mut file).unwrap();
    assert_eq!(refused(&file), Refusal::NoManifest);
    assert_eq!(pass(&file, &lenient()).unwrap_err(), Refusal::NoManifest);
}

#[test]
fn a_policy_is_used_up_to_its_last_second() {
    assert!(pass(&signed_with(|manifest| manifest.not_after = Some(NOW)), &trust()).is_ok());
    assert!(pass(&signed_with(|manifest| manifest.not_after = None), &trust()).is_ok());
    let until = days(-1);
    let file = signed_with(|manifest| manifest.not_after = Some(until));
    let (name, version) = (manifest().name, manifest().version);
    assert_eq!(refused(&file), Refusal::Expired { name, version, until });
}

#[test]
fn the_manifest_names_the_catalog_inside() {
    let mut with_catalog = component();
    with_catalog.extend(custom(CATALOG_SECTION, b"{}"));
    let catalog = Some(Digest::of(b"{}"));
    let named = Manifest {
        catalog,
        ..manifest()
    };
    let file = sign(&with_catalog, &named, &KEY).unwrap();
    assert_eq!(
        pass(&file, &trust()).unwrap().facts().manifest,
        Some(named.clone())
    );
    // A manifest of other tools' making, in an unsigned file.
    let json = manifest().write().unwrap();
    let unnamed = with_first(&with_catalog, &custom(MANIFEST_SECTION, &json));
    let refusal = Refusal::OtherCatalog {
        manifest: None,
        carried: catalog,
    };
    assert_eq!(pass(&unnamed, &lenient()).unwrap_err(), refusal);
    let missing = with_first(&component(), &custom(MANIFEST_SECTION, &named.write().unwrap()));
    let refusal = Refusal::OtherCatalog {
        manifest: catalog,
        carried: None,
    };
    assert_eq!(pass(&missing, &lenient()).unwrap_err(), refusal);
}

#[test]
fn the_order_decides_which_refusal_is_told() {
    let stranger = KeyPair::generate().unwrap();
    let bad = Manifest {
        not_after: Some(days(-1)),
        wit: Version::new(9, 0, 0),
        ..manifest()
    };
    let greedy = component_of(&["wasi:sockets/tcp@0.2.0"], &[]);
    let by_stranger = sign(&greedy, &bad, &stranger).unwrap();
    assert!(matches!(refused(&by_stranger), Refusal::UnknownKey { .. }));
    let expired = sign(&greedy, &bad, &KEY).unwrap();
    let digest = Digest::of(&expired);
    let revoking = Trust {
        revoked_policies: vec![digest],
        ..trust()
    };
    assert_eq!(
        pass(&expired, &revoking).unwrap_err(),
        Refusal::RevokedPolicy {
            digest,
            place: RevokedIn::Configuration,
        }
    );
    assert!(matches!(refused(&expired), Refusal::Expired { .. }));
    let future = sign(
        &greedy,
        &Manifest {
            not_after: None,
            ..bad
        },
        &KEY,
    )
    .unwrap();
    assert!(matches!(refused(&future), Refusal::UnservedWit { .. }));
    assert!(matches!(
        refused(&sign(&greedy, &manifest(), &KEY).unwrap()),
        Refusal::NotAPolicy { .. }
    ));
}

#[test]
fn a_policy_that_is_required_by_name_and_version_is_that_or_later() {
    let manifest = manifest();
    let wants = |name: Option<&str>, version: Option<Version>| Trust {
        required: Required {
            name: name.map(Into::into),
            version,
        },
        ..trust()
    };
    let Version {
        major, minor, patch, ..
    } = manifest.version;
    let next = Version::new(major, minor, patch + 1);
    for trust in [
        wants(Some(&manifest.name), None),
        wants(None, Some(manifest.version.clone())),
        wants(Some(&manifest.name), Some(Version::new(0, 0, 1))),
    ] {
        assert!(pass(&signed(), &trust).is_ok(), "{}", trust.required);
    }
    for trust in [
        wants(Some("another"), None),
        wants(Some(&manifest.name), Some(next.clone())),
        wants(None, Some(next)),
    ] {
        let refusal = pass(&signed(), &trust).unwrap_err();
        assert!(matches!(refusal, Refusal::OtherPolicy { .. }), "{refusal}");
        assert!(
            refusal.to_string().contains(&trust.required.to_string()),
            "{refusal}"
        );
    }
    // What says of itself neither name nor version cannot be it.
    let trust = Trust {
        required: wants(None, Some(Version::new(0, 0, 0))).required,
        ..lenient()
    };
    assert!(matches!(
        pass(&component(), &trust),
        Err(Refusal::OtherPolicy { .. })
    ));
}
