//! Whether the guard is there, and would hold: everything from the harness's settings to the ZVM.
//!
//! Each module here gathers the facts of one matter and judges them apart from that; what it comes to are
//! [`Finding`]s. Nothing is changed but by [`repair()`], and nothing is asked of Zerto that changes anything but by
//! `capture`.

mod agents;
mod capture;
mod client;
mod configuration;
mod finding;
mod hooks;
pub(crate) mod own;
mod policy;
mod receipts;
mod repair;
mod selftest;
mod server_files;
mod servers;
mod state;
mod transcripts;
mod zvm;

use std::env;
use std::path::{Path, PathBuf};

use holdpoint_setup::Event;
use holdpoint_setup::reading::{self, Installation};
use serde_json::Value;

use crate::config::{self, Config, ConfigError};
use crate::environment;
use crate::terminal::Progress;

pub use finding::{Finding, Repair, Severity, worst};
pub use repair::repair;

/// What to look at.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The configuration; else that of the hook entry, else as for the hook.
    pub config: Option<PathBuf>,
    /// Where the harness would be started; else the working directory.
    pub project: Option<PathBuf>,
    /// Asks the ZVM nothing.
    pub offline: bool,
    /// What is started.
    pub starts: Starts,
    /// Folders of plugins with which the harness is started, beside those that its settings enable.
    pub plugins: Vec<PathBuf>,
    /// A VM of which a checkpoint is really taken.
    pub capture: Option<String>,
}

/// What may be started to look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Starts {
    /// The client, for its version, and the hook, with every known call.
    #[default]
    Everything,
    /// The hook, with two calls that need no ZVM.
    Hook,
    /// Nothing.
    Nothing,
}

/// What was found, and by which configuration.
pub struct Examination {
    /// In the order in which one thing rests on another.
    pub findings: Vec<Finding>,
    /// The configuration.
    pub config: Result<Config, ConfigError>,
    /// Its file, where it was named, by whoever asked or by the hook entry.
    named_config: Option<PathBuf>,
    /// Its file, where there is one for the user.
    config_file: Option<PathBuf>,
    /// Our entries in force.
    entries: Vec<hooks::Ours>,
}

/// Looks at everything.
pub fn examine(options: &Options) -> Examination {
    let project = options.project.clone().or_else(|| env::current_dir().ok());
    let project = project.unwrap_or_default();
    let project = std::fs::canonicalize(&project).unwrap_or(project);
    let installation = installation(&project, &options.plugins);
    environment::apply(installation.environment());
    let named_config = options.config.clone().or_else(|| named_by_entry(&installation));
    let places = config::Places::find(named_config.clone());
    let config = config::load(&places);
    let facts = configuration::Facts::gather(&places, &config, named_config.is_some());
    let mut findings = configuration::judge(&facts);
    let settings = facts.settings.and_then(Result::ok);
    let looked = Looked {
        options,
        hooks: hooks::Facts::gather(
            installation,
            &project,
            config
                .as_ref()
                .map_or_else(|_| Config::default().deadline(), Config::deadline),
        ),
        settings: settings
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
        project,
    };
    looked.around(&mut findings);
    match &config {
        Ok(config) => looked.with(config, &mut findings),
        Err(_) => looked.play(false, &mut findings),
    }
    Examination {
        findings,
        config,
        config_file: places.user.map(|(path, _)| path).filter(|path| path.exists()),
        named_config,
        entries: looked.hooks.entries,
    }
}

/// What the later checks look at.
struct Looked<'a> {
    options: &'a Options,
    project: PathBuf,
    hooks: hooks::Facts,
    /// What the policy is told.
    settings: Value,
}

