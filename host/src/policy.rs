//! The policy in force, from its file to something that can be run: the load path.

use std::path::{Path, PathBuf};
use std::{fs, io};

use holdpoint_engine::{COMPILED_HEADER, COMPILED_MAGIC};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use wasmtime::component::Component;

use crate::config::Policy;
use crate::{private, runtime};

/// The shipped policy's compiled code, made in the build.
static SHIPPED: Shipped<[u8; include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")).len()]> = Shipped {
    before: [0; PAGE - COMPILED_HEADER],
    compiled: *include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")),
};

/// Puts what comes after the header at the beginning of a page, so that it can run where it lies.
#[repr(C, align(4096))]
struct Shipped<T> {
    before: [u8; PAGE - COMPILED_HEADER],
    compiled: T,
}

/// The size of a page, in bytes, where code runs where it lies.
const PAGE: usize = 4096;

/// The largest component that is read, in bytes. One with a Python interpreter in it has 18 MB.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A policy that can be run.
pub struct Loaded {
    /// What is run.
    pub component: Component,
    /// Which one it is, for logs.
    pub identity: Identity,
}

/// Which policy decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Where it came from: `shipped`, or a file.
    pub origin: String,
    /// SHA-256 of the component's bytes, in hexadecimal.
    pub digest: String,
}

/// Why there is no policy to run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("the policy's file {path} cannot be read ({cause})")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        cause: io::Error,
    },
    /// Compiled code is native code: whoever can write the file can do what this process can.
    #[error("the policy's file {path} may be written by others; mend it with: chmod go-w {path}")]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// The file is far larger than a policy.
    #[error("the policy's file {path} is larger than {} MiB", LARGEST / 1024 / 1024)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// There is no code, or not of this component.
    #[error(
        "the policy {path} has no compiled code of its own beside it; make it with: holdpoint-compile {path}"
    )]
    NotCompiled {
        /// The component.
        path: PathBuf,
    },
    /// The code is not for this host.
    #[error(
        "the policy's compiled code is not for this host ({cause}); make it anew with: holdpoint-compile POLICY.wasm"
    )]
    Foreign {
        /// The engine's words.
        cause: String,
    },
}

/// Loads the policy in force. Everything that decides whether a policy may run stands in this function, in order; the
/// signature belongs between reading the component and looking at its compiled code.
///
/// # Errors
///
/// Where the configured policy cannot be used. There is no fallback to the shipped one: an operator who replaced it
/// meant to.
pub fn load(config: &Policy) -> Result<Loaded, LoadError> {
    let Some(path) = &config.path else {
        return shipped();
    };
    let bytes = read(path)?;
    let digest = Sha256::digest(&bytes);
    let compiled = match read(&path.with_extension("cwasm")) {
        Err(LoadError::Unreadable { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
            return Err(LoadError::NotCompiled { path: path.clone() });
        }
        compiled => compiled?,
    };
    let is_its_code = compiled.len() > COMPILED_HEADER
        && compiled.starts_with(&COMPILED_MAGIC)
        && compiled[COMPILED_MAGIC.len()..COMPILED_HEADER] == digest[..];
    if !is_its_code {
        return Err(LoadError::NotCompiled { path: path.clone() });
    }
    let identity = Identity {
        origin: path.display().to_string(),
        digest: digest_of(&compiled),
    };
    Ok(Loaded {
        component: deserialize(&compiled)?,
        identity,
    })
}

#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
fn shipped() -> Result<Loaded, LoadError> {
    let compiled: &'static [u8] = &SHIPPED.compiled;
    // SAFETY: the code is this build's own.
    let component = unsafe { runtime::load_static(&compiled[COMPILED_HEADER..]) };
    Ok(Loaded {
        component: component.map_err(foreign)?,
        identity: Identity {
            origin: "shipped".into(),
            digest: digest_of(compiled),
        },
    })
}

/// Reads a file that only its owner can have written, looking at the opened file and not at its name.
fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    let unreadable = |cause| LoadError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if private::writable_by_others(&metadata) {
        return Err(LoadError::Exposed {
            path: path.to_owned(),
        });
    }
    if metadata.len() > LARGEST {
        return Err(LoadError::TooLarge {
            path: path.to_owned(),
        });
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, LARGEST), &mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// The component's digest, as its compiled code says it.
fn digest_of(compiled: &[u8]) -> String {
    compiled[COMPILED_MAGIC.len()..COMPILED_HEADER]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
fn deserialize(compiled: &[u8]) -> Result<Component, LoadError> {
    // SAFETY: the code comes from a file that nobody but this user or root can have written, which could as well replace
    // this program.
    unsafe { Component::deserialize(runtime::engine(), &compiled[COMPILED_HEADER..]) }.map_err(foreign)
}

fn foreign(error: wasmtime::Error) -> LoadError {
    LoadError::Foreign {
        cause: format!("{error:#}"),
    }
}
