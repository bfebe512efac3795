//! Builds the shipped policy and compiles it ahead of time, so that the host carries it and a start compiles nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use holdpoint_build_support::{compiler, policy, target, variable};
use sha2::{Digest as _, Sha256};
use wit_component::ComponentEncoder;

/// What the shipped policy is made of.
const POLICY: [&str; 5] = [
    "guest/src",
    "guest/build.rs",
    "guest/Cargo.toml",
    "catalogs",
    "wit",
];

fn main() -> Result<()> {
    let out = PathBuf::from(variable("OUT_DIR"));
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    for watched in POLICY.iter().chain(&BUILD) {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let bytes = component_of(&policy(&root, "holdpoint-guest", target::MODULE))
        .context("the shipped policy makes no component")?;
    let component = out.join("policy.wasm");
    let metered = out.join("policy.metered.wasm");
    for file in [&component, &metered] {
        fs::write(file, &bytes)?;
    }
    let compiler = compiler(&root);
    let target = variable("TARGET");
    let compile = |arguments: &[&OsStr]| {
        let mut program = Command::new(&compiler);
        let output = program.args(["--target", &target]).args(arguments).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "the shipped policy does not compile: {told}"
        );
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    compile(&[component.as_ref()])?;
    compile(&["--metered".as_ref(), metered.as_ref()])?;
    println!(
        "cargo::rustc-env=HOLDPOINT_ENGINE={}",
        compile(&["--engine".as_ref()])?
    );
    println!("cargo::rustc-env=HOLDPOINT_COMPONENT_SIZE={}", bytes.len());
    println!("cargo::rustc-env=HOLDPOINT_COMPONENT={}", component.display());
    println!("cargo::rustc-env=HOLDPOINT_COMPILE={}", compiler.display());
    println!("cargo::rustc-env=HOLDPOINT_TARGET={target}");
    println!("cargo::rustc-env=HOLDPOINT_BUILD={}", build(&root)?);
    Ok(())
}

/// What code that was compiled for one host could do in another that was built from other sources: everything that makes
/// it, runs it, or says what passes between it and the host, and all dependencies by their checksums.
const BUILD: [&str; 5] = [
    "Cargo.lock",
    "host/compiler/src",
    "host/engine/src",
    "host/runtime/src/sandbox",
    "wit",
];

/// A name for this build that no other has by which such code could be run differently.
fn build(root: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    for path in BUILD {
        for file in files(&root.join(path))? {
            let bytes = fs::read(&file)?;
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
            digest.update(format!("{name} {}\n", bytes.len()));
            digest.update(bytes);
        }
    }
    let compiler = Command::new(variable("RUSTC")).arg("-vV").output()?;
    digest.update(compiler.stdout);
    digest.update(format!("{} {}", variable("TARGET"), variable("PROFILE")));
    let digest = digest.finalize();
    let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}+{short}", variable("CARGO_PKG_VERSION")))
}

/// The file itself, or all files below a folder, in an order of their own.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(path)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        all.extend(files(&path)?);
    }
    Ok(all)
}

/// The component of a module: all that it says of its imports and exports is in a section that the bindings put there.
fn component_of(module: &Path) -> Result<Vec<u8>> {
    let module = fs::read(module)?;
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .and_then(|mut encoder| encoder.encode())
}
