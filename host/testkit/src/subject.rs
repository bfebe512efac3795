//! The policy that is tried: through the hook's gate, compiled for the bench.

use std::path::{Path, PathBuf};
use std::{fs, io};

use holdpoint_artifact::{Admitted, Digest, Facts, Refusal, Required, Signature, Trust, UtcTime, gate};
use holdpoint_common::access;
use holdpoint_config::{ConfigError, Policy, cache_directory};
use holdpoint_engine::{METERED_MAGIC, code_of};
use holdpoint_runtime::policy::{self, BUILD, LoadError, compiler};
use holdpoint_runtime::sandbox;
use holdpoint_store::Failed;
use thiserror::Error;
use wasmtime::component::Component;

/// A policy that can be tried.
pub struct Subject {
    /// How it was named: its path, or `shipped`.
    pub name: String,
    /// Its digest.
    pub digest: Digest,
    /// What the gate found out; none for the shipped one.
    pub facts: Option<Facts>,
    /// What its author has to know: that no hook would load it.
    pub remark: Option<String>,
    /// The size of its file, in bytes.
    pub size: usize,
    /// What it is lent.
    pub grants: Vec<String>,
    /// Its code, counting.
    pub(super) component: Component,
}

/// Why a policy cannot be tried.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// Its file, or its code, cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Whom to trust cannot be told.
    #[error(transparent)]
    Trust(#[from] ConfigError),
    /// It could not be compiled.
    #[error("{path} was not compiled: {cause}")]
    Compile {
        /// Its file.
        path: PathBuf,
        /// What the compiler says.
        cause: Failed,
    },
    /// Compiled code cannot be kept.
    #[error("{path}: {cause}")]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's words.
        cause: io::Error,
    },
    /// What the compiler wrote is not for this bench.
    #[error("{0} wrote no code of this policy for the bench; are they of the same release?")]
    Result(PathBuf),
    /// There is no compiler.
    #[error("{0}")]
    NoCompiler(String),
    /// There is nowhere to keep compiled code.
    #[error("there is no place for compiled code: set XDG_CACHE_HOME or HOME")]
    NoCache,
}

impl Subject {
    /// The policy that is a part of this program.
    ///
    /// # Errors
    ///
    /// Where its code cannot be used, which would be this program's own fault.
    pub fn shipped(config: &Policy) -> Result<Self, SubjectError> {
        let (component, digest, size) = policy::shipped_metered().map_err(LoadError::from)?;
        Ok(Self {
            name: "shipped".into(),
            digest,
            facts: None,
            remark: None,
            size,
            grants: config.grants(),
            component,
        })
    }

    /// What a file holds. The gate is the hook's; only a missing signature is let pass, with a remark.
    ///
    /// # Errors
    ///
    /// Where the gate refuses it, or there is no code of it.
    pub fn file(path: &Path, bytes: &[u8], config: &Policy) -> Result<Self, SubjectError> {
        let (facts, remark) = admit(bytes, path, config)?;
        let code = code(bytes, path)?;
        Ok(Self {
            name: path.display().to_string(),
            digest: facts.digest,
            facts: Some(facts),
            remark,
            size: bytes.len(),
            grants: config.grants(),
            component: policy::deserialize_metered(&code).map_err(LoadError::from)?,
        })
    }
}

/// By the hook's gate. What is not signed yet has no name and no version either, so it is tried without what the
/// configuration requires of both.
fn admit(bytes: &[u8], path: &Path, config: &Policy) -> Result<(Facts, Option<String>), SubjectError> {
    let (trust, grants) = (policy::trust(config)?, config.grants());
    let contract = sandbox::contract(&grants);
    let now = UtcTime::from(std::time::SystemTime::now());
    let refused = match gate(bytes, &trust, &contract, now) {
        Ok(admitted) => return Ok((admitted.into_facts(), None)),
        Err(refusal @ (Refusal::Unsigned | Refusal::OtherPolicy { .. })) => refusal,
        Err(refusal) => return Err(refusal_of(path, refusal)),
    };
    let unsigned = Trust {
        signature: Signature::NotRequired,
        required: Required::default(),
        ..trust.clone()
    };
    match gate(bytes, &unsigned, &contract, now).map(Admitted::into_facts) {
        Ok(facts) if facts.signer.is_none() => Ok((facts, Some(remark(path, &trust)))),
        Ok(_) => Err(refusal_of(path, refused)),
        Err(refusal) => Err(refusal_of(path, refusal)),
    }
}

fn refusal_of(path: &Path, refusal: Refusal) -> SubjectError {
    let (path, refusal) = (path.to_owned(), Box::new(refusal));
    LoadError::Refused { path, refusal }.into()
}

fn remark(path: &Path, trust: &Trust) -> String {
    let without = if trust.required.is_something() {
        ", without policy.require"
    } else {
        ""
    };
    format!(
        "{} is not signed: it is tried here all the same{without}, and no hook would load it",
        path.display()
    )
}

/// The counting code of these bytes: kept from the last time, else made now.
fn code(bytes: &[u8], path: &Path) -> Result<Vec<u8>, SubjectError> {
    let file = Digest::of(bytes);
    let folder = cache_directory()
        .map_err(|_| SubjectError::NoCache)?
        .join("bench");
    // A compiler of another release makes other code.
    let kept = folder.join(format!("{}-{}-{}.cwasm", file.hex(), BUILD.engine, BUILD.host));
    match policy::read_code(&kept) {
        Ok(code) if is_code_of(&code, file) => return Ok(code),
        Ok(_) => {}
        Err(LoadError::Unreadable { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let cache = |path: &Path| {
        let path = path.to_owned();
        move |cause| SubjectError::Cache { path, cause }
    };
    holdpoint_common::access::create_folder(&folder).map_err(cache(&folder))?;
    // A folder of this process's own, so that two that compile the same do not meet.
    let workplace = folder.join(format!("{}.{}", file.hex(), std::process::id()));
    holdpoint_common::access::create_folder(&workplace).map_err(cache(&workplace))?;
    let made = compile(bytes, path, &workplace).and_then(|code| {
        let fresh = workplace.join("policy.cwasm");
        fs::rename(&fresh, &kept).map_err(cache(&kept))?;
        Ok(code)
    });
    // What is left behind costs room and nothing else.
    let _ = fs::remove_dir_all(&workplace);
    made
}

fn compile(bytes: &[u8], path: &Path, workplace: &Path) -> Result<Vec<u8>, SubjectError> {
    let source = workplace.join("policy.wasm");
    let made = source.with_extension("cwasm");
    let cache = |cause| SubjectError::Cache {
        path: workplace.to_owned(),
        cause,
    };
    fs::write(&source, bytes).map_err(cache)?;
    let program = compiler::find().map_err(SubjectError::NoCompiler)?;
    compiler::limited(&program)
        .run(&source, &["--metered"])
        .map_err(|cause| SubjectError::Compile {
            path: path.to_owned(),
            cause,
        })?;
    access::keep(&made).map_err(cache)?;
    let code = policy::read_code(&made)?;
    if is_code_of(&code, Digest::of(bytes)) {
        Ok(code)
    } else {
        Err(SubjectError::Result(program))
    }
}

fn is_code_of(compiled: &[u8], file: Digest) -> bool {
    code_of(compiled, METERED_MAGIC).is_some_and(|(_, digest)| digest == *file.as_bytes())
}
