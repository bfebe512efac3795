//! Whether the configuration can be used, and who else can read or change what it names.

use std::path::{Path, PathBuf};

use holdpoint_common::access;
use holdpoint_common::read::{self, limit};
use holdpoint_common::way::Problem;
use holdpoint_config::{self as config, Config, ConfigError, Hidden, Places, SignatureRule, Unnamed};
use holdpoint_runtime::policy;

use super::finding::{Finding, Repair};
use super::hooks;
use super::reach;

/// The configuration and what is known of its files.
pub(super) struct Facts<'a> {
    pub(super) loaded: &'a Result<Config, ConfigError>,
    /// What a policy would be told, or why it cannot be: reads the operator's catalogs.
    pub(super) settings: Option<Result<String, ConfigError>>,
    /// The files that are there.
    pub(super) files: Vec<PathBuf>,
    /// Files that others can read, and should not.
    pub(super) readable: Vec<PathBuf>,
    /// Files that others can write, and should not.
    pub(super) writable: Vec<PathBuf>,
    /// What the machine's configuration names and users other than root can change, each with its key.
    pub(super) not_roots: Vec<(&'static str, PathBuf)>,
    /// What of the user's file the machine's hides, and both files.
    pub(super) hidden: Vec<Hidden>,
    pub(super) both: (PathBuf, PathBuf),
    /// Places that variables decide on, each with the file in which its key would count.
    pub(super) unnamed: Vec<(PathBuf, Unnamed)>,
    /// Whether the configuration was named by the environment.
    pub(super) named_by_environment: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn gather(places: &Places, loaded: &'a Result<Config, ConfigError>, named: bool) -> Self {
        let user = places.user.iter().map(|(path, _)| path.clone());
        let files: Vec<_> = [places.machine.clone()]
            .into_iter()
            .chain(user)
            .filter(|path| path.exists())
            .collect();
        let zerto = loaded.as_ref().ok().map(|config| &config.zerto);
        let secret = zerto.and_then(|zerto| zerto.secret_file.clone());
        let authority = zerto.and_then(|zerto| zerto.ca_file.clone());
        let open = |path: &PathBuf, is_open: fn(&std::fs::Metadata) -> bool| {
            std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && is_open(&metadata))
        };
        Self {
            settings: loaded
                .as_ref()
                .ok()
                .map(|config| policy::settings(&config.policy)),
            readable: secret
                .into_iter()
                .filter(|path| open(path, access::readable_by_others))
                .collect(),
            writable: authority
                .into_iter()
                .filter(|path| open(path, access::writable_by_others))
                .collect(),
            not_roots: not_roots(places),
            hidden: config::hidden(places),
            both: (
                places.machine.clone(),
                places
                    .user
                    .iter()
                    .map(|(path, _)| path.clone())
                    .next()
                    .unwrap_or_default(),
            ),
            unnamed: unnamed(places, &files, loaded),
            files,
            loaded,
            named_by_environment: !named
                && holdpoint_common::environment::var_os("HOLDPOINT_CONFIG")
                    .is_some_and(|value| !value.is_empty()),
        }
    }
}

