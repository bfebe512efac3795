//! The program `holdpoint-compile`, as it is called by hand.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use holdpoint_artifact::{Digest, KeyPair, Manifest, UtcTime, Version, sign};
use holdpoint_engine::{COMPILED_FOOTER, COMPILED_MAGIC, METERED_MAGIC, code_of};
use test_policies::named;

use crate::house::COMPILER;

/// The smallest component.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

fn compile(arguments: &[&str], policies: &[&Path]) -> Output {
    Command::new(COMPILER)
        .args(arguments)
        .args(policies)
        .output()
        .unwrap()
}

/// Compiles one policy in a folder of its own, and returns its code, which has to say that it is of these bytes.
fn code(arguments: &[&str], policy: &[u8], magic: [u8; 8]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("policy.wasm");
    fs::write(&source, policy).unwrap();
    let output = compile(arguments, &[&source]);
    assert!(output.status.success(), "{output:?}");
    let compiled = fs::read(directory.path().join("policy.cwasm")).unwrap();
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 2, "nothing else is left behind");
    let (code, digest) = code_of(&compiled, magic).unwrap();
    assert_eq!(Digest::from_bytes(digest), Digest::of(policy));
    assert!(!code.is_empty());
    code.to_vec()
}

#[test]
fn code_is_written_beside_the_policy_and_a_signature_changes_nothing_of_it() {
    let manifest = Manifest {
        name: "guard".into(),
        version: Version::new(1, 0, 0),
        wit: Version::new(0, 1, 0),
        catalog: None,
        made: UtcTime::from_unix(1_800_000_000),
        not_after: None,
    };
    let signed = sign(EMPTY, &manifest, &KeyPair::generate().unwrap()).unwrap();
    assert!(code(&[], &signed, COMPILED_MAGIC) == code(&[], EMPTY, COMPILED_MAGIC));
}

#[test]
fn code_for_the_bench_and_for_another_system_differs() {
    let here = code(&[], EMPTY, COMPILED_MAGIC);
    assert!(code(&["--metered"], EMPTY, METERED_MAGIC) != here);
    let target = format!("{}-apple-darwin", std::env::consts::ARCH);
    assert!(code(&["--target", &target], EMPTY, COMPILED_MAGIC) != here);
    let engine = |arguments: &[&str]| compile(arguments, &[]).stdout;
    assert_eq!(engine(&["--engine"]).len(), "0123456789abcdef\n".len());
    assert_ne!(engine(&["--engine"]), engine(&["--engine", "--target", &target]));
}

#[test]
fn several_policies_are_compiled_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let sources = ["a.wasm", "b.wasm"].map(|name| directory.path().join(name));
    for source in &sources {
        fs::write(source, EMPTY).unwrap();
    }
    let output = compile(&[], &[&sources[0], &sources[1]]);
    assert!(output.status.success(), "{output:?}");
    assert!(
        sources
            .iter()
            .all(|source| source.with_extension("cwasm").is_file())
    );
}

#[test]
fn what_cannot_be_compiled_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("bad.wasm");
    let refused = |arguments: &[&str], policies: &[&Path], words: &str| {
        let output = compile(arguments, policies);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(words), "{told}");
    };
    for (bytes, words) in [
        (&b"\0asm\x01\0\0\0"[..], "core module"),
        (b"hello", "no WebAssembly component"),
        (b"\0asm\x0d\0\x01\0\xff\xff", "does not compile"),
    ] {
        fs::write(&source, bytes).unwrap();
        refused(&[], &[&source], words);
    }
    refused(&[], &[&directory.path().join("nowhere.wasm")], "nowhere.wasm");
    refused(&["--target", "pdp11-dec-unix"], &[&source], "pdp11-dec-unix");
    refused(&["--target"], &[], "needs a target triple");
    refused(&["--metred"], &[&source], "unknown option --metred");
    refused(&["--engine"], &[&source], "usage:");
    refused(&[], &[], "usage:");
    assert!(!directory.path().join("bad.cwasm").exists());
}

/// The build script of the test policies writes the size out.
#[test]
fn code_of_other_settings_is_what_it_is_called() {
    let policy = named("passes");
    let footer = |code: &'static [u8]| &code[code.len() - COMPILED_FOOTER..];
    assert_eq!(footer(test_policies::COMPILED_OTHERWISE), footer(policy.compiled));
    let body = |code: &'static [u8]| &code[..code.len() - COMPILED_FOOTER];
    assert!(body(test_policies::COMPILED_OTHERWISE) == body(policy.metered));
}
