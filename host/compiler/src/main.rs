//! `holdpoint-compile [--metered] POLICY.wasm`: writes the compiled code beside the component, as `POLICY.cwasm`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use holdpoint_compile::Engines;

const USAGE: &str = "usage: holdpoint-compile [--metered] POLICY.wasm\n\n\
    Compiles a policy for this machine and writes the code beside it (POLICY.cwasm), where the host looks for it.\n\
    With --metered the code counts its instructions: for `holdpoint test`, and no hook takes it.\n\
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

fn run() -> Result<()> {
    let mut arguments = env::args_os().skip(1).peekable();
    let engines = match arguments.next_if(|argument| argument == "--metered") {
        Some(_) => Engines::Bench,
        None => Engines::Hook,
    };
    let (Some(argument), None) = (arguments.next(), arguments.next()) else {
        bail!("{USAGE}")
    };
    if argument == "--help" || argument == "-h" {
        println!("{USAGE}");
        return Ok(());
    }
    let source = PathBuf::from(argument);
    let component = fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let compiled = holdpoint_compile::compile(&component, env!("TARGET"), engines)?;
    // By rename: a host that has the old code mapped must never see it change.
    let destination = source.with_extension("cwasm");
    let fresh = source.with_extension(format!("cwasm.{}", std::process::id()));
    fs::write(&fresh, &compiled)
        .and_then(|()| fs::rename(&fresh, &destination))
        .with_context(|| format!("cannot write {}", destination.display()))?;
    println!("{}", destination.display());
    Ok(())
}
