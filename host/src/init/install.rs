//! Puts the hook where the harness finds it, and looks whether it would run there.

use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_setup::file::{self, Change};
use holdpoint_setup::reading::{Content, Fires, Installation, Level, Places, Source, State};
use holdpoint_setup::{Event, Hook, plugin};

use super::questions::Questions;
use super::{InitError, Report};
use crate::config::{self, Config};

/// The least time between the deadline and the harness's timeout, in seconds.
const MARGIN: f64 = 30.0;

/// Where the hook goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The user's settings.
    User,
    /// The project's settings, of the directory in which this runs.
    Project,
    /// The user's settings for that project.
    Local,
    /// The machine's settings, for an administrator.
    Managed,
    /// A folder that becomes a plugin.
    Plugin(PathBuf),
}

impl Target {
    pub(super) fn ask(questions: &Questions) -> Result<Self, InitError> {
        let choices = [
            "for me, in every project",
            "for everybody who works on the project in this directory",
            "for me, in the project in this directory",
            "for everybody on this machine (as an administrator)",
        ];
        let levels = [Self::User, Self::Project, Self::Local, Self::Managed];
        let number = questions.choice(
            "where the hook goes",
            "--level or --plugin",
            "Where does the hook go?",
            &choices,
        )?;
        let [level, ..] = levels.get(number..).unwrap_or_default() else {
            return Ok(Self::User);
        };
        Ok(level.clone())
    }

    /// The settings file; none for a plugin.
    fn file(&self, places: &Places) -> Option<(Level, PathBuf)> {
        Some(match self {
            Self::User => (Level::User, places.user.clone()),
            Self::Project => (Level::Project, places.project.clone()),
            Self::Local => (Level::Local, places.local.clone()),
            Self::Managed => (Level::Managed, places.managed_settings()),
            Self::Plugin(_) => return None,
        })
    }

    /// Whether the harness reads the file as it is. An entry in a file that it skips would never run.
    pub(super) fn check(&self, places: &Places) -> Result<(), InitError> {
        let Some((level, path)) = self.file(places) else {
            return Ok(());
        };
        let content = match fs::read(&path) {
            Ok(bytes) => Content::Bytes(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(InitError::file(&path)(error)),
        };
        let installation = Installation::judge(vec![Source { level, path, content }]);
        let file = &installation.files[0];
        match &file.state {
            State::Skipped(holdpoint_setup::reading::Skipped::Empty) => Ok(()),
            State::Skipped(why) | State::RefusesToStart(why) => {
                let path = file.path.display();
                let text = format!(
                    "Claude Code does not read {path}: {why}. A hook in it would never run: mend the file, then run init again"
                );
                Err(InitError::Other(text))
            }
            _ => Ok(()),
        }
    }

    /// Puts the hook there.
    pub(super) fn install(
        &self,
        places: &Places,
        config_path: &Path,
        config: &Config,
        report: &mut Report,
    ) -> Result<(), InitError> {
        let hook = hook(config_path, config)?;
        if let Self::Plugin(directory) = self {
            return write_plugin(directory, &hook, report);
        }
        let Some((level, path)) = self.file(places) else {
            return Ok(());
        };
        let shown = path.display();
        match file::install(&path, &hook)? {
            Change::Unchanged => report.done(format!("The hook is in {shown}, and stays as it is.")),
            _ if !file::backup_path(&path).exists() => report.done(format!("The hook is in {shown}.")),
            _ => {
                let backup = file::backup_path(&path);
                let backup = backup.display();
                report.done(format!(
                    "The hook is in {shown}; what the file was before is in {backup}."
                ));
            }
        }
        look(level, &path, places, report);
        report.remark(match self {
            Self::User => "Whoever runs as you can take the hook out again, the agent as well: docs/install.md says what holds against that.",
            Self::Project => "The entry names paths of this machine. Everybody who trusts this folder runs it, and whoever can write the folder can take it out, the agent as well.",
            Self::Local => "It counts where Claude Code is started in this directory. The agent can take it out: docs/install.md says what holds against that.",
            _ => "Only an administrator can take the hook out of there. Users can still add hooks of their own, unless allowManagedHooksOnly is set beside it.",
        });
        Ok(())
    }
}

/// What the harness is to start.
fn hook(config_path: &Path, config: &Config) -> Result<Hook, InitError> {
    let program = std::env::current_exe()
        .and_then(fs::canonicalize)
        .map_err(|error| InitError::Other(format!("where this program lies cannot be told ({error})")))?;
    let text = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| {
            InitError::Other(format!(
                "{} is no UTF-8, and cannot stand in settings",
                path.display()
            ))
        })
    };
    let timeout = (config.deadline().as_secs_f64() + MARGIN).ceil();
    Ok(Hook {
        program: text(&program)?,
        args: vec!["hook".into(), "--config".into(), text(config_path)?],
        // A deadline is at most an hour.
        timeout_seconds: timeout as u64,
    })
}

