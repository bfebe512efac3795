//! Makes a component of every file in `wat/`, and its compiled code; and the same of the shipped policy, built as policy
//! teams build theirs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use holdpoint_build_support::{compiler, policy, target};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What every core module needs beside what its file says: memory, an allocator that never frees, and the functions
/// that no test calls.
const PRELUDE: &str = include_str!("prelude.wat");

/// The last bytes of code, which say whose it is: `holdpoint_engine::COMPILED_FOOTER`, written out because that crate brings
/// the engine along. A test compares the two.
const FOOTER: usize = 40;

fn main() -> Result<()> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for watched in ["wat", "prelude.wat", "imports.wit", "build.rs", "../../wit"] {
        println!("cargo::rerun-if-changed={}", here.join(watched).display());
    }
    let contract = fs::read_to_string(here.join("../../wit/policy.wit"))?;
    let imports = fs::read_to_string(here.join("imports.wit"))?;
    let mut files: Vec<PathBuf> = fs::read_dir(here.join("wat"))?
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut names = Vec::new();
    let mut table = String::from("/// Every policy there is.\npub const ALL: &[Policy] = &[\n");
    for file in &files {
        let name = file
            .file_stem()
            .and_then(|name| name.to_str())
            .context("a name")?;
        let component = component(name, &fs::read_to_string(file)?, &contract, &imports)
            .with_context(|| format!("wat/{name}.wat"))?;
        fs::write(out.join(format!("{name}.wasm")), &component)?;
        fs::write(out.join(format!("{name}.metered.wasm")), component)?;
        names.push(name.to_owned());
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
    let root = here.join("../..");
    for watched in ["guest/src", "guest/build.rs", "guest/Cargo.toml", "catalogs"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    // Importing what the standard library imports there.
    let for_wasi = policy(&root, "holdpoint-guest", target::WASI);
    for name in ["for-wasi.wasm", "for-wasi.metered.wasm"] {
        fs::copy(&for_wasi, out.join(name))?;
    }
    names.push("for-wasi".into());
    compile_all(&root, &out, &names)?;
    fs::write(out.join("otherwise.cwasm"), otherwise(&out)?)?;
    Ok(())
}

/// Has every component compiled, for the hook and for the bench.
fn compile_all(root: &Path, out: &Path, names: &[String]) -> Result<()> {
    let compiler = compiler(root);
    for (options, ending) in [(&[][..], "wasm"), (&["--metered"][..], "metered.wasm")] {
        let status = Command::new(&compiler)
            .args(["--target", &env::var("TARGET")?])
            .args(options)
            .args(names.iter().map(|name| out.join(format!("{name}.{ending}"))))
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "a policy does not compile");
    }
    Ok(())
}

/// Code that says it is the hook's and was made with other settings than its engine's. A host that ran it would run what
/// it cannot interrupt, for one.
fn otherwise(out: &Path) -> Result<Vec<u8>> {
    let of = |name| fs::read(out.join(name));
    let (hooks, mut benchs) = (of("passes.cwasm")?, of("passes.metered.cwasm")?);
    let footer = |code: &[u8]| code.len() - FOOTER;
    let start = footer(&benchs);
    benchs[start..].copy_from_slice(&hooks[footer(&hooks)..]);
    Ok(benchs)
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
