//! Builds the shipped policy and compiles it ahead of time, so that the host carries it and a start compiles nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use holdpoint_compile::Engines;

fn main() {
    let out = PathBuf::from(variable("OUT_DIR"));
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    for watched in ["guest", "catalogs", "wit"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let component = build_component(&root, &out);
    let bytes = fs::read(&component).expect("the policy that was just built can be read");
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
}

/// A build of its own, with its own target directory: cargo has no stable way to depend on another target's artefact.
fn build_component(root: &Path, out: &Path) -> PathBuf {
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
        .args(["--target", "wasm32-wasip2", "--target-dir"])
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
        "the shipped policy does not build; if its target is missing: rustup target add wasm32-wasip2"
    );
    target_dir.join("wasm32-wasip2/policy/holdpoint_guest.wasm")
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
