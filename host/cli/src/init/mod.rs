//! `holdpoint init`: writes the configuration, puts the hook into the harness's settings, and takes it out again.
//!
//! What is wanted comes from the command line; what is missing is asked where a human sits at a terminal, and is an error
//! that names the option elsewhere. Nothing is written before everything is known.

mod address;
mod certificate;
mod document;
mod form;
mod install;
mod log_in;
mod migrate;
mod place;
mod questions;
mod receipts;
mod remains;
mod trust;
mod zvm;

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_config::{Config, ConfigError, LoginKind, Places};
use holdpoint_setup::file::{Readers, Transaction};
use holdpoint_setup::reading;
use thiserror::Error;

pub(crate) use self::document::add_places;
pub use self::install::Target;
pub(crate) use self::place::copies_of;
pub use self::receipts::Wanted as WantedReceipts;
pub use self::zvm::{SecretSource, Trusted, Zvm};

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
    /// What is wanted of receipts.
    pub receipts: WantedReceipts,
    /// The matcher of calls, where it is not the usual one.
    pub matcher: Option<String>,
    /// Whether nobody sits at the agents of this machine.
    pub unattended: bool,
    /// Whether to start from the original hook's configuration, and from which, if not from the one that its entry names.
    pub from_zerto_rewind: Option<Option<PathBuf>>,
}

/// What `--uninstall` says.
#[derive(Debug, Default)]
pub struct Uninstall {
    /// The settings; all levels where none is named.
    pub target: Option<Target>,
    /// The configuration; none for the usual place.
    pub config: Option<PathBuf>,
    /// Whether everything else of Holdpoint's goes, too.
    pub purge: bool,
    /// Whether nobody has to be asked about that.
    pub yes: bool,
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
    if let Some(matcher) = &wanted.matcher {
        install::check_matcher(matcher)?;
    }
    let questions = Questions::at_the_terminal();
    let directory = env::current_dir().map_err(InitError::file(Path::new(".")))?;
    let places = harness_places(&directory)?;
    let mut zvm = wanted.zvm;
    let entries = migrate::find_entries(&places);
    let asqav = migrate::asqav::find(&places);
    let original = match wanted.from_zerto_rewind {
        Some(named) => Some(migrate::read(named.as_deref(), &entries, &places)?),
        None => None,
    };
    let said = match wanted.target {
        None if wanted.unattended => Some(Target::Managed),
        None if questions.can_ask() => Some(Target::ask(&questions)?),
        said => said,
    };
    let path = config_path(wanted.config, said.as_ref())?;
    let mut files = Transaction::new();
    let mut document = Document::open(&path, &mut files)?;
    if let Some(original) = &original {
        original.fill(&mut zvm, &path);
    }
    let target = known(said, &zvm, &document, &questions)?;
    target.check(&places)?;
    let (copies, readers) = (place::copies(&target), place::readers(&target));
    let mut planned = Report::default();
    let Known { typed, is_trusted } = zvm.complete(&mut document, &questions, &mut planned)?;
    if let Some(original) = &original {
        original.settings(&mut document, &mut planned);
        original.catalogs(&mut document, readers, &copies, &mut files, &mut planned)?;
    }
    receipts::complete(
        wanted.receipts,
        wanted.unattended,
        &target,
        &mut document,
        &questions,
    )?;
    if wanted.unattended {
        document.set_elsewhere(Some("ask"), "deny_in_modes", document::list(&["*".to_owned()]));
    }
    let typed = typed.or_else(|| original.as_ref().and_then(|original| original.secret(&document)));
    let typed = log_in::settle(
        &mut document,
        typed,
        is_trusted,
        &copies,
        &questions,
        &mut planned,
    )?;
    let managed_only = wanted.unattended
        || target == Target::Managed
            && questions.can_ask()
            && install::ask_managed_only(&places, &questions)?;
    let config = document.check()?;
    if let Some((path, text)) = typed {
        document::plan_secret(&path, &text, &copies, &mut files)?;
        planned.done(format!(
            "The secret is in {}, which only you can read.",
            path.display()
        ));
    }
    let shown = path.display();
    planned.done(
        match document.plan(readers_of_config(&target), &copies, &mut files)? {
            None => format!("The configuration is {shown}, and stays as it is."),
            Some(None) => format!("The configuration is {shown}."),
            Some(Some(copy)) => format!(
                "The configuration is {shown}; what it was before is in {}.",
                copy.display()
            ),
        },
    );
    let hook = install::hook(&path, &config, wanted.matcher, managed_only)?;
    target.plan(&places, &hook, &mut files, &mut planned)?;
    migrate::offer_removal(&entries, copies_of, &questions, &mut files, &mut planned)?;
    migrate::asqav::settle(&asqav, &config, copies_of, &questions, &mut files, &mut planned)?;
    // Everything is known from here on.
    write(files, &config, &target, &mut planned)?;
    report.done.extend(planned.done);
    report.remarks.extend(planned.remarks);
    receipts::tell(&config, &target, report)?;
    target.look(&places, managed_only, report);
    if let Some(original) = &original {
        original.differences(report);
        migrate::Migration::tell_not_taken(&entries, report);
    } else if !entries.is_empty() {
        report
            .remark("Start from the original hook's configuration with: holdpoint init --from-zerto-rewind");
    }
    if wanted.unattended {
        report.remark("What else an agent needs that nobody sits at: docs/unattended.md.");
    }
    report.remark("Check everything with: holdpoint doctor");
    Ok(())
}

/// Writes everything that was planned, and the key of receipts; nothing of it stays where a part fails.
fn write(files: Transaction, config: &Config, target: &Target, report: &mut Report) -> Result<(), InitError> {
    files.check()?;
    receipts::check(config, target)?;
    Ok(files.apply_then(|| receipts::make_key(config, target, report))?)
}

/// The machine's configuration is read by every user's hook; a project's is still one user's.
fn readers_of_config(target: &Target) -> Readers {
    match target {
        Target::Managed => Readers::Everybody,
        _ => Readers::Owner,
    }
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

/// Takes the hook out of every settings file that has it, or of one; and, where that is wanted, everything else.
///
/// # Errors
///
/// Where a file cannot be changed or removed.
pub fn uninstall(wanted: Uninstall, report: &mut Report) -> Result<(), InitError> {
    let directory = env::current_dir().map_err(InitError::file(Path::new(".")))?;
    let places = harness_places(&directory)?;
    let target = wanted.target.as_ref();
    let remains = remains::find(wanted.config.clone(), target)?;
    if !wanted.purge {
        install::uninstall(target, &places, report)?;
        install::tell_plugins(report);
        // A copy may have come with it.
        install::tell_remains(&remains::find(wanted.config, target)?, report);
        return Ok(());
    }
    remains::confirm(&remains, &Questions::at_the_terminal(), wanted.yes)?;
    install::uninstall(target, &places, report)?;
    // Before the notes go by which they are known.
    install::tell_plugins(report);
    remains::remove(remains::find(wanted.config, target)?, report)
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
