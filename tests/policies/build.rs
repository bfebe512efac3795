//! Makes a component of every file in `wat/`, and its compiled code; and the same of the shipped policy, built as policy
//! teams build theirs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, Result, anyhow, ensure};
use holdpoint_compile::Engines;
use sha2::{Digest as _, Sha256};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What every core module needs beside what its file says: memory, an allocator that never frees, and the functions
/// that no test calls.
const PRELUDE: &str = include_str!("prelude.wat");

fn main() -> Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let target = env::var("TARGET")?;
    for watched in ["wat", "prelude.wat", "imports.wit", "build.rs", "../../wit"] {
        println!("cargo::rerun-if-changed={}", here.join(watched).display());
    }
    let contract = fs::read_to_string(here.join("../../wit/policy.wit"))?;
    let imports = fs::read_to_string(here.join("imports.wit"))?;
    let mut files: Vec<PathBuf> = fs::read_dir(here.join("wat"))?
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut table = String::from("/// Every policy there is.\npub const ALL: &[Policy] = &[\n");
    for file in &files {
        let name = file
            .file_stem()
            .and_then(|name| name.to_str())
            .context("a name")?;
        let component = component(name, &fs::read_to_string(file)?, &contract, &imports)
            .with_context(|| format!("wat/{name}.wat"))?;
        let compiled = |engines| {
            holdpoint_compile::compile(&component, &target, engines)
                .with_context(|| format!("wat/{name}.wat"))
        };
        fs::write(out.join(format!("{name}.cwasm")), compiled(Engines::Hook)?)?;
        fs::write(
            out.join(format!("{name}.metered.cwasm")),
            compiled(Engines::Bench)?,
        )?;
        if name == "passes" {
            fs::write(out.join("otherwise.cwasm"), otherwise(&component, &target)?)?;
        }
        fs::write(out.join(format!("{name}.wasm")), component)?;
        let bytes =
            |extension| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.{extension}\"))");
        let (component, compiled, metered) = (bytes("wasm"), bytes("cwasm"), bytes("metered.cwasm"));
        writeln!(
            table,
            "Policy {{ name: \"{name}\", component: {component}, compiled: {compiled}, metered: {metered} }},"
        )?;
    }
    table.push_str("];\n");
    fs::write(out.join("policies.rs"), table)?;
    for_wasi(&here.join("../.."), &out, &target)
}

/// The shipped policy as `cargo build --target wasm32-wasip2` makes it, importing what the standard library imports there.
fn for_wasi(root: &Path, out: &Path, target: &str) -> Result<()> {
    for watched in ["guest", "catalogs"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let target_dir = out.join("guest");
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo
        .current_dir(root)
        .args(["build", "--lib", "--profile", "policy"]);
    cargo.args([
        "--package",
        "holdpoint-guest",
        "--target",
        "wasm32-wasip2",
        "--target-dir",
    ]);
    cargo.arg(&target_dir);
    // What was meant for the outer build must not reach this one.
    for (name, _) in env::vars_os() {
        let outer = [
            "RUSTC",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_",
            "CARGO_PROFILE_",
        ];
        let name = name.to_string_lossy().into_owned();
        if outer.iter().any(|prefix| name.starts_with(prefix)) || name.contains("RUSTC_W") {
            cargo.env_remove(name);
        }
    }
    ensure!(
        cargo.status()?.success(),
        "the shipped policy does not build for wasm32-wasip2"
    );
    let component = fs::read(target_dir.join("wasm32-wasip2/policy/holdpoint_guest.wasm"))?;
    for (name, engines) in [
        ("for-wasi.cwasm", Engines::Hook),
        ("for-wasi.metered.cwasm", Engines::Bench),
    ] {
        let compiled = holdpoint_compile::compile(&component, target, engines)?;
        fs::write(out.join(name), compiled)?;
    }
    fs::write(out.join("for-wasi.wasm"), component)?;
    Ok(())
}

/// A component from a file: either its text is one, or it holds the fields of a core module.
fn component(name: &str, text: &str, contract: &str, imports: &str) -> Result<Vec<u8>> {
    if text.contains("(component") {
        return Ok(wat::parse_str(text)?);
    }
    // Some were built against another contract than the host's.
    let version = match name {
        "other-version" => "@0.2.0",
        "patch-version" => "@0.1.9",
        _ => "@0.1.0",
    };
    let mut contract = contract.replace("@0.1.0", version);
    if name == "other-type" {
        contract = contract.replace("pass(option<string>),", "allow,\n        pass(option<string>),");
    }
    let mut resolve = Resolve::default();
    let policy = resolve.push_str("policy.wit", &contract)?;
    let ambient = resolve.push_str("imports.wit", &imports.replace("@0.1.0", version))?;
    let world = if text.contains("\"wasi:") {
        resolve.select_world(&[ambient], Some("ambient"))?
    } else {
        resolve.select_world(&[policy], Some("guest"))?
    };
    let module = format!("(module {text}\n{PRELUDE})").replace("@0.1.0", version);
    let mut module = wat::parse_str(module)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .encode()
}

/// Compiled without the epoch checks that end an endless loop: a host that ran it could not interrupt it.
fn otherwise(component: &[u8], target: &str) -> Result<Vec<u8>> {
    let in_words = |error: wasmtime::Error| anyhow!("{error:#}");
    let mut config = holdpoint_engine::config();
    config.epoch_interruption(false);
    config.target(target).map_err(in_words)?;
    let engine = wasmtime::Engine::new(&config).map_err(in_words)?;
    let code = engine.precompile_component(component).map_err(in_words)?;
    let magic = holdpoint_engine::COMPILED_MAGIC;
    Ok(holdpoint_engine::compiled(
        code,
        magic,
        Sha256::digest(component).into(),
    ))
}
