//! `holdpoint-compile POLICY.wasm`: writes the compiled code beside the component, as `POLICY.cwasm`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use holdpoint_compile::Engines;

const USAGE: &str = "usage: holdpoint-compile [--metered] [--target TRIPLE] POLICY.wasm...\n       \
    holdpoint-compile --engine [--target TRIPLE]\n\n\
    Compiles policies and writes the code beside each (POLICY.cwasm), where the host looks for it.\n\n\
    --metered          The code counts its instructions: for `holdpoint test`, and no hook takes it.\n\
    --target TRIPLE    For another system on this processor, as Rust names the two.\n\
    --engine           Print the engine that code is made for: code of another one is refused by the host.\n\n\
    Example: holdpoint-compile /etc/holdpoint/policy.wasm";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("holdpoint-compile: {error:#}");
            ExitCode::from(3)
        }
    }
}

/// What the command line asks for.
enum Wanted {
    Help,
    Engine {
        target: String,
    },
    Code {
        target: String,
        engines: Engines,
        policies: Vec<PathBuf>,
    },
}

fn run() -> Result<()> {
    match wanted(env::args_os().skip(1))? {
        Wanted::Help => println!("{USAGE}"),
        Wanted::Engine { target } => println!("{}", holdpoint_compile::compatibility(&target)?),
        Wanted::Code {
            target,
            engines,
            policies,
        } => {
            for policy in policies {
                println!("{}", compile(&policy, &target, engines)?.display());
            }
        }
    }
    Ok(())
}

fn wanted(arguments: impl Iterator<Item = OsString>) -> Result<Wanted> {
    let mut target = env!("TARGET").to_owned();
    let mut engines = Engines::Hook;
    let mut engine = false;
    let mut policies = Vec::new();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(Wanted::Help),
            Some("--metered") => engines = Engines::Bench,
            Some("--engine") => engine = true,
            Some("--target") => {
                let named = arguments.next().and_then(|triple| triple.into_string().ok());
                target =
                    named.context("--target needs a target triple, for example x86_64-unknown-linux-musl")?;
            }
            Some(option) if option.starts_with('-') => bail!("unknown option {option}\n\n{USAGE}"),
            _ => policies.push(PathBuf::from(argument)),
        }
    }
    match (engine, policies.is_empty()) {
        (true, true) => Ok(Wanted::Engine { target }),
        (false, false) => Ok(Wanted::Code {
            target,
            engines,
            policies,
        }),
        _ => bail!("{USAGE}"),
    }
}

/// Compiles one policy, and returns where its code is.
fn compile(source: &Path, target: &str, engines: Engines) -> Result<PathBuf> {
    let component = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let compiled = holdpoint_compile::compile(&component, target, engines)
        .with_context(|| format!("cannot compile {}", source.display()))?;
    // By rename: a host that has the old code mapped must never see it change.
    let destination = source.with_extension("cwasm");
    let fresh = source.with_extension(format!("cwasm.{}", std::process::id()));
    fs::write(&fresh, &compiled)
        .and_then(|()| fs::rename(&fresh, &destination))
        .with_context(|| format!("cannot write {}", destination.display()))?;
    Ok(destination)
}
