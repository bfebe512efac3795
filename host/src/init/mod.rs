//! `holdpoint init`: writes the configuration, puts the hook into the harness's settings, and takes it out again.
//!
//! What is wanted comes from the command line; what is missing is asked where a human sits at a terminal, and is an error
//! that names the option elsewhere. Nothing is written before everything is known.

mod certificate;
mod document;
mod install;
mod migrate;
mod questions;
mod receipts;
mod trust;
mod zvm;

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_setup::reading;
use thiserror::Error;

pub use self::install::Target;
pub use self::zvm::{SecretSource, Trusted, Zvm};

use crate::config::{ConfigError, LoginKind, Mode, Places};
use document::Document;
use questions::Questions;
use zvm::Known;

/// What the command line says.
#[derive(Debug, Default)]
pub struct Wanted {
    /// The configuration; none for the usual place.
    pub config: Option<PathBuf>,
    /// How the ZVM is reached.
    pub zvm: Zvm,
    /// Where the hook goes.
    pub target: Option<Target>,
    /// The mode of receipts.
    pub receipts: Option<Mode>,
    /// The original hook's configuration, to start from.
    pub from_zerto_rewind: Option<PathBuf>,
}

/// Why nothing was set up, or not all.
#[derive(Debug, Error)]
pub enum InitError {
    /// Something was not said, and there is nobody to ask: what, and the options that say it.
    #[error("not known, and nobody is here to be asked: {}", in_words(.0))]
    Missing(Vec<(&'static str, &'static str)>),
    /// The human said no.
    #[error("nothing was written")]
    Declined,
    /// The terminal failed.
    #[error("the terminal cannot be read ({0})")]
    Terminal(std::io::Error),
    /// A file cannot be written or read.
    #[error("{path}: {cause}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        cause: std::io::Error,
    },
    /// A configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A settings file cannot be changed.
    #[error(transparent)]
    Settings(#[from] holdpoint_setup::file::FileError),
    /// Anything else, with what to do.
    #[error("{0}")]
    Other(String),
}

impl InitError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |cause| Self::File { path, cause }
    }
}

fn in_words(missing: &[(&str, &str)]) -> String {
    let words = missing.iter().map(|(what, option)| format!("{what} ({option})"));
    words.collect::<Vec<_>>().join("; ")
}

/// What was done, a sentence each.
#[derive(Debug, Default)]
pub struct Report {
    /// What was done.
    pub done: Vec<String>,
    /// What the human should know or do now.
    pub remarks: Vec<String>,
}

impl Report {
    fn done(&mut self, what: String) {
        self.done.push(what);
    }

    fn remark(&mut self, what: impl Into<String>) {
        self.remarks.push(what.into());
    }
}

/// Sets everything up.
///
/// # Errors
///
/// Where something is missing or wrong. Nothing was written then, or what was is in the report.
pub fn run(wanted: Wanted, report: &mut Report) -> Result<(), InitError> {
    wanted.zvm.check()?;
    let questions = Questions::at_the_terminal();
    let directory = env::current_dir().map_err(InitError::file(Path::new(".")))?;
    let places = harness_places(&directory)?;
    let mut zvm = wanted.zvm;
    let original = wanted
        .from_zerto_rewind
        .as_deref()
        .map(|path| migrate::read(path, &places))
        .transpose()?;
    let said = match wanted.target {
        None if questions.can_ask() => Some(Target::ask(&questions)?),
        said => said,
    };
    let path = config_path(wanted.config, said.as_ref())?;
    let mut document = Document::open(&path)?;
    if let Some(original) = &original {
        original.fill(&mut zvm, &path);
    }
    let target = known(said, &zvm, &document, &questions)?;
    target.check(&places)?;
    let Known { typed, is_trusted } = zvm.complete(&mut document, &questions, report)?;
    if let Some(original) = &original {
        original.settings(&mut document, report);
    }
    receipts::complete(wanted.receipts, &target, &mut document, &questions)?;
    let config = document.check()?;
    if let Some((path, text)) =
        typed.or_else(|| original.as_ref().and_then(|original| original.secret(&document)))
    {
        document::write_secret(&path, &text)?;
        report.done(format!(
            "The secret is in {}, which only you can read.",
            path.display()
        ));
    }
    let is_public = target == Target::Managed;
    if document.save(is_public)? {
        report.done(format!("The configuration is {}.", path.display()));
    } else {
        report.done(format!(
            "The configuration is {}, and stays as it is.",
            path.display()
        ));
    }
    zvm::try_log_in(&config, is_trusted, report);
    receipts::make_key(&config, &target, report)?;
    target.install(&places, &path, &config, report)?;
    if let Some(original) = &original {
        original.differences(report);
    }
    report.remark("Check everything with: holdpoint doctor");
    Ok(())
}

/// Where the hook goes. Where nobody can be asked, everything that was not said is told at once.
fn known(
    target: Option<Target>,
    zvm: &Zvm,
    document: &Document,
    questions: &Questions,
) -> Result<Target, InitError> {
    let mut missing = Vec::new();
    if target.is_none() {
        missing.push(("where the hook goes", "--level or --plugin"));
    }
    if !questions.can_ask() {
        missing.extend(zvm.missing(document));
    }
    match target {
        Some(target) if missing.is_empty() => Ok(target),
        _ => Err(InitError::Missing(missing)),
    }
}

/// Takes the hook out of every settings file that has it, or of one.
///
/// # Errors
///
/// Where a file cannot be changed.
pub fn uninstall(target: Option<&Target>, report: &mut Report) -> Result<(), InitError> {
    let directory = env::current_dir().map_err(InitError::file(Path::new(".")))?;
    install::uninstall(target, &harness_places(&directory)?, report)
}

fn harness_places(directory: &Path) -> Result<reading::Places, InitError> {
    let variable = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = variable("HOME").or_else(|| variable("USERPROFILE"));
    let home = home.ok_or_else(|| InitError::Other("there is no home directory: set HOME".into()))?;
    let moved = variable("CLAUDE_CONFIG_DIR");
    Ok(reading::Places::find(&home, moved.as_deref(), directory))
}

/// Where the configuration goes: what `--config` says, else the machine's file for a managed installation, else as for
/// the hook.
fn config_path(named: Option<PathBuf>, target: Option<&Target>) -> Result<PathBuf, InitError> {
    let path = match (named, target) {
        (Some(path), _) => path,
        (None, Some(Target::Managed)) => Places::find(None).machine,
        (None, _) => {
            let user = Places::find(None).user.map(|(path, _)| path);
            user.ok_or_else(|| InitError::Missing(vec![("where the configuration goes", "--config")]))?
        }
    };
    std::path::absolute(&path).map_err(InitError::file(&path))
}

/// The kinds of log-in, as the configuration names them.
const fn login_name(kind: LoginKind) -> &'static str {
    match kind {
        LoginKind::Password => "password",
        LoginKind::ClientCredentials => "client-credentials",
        LoginKind::WindowsSession => "windows-session",
    }
}
