//! The policy in force, from its file to something that can be run: the load path.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, fs, io};

use holdpoint_artifact::{Digest, Facts, LARGEST, Refusal, gate};
use holdpoint_engine::{COMPILED_DIGEST, COMPILED_HEADER, COMPILED_MAGIC};
use holdpoint_store::{Admission, Build, Fallback, Recompile, Store, StoreError, Within};
use thiserror::Error;
use wasmtime::component::Component;

use crate::config::{ConfigError, Policy};
use crate::verdict::FaultKind;
use crate::{private, runtime};

/// The shipped policy's compiled code, made in the build.
static SHIPPED: OnPages<[u8; COMPILED]> = OnPages(*include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")));

/// The length of that, in bytes.
const COMPILED: usize = include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")).len();

/// Begins with a page, so that the code inside can run where it lies.
#[repr(C, align(4096))]
struct OnPages<T>(T);

/// The most compiled code that is read from beside a component, in bytes.
const LARGEST_CODE: u64 = 512 * 1024 * 1024;

/// For what installed policies are compiled.
pub const BUILD: Build<'static> = Build {
    engine: env!("HOLDPOINT_ENGINE"),
    host: env!("CARGO_PKG_VERSION"),
    cpu: env!("HOLDPOINT_TARGET"),
    magic: &COMPILED_MAGIC,
    hold: runtime::hold,
};

/// A policy that can be run.
pub struct Loaded {
    /// What is run.
    pub component: Component,
    /// Which one it is, for logs.
    pub identity: Identity,
    /// How long it took to find out whether it may run, and that its code is its own.
    pub gate: Duration,
}

/// Which policy decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Where it came from: `shipped`, a file, or the store's name for an installed one.
    pub origin: String,
    /// The policy's digest. Of the shipped one, SHA-256 of the whole component.
    pub digest: Digest,
    /// What the gate found out; none for the shipped one, which is a part of this program.
    pub facts: Option<Facts>,
    /// What is wrong where this is not the policy that was put in force.
    pub fallback: Option<Fallback>,
}

/// The policy as the log names it: twelve digits tell any two policies apart.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sha256:{:.12}", self.origin, self.digest.hex())?;
        if let Some(key) = self.facts.as_ref().and_then(|facts| facts.signer.as_ref()) {
            write!(f, ", signed by {key}")?;
        }
        match &self.fallback {
            Some(Fallback { wanted, why }) => {
                write!(
                    f,
                    ", in place of sha256:{:.12}, which is broken ({why})",
                    wanted.hex()
                )
            }
            None => Ok(()),
        }
    }
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
    /// The gate does not let it in.
    #[error("the policy's file {path} was refused: {refusal}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        refusal: Box<Refusal>,
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
    /// The installed policy's code has to be made anew, which is not a hook's work.
    #[error("the installed policy cannot be used: {why}; mend it with: holdpoint policy install {file}")]
    Recompile {
        /// Why.
        why: Recompile,
        /// The kept policy.
        file: PathBuf,
    },
    /// Nothing in the store may decide.
    #[error(transparent)]
    Installed(#[from] holdpoint_store::LoadError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Whom to trust cannot be told.
    #[error(transparent)]
    Trust(#[from] ConfigError),
}

impl LoadError {
    /// What kind of fault it is.
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Trust(_) => FaultKind::Configuration,
            _ => FaultKind::Policy,
        }
    }
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
        None | Some(Err(StoreError::NoStore(_))) => shipped(),
        Some(store) => from_store(&store?, config),
    }
}

fn from_file(path: &Path, config: &Policy) -> Result<Loaded, LoadError> {
    let began = Instant::now();
    let bytes = read(path, LARGEST as u64)?;
    let (trust, grants) = (config.trust()?, config.grants());
    let contract = runtime::contract(&grants);
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
    let is_its_code = compiled.len() > COMPILED_HEADER
        && compiled.starts_with(&COMPILED_MAGIC)
        && compiled[COMPILED_DIGEST] == *Digest::of(&bytes).as_bytes();
    if !is_its_code {
        return Err(not_compiled());
    }
    let gate = began.elapsed();
    Ok(Loaded {
        component: deserialize(compiled)?,
        gate,
        identity: Identity {
            origin: path.display().to_string(),
            digest: facts.digest,
            facts: Some(facts),
            fallback: None,
        },
    })
}

fn from_store(store: &Store, config: &Policy) -> Result<Loaded, LoadError> {
    let began = Instant::now();
    let (trust, grants) = (config.trust()?, config.grants());
    let admission = Admission {
        trust: &trust,
        contract: &runtime::contract(&grants),
        now: SystemTime::now().into(),
    };
    let installed = match store.load_active(&admission, &BUILD) {
        Err(holdpoint_store::LoadError::Nothing) => return shipped(),
        loaded => loaded?,
    };
    let code = installed.code.map_err(|why| LoadError::Recompile {
        why,
        file: store.kept_file(installed.facts.digest),
    })?;
    let gate = began.elapsed();
    Ok(Loaded {
        component: deserialize(code)?,
        gate,
        identity: Identity {
            origin: holdpoint_store::title(&installed.facts),
            digest: installed.facts.digest,
            facts: Some(installed.facts),
            fallback: installed.fallback,
        },
    })
}

fn shipped() -> Result<Loaded, LoadError> {
    let compiled = &SHIPPED.0;
    Ok(Loaded {
        component: deserialize(compiled)?,
        gate: Duration::ZERO,
        identity: Identity {
            origin: "shipped".into(),
            digest: digest_of(compiled),
            facts: None,
            fallback: None,
        },
    })
}

/// Opens a file that only its owner can have written, looking at the opened file and not at its name.
fn open(path: &Path) -> Result<(fs::File, fs::Metadata), LoadError> {
    let unreadable = unreadable(path);
    let file = fs::File::open(path).map_err(&unreadable)?;
    let metadata = file.metadata().map_err(&unreadable)?;
    if private::writable_by_others(&metadata) {
        return Err(LoadError::Exposed {
            path: path.to_owned(),
        });
    }
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
        .and_then(|length| runtime::hold(&file, length, Within::UsersReach))
        .map_err(unreadable(path))
}

/// Reads such a file.
fn read(path: &Path, largest: u64) -> Result<Vec<u8>, LoadError> {
    let (file, _) = open(path)?;
    // One byte more than there may be, so that what is too large is seen to be.
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, largest + 1), &mut bytes).map_err(unreadable(path))?;
    Ok(bytes)
}

/// The component's digest, as its compiled code says it.
fn digest_of(compiled: &[u8; COMPILED]) -> Digest {
    let mut digest = [0; 32];
    digest.copy_from_slice(&compiled[COMPILED_DIGEST]);
    Digest::from_bytes(digest)
}

#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
fn deserialize(compiled: &'static [u8]) -> Result<Component, LoadError> {
    // SAFETY: the code is this build's own; or it comes from a file that nobody but this user or root can have written,
    // which could as well replace this program; or it was proven to be what a compiler made for the store.
    unsafe { runtime::load(compiled.get(COMPILED_HEADER..).unwrap_or_default()) }.map_err(foreign)
}

fn foreign(error: wasmtime::Error) -> LoadError {
    LoadError::Foreign {
        cause: format!("{error:#}"),
    }
}
