//! The targets that policies are built for.

use std::env;
use std::path::Path;
use std::process::Command;

/// What the shipped policy is built for: without an operating system, since the standard library of `wasm32-wasip2`
/// imports a dozen interfaces of WASI whether or not they are used, and each of them costs a start something.
pub const MODULE: &str = "wasm32-unknown-unknown";

/// What policies of others are built for.
pub const WASI: &str = "wasm32-wasip2";

/// Has the target's standard library added by rustup where it is missing: the tool chain file names it, and rustup does not
/// fetch what that names where `RUSTUP_AUTO_INSTALL=0` is set.
///
/// # Errors
///
/// Where it is missing and cannot be added: what to do.
pub fn require(target: &str) -> Result<(), String> {
    if is_there(target)? {
        return Ok(());
    }
    println!("cargo::warning=the target {target} is missing: running rustup target add {target}");
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", target]);
    // The tool chain that builds this, which need not be the default one.
    if let Some(tool_chain) = env::var_os("RUSTUP_TOOLCHAIN") {
        rustup.arg("--toolchain").arg(tool_chain);
    }
    let cause = match rustup.output() {
        Ok(output) if output.status.success() && is_there(target)? => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(cause) => format!("rustup cannot be started ({cause})"),
    };
    Err(format!(
        "the standard library for {target} is missing, and could not be added: {cause}\n\
         help: rustup target add {target}"
    ))
}

fn is_there(target: &str) -> Result<bool, String> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = Command::new(&compiler)
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .map_err(|cause| format!("{} cannot be started ({cause})", compiler.to_string_lossy()))?;
    let folder = String::from_utf8_lossy(&printed.stdout);
    Ok(Path::new(folder.trim()).is_dir())
}
