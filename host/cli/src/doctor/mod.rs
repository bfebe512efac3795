//! Whether the guard is there, and would hold: everything from the harness's settings to the ZVM.
//!
//! Each module here gathers the facts of one matter and judges them apart from that; what it comes to are
//! [`Finding`]s. Nothing is changed but by [`repair()`], and nothing is asked of Zerto that changes anything but by
//! `capture`.

mod account;
mod agents;
mod capture;
mod client;
mod configuration;
mod finding;
mod folders;
mod hooks;
mod in_use;
mod liveness;
mod machines;
mod policy;
mod reach;
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

use holdpoint_config::{self as config, Config, ConfigError};
use holdpoint_setup::reading::{self, Installation};
use serde_json::Value;

use self::state::LogFacts;
use crate::terminal::Progress;

pub use finding::{Finding, Repair, Severity, worst};
pub use in_use::InUse;
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
    /// The machine's file, where there is one.
    machine_file: Option<PathBuf>,
    /// Our entries in force.
    entries: Vec<hooks::Ours>,
}

impl Examination {
    /// The configuration's file, where there is one; the machine's counts beside it.
    pub fn configuration(&self) -> Option<&Path> {
        let user = self.named_config.as_deref().or(self.config_file.as_deref());
        user.or(self.machine_file.as_deref())
    }
}

/// Looks at everything.
pub fn examine(options: &Options) -> Examination {
    let project = options.project.clone().or_else(|| env::current_dir().ok());
    let project = project.unwrap_or_default();
    let project = std::fs::canonicalize(&project).unwrap_or(project);
    let installation = installation(&project, &options.plugins);
    let in_use = InUse::of(&installation, options.config.clone());
    let InUse {
        places,
        named: named_config,
        ..
    } = in_use;
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
        places: places.clone(),
    };
    looked.around(&mut findings);
    match &config {
        Ok(config) => looked.with(config, &mut findings),
        Err(_) => looked.play(false, &mut findings),
    }
    Examination {
        findings,
        config,
        machine_file: Some(places.machine).filter(|path| path.exists()),
        config_file: places.user.map(|(path, _)| path).filter(|path| path.exists()),
        named_config,
        entries: looked.hooks.entries,
    }
}

/// What the later checks look at.
struct Looked<'a> {
    options: &'a Options,
    project: PathBuf,
    /// Where the configuration is.
    places: config::Places,
    hooks: hooks::Facts,
    /// What the policy is told.
    settings: Value,
}

impl Looked<'_> {
    /// What needs no configuration.
    fn around(&self, findings: &mut Vec<Finding>) {
        findings.extend(hooks::judge(&self.hooks));
        let is_there = self.places.user.as_ref().is_some_and(|(path, _)| path.exists());
        findings.extend(in_use::judge(
            self.hooks.gates(),
            is_there,
            self.options.config.is_none(),
        ));
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
        let state = state::Facts::gather(config);
        findings.extend(state::judge(&state));
        let unlogged = state
            .log
            .as_ref()
            .map_or_else(|why| Some(why.as_str()), LogFacts::unwritable);
        let liveness = liveness::Facts::gather(config, &self.hooks, &self.project, unlogged);
        findings.push(liveness::judge(&liveness));
        findings.extend(
            receipts::Facts::gather(&config.receipts)
                .iter()
                .flat_map(receipts::judge),
        );
        findings.extend(account::judge(&config.receipts));
        findings.extend(folders::judge(config));
        let is_for_all = self.hooks.gates().any(|ours| ours.level.is_managed());
        findings.extend(reach::judge(config, &self.places, is_for_all));
        findings.extend(zvm::of_configuration(&config.zerto, findings));
        // What is wrong here already need not be asked for there.
        let is_ready = !findings.iter().any(zvm::keeps_from_a_log_in);
        if !self.options.offline && is_ready {
            let _progress = Progress::begin("asking the ZVM");
            let names = config.policy.vm_names();
            let facts = zvm::Facts::gather(&config.zerto, config.deadline(), &names);
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

/// The harness's own folder.
fn harness_directory() -> Option<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("CLAUDE_CONFIG_DIR").or_else(|| Some(set("HOME")?.join(".claude")))
}
