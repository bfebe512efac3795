//! Which version of the harness runs here.

use std::env;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdpoint_setup::reading::{Installation, Level, State};

use super::finding::Finding;

/// The client's program.
const PROGRAM: &str = "claude";
/// The first version that honours `onFailure`.
const HONOURS_ON_FAILURE: Version = Version(2, 1, 295);
/// The first version that starts a program with its arguments and without a shell.
const KNOWS_ARGS: Version = Version(2, 1, 139);
/// How long the client has to say its version: it starts a runtime of its own.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is looked at meanwhile.
const PAUSE: Duration = Duration::from_millis(20);
/// The first version that runs managed hooks also where hooks are skipped.
const RUNS_MANAGED_HOOKS: Version = Version(2, 1, 281);
/// Variables with which the client skips hooks.
const SWITCHES: [&str; 2] = ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32, u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// What is known of the client.
pub(super) struct Facts {
    /// Its version, or why it is not known.
    pub(super) version: Result<Version, String>,
    /// Variables that switch hooks off, and who sets them.
    pub(super) switches: Vec<Switch>,
    /// Whether one of our entries that decide is a managed one.
    pub(super) is_managed: bool,
}

/// A variable that switches hooks off.
pub(super) struct Switch {
    name: &'static str,
    /// The settings file that sets it; none where this environment does.
    file: Option<PathBuf>,
}

impl Facts {
    pub(super) fn gather(installation: &Installation, is_managed: bool) -> Self {
        Self {
            version: ask(),
            switches: switches(installation),
            is_managed,
        }
    }
}

/// What switches hooks off here: in this environment, and in settings that count when the client starts. Those of a user's
/// are told of with the hooks that are off by them.
pub(super) fn switches(installation: &Installation) -> Vec<Switch> {
    let is_on =
        |value: &str| ["1", "true", "yes", "on"].contains(&value.trim().to_ascii_lowercase().as_str());
    let here = SWITCHES
        .into_iter()
        .filter(|name| env::var(name).is_ok_and(|value| is_on(&value)))
        .map(|name| Switch { name, file: None });
    let files = installation.files.iter().filter(|file| {
        file.state == State::InForce && (file.level == Level::User || file.level.is_managed())
    });
    let in_settings = files.flat_map(|file| {
        let set = |name: &&str| {
            file.settings
                .environment
                .get(*name)
                .is_some_and(|value| is_on(value))
        };
        SWITCHES.into_iter().filter(set).map(|name| Switch {
            name,
            file: Some(file.path.clone()),
        })
    });
    here.chain(in_settings).collect()
}

fn ask() -> Result<Version, String> {
    let program = on_path(PROGRAM).ok_or("the program claude is not on the PATH")?;
    let mut child = Command::new(&program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} cannot be started ({error})", program.display()))?;
    let until = Instant::now() + PATIENCE;
    while child.try_wait().is_ok_and(|ended| ended.is_none()) {
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!(
                "{} --version did not end within {} s",
                program.display(),
                PATIENCE.as_secs()
            ));
        }
        std::thread::sleep(PAUSE);
    }
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        // Something that it left running may hold the pipe open: one line is enough, and short.
        let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout.take(200)), &mut said);
    }
    read(&said).ok_or_else(|| format!("{} --version does not say a version", program.display()))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

/// `2.1.332 (Claude Code)`.
fn read(said: &str) -> Option<Version> {
    let mut numbers = said.split_whitespace().next()?.split('.');
    let mut number = || numbers.next()?.split('-').next()?.parse().ok();
    Some(Version(number()?, number()?, number()?))
}

/// Judges what was gathered.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![match &facts.version {
        Ok(version) => of_version(*version),
        Err(why) => Finding::notice(
            "client.version",
            format!("the version of Claude Code is not known: {why}"),
            format!("onFailure is honoured from {HONOURS_ON_FAILURE} on; before that, a hook that is killed lets its call run"),
        )
        .mended_by(if on_path(PROGRAM).is_some() {
            "claude --version"
        } else {
            "run holdpoint doctor where claude is on the PATH, or install Claude Code"
        }),
    }];
    findings.extend(
        facts
            .switches
            .iter()
            .filter_map(|switch| of_switch(switch, facts)),
    );
    findings
}

/// Whether a variable keeps our hook from running.
fn of_switch(switch: &Switch, facts: &Facts) -> Option<Finding> {
    let Switch { name, file } = switch;
    let (found, mend) = match file {
        Some(file) => (
            format!("{} sets {name}", file.display()),
            format!("take {name} out of {}", file.display()),
        ),
        None => (
            format!("{name} is set in this environment"),
            format!("unset {name}"),
        ),
    };
    if !facts.is_managed {
        // Where settings set it, the hooks that are off by it were told of.
        let matters = "a client that is started with it runs no hooks but managed ones";
        return file
            .is_none()
            .then(|| Finding::broken("client.switch", found, matters).mended_by(mend));
    }
    match &facts.version {
        Ok(version) if *version >= RUNS_MANAGED_HOOKS => None,
        Ok(version) => Some(
            Finding::broken(
                "client.switch",
                found,
                format!("Claude Code {version} then skips managed hooks too, as all versions before {RUNS_MANAGED_HOOKS} do"),
            )
            .mended_by(mend),
        ),
        Err(_) => Some(
            Finding::caution(
                "client.switch",
                found,
                format!("versions of Claude Code before {RUNS_MANAGED_HOOKS} then skip managed hooks too, and which one runs here is not known"),
            )
            .mended_by(mend),
        ),
    }
}

fn of_version(version: Version) -> Finding {
    let update = "claude update";
    let found = format!("Claude Code {version}");
    if version < KNOWS_ARGS {
        Finding::broken(
            "client.version",
            found,
            format!("before {KNOWS_ARGS} it does not know args, and starts the program without them; a hook that is killed lets its call run"),
        )
        .mended_by(update)
    } else if version < HONOURS_ON_FAILURE {
        Finding::caution(
            "client.version",
            found,
            format!("before {HONOURS_ON_FAILURE} it ignores onFailure: a hook that is killed or cannot be started lets its call run"),
        )
        .mended_by(update)
    } else {
        Finding::good("client.version", format!("{found}, which honours onFailure"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_the_client_says_it() {
        assert_eq!(read("2.1.332 (Claude Code)\n"), Some(Version(2, 1, 332)));
        assert_eq!(read("2.2.0-beta.1"), Some(Version(2, 2, 0)));
        for bad in ["", "claude", "2.1", "v2.1.3 x"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn older_clients_are_told_of() {
        use super::super::finding::Severity;
        let severity = |version| of_version(version).severity;
        assert_eq!(severity(Version(2, 1, 138)), Severity::Broken);
        assert_eq!(severity(Version(2, 1, 294)), Severity::Caution);
        assert_eq!(severity(Version(2, 1, 295)), Severity::Good);
        assert_eq!(severity(Version(3, 0, 0)), Severity::Good);
    }
}
