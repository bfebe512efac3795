//! wasmsign2, in both directions: it verifies what `sign` made, and the gate takes what it signed. And what it accepts
//! that the gate does not.

use holdpoint_artifact::{KeyPair, Refusal, Trust, sign, with_manifest};

use crate::file::*;

fn public(key: &KeyPair) -> wasmsign2::PublicKey {
    wasmsign2::PublicKey::from_pem(&key.public().to_pem()).unwrap()
}

fn secret(key: &KeyPair) -> wasmsign2::SecretKey {
    wasmsign2::SecretKey::from_pem(&key.to_pem(None).unwrap()).unwrap()
}

fn they_verify(file: &[u8], key: &KeyPair) -> bool {
    public(key).verify(&mut &file[..], None).is_ok()
}

fn module(file: &[u8]) -> wasmsign2::Module {
    wasmsign2::Module::deserialize(&mut &file[..]).unwrap()
}

fn bytes(module: &wasmsign2::Module) -> Vec<u8> {
    let mut bytes = Vec::new();
    module.serialize(&mut bytes).unwrap();
    bytes
}

fn ready() -> Vec<u8> {
    with_manifest(&component(), &manifest()).unwrap()
}

#[test]
fn it_verifies_what_sign_made() {
    assert!(they_verify(&signed(), &KEY));
    assert!(!they_verify(&signed(), &KeyPair::generate().unwrap()));
    let named = public(&KEY).attach_default_key_id();
    assert!(
        named.verify(&mut &signed()[..], None).is_ok(),
        "as its command line does, by id"
    );
    assert!(
        public(&KEY)
            .verify_multi(&mut &signed()[..], None, |_| true)
            .is_ok()
    );
}

#[test]
fn the_gate_takes_what_it_signed() {
    let key_id = public(&KEY).attach_default_key_id().key_id().cloned();
    for key_id in [None, key_id] {
        let file = bytes(&secret(&KEY).sign(module(&ready()), key_id.as_ref()).unwrap());
        assert!(they_verify(&file, &KEY));
        let facts = pass(&file, &trust()).unwrap().into_facts();
        assert_eq!(
            (facts.signer.as_deref(), facts.manifest),
            (Some("ops-2027"), Some(manifest()))
        );
    }
}

#[test]
fn both_write_the_same_bytes() {
    let key_id = public(&KEY).attach_default_key_id().key_id().cloned();
    let theirs = bytes(&secret(&KEY).sign(module(&ready()), key_id.as_ref()).unwrap());
    assert_eq!(theirs, signed());
}

#[test]
fn the_gate_takes_a_file_that_it_signed_for_two() {
    let other = KeyPair::generate().unwrap();
    let (once, _) = secret(&KEY)
        .sign_multi(module(&ready()), None, false, false)
        .unwrap();
    let (twice, _) = secret(&other).sign_multi(once, None, false, false).unwrap();
    let file = bytes(&twice);
    for key in [&KEY, &other] {
        let trust = Trust {
            keys: vec![trusted(key)],
            ..trust()
        };
        assert!(pass(&file, &trust).is_ok());
    }
    let neither = Trust {
        keys: vec![trusted(&KeyPair::generate().unwrap())],
        ..trust()
    };
    assert!(pass(&file, &neither).is_err());
}

#[test]
fn it_takes_a_changed_layer_and_the_gate_does_not() {
    let mut file = signed();
    file[4..8].copy_from_slice(&[1, 0, 0, 0]);
    assert!(they_verify(&file, &KEY));
    assert_eq!(refused(&file), Refusal::CoreModule);
}

#[test]
fn it_takes_a_part_of_a_file_that_was_signed_in_parts_and_the_gate_does_not() {
    let divided = module(&ready())
        .split(|section| matches!(section, wasmsign2::Section::Custom(_)))
        .unwrap();
    let (divided, _) = secret(&KEY).sign_multi(divided, None, false, false).unwrap();
    let whole = bytes(&divided);
    assert!(public(&KEY).verify_multi(&mut &whole[..], None, |_| true).is_ok());
    assert_eq!(refused(&whole), Refusal::SignedInParts);
    let ends = boundaries(&whole);
    let cut = ends
        .iter()
        .skip(2)
        .map(|end| &whole[..*end])
        .find(|cut| they_verify(cut, &KEY));
    let cut = cut.filter(|cut| cut.len() < whole.len()).unwrap();
    assert_eq!(refused(cut), Refusal::SignedInParts);
}

#[test]
fn it_takes_unsigned_sections_in_multi_verification_and_the_gate_does_not() {
    let file = [signed(), custom("extra", b"x")].concat();
    assert!(public(&KEY).verify_multi(&mut &file[..], None, |_| true).is_ok());
    assert_eq!(refused(&file), Refusal::Changed);
}

#[test]
fn it_takes_lengths_that_could_be_shorter_and_the_gate_does_not() {
    let file = signed();
    let body = &file[HEADER.len() + 3..boundaries(&file)[1]];
    let padded = [&[0, body.len() as u8 | 0x80, 0x81, 0x80, 0x00], body].concat();
    let file = with_first(&without_first(&file), &padded);
    assert!(they_verify(&file, &KEY));
    assert!(matches!(refused(&file), Refusal::Malformed { .. }));
}

#[test]
fn sign_replaces_what_it_signed() {
    let (divided, _) = secret(&KEY)
        .sign_multi(module(&component()), None, false, true)
        .unwrap();
    assert_eq!(sign(&bytes(&divided), &manifest(), &KEY).unwrap(), signed());
}
