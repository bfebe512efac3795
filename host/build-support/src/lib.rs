//! What build scripts share: the targets that have to be there, and builds inside a build.
//!
//! Two things are built by a cargo of their own, into folders that every profile and platform shares: policies, which are
//! for another target, and the compiler of policies. As a build dependency the compiler would be compiled once for each
//! profile, and once more as a program; Cranelift takes minutes each time.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub mod target;

/// Builds a policy's package for a target, and returns the module or component.
///
/// # Panics
///
/// Where it does not build, with what to do; cargo shows it.
pub fn policy(root: &Path, package: &str, target: &str) -> PathBuf {
    target::require(target).unwrap_or_else(|cause| panic!("{cause}"));
    let folder = shared("policy");
    let mut cargo = cargo(root, &folder);
    cargo.args([
        "--package",
        package,
        "--lib",
        "--profile",
        "policy",
        "--target",
        target,
    ]);
    run(cargo, package);
    let file = format!("{}.wasm", package.replace('-', "_"));
    folder.join(target).join("policy").join(file)
}

/// Builds the program that compiles policies, and returns where it is.
///
/// # Panics
///
/// Where it does not build; cargo shows it.
pub fn compiler(root: &Path) -> PathBuf {
    let folder = shared("compiler");
    let mut cargo = cargo(root, &folder);
    cargo.args(["--package", "holdpoint-compile", "--release"]);
    run(cargo, "holdpoint-compile");
    folder
        .join("release")
        .join(format!("holdpoint-compile{}", env::consts::EXE_SUFFIX))
}

/// A cargo for which nothing counts that was meant for the outer one: a linter as the compiler, flags for another target.
fn cargo(root: &Path, folder: &Path) -> Command {
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(root)
        .args(["build", "--quiet", "--target-dir"])
        .arg(folder);
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
    cargo
}

fn run(mut cargo: Command, package: &str) {
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "{package} does not build");
}

/// A folder in the target directory for builds of one kind.
fn shared(name: &str) -> PathBuf {
    // TARGET/[PLATFORM/]PROFILE/build/PACKAGE/out
    let out = PathBuf::from(variable("OUT_DIR"));
    let above = out.ancestors().nth(4).expect("cargo's layout");
    let is_platform = above
        .file_name()
        .is_some_and(|last| last == variable("TARGET").as_str());
    let target = match above.parent() {
        Some(parent) if is_platform => parent,
        _ => above,
    };
    target.join(name)
}

/// A variable that cargo sets for build scripts.
///
/// # Panics
///
/// Outside of a build script.
pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