/// Says so where the harness would not run what was just put in.
fn look(level: Level, path: &Path, places: &Places, report: &mut Report) {
    let installation = Installation::judge(places.read());
    let runs = installation
        .firing(Event::PreToolUse, "mcp__server__tool")
        .any(|(file, entry, fires)| file.path == path && fires == Fires::Yes && entry.ours().is_some());
    let file = installation.files.iter().find(|file| file.path == path);
    match file.map(|file| &file.state) {
        _ if runs => {}
        Some(State::HooksOff(why)) => report.remark(format!("The hook does not run: {why}.")),
        _ => report.remark(format!(
            "The hook does not run from the {} settings; holdpoint doctor says why.",
            level.name()
        )),
    }
}

fn write_plugin(directory: &Path, hook: &Hook, report: &mut Report) -> Result<(), InitError> {
    for (below, text) in plugin::files(hook, env!("CARGO_PKG_VERSION")) {
        let path = directory.join(below);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(InitError::file(parent))?;
        }
        fs::write(&path, text).map_err(InitError::file(&path))?;
    }
    let shown = directory.display();
    report.done(format!("{shown} is a plugin of Claude Code."));
    report.remark(format!("Try it with: claude --plugin-dir {shown}"));
    report.remark("It starts the program where that lies now; make it again after you move it.");
    Ok(())
}

/// Takes the hook out of the files of one level, or of all.
pub(super) fn uninstall(
    target: Option<&Target>,
    places: &Places,
    report: &mut Report,
) -> Result<(), InitError> {
    let all = [Target::User, Target::Project, Target::Local, Target::Managed];
    let targets = target.map_or(&all[..], std::slice::from_ref);
    let mut touched = false;
    for (_, path) in targets.iter().filter_map(|target| target.file(places)) {
        let shown = path.display();
        let what = match file::uninstall(&path)? {
            Change::Unchanged => continue,
            Change::Restored => format!("{shown} is as it was before the hook came, byte for byte."),
            Change::Deleted => format!("{shown} held nothing but the hook, and is gone."),
            Change::Written { backup: None } => {
                format!("The hook is out of {shown}; everything else in it stays.")
            }
            Change::Written { backup: Some(backup) } => format!(
                "The hook is out of {shown}; everything else in it stays. It was changed since the hook came; what it was \
                 before is in {}.",
                backup.display()
            ),
        };
        touched = true;
        report.done(what);
    }
    if !touched {
        report.done("There was no hook of Holdpoint's to take out.".into());
    }
    report.remark(match remains() {
        none if none.is_empty() => "Nothing else of Holdpoint's is here.".to_owned(),
        some => format!("What stays where it is: {}.", some.join("; ")),
    });
    Ok(())
}

/// What else of Holdpoint's is here, as far as the configuration that is read without being named says so.
fn remains() -> Vec<String> {
    let places = config::Places::find(None);
    let loaded = config::load(&places).unwrap_or_default();
    let receipts = loaded.receipts.log().ok();
    let all = [
        ("the configuration", Some(places.machine)),
        ("the configuration", places.user.map(|(path, _)| path)),
        ("the secret", loaded.zerto.secret_file.clone()),
        ("the decision log", loaded.log.open().ok().map(|log| log.path)),
        ("receipts", receipts.as_ref().map(|log| log.directory.clone())),
        ("the key that signs them", receipts.map(|log| log.key)),
        (
            "the session tally",
            loaded.session.store().ok().map(|store| store.path().to_owned()),
        ),
        ("kept log-ins", config::Zerto::directory()),
        ("installed policies", loaded.policy.store()),
    ];
    let there = all.into_iter().filter_map(|(what, path)| Some((what, path?)));
    there
        .filter(|(_, path)| path.exists())
        .map(|(what, path)| format!("{what} {}", path.display()))
        .collect()
}