impl Looked<'_> {
    /// What needs no configuration.
    fn around(&self, findings: &mut Vec<Finding>) {
        findings.extend(hooks::judge(&self.hooks));
        findings.extend(servers::judge(&self.hooks.servers, &self.settings));
        findings.extend(server_files::judge(&self.project));
        let installation = &self.hooks.installation;
        let is_managed = self.hooks.gates().any(|ours| ours.level.is_managed());
        // What the version decides has to be known also where nothing else is started.
        let is_needed = self.options.starts == Starts::Hook && !client::switches(installation).is_empty();
        if self.options.starts == Starts::Everything {
            findings.extend(client::judge(&client::Facts::gather(installation, is_managed)));
            findings.extend(agents::judge(&agents::gather()));
        } else if is_needed {
            let told = client::judge(&client::Facts::gather(installation, is_managed));
            findings.extend(
                told.into_iter()
                    .filter(|finding| finding.check == "client.switch"),
            );
        }
    }

    /// What rests on one.
    fn with(&self, config: &Config, findings: &mut Vec<Finding>) {
        let policy = policy::Facts::gather(&config.policy);
        findings.extend(policy::judge(&policy));
        let state = state::Facts::gather(config, self.hooks.installed());
        findings.extend(state::judge(&state));
        findings.extend(
            receipts::Facts::gather(&config.receipts)
                .iter()
                .flat_map(receipts::judge),
        );
        if !self.options.offline {
            let _progress = Progress::begin("asking the ZVM");
            let facts = zvm::Facts::gather(&config.zerto, config.deadline());
            findings.extend(facts.iter().flat_map(zvm::judge));
        }
        let is_shipped = policy.loaded.is_ok_and(|identity| identity.facts.is_none());
        self.play(is_shipped, findings);
        if let Some(vm) = &self.options.capture {
            findings.push(capture::run(config, vm));
        }
    }

    fn play(&self, is_shipped: bool, findings: &mut Vec<Finding>) {
        let which = match (self.options.starts, self.options.offline) {
            (Starts::Nothing, _) => return,
            (Starts::Hook, _) => selftest::Which::Two,
            (Starts::Everything, true) => selftest::Which::Offline,
            (Starts::Everything, false) => selftest::Which::All,
        };
        // Two calls are done before anybody would wonder.
        let _progress =
            (which != selftest::Which::Two).then(|| Progress::begin("playing known calls through the hook"));
        let stances = selftest::Stances::of(&self.settings);
        let is_explained = findings.iter().any(denies_everything);
        let mut played: Vec<&hooks::Ours> = Vec::new();
        for ours in self.hooks.gates().filter(|ours| ours.program.can_be_started()) {
            if played.iter().any(|other| other.command == ours.command) {
                continue;
            }
            played.push(ours);
            let answers = selftest::play(ours, &self.project, stances, which);
            findings.extend(selftest::judge(ours, &answers, is_shipped, is_explained));
        }
    }
}

/// Whether a finding says why every call is denied, also one that only reads.
fn denies_everything(finding: &Finding) -> bool {
    let check = finding.check;
    finding.severity == Severity::Broken
        && (["configuration", "policy"].contains(&check) || check.starts_with("receipts"))
}

/// The settings that count where the harness is started in this folder.
fn installation(project: &Path, plugins: &[PathBuf]) -> Installation {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = set("HOME").or_else(|| set("USERPROFILE")).unwrap_or_default();
    let places = reading::Places::find(&home, set("CLAUDE_CONFIG_DIR").as_deref(), project);
    Installation::read(&places, project, plugins)
}

/// The configuration that the hook is started with, or would be if its entry were in force.
fn named_by_entry(installation: &Installation) -> Option<PathBuf> {
    let mut gates = installation
        .in_force(Event::PreToolUse)
        .filter_map(|(_, entry)| entry.ours());
    if let Some(gate) = gates.next() {
        return hooks::named_configuration(&gate.start()?);
    }
    let entries = Event::ALL
        .into_iter()
        .flat_map(|event| installation.entries(event));
    entries
        .filter_map(|(_, entry)| entry.ours()?.start())
        .find_map(|start| hooks::named_configuration(&start))
}

/// The harness's own folder.
fn harness_directory() -> Option<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("CLAUDE_CONFIG_DIR").or_else(|| Some(set("HOME")?.join(".claude")))
}
