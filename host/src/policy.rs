//! The policy in force, from its file to something that can be run: the load path.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, fs, io};

use holdpoint_artifact::{Digest, Facts, KeyId, LARGEST, Refusal, Required, Trust, Version, gate};
use holdpoint_common::{read, way};
use holdpoint_engine::{COMPILED_FOOTER, COMPILED_MAGIC, code_of};
use holdpoint_store::{Admission, Build, Code, Entry, Fallback, Recompile, Store, StoreError};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::config::{ConfigError, Policy, Shadow};
use crate::verdict::FaultKind;
use crate::{compiler, private, runtime, text};

/// The shipped policy's compiled code, made in the build.
static SHIPPED: OnPages<[u8; COMPILED]> = OnPages(*include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")));

/// The length of that, in bytes.
const COMPILED: usize = include_bytes!(concat!(env!("OUT_DIR"), "/policy.cwasm")).len();

/// Begins with a page, so that the code inside can run where it lies.
#[repr(C, align(4096))]
struct OnPages<T>(T);

/// The longest cause in a policy's name, in characters.
const LONGEST_CAUSE: usize = 200;

/// The most compiled code that is read from beside a component, in bytes.
const LARGEST_CODE: u64 = 512 * 1024 * 1024;

/// For what installed policies are compiled.
pub const BUILD: Build<'static> = Build {
    engine: env!("HOLDPOINT_ENGINE"),
    host: env!("HOLDPOINT_BUILD"),
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

/// Which policy decided: everything about it that is worth a line in a log or a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Where it came from: `shipped`, a file, or the store's name for an installed one.
    pub origin: String,
    /// The policy's digest. Of the shipped one, SHA-256 of the whole component.
    pub digest: Digest,
    /// The id of the key that signed it, made of the key itself; none where it is unsigned, as the shipped one.
    pub key: Option<KeyId>,
    /// What the gate found out, with the operator's name of that key; none for the shipped one, which is a part of this
    /// program.
    pub facts: Option<Facts>,
    /// What is wrong where this is not the policy that was put in force.
    pub fallback: Option<Fallback>,
    /// The last change of the policy, where that failed.
    pub failed: Option<Entry>,
}

impl Identity {
    /// The policy's version. The shipped one has the host's; none where there is no manifest.
    pub fn version(&self) -> Option<Version> {
        match &self.facts {
            Some(facts) => Some(facts.manifest.as_ref()?.version.clone()),
            None => Version::parse(env!("CARGO_PKG_VERSION")).ok(),
        }
    }

    /// The version of the WIT package that the policy is built against; none where there is no manifest.
    pub fn wit(&self) -> Option<Version> {
        match &self.facts {
            Some(facts) => Some(facts.manifest.as_ref()?.wit.clone()),
            None => runtime::contract(&[]).versions.last().cloned(),
        }
    }
}

/// The policy as the log names it: twelve digits tell any two policies apart.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sha256:{:.12}", self.origin, self.digest.hex())?;
        if let Some(key) = self.facts.as_ref().and_then(|facts| facts.signer.as_ref()) {
            write!(f, ", signed by {key}")?;
        }
        let in_short = |why: &str| text::clean_line(why, LONGEST_CAUSE);
        if let Some(Fallback { wanted, why }) = &self.fallback {
            let (wanted, why) = (wanted.hex(), in_short(why));
            write!(f, ", in place of sha256:{wanted:.12}, which is broken ({why})")?;
        }
        if let Some(failed) = &self.failed {
            let why = in_short(failed.why.as_deref().unwrap_or("no reason was written down"));
            write!(f, "; a change of the policy failed at {} ({why})", failed.at)?;
        }
        Ok(())
    }
}

