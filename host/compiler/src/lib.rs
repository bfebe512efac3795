//! Compiles policies to native code: the only place where Cranelift is linked.
//!
//! The hook never compiles. The program `holdpoint-compile` does, once, before a policy is used; the host's build script
//! has it compile the shipped one.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use holdpoint_engine::{COMPILED_MAGIC, METERED_MAGIC, compiled};
use sha2::{Digest, Sha256};
use thiserror::Error;
use wasmtime::{Config, Engine};

/// Why a policy could not be compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The bytes do not begin as a component does.
    #[error("this is no WebAssembly component (a core module has to be made into one first)")]
    NotAComponent,
    /// Cranelift makes no code for the target.
    #[error("no code can be made for {target}: {cause}")]
    Target {
        /// The target triple that was asked for.
        target: String,
        /// The engine's words.
        cause: String,
    },
    /// The bytes are no valid component.
    #[error("the component does not compile: {0}")]
    Invalid(String),
}

/// For which engine code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engines {
    /// The hook's.
    Hook,
    /// The bench's, which counts instructions.
    Bench,
}

/// Compiles a component for the target triple and returns what the host loads: native code, and whose it is.
///
/// The code is for the target's baseline processor, not for this machine's, so that it may be compiled on one machine
/// and run on another of the same architecture.
///
/// # Errors
///
/// When the bytes are no valid component, or the target is not one that Cranelift knows.
pub fn compile(component: &[u8], target: &str, engines: Engines) -> Result<Vec<u8>, CompileError> {
    if !component.starts_with(b"\0asm\x0d\0\x01\0") {
        return Err(CompileError::NotAComponent);
    }
    let (config, magic) = match engines {
        Engines::Hook => (holdpoint_engine::config(), COMPILED_MAGIC),
        Engines::Bench => (holdpoint_engine::metered_config(), METERED_MAGIC),
    };
    let code = engine(config, target)?
        .precompile_component(component)
        .map_err(|cause| CompileError::Invalid(format!("{cause:#}")))?;
    Ok(compiled(code, magic, Sha256::digest(component).into()))
}

/// What compiled code for the target depends on beside the component: the engine's release and settings, as 16
/// hexadecimal digits that are compared for equality only.
///
/// # Errors
///
/// When the target is not one that Cranelift knows.
pub fn compatibility(target: &str) -> Result<String, CompileError> {
    let mut hasher = DefaultHasher::new();
    engine(holdpoint_engine::config(), target)?
        .precompile_compatibility_hash()
        .hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

fn engine(mut config: Config, target: &str) -> Result<Engine, CompileError> {
    let for_target = |cause: wasmtime::Error| CompileError::Target {
        target: target.to_owned(),
        cause: format!("{cause:#}"),
    };
    config.target(target).map_err(for_target)?;
    Engine::new(&config).map_err(for_target)
}
