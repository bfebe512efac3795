//! Compiled code: made by another program, kept beside the policy, and used only where nobody else can have made it.

mod limits;
mod record;

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use holdpoint_artifact::Digest;
use thiserror::Error;

use crate::child::{ChildError, run};
use crate::disk;
use crate::error::StoreError;
use crate::hold::Hold;
use crate::lock::Lock;
use crate::owner;
use crate::store::Store;

use limits::limit;
pub(crate) use record::Record;

/// No compiled code is larger, in bytes. That of a policy with a Python interpreter in it has 29 MB.
const LARGEST_CODE: u64 = 512 * 1024 * 1024;
/// The key that authenticates records, in bytes.
const KEY: u64 = 32;

/// For what the code has to be made, and how it is held. All three texts are compared for equality only.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    /// The engine's settings and its compatibility hash.
    pub engine: &'a str,
    /// The host's build.
    pub host: &'a str,
    /// The processor that the code may count on.
    pub cpu: &'a str,
    /// What compiled code ends with, before the SHA-256 of the file that was compiled.
    pub magic: &'a [u8],
    /// Reads the code into memory that can run it.
    pub hold: Hold,
}

/// In whose reach something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Nobody's but the system's user's.
    Nobodys,
    /// This process's own user's too.
    Users,
}

impl Reach {
    /// In whose reach a file or a folder is that lies here.
    pub(crate) fn of_file(self, metadata: &fs::Metadata) -> Self {
        match self {
            Self::Nobodys if owner::is_out_of_reach(metadata) => Self::Nobodys,
            _ => Self::Users,
        }
    }
}

/// Compiled code that may run.
#[derive(Debug, Clone)]
pub enum Code {
    /// In memory that nobody can change any more, where it was held against its record.
    Held(&'static [u8]),
    /// In a file that nobody but the system's user can change.
    Unchanging(PathBuf),
}

/// The program that compiles, and what it may use.
#[derive(Debug, Clone, Copy)]
pub struct Compiler<'a> {
    /// The program: `PROGRAM DIR/policy.wasm` writes `DIR/policy.cwasm`.
    pub program: &'a Path,
    /// How long it may take, both by the clock and in processor time.
    pub timeout: Duration,
    /// How much address space it may use, in bytes.
    pub memory: u64,
    /// Says what keeps the host from loading code that was just made, where something does.
    pub loads: fn(&[u8]) -> Result<(), String>,
}

impl Compiler<'_> {
    /// Compiles a file, with these arguments before its name, and leaves the code beside it.
    ///
    /// # Errors
    ///
    /// Where others may have written the program, or it did not do its work within its limits.
    pub fn run(&self, source: &Path, arguments: &[&str]) -> Result<(), Failed> {
        let program = self.program;
        let unusable = |cause| Failed::from(StoreError::io(program, cause));
        let program_metadata = fs::metadata(program).map_err(unusable)?;
        owner::check(program, &program_metadata)?;
        let mut command = Command::new(program);
        command.args(arguments).arg(source).env_clear();
        command.current_dir(source.parent().unwrap_or(source));
        limit(&mut command, self.memory, self.timeout, LARGEST_CODE);
        run(&mut command, b"", self.timeout).map_err(|cause| Failed::Program {
            program: program.to_owned(),
            cause,
        })?;
        Ok(())
    }
}

