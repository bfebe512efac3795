//! The program `holdpoint-compile`, as it is called by hand.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::process::{Command, Output};

use holdpoint_artifact::{KeyPair, Manifest, UtcTime, Version, sign};
use holdpoint_compile::Engines;
use holdpoint_engine::{COMPILED_MAGIC, METERED_MAGIC, code_of};
use sha2::{Digest as _, Sha256};

/// The smallest component.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

fn compile(argument: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdpoint-compile"))
        .arg(argument)
        .output()
        .unwrap()
}

#[test]
fn the_code_stands_beside_the_component_and_names_its_digest() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("policy.wasm");
    std::fs::write(&source, EMPTY).unwrap();
    let output = compile(&source);
    assert!(output.status.success(), "{output:?}");
    let compiled = std::fs::read(directory.path().join("policy.cwasm")).unwrap();
    let (code, digest) = code_of(&compiled, COMPILED_MAGIC).unwrap();
    assert_eq!(digest, *Sha256::digest(EMPTY));
    assert!(!code.is_empty());
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        2,
        "nothing else is left behind"
    );
}

#[test]
fn a_signed_policy_compiles_and_its_code_names_the_signed_file() {
    let manifest = Manifest {
        name: "guard".into(),
        version: Version::new(1, 0, 0),
        wit: Version::new(0, 1, 0),
        catalog: None,
        made: UtcTime::from_unix(1_800_000_000),
        not_after: None,
    };
    let signed = sign(EMPTY, &manifest, &KeyPair::generate().unwrap()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("policy.wasm");
    std::fs::write(&source, &signed).unwrap();
    let output = compile(&source);
    assert!(output.status.success(), "{output:?}");
    let compiled = std::fs::read(directory.path().join("policy.cwasm")).unwrap();
    let (code, digest) = code_of(&compiled, COMPILED_MAGIC).unwrap();
    assert_eq!(digest, *Sha256::digest(&signed));
    let unsigned = holdpoint_compile::compile(EMPTY, env!("TARGET"), Engines::Hook).unwrap();
    let (unsigned, _) = code_of(&unsigned, COMPILED_MAGIC).unwrap();
    assert!(code == unsigned, "a signature changes nothing of the code");
}

#[test]
fn code_for_the_bench_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("policy.wasm");
    std::fs::write(&source, EMPTY).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_holdpoint-compile"))
        .arg("--metered")
        .arg(&source)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let compiled = std::fs::read(directory.path().join("policy.cwasm")).unwrap();
    let (code, _) = code_of(&compiled, METERED_MAGIC).unwrap();
    let hook = holdpoint_compile::compile(EMPTY, env!("TARGET"), Engines::Hook).unwrap();
    let (hook, _) = code_of(&hook, COMPILED_MAGIC).unwrap();
    assert!(code != hook);
}

#[test]
fn what_is_no_component_is_refused_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    for (bytes, words) in [
        (&b"\0asm\x01\0\0\0"[..], "core module"),
        (b"hello", "no WebAssembly component"),
        (b"\0asm\x0d\0\x01\0\xff\xff", "does not compile"),
    ] {
        let source = directory.path().join("bad.wasm");
        std::fs::write(&source, bytes).unwrap();
        let output = compile(&source);
        assert_eq!(output.status.code(), Some(3));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{told}");
    }
    let output = compile(&directory.path().join("nowhere.wasm"));
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains("nowhere.wasm"));
    assert!(!directory.path().join("bad.cwasm").exists());
}
