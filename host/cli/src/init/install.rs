//! Puts the hook where the harness finds it, and looks whether it would run there.

use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_config::Config;
use holdpoint_setup::file::{self, Change, Transaction};
use holdpoint_setup::reading::{self, Fires, Installation, Level, Places, Source, State};
use holdpoint_setup::{Event, Hook, plugin};

use super::place::{copies, machine_copies, readers, user_copies};
use super::questions::Questions;
use super::{InitError, Report, remains};

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
        let installation = Installation::judge(vec![Source::read(level, path)]);
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
            State::Unreadable(why) => Err(InitError::Other(format!(
                "whether Claude Code reads {} cannot be told: {why}",
                file.path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Plans the hook into the file, or into the plugin's folder. What was planned is told once it is done.
    pub(super) fn plan(
        &self,
        places: &Places,
        hook: &Hook,
        files: &mut Transaction,
        report: &mut Report,
    ) -> Result<(), InitError> {
        if let Self::Plugin(directory) = self {
            return plan_plugin(self, directory, hook, files, report);
        }
        let Some((_, path)) = self.file(places) else {
            return Ok(());
        };
        let shown = path.display();
        report.done(
            match file::plan_install(&path, hook, &copies(self), readers(self), files)? {
                Change::Written { copy: Some(copy) } => format!(
                    "The hook is in {shown}; what the file was before is in {}.",
                    copy.display()
                ),
                Change::Unchanged => format!("The hook is in {shown}, and stays as it is."),
                _ => format!("The hook is in {shown}."),
            },
        );
        Ok(())
    }

    /// Says what the hook is worth there, and whether the harness would run it.
    pub(super) fn look(&self, places: &Places, managed_only: bool, report: &mut Report) {
        let Some((level, path)) = self.file(places) else {
            return;
        };
        look(level, &path, places, report);
        report.remark(match self {
            Self::User => "Whoever runs as you can take the hook out again, the agent as well: docs/install.md says what holds against that.",
            Self::Project => "The entry names paths of this machine. Everybody who trusts this folder runs it, and whoever can write the folder can take it out, the agent as well.",
            Self::Local => "It counts where Claude Code is started in this directory. The agent can take it out: docs/install.md says what holds against that.",
            _ if managed_only => "Only an administrator can take the hook out of there, and hooks of users and projects do not run beside it.",
            _ => "Only an administrator can take the hook out of there. Users and projects can still add hooks of their own, which can change a call's arguments after Holdpoint has decided: set allowManagedHooksOnly beside it, as init --unattended does, unless they need theirs.",
        });
    }
}

/// Asks an administrator whether the hooks of users and projects are switched off.
pub(super) fn ask_managed_only(places: &Places, questions: &Questions) -> Result<bool, InitError> {
    let installation = Installation::judge(places.read());
    let theirs = Event::ALL
        .into_iter()
        .flat_map(|event| installation.entries(event))
        .filter(|(file, entry)| !file.level.is_managed() && entry.ours().is_none())
        .count();
    let seen = match theirs {
        0 => "None is seen in the settings of this user and directory.".to_owned(),
        1 => "One is seen in the settings of this user and directory.".to_owned(),
        some => format!("{some} are seen in the settings of this user and directory."),
    };
    let question = format!(
        "Switch off the hooks that users, projects and plugins add (allowManagedHooksOnly)? Such a hook can change a call's \
         arguments after Holdpoint has decided. {seen}"
    );
    let choices = [
        "yes, only hooks in managed settings run",
        "no, theirs run as well",
    ];
    Ok(questions.decision(&question, &choices)? == 0)
}

/// Whether a matcher can be the hook's: a call of an MCP server that it does not fit would not be guarded.
pub(super) fn check_matcher(matcher: &str) -> Result<(), InitError> {
    let tools = [
        "mcp__esxi__powerOff",
        "mcp__x__y",
        "mcp__claude_ai_Slack__send-it",
    ];
    if tools
        .iter()
        .all(|tool| reading::matches(Some(matcher), tool) == Fires::Yes)
    {
        return Ok(());
    }
    Err(InitError::Other(format!(
        "--matcher '{matcher}' does not fit every tool of an MCP server, whose calls would run unguarded: use '*' or 'mcp__.*'"
    )))
}

/// What the harness is to start.
pub(super) fn hook(
    config_path: &Path,
    config: &Config,
    matcher: Option<String>,
    managed_only: bool,
) -> Result<Hook, InitError> {
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
        matcher,
        managed_only,
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

fn plan_plugin(
    target: &Target,
    directory: &Path,
    hook: &Hook,
    files: &mut Transaction,
    report: &mut Report,
) -> Result<(), InitError> {
    let (copies, readers) = (copies(target), readers(target));
    let [(manifest, text), (hooks, hooks_text)] = plugin::files(hook, env!("CARGO_PKG_VERSION"));
    let path = directory.join(manifest);
    if let Some(there) = files.read(&path)? {
        let there: serde_json::Value = serde_json::from_slice(there).unwrap_or_default();
        if there["name"] != "holdpoint" {
            let path = path.display();
            return Err(InitError::Other(format!(
                "{path} is another plugin's manifest; name another folder by --plugin"
            )));
        }
    }
    file::plan_write(&path, text.into_bytes(), readers, &copies, files)?;
    let path = directory.join(hooks);
    match files.read(&path)? {
        // Whatever was added to it stays.
        Some(_) => drop(file::plan_install(&path, hook, &copies, readers, files)?),
        None => drop(file::plan_write(
            &path,
            hooks_text.into_bytes(),
            readers,
            &copies,
            files,
        )?),
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
    let mut files = Transaction::new();
    let mut planned = Vec::new();
    for target in targets {
        if let Some((_, path)) = target.file(places) {
            let change = file::plan_uninstall(&path, &copies(target), &mut files)?;
            planned.push((path, change));
        }
    }
    files.apply()?;
    let mut touched = false;
    for (path, change) in planned {
        let shown = path.display();
        let what = match change {
            Change::Unchanged => continue,
            Change::Restored => format!("{shown} is as it was before the hook came, byte for byte."),
            Change::Deleted => format!("{shown} held nothing but the hook, and is gone."),
            Change::Written { copy: None } => {
                format!("The hook is out of {shown}; everything else in it stays.")
            }
            Change::Written { copy: Some(copy) } => format!(
                "The hook is out of {shown}; everything else in it stays. It was not as init left it; a copy of what it was is \
                 in {}.",
                copy.display()
            ),
        };
        touched = true;
        report.done(what);
    }
    if !touched {
        report.done("There was no hook of Holdpoint's to take out.".into());
    }
    Ok(())
}

/// Names plugins that `init` made and that still start the hook: they are in no settings file that it would be taken out of.
pub(super) fn tell_plugins(report: &mut Report) {
    let made = [user_copies(), machine_copies()].into_iter();
    for hooks in made.flat_map(|copies| copies.targets()) {
        let has_hook = std::fs::read_to_string(&hooks).is_ok_and(|text| text.contains("holdpoint"));
        let is_plugins = hooks.ends_with("hooks/hooks.json");
        let Some(folder) = hooks.ancestors().nth(2).filter(|_| has_hook && is_plugins) else {
            continue;
        };
        let folder = folder.display();
        report.remark(format!(
            "The plugin {folder} stays, and has the hook: disable it, or remove the folder."
        ));
    }
}

/// Names what stays after the hook is out.
pub(super) fn tell_remains(remains: &[remains::Remain], report: &mut Report) {
    if remains.is_empty() {
        return report.remark("Nothing else of Holdpoint's is here.");
    }
    let shown: Vec<String> = remains.iter().map(ToString::to_string).collect();
    report.remark(format!("What stays where it is: {}.", shown.join("; ")));
    report.remark("Remove it with: holdpoint init --uninstall --purge");
}