/// Why kept code is not used, so that it has to be made anew.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Recompile {
    /// There is none.
    #[error("there is no compiled code")]
    Missing,
    /// It was made for something else.
    #[error("the compiled code is for another {what} ({theirs})")]
    Other {
        /// What differs: policy, engine, host or processor.
        what: &'static str,
        /// What it is for.
        theirs: String,
    },
    /// Its record was not written with the store's key.
    #[error("the record of the compiled code was not written by this store")]
    NotAuthentic,
    /// It is not what its record says.
    #[error("the compiled code is not what was compiled: its digest is another")]
    Changed,
    /// It does not say that it is the code of the file that its record names.
    #[error("the compiled code does not end as it should")]
    Footer,
    /// It cannot be read, or others may have written it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why no code could be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failed {
    /// The program did not do it.
    #[error("{program}: {cause}")]
    Program {
        /// The program.
        program: PathBuf,
        /// What happened to it, or its own words.
        cause: ChildError,
    },
    /// What it wrote is not compiled code of this policy.
    #[error("{0} wrote no compiled code of this policy; is it of the same release as holdpoint?")]
    Result(PathBuf),
    /// The host cannot run what it wrote.
    #[error(
        "{program} wrote code that this host cannot run ({cause}); is it of the same release as holdpoint?"
    )]
    Foreign {
        /// The program.
        program: PathBuf,
        /// The host's words.
        cause: String,
    },
    /// Something is wrong with the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// The record of a policy's compiled code, written by this store or by the system's user. Who can write into the
    /// policy's folder, the caller has looked up.
    pub(crate) fn record(&self, policy: Digest, folder: Reach) -> Result<Record, Recompile> {
        let (path, _) = paths(&self.files.object(policy));
        let (bytes, metadata) = disk::read_with_metadata(&path, 64 * 1024)?.ok_or(Recompile::Missing)?;
        let record = Record::read(&bytes).ok_or(Recompile::NotAuthentic)?;
        if folder.of_file(&metadata) == Reach::Users && !record.is_authentic(&self.key()?) {
            return Err(Recompile::NotAuthentic);
        }
        Ok(record)
    }

    /// The kept code of a policy, or why it is not used.
    pub(crate) fn code(&self, policy: Digest, build: &Build<'_>) -> Result<Code, Recompile> {
        let folder = self.reach(policy)?;
        self.code_by(policy, folder, &self.record(policy, folder)?, build)
    }

    /// The same, by a record that was read already.
    pub(crate) fn code_by(
        &self,
        policy: Digest,
        folder: Reach,
        record: &Record,
        build: &Build<'_>,
    ) -> Result<Code, Recompile> {
        record.is_for(policy, build)?;
        let (_, path) = paths(&self.files.object(policy));
        let (mut file, metadata) = disk::open(&path, LARGEST_CODE)?.ok_or(Recompile::Missing)?;
        let io = |cause| StoreError::io(&path, cause);
        if folder.of_file(&metadata) == Reach::Nobodys {
            let footer = footer(record.file, build);
            let start = metadata.len().saturating_sub(footer.len() as u64);
            let mut end = Vec::new();
            file.seek(SeekFrom::Start(start)).map_err(io)?;
            file.read_to_end(&mut end).map_err(io)?;
            return if end == footer {
                Ok(Code::Unchanging(path))
            } else {
                Err(Recompile::Footer)
            };
        }
        let code = usize::try_from(metadata.len())
            .map_err(io::Error::other)
            .and_then(|length| (build.hold)(&file, length))
            .map_err(io)?;
        if !record.is_of_code(code) {
            return Err(Recompile::Changed);
        }
        if !code.ends_with(&footer(record.file, build)) {
            return Err(Recompile::Footer);
        }
        Ok(Code::Held(code))
    }

    /// Who can have put files into a policy's folder, or taken them away. Refuses a folder that others can write.
    pub(crate) fn reach(&self, policy: Digest) -> Result<Reach, StoreError> {
        let mut reach = Reach::Nobodys;
        for folder in [
            &self.files.root,
            &self.files.objects(),
            &self.files.object(policy),
        ] {
            reach = reach.of_file(&self.files.check_folder(folder)?);
        }
        Ok(reach)
    }

    /// Compiles bytes that the gate let in, and keeps the code, or why there is none.
    pub(crate) fn compile(
        &self,
        _: &Lock,
        bytes: &[u8],
        policy: Digest,
        build: &Build<'_>,
        compiler: &Compiler<'_>,
    ) -> Result<(), Failed> {
        let done = self.try_compile(bytes, policy, build, compiler);
        // Best effort: a store that cannot be written cannot tell of it either.
        let _ = match &done {
            Ok(()) => self.files.forget_not_compiled(policy),
            Err(error) => self.files.write_not_compiled(policy, &error.to_string()),
        };
        done
    }

    fn try_compile(
        &self,
        bytes: &[u8],
        policy: Digest,
        build: &Build<'_>,
        compiler: &Compiler<'_>,
    ) -> Result<(), Failed> {
        let program = compiler.program;
        // Emptied by whoever takes the lock next, should this process not live to do it. The name is its own, so that a
        // program that outlives this process writes nowhere else.
        let workplace = self
            .files
            .scratch()
            .join(format!("compile-{}", std::process::id()));
        disk::make_folder(&workplace, 0o700)?;
        let source = workplace.join("policy.wasm");
        disk::replace(&self.files.scratch(), &source, bytes, 0o600)?;

        compiler.run(&source, &[])?;
        let code = disk::read(&workplace.join("policy.cwasm"), LARGEST_CODE)?.unwrap_or_default();
        disk::empty(&self.files.scratch())?;
        let file = Digest::of(bytes);
        if !code.ends_with(&footer(file, build)) {
            return Err(Failed::Result(program.to_owned()));
        }
        (compiler.loads)(&code).map_err(|cause| Failed::Foreign {
            program: program.to_owned(),
            cause,
        })?;
        let record = Record::new(policy, build, bytes, &code, &self.key()?);
        let (record_path, code_path) = paths(&self.files.object(policy));
        self.files.write(&code_path, &code)?;
        self.files.write_json(&record_path, &record)?;
        Ok(())
    }

    /// The store's own key.
    fn key(&self) -> Result<Vec<u8>, StoreError> {
        let path = self.files.key();
        let (key, metadata) = disk::read_with_metadata(&path, KEY)?
            .ok_or_else(|| StoreError::io(&path, io::ErrorKind::NotFound.into()))?;
        owner::check_private(&path, &metadata)?;
        if key.len() as u64 != KEY {
            return Err(StoreError::damaged(&path, "is no key of this store"));
        }
        Ok(key)
    }
}

fn paths(folder: &Path) -> (PathBuf, PathBuf) {
    (folder.join("compiled.json"), folder.join("policy.cwasm"))
}

/// What the compiled code of this file ends with.
fn footer(file: Digest, build: &Build<'_>) -> Vec<u8> {
    [build.magic, file.as_bytes()].concat()
}