/// Why there is no policy to run.
#[derive(Debug, thiserror::Error)]
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
    /// Whoever can replace the file can do the same.
    #[error("the policy's file {path} {problem}")]
    Replaceable {
        /// The file.
        path: PathBuf,
        /// The folder on the way to it, and what to do.
        problem: way::Problem,
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
    /// The installed policy's code has to be made anew.
    #[error(
        "the installed policy cannot be used: {why}{}; mend it with: holdpoint policy install {file}",
        .tried.as_ref().map(|cause| format!(", and it could not be made ({cause})")).unwrap_or_default()
    )]
    Recompile {
        /// Why.
        why: Recompile,
        /// Why it was not made, where that was tried.
        tried: Option<String>,
        /// The kept policy.
        file: PathBuf,
    },
    /// There is only the shipped policy, and the configuration wants another.
    #[error(
        "the configuration wants {0} (policy.require), and no policy is installed; install it with: holdpoint policy \
         install FILE"
    )]
    NotInstalled(Required),
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
    let code = match code_of(compiled, COMPILED_MAGIC) {
        Some((code, digest)) if digest == *Digest::of(&bytes).as_bytes() => code,
        _ => return Err(not_compiled()),
    };
    let gate = began.elapsed();
    Ok(Loaded {
        component: deserialize(code)?,
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
    let (trust, grants) = (config.trust()?, config.grants());
    let installed = load(&Admission {
        trust: &trust,
        contract: &runtime::contract(&grants),
        now: SystemTime::now().into(),
        map: Some(runtime::map),
    })?;
    let code = installed.code.map_err(|why| LoadError::Recompile {
        why,
        tried: None,
        file: store.kept_file(installed.facts.digest),
    })?;
    let gate = began.elapsed();
    Ok(Loaded {
        component: component(&code)?,
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
    let (code, digest) = shipped_code();
    Ok(Loaded {
        component: deserialize(code)?,
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
    if private::writable_by_others(&metadata) {
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
        .and_then(|length| runtime::hold(&file, length))
        .map_err(unreadable(path))
}

/// Reads such a file.
fn read_whole(path: &Path, largest: u64) -> Result<Vec<u8>, LoadError> {
    let (file, metadata) = open(path)?;
    read::read_opened(&file, &metadata, largest).map_err(unreadable(path))
}

/// The shipped policy's code, and the component's digest.
fn shipped_code() -> (&'static [u8], Digest) {
    let (code, digest) = code_of(&SHIPPED.0, COMPILED_MAGIC).expect("the build wrote whose code it is");
    (code, Digest::from_bytes(digest))
}

/// A policy of the store's.
#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
fn component(code: &Code) -> Result<Component, LoadError> {
    match code {
        Code::Held(compiled) => deserialize(own(compiled)),
        // SAFETY: only the system's user can have written the file, or writes it now.
        Code::Unchanging(path) => unsafe { runtime::load_file(path) }.map_err(foreign),
    }
}

#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
fn deserialize(code: &'static [u8]) -> Result<Component, LoadError> {
    // SAFETY: the code is this build's own; or it comes from a file that nobody but this user or root can have written,
    // which could as well replace this program; or it was proven to be what a compiler made for the store.
    unsafe { runtime::load(code) }.map_err(foreign)
}

/// What the engine serialised, without what says whose code it is.
fn own(compiled: &[u8]) -> &[u8] {
    &compiled[..compiled.len().saturating_sub(COMPILED_FOOTER)]
}

/// Loads counting code for the bench; what can be said of it is the same.
pub(crate) fn deserialize_metered(compiled: &[u8]) -> Result<Component, LoadError> {
    copied(runtime::metered_engine(), compiled)
}

#[expect(unsafe_code, reason = "deserialising compiled code is unsafe by nature")]
fn copied(engine: &Engine, compiled: &[u8]) -> Result<Component, LoadError> {
    // SAFETY: as above, and a compiler under this program's own eyes may just have made it.
    unsafe { Component::deserialize(engine, own(compiled)) }.map_err(foreign)
}

/// The shipped policy's counting code, for the bench, with its digest and the component's size in bytes.
pub(crate) fn shipped_metered() -> Result<(Component, Digest, usize), LoadError> {
    let compiled = include_bytes!(concat!(env!("OUT_DIR"), "/policy.metered.cwasm"));
    let size = env!("HOLDPOINT_COMPONENT_SIZE").parse();
    Ok((
        deserialize_metered(compiled)?,
        shipped_code().1,
        size.expect("the build wrote a number"),
    ))
}

/// Reads compiled code, from a file that only its owner can have written.
pub(crate) fn read_code(path: &Path) -> Result<Vec<u8>, LoadError> {
    read_whole(path, LARGEST_CODE)
}

/// Says what keeps this host from loading code that a compiler just made, where something does.
pub(crate) fn check_code(compiled: &[u8]) -> Result<(), String> {
    if own(compiled).is_empty() {
        return Err("there is none".into());
    }
    copied(runtime::engine(), compiled)
        .map(drop)
        .map_err(|error| error.to_string())
}

fn foreign(error: wasmtime::Error) -> LoadError {
    LoadError::Foreign {
        cause: format!("{error:#}"),
    }
}
