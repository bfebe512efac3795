//! Making policies' files.

use holdpoint_artifact::{
    CATALOG_SECTION, Digest, KeyPair, LARGEST, Manifest, ManifestError, Refusal, SignError, catalog_of, sign,
    with_manifest,
};

use crate::file::*;

#[test]
fn signing_again_replaces_signature_and_manifest() {
    let newer = Manifest {
        version: holdpoint_artifact::Version::new(2, 0, 0),
        ..manifest()
    };
    let again = sign(&signed(), &newer, &KEY).unwrap();
    assert_eq!(again, sign(&component(), &newer, &KEY).unwrap());
    assert_eq!(pass(&again, &trust()).unwrap().facts().manifest, Some(newer));
}

#[test]
fn the_component_itself_is_left_as_it_is() {
    assert!(signed().ends_with(&component()[HEADER.len()..]));
    assert!(
        with_manifest(&component(), &manifest())
            .unwrap()
            .ends_with(&component()[HEADER.len()..])
    );
}

#[test]
fn any_key_signs_the_same_bytes() {
    let other = sign(&component(), &manifest(), &KeyPair::generate().unwrap()).unwrap();
    assert_eq!(without_first(&other), without_first(&signed()));
}

#[test]
fn refuses_what_could_never_pass() {
    let refused = |file: &[u8]| match sign(file, &manifest(), &KEY).unwrap_err() {
        SignError::Component(refusal) => refusal,
        other => panic!("{other}"),
    };
    assert_eq!(refused(b"\0asm\x01\0\0\0"), Refusal::CoreModule);
    assert_eq!(refused(b""), Refusal::NotWasm);
    assert!(matches!(
        refused(&[&component()[..], &[0]].concat()),
        Refusal::Malformed { .. }
    ));
    assert_eq!(
        refused(&vec![0; LARGEST + 1]),
        Refusal::TooLarge { size: LARGEST + 1 }
    );
}

#[test]
fn what_becomes_too_large_by_signing_is_not_signed() {
    let mut large = component();
    let room = LARGEST - large.len();
    large.extend(custom("x", &vec![0; room - 10]));
    assert!(large.len() <= LARGEST);
    let refusal = sign(&large, &manifest(), &KEY).unwrap_err();
    assert!(
        matches!(refusal, SignError::Component(Refusal::TooLarge { .. })),
        "{refusal}"
    );
}

#[test]
fn a_manifest_is_checked_before_it_is_signed() {
    let unnamed = Manifest {
        name: String::new(),
        ..manifest()
    };
    assert_eq!(
        sign(&component(), &unnamed, &KEY),
        Err(ManifestError::Name.into())
    );
}

#[test]
fn the_manifest_has_to_name_the_catalog_that_is_inside() {
    let with_catalog = [component(), custom(CATALOG_SECTION, b"{}")].concat();
    let carried = Some(Digest::of(b"{}"));
    assert_eq!(catalog_of(&with_catalog), Ok(carried));
    assert_eq!(catalog_of(&component()), Ok(None));
    let refusal = sign(&with_catalog, &manifest(), &KEY);
    assert_eq!(
        refusal,
        Err(SignError::Catalog {
            manifest: None,
            carried
        })
    );
    let named = Manifest {
        catalog: carried,
        ..manifest()
    };
    assert!(sign(&with_catalog, &named, &KEY).is_ok());
    assert!(sign(&component(), &named, &KEY).is_err());
}