/// What the machine's configuration names by a whole path, and others than root can change. Paths below `~` are each user's.
fn not_roots(places: &Places) -> Vec<(&'static str, PathBuf)> {
    let machine = machine_table(places);
    let mut named: Vec<(&'static str, PathBuf)> = Vec::new();
    let mut add = |key: &'static str, value: Option<&toml::Value>| {
        let path = value.and_then(toml::Value::as_str).map(PathBuf::from);
        named.extend(path.filter(|path| path.is_absolute()).map(|path| (key, path)));
    };
    let zerto = |key: &str| machine.get("zerto")?.get(key);
    let policy = |key: &str| machine.get("policy")?.get(key);
    add("zerto.ca_file", zerto("ca_file"));
    add(
        "zerto.secret_command",
        zerto("secret_command").and_then(|command| command.get(0)),
    );
    add("policy.path", policy("path"));
    add("policy.store", policy("store"));
    for catalog in policy("catalogs")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
    {
        add("policy.catalogs", Some(catalog));
    }
    let changeable = |(key, path): (&'static str, PathBuf)| Some((key, hooks::changeable(&path)?));
    named.into_iter().filter_map(changeable).collect()
}

fn machine_table(places: &Places) -> toml::Table {
    read::read_text(&places.machine, limit::CONFIGURATION)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

/// Each place that the configuration does not name, with the file that would have to: a table of the machine's file hides
/// the user's of that name.
fn unnamed(
    places: &Places,
    files: &[PathBuf],
    loaded: &Result<Config, ConfigError>,
) -> Vec<(PathBuf, Unnamed)> {
    let machine = machine_table(places);
    let left = loaded.as_ref().map(Config::unnamed).unwrap_or_default();
    let in_file = |place: Unnamed| {
        let file = if machine.contains_key(place.table) {
            Some(&places.machine)
        } else {
            files.last()
        };
        Some((file?.clone(), place))
    };
    left.into_iter().filter_map(in_file).collect()
}

/// Judges what was gathered.
pub(super) fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = match facts.loaded {
        Ok(config) => of_usable(config, facts),
        Err(error) => vec![unusable(error)],
    };
    if let Some(Err(error)) = &facts.settings {
        findings.push(unusable(error));
    }
    findings.extend(facts.hidden.iter().map(|hidden| of_hidden(hidden, &facts.both)));
    for path in &facts.readable {
        let found = format!("{} may be read by others", path.display());
        findings.push(
            Finding::broken(
                "configuration.secret",
                found,
                "a secret that others can read is not used, so every change is denied",
            )
            .fixed_by_mode(path, 0o077, false),
        );
    }
    for path in &facts.writable {
        let found = format!("{} may be written by others", path.display());
        findings.push(
            Finding::broken(
                "configuration.authority",
                found,
                "whoever writes it says which ZVM is trusted; it is not used, so every change is denied",
            )
            .fixed_by_mode(path, 0o022, false),
        );
    }
    findings.extend(facts.not_roots.iter().map(|(key, place)| {
        Finding::caution(
            "configuration.machine",
            format!(
                "{}, of {key} in the machine's configuration, can be changed by users other than root",
                place.display()
            ),
            "an agent of theirs can change what the guard does for everybody",
        )
        .fixed_by_mode(place, 0o022, true)
    }));
    findings
}

fn of_usable(config: &Config, facts: &Facts<'_>) -> Vec<Finding> {
    let files: Vec<String> = facts
        .files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let mut findings = vec![if files.is_empty() {
        Finding::caution(
            "configuration",
            "there is no configuration of Holdpoint's",
            "defaults count, and the original hook's variables where they are set, which a project's settings can set too",
        )
        .mended_by("holdpoint init")
    } else {
        Finding::good("configuration", files.join(", "))
    }];
    if config.zerto.url.is_none() {
        findings.push(
            Finding::broken(
                "configuration.zvm",
                "no ZVM is configured (zerto.url)",
                "every call that changes a machine is denied",
            )
            .mended_by("holdpoint init, or set zerto.url"),
        );
    }
    if !config.zerto.verify() {
        findings.push(
            Finding::caution(
                "configuration.verify",
                "the ZVM's certificate is not verified (zerto.verify = false)",
                "whoever stands between here and the ZVM gets the password, and can say that there is a checkpoint",
            )
            .mended_by("set zerto.ca_file, or zerto.pin, in the place of zerto.verify"),
        );
    }
    if config.policy.signature_rule() == SignatureRule::NotRequired {
        findings.push(
            Finding::caution(
                "configuration.signature",
                "policies need no signature (policy.signature = \"not-required\")",
                "whoever can put a file in the policy's place decides what is let through",
            )
            .mended_by("set policy.signature to \"required\", and policy.keys"),
        );
    }
    findings.extend(of_places(&facts.unnamed));
    if facts.named_by_environment {
        findings.push(
            Finding::notice(
                "configuration.environment",
                "HOLDPOINT_CONFIG names the configuration here",
                "the hook sees it only where the harness is started with it, and a project's settings can set another; \
                 --config in the hook entry holds against that",
            )
            .mended_by("holdpoint init"),
        );
    }
    findings
}

/// A table of the machine's in the place of one of the user's.
fn of_hidden(hidden: &Hidden, (machine, user): &(PathBuf, PathBuf)) -> Finding {
    let Hidden { table, lost } = hidden;
    let found = format!(
        "{table} in {} replaces your {table} table of {} whole",
        machine.display(),
        user.display()
    );
    if lost.is_empty() {
        return Finding::notice(
            "configuration.hidden",
            found,
            "what your table sets otherwise does not count",
        )
        .mended_by(format!("take {table} out of {}", user.display()));
    }
    Finding::caution(
        "configuration.hidden",
        format!("{found}: {} then stand nowhere", lost.join(", ")),
        "these keys have their defaults, whatever your file says",
    )
    .mended_by(format!(
        "set them in {}, as root, or take them out of {}",
        machine.display(),
        user.display()
    ))
}

/// What a variable could move.
fn of_places(unnamed: &[(PathBuf, Unnamed)]) -> Vec<Finding> {
    let mut files: Vec<&PathBuf> = unnamed.iter().map(|(file, _)| file).collect();
    files.dedup();
    files
        .into_iter()
        .map(|file| {
            let places = unnamed.iter().filter(|(of, _)| of == file).map(|(_, place)| place);
            let places: Vec<Unnamed> = places.cloned().collect();
            let keys: Vec<String> = places.iter().map(Unnamed::whole_key).collect();
            let finding = Finding::caution(
                "configuration.places",
                format!("{} sets no {}", file.display(), keys.join(", ")),
                "variables decide where that is (HOME, XDG_STATE_HOME, XDG_DATA_HOME), and a project's settings can set them \
                 for the hook: its log, receipts and policies would be elsewhere",
            );
            if places.iter().any(|place| place.now.is_err()) {
                return finding.mended_by(format!("set them in {} to paths that begin with '/'", file.display()));
            }
            let may_write = std::fs::OpenOptions::new().append(true).open(file).is_ok();
            if may_write {
                finding.repaired_by(Repair::Places(file.clone(), places))
            } else {
                finding.mended_by(format!("as the owner of {}: holdpoint doctor --fix", file.display()))
            }
        })
        .collect()
}

fn unusable(error: &ConfigError) -> Finding {
    let finding = Finding::broken(
        "configuration",
        error.to_string(),
        "a configuration that cannot be used denies every call, also those that only read",
    );
    match error {
        ConfigError::Exposed { path } | ConfigError::Foreign { path } => {
            finding.fixed_by_mode(path, 0o022, false)
        }
        ConfigError::NotRoots { path } => finding.fixed_by_mode(path, 0o022, true),
        ConfigError::Replaceable {
            problem: Problem::Exposed(folder),
            ..
        } => finding.fixed_by_mode(folder, 0o022, false),
        ConfigError::Replaceable {
            problem: Problem::Foreign(folder),
            path,
        } if path == Path::new(config::MACHINE_FILE) => {
            finding.mended_by(format!("as root: chown root {}", folder.display()))
        }
        ConfigError::Replaceable { path, .. } => {
            finding.mended_by(format!("move {} to a folder of your own", path.display()))
        }
        ConfigError::Unreadable { path, .. } => {
            let missing = || format!("make {} a file that this user can read", path.display());
            finding.mended_by(reach::remedy(path).unwrap_or_else(missing))
        }
        ConfigError::Invalid { path, .. } => finding.mended_by(format!("edit {}", path.display())),
        ConfigError::Relative { named_by, path } => finding.mended_by(format!(
            "write the whole path of {} in {named_by}; holdpoint init does so in the hook entry",
            path.display()
        )),
        ConfigError::Value { .. } => finding.mended_by("correct it; docs/configuration.md lists every key"),
    }
}
