//! Builds the shipped policy and compiles it ahead of time, so that the host carries it and a start compiles nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use holdpoint_compile::Engines;
use sha2::{Digest as _, Sha256};
use wit_component::ComponentEncoder;

/// What the shipped policy is built for.
const MODULE_TARGET: &str = "wasm32-unknown-unknown";

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    for watched in ["guest", "catalogs"].iter().chain(&BUILD) {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let bytes = component_of(&build_module(&root, &out));
    let component = out.join("policy.wasm");
    fs::write(&component, &bytes).expect("the build directory can be written");
    for (name, engines) in [
        ("policy.cwasm", Engines::Hook),
        ("policy.metered.cwasm", Engines::Bench),
    ] {
        let compiled = holdpoint_compile::compile(&bytes, &variable("TARGET"), engines)
            .unwrap_or_else(|error| panic!("the shipped policy does not compile: {error:#}"));
        fs::write(out.join(name), compiled).expect("the build directory can be written");
    }
    println!("cargo::rustc-env=HOLDPOINT_COMPONENT_SIZE={}", bytes.len());
    println!("cargo::rustc-env=HOLDPOINT_COMPONENT={}", component.display());
    let target = variable("TARGET");
    let engine = holdpoint_compile::compatibility(&target)
        .unwrap_or_else(|error| panic!("the engine has no settings for this target: {error:#}"));
    println!("cargo::rustc-env=HOLDPOINT_ENGINE={engine}");
    println!("cargo::rustc-env=HOLDPOINT_TARGET={target}");
    println!("cargo::rustc-env=HOLDPOINT_BUILD={}", build(&root));
    // The static program moves itself to where it was loaded. Said so, its list of what has to be moved is a fiftieth.
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// What code that was compiled for one host could do in another that was built from other sources: everything that makes
/// it, runs it, or says what passes between it and the host, and all dependencies by their checksums.
const BUILD: [&str; 5] = [
    "Cargo.lock",
    "host/compiler/src",
    "host/engine/src",
    "host/src/runtime",
    "wit",
];

/// A name for this build that no other has by which such code could be run differently.
fn build(root: &Path) -> String {
    let mut digest = Sha256::new();
    for file in BUILD.iter().flat_map(|path| files(&root.join(path))) {
        let bytes = fs::read(&file).expect("the sources can be read");
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        digest.update(format!("{name} {}\n", bytes.len()));
        digest.update(bytes);
    }
    let compiler = Command::new(variable("RUSTC")).arg("-vV").output();
    digest.update(compiler.expect("the compiler says what it is").stdout);
    digest.update(format!("{} {}", variable("TARGET"), variable("PROFILE")));
    let digest = digest.finalize();
    let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}+{short}", variable("CARGO_PKG_VERSION"))
}

/// The file itself, or all files below a folder, in an order of their own.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return vec![path.to_owned()];
    };
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the sources can be listed").path())
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| files(path)).collect()
}

/// The component of a module: all that it says of its imports and exports is in a section that the bindings put there.
fn component_of(module: &Path) -> Vec<u8> {
    let module = fs::read(module).expect("the policy that was just built can be read");
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .and_then(|mut encoder| encoder.encode())
        .unwrap_or_else(|error| panic!("the shipped policy makes no component: {error:#}"))
}

/// A build of its own, with its own target directory: cargo has no stable way to depend on another target's artefact.
///
/// For a target without an operating system, since the standard library of `wasm32-wasip2` imports a dozen interfaces of
/// WASI whether or not they are used, and each of them costs a start something.
fn build_module(root: &Path, out: &Path) -> PathBuf {
    let target_dir = out.join("guest");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(root)
        .args([
            "build",
            "--package",
            "holdpoint-guest",
            "--lib",
            "--profile",
            "policy",
        ])
        .args(["--target", MODULE_TARGET, "--target-dir"])
        .arg(&target_dir);
    // What was meant for the outer build (a linter as the compiler, flags for another target) must not reach this one.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let outer = [
            "RUSTC",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_",
            "CARGO_PROFILE_",
        ];
        if outer.iter().any(|prefix| name.starts_with(prefix)) || name.contains("RUSTC_W") {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(
        status.success(),
        "the shipped policy does not build; if its target is missing: rustup target add {MODULE_TARGET}"
    );
    target_dir.join(MODULE_TARGET).join("policy/holdpoint_guest.wasm")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
