//! The policy in force, from its file to something that can be run: the load path.

pub mod built;
mod code;
pub mod compiler;
mod error;
mod identity;
mod settings;
mod trust;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use holdpoint_artifact::{Digest, Facts, KeyId, LARGEST, Trust, gate};
use holdpoint_common::{access, read, way};
use holdpoint_config::{Policy, Shadow};
use holdpoint_engine::{COMPILED_MAGIC, code_of};
use holdpoint_store::{Admission, Store, StoreError};
use wasmtime::component::Component;

pub use code::{BUILD, Foreign, SHIPPED_COMPONENT};
pub use code::{deserialize_metered, shipped_metered};
pub use error::LoadError;
pub use identity::Identity;
pub use settings::settings;
pub use trust::trust;

use crate::sandbox;

/// The most compiled code that is read from beside a component, in bytes.
const LARGEST_CODE: u64 = 512 * 1024 * 1024;

/// A policy that can be run.
pub struct Loaded {
    /// What is run.
    pub component: Component,
    /// Which one it is, for logs.
    pub identity: Identity,
    /// How long it took to find out whether it may run, and that its code is its own.
    pub gate: Duration,
}

/// Loads the policy in force. Everything that decides which policy that is, and whether it may run, stands here and in
/// [`gate`], in this order:
///
/// 1. A file that the configuration names; nobody but its owner may be able to write it, it passes the gate, and the code
///    beside it is of exactly these bytes.
/// 2. What is in force in the store; it passes the gate, and its code is proven to be its own, in the memory that runs.
/// 3. The shipped policy, which is a part of this program.
///
/// # Errors
///
/// Where the policy whose turn it is cannot be used. There is no falling through to the next: an operator who put one in
/// force meant to.
pub fn load(config: &Policy) -> Result<Loaded, LoadError> {
    if let Some(path) = &config.path {
        return from_file(path, config);
    }
    match config.store().map(|root| Store::open(&root)) {
        None | Some(Err(StoreError::NoStore(_))) => shipped(config),
        Some(store) => from_store(&store?, config),
    }
}

/// As [`load`]; and where the code of the policy in force has to be made anew, has it made, once for all processes that
/// wait for it, within half of the time that is left. The rest is for the decision.
///
/// # Errors
///
/// As [`load`].
pub fn load_by(deadline: Instant, config: &Policy) -> Result<Loaded, LoadError> {
    match load(config) {
        Err(LoadError::Recompile { why, file, .. }) => {
            compiled_by(deadline, config).map_err(|cause| LoadError::Recompile {
                why,
                tried: Some(cause.to_string()),
                file,
            })
        }
        loaded => loaded,
    }
}

fn compiled_by(deadline: Instant, config: &Policy) -> Result<Loaded, Box<dyn Error>> {
    let program = compiler::beside().ok_or("holdpoint-compile is not beside holdpoint")?;
    let store = Store::open(&config.store().ok_or("there is no place for policies")?)?;
    let compiler = compiler::limited(&program);
    let half = deadline.saturating_duration_since(Instant::now()) / 2;
    let until = Instant::now() + half;
    Ok(loaded(&store, config, |admission| {
        store.compile_once(admission, &BUILD, &compiler, until)
    })?)
}

/// Loads the policy that looks on, where one is configured: by the same gate as the one in force.
///
/// # Errors
///
/// Where it cannot be used.
pub fn load_shadow(config: &Policy) -> Result<Option<Loaded>, LoadError> {
    Ok(Some(match config.shadow() {
        None => return Ok(None),
        Some(Shadow::File(path)) => from_file(&path, config)?,
        Some(Shadow::Kept(digest)) => {
            let store = Store::open(&config.store().unwrap_or_default())?;
            loaded(&store, config, |admission| {
                store.load_kept(digest, admission, &BUILD)
            })?
        }
    }))
}

fn from_file(path: &Path, config: &Policy) -> Result<Loaded, LoadError> {
    let began = Instant::now();
    let bytes = read_whole(path, LARGEST as u64)?;
    let (trust, grants) = (trust(config)?, config.grants());
    let contract = sandbox::contract(&grants);
    let facts = match gate(&bytes, &trust, &contract, SystemTime::now().into()) {
        Ok(admitted) => admitted.into_facts(),
        Err(refusal) => {
            return Err(LoadError::Refused {
                path: path.to_owned(),
                refusal: Box::new(refusal),
            });
        }
    };
    let not_compiled = || LoadError::NotCompiled {
        path: path.to_owned(),
    };
    let compiled = match hold(&path.with_extension("cwasm")) {
        Err(LoadError::Unreadable { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
            return Err(not_compiled());
        }
        compiled => compiled?,
    };
    let code = match code_of(compiled, COMPILED_MAGIC) {
        Some((code, digest)) if digest == *Digest::of(&bytes).as_bytes() => code,
        _ => return Err(not_compiled()),
    };
    let gate = began.elapsed();
    Ok(Loaded {
        component: code::deserialize(code)?,
        gate,
        identity: Identity {
            origin: path.display().to_string(),
            digest: facts.digest,
            key: key_of(&facts, &trust),
            facts: Some(facts),
            fallback: None,
            failed: None,
        },
    })
}

fn from_store(store: &Store, config: &Policy) -> Result<Loaded, LoadError> {
    match loaded(store, config, |admission| store.load_active(admission, &BUILD)) {
        Err(LoadError::Installed(holdpoint_store::LoadError::Nothing)) => {
            let mut loaded = shipped(config)?;
            loaded.identity.failed = store.failed()?;
            Ok(loaded)
        }
        loaded => loaded,
    }
}

/// A policy of the store's, as the store gives it.
fn loaded(
    store: &Store,
    config: &Policy,
    load: impl FnOnce(&Admission<'_>) -> Result<holdpoint_store::Loaded, holdpoint_store::LoadError>,
) -> Result<Loaded, LoadError> {
    let began = Instant::now();
    let (trust, grants) = (trust(config)?, config.grants());
    let installed = load(&Admission {
        trust: &trust,
        contract: &sandbox::contract(&grants),
        now: SystemTime::now().into(),
        map: Some(sandbox::map),
    })?;
    let code = installed.code.map_err(|why| LoadError::Recompile {
        why,
        tried: None,
        file: store.kept_file(installed.facts.digest),
    })?;
    let gate = began.elapsed();
    Ok(Loaded {
        component: code::component(&code)?,
        gate,
        identity: Identity {
            origin: holdpoint_store::title(&installed.facts),
            digest: installed.facts.digest,
            key: key_of(&installed.facts, &trust),
            facts: Some(installed.facts),
            fallback: installed.fallback,
            failed: installed.failed,
        },
    })
}

/// The id by which everybody knows the key that signed a policy, whatever the operator calls it.
fn key_of(facts: &Facts, trust: &Trust) -> Option<KeyId> {
    let signer = facts.signer.as_ref()?;
    let mut keys = trust.keys.iter();
    keys.find(|key| key.id == *signer).map(|key| key.public.id())
}

fn shipped(config: &Policy) -> Result<Loaded, LoadError> {
    let required = config.required();
    if required.is_something() {
        return Err(LoadError::NotInstalled(required));
    }
    let (code, digest) = code::shipped();
    Ok(Loaded {
        component: code::deserialize(code)?,
        gate: Duration::ZERO,
        identity: Identity {
            origin: "shipped".into(),
            digest,
            key: None,
            facts: None,
            fallback: None,
            failed: None,
        },
    })
}

/// Opens a file that only its owner can have written and nobody else can replace.
fn open(path: &Path) -> Result<(fs::File, fs::Metadata), LoadError> {
    let unreadable = unreadable(path);
    let (file, metadata) = read::open(path).map_err(&unreadable)?;
    if access::writable_by_others(&metadata) {
        return Err(LoadError::Exposed {
            path: path.to_owned(),
        });
    }
    way::check(path).map_err(|problem| LoadError::Replaceable {
        path: path.to_owned(),
        problem,
    })?;
    Ok((file, metadata))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> LoadError {
    move |cause| LoadError::Unreadable {
        path: path.to_owned(),
        cause,
    }
}

/// Brings compiled code into memory that can run it.
fn hold(path: &Path) -> Result<&'static [u8], LoadError> {
    let (file, metadata) = open(path)?;
    if metadata.len() > LARGEST_CODE {
        return Err(LoadError::NotCompiled {
            path: path.to_owned(),
        });
    }
    usize::try_from(metadata.len())
        .map_err(io::Error::other)
        .and_then(|length| sandbox::hold(&file, length))
        .map_err(unreadable(path))
}

/// Reads such a file.
fn read_whole(path: &Path, largest: u64) -> Result<Vec<u8>, LoadError> {
    let (file, metadata) = open(path)?;
    read::read_opened(&file, &metadata, largest).map_err(unreadable(path))
}

/// Reads compiled code, from a file that only its owner can have written.
pub fn read_code(path: &Path) -> Result<Vec<u8>, LoadError> {
    read_whole(path, LARGEST_CODE)
}
