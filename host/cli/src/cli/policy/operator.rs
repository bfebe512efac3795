//! What those do who run hosts: what is in force, and what was.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_artifact::Trust;
use holdpoint_config::Policy;
use holdpoint_runtime::policy::{BUILD, compiler, trust};
use holdpoint_runtime::sandbox;
use holdpoint_store::pull::{Network, Reference, docker_configuration};
use holdpoint_store::{Admission, Change, Changed, Entry, Kept, Store, StoreError, Which, title};
use serde_json::json;

use super::{Done, now, print, print_json, read_policy};

/// How long fetching an update may take.
const FETCHING: Duration = Duration::from_secs(300);

/// By what policies are let in here.
pub(super) struct Gatekeeper {
    pub(super) trust: Trust,
    grants: Vec<String>,
    pub(super) root: PathBuf,
}

impl Gatekeeper {
    pub(super) fn of(config: &Policy) -> Result<Self, Box<dyn Error>> {
        let nowhere = "there is no place for policies: set policy.store in the configuration";
        Ok(Self {
            trust: trust(config)?,
            grants: config.grants(),
            root: config.store().ok_or(nowhere)?,
        })
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&Admission<'_>) -> T) -> T {
        work(&Admission {
            trust: &self.trust,
            contract: &sandbox::contract(&self.grants),
            now: now(),
            map: None,
        })
    }
}

/// Installs a file.
pub(super) fn install(config: &Policy, file: &Path, allow_downgrade: bool) -> Done {
    let gatekeeper = Gatekeeper::of(config)?;
    let bytes = read_policy(file)?;
    let program = compiler::find()?;
    let origin = std::path::absolute(file)?.display().to_string();
    let store = Store::create(&gatekeeper.root)?;
    let change = Change {
        allow_downgrade,
        compile: Some((&BUILD, &compiler::limited(&program))),
    };
    let changed = gatekeeper.with(|admission| store.install(&bytes, &origin, change, admission))?;
    tell(&changed, config)
}

/// Fetches an update and installs it.
pub(super) fn pull(config: &Policy, reference: &str, allow_downgrade: bool, ca_file: Option<&Path>) -> Done {
    let gatekeeper = Gatekeeper::of(config)?;
    let reference: Reference = reference.parse()?;
    let program = compiler::find()?;
    let store = Store::create(&gatekeeper.root)?;
    let docker = docker_configuration();
    let network = Network {
        ca_file,
        docker_config: docker.as_deref(),
        timeout: FETCHING,
    };
    let change = Change {
        allow_downgrade,
        compile: Some((&BUILD, &compiler::limited(&program))),
    };
    let changed = gatekeeper.with(|admission| store.pull(&reference, &network, change, admission))?;
    tell(&changed, config)
}

/// Goes back.
pub(super) fn rollback(config: &Policy, to: Option<&str>) -> Done {
    let gatekeeper = Gatekeeper::of(config)?;
    let which = to.map(which).transpose()?;
    let store = Store::open(&gatekeeper.root)?;
    let program = compiler::find()?;
    let compile = Some((&BUILD, &compiler::limited(&program)));
    let changed = gatekeeper.with(|admission| store.rollback(which.as_ref(), compile, admission))?;
    tell(&changed, config)
}

/// Lists.
pub(super) fn list(config: &Policy, json: bool) -> Done {
    let gatekeeper = Gatekeeper::of(config)?;
    let (kept, history, troubles) = match Store::open(&gatekeeper.root) {
        Err(StoreError::NoStore(_)) => (Vec::new(), Vec::new(), Vec::new()),
        store => {
            let store = store?;
            let troubles = gatekeeper.with(|admission| store.troubles(admission));
            (
                gatekeeper.with(|admission| store.list(admission))?,
                store.history()?,
                troubles,
            )
        }
    };
    let troubles: Vec<String> = troubles.iter().map(ToString::to_string).collect();
    if json {
        let policies: Vec<_> = kept
            .iter()
            .map(|kept| {
                json!({ "facts": kept.facts, "active": kept.active, "revoked": kept.revoked, "last": kept.last })
            })
            .collect();
        return print_json(&json!({
            "store": gatekeeper.root,
            "policies": policies,
            "history": history,
            "troubles": troubles,
            "advice": config.advice()
        }));
    }
    let mut text = String::new();
    // Where one was in force before, that is a trouble, which is told below.
    if history.iter().all(|entry| !entry.puts_in_force()) {
        text.push_str(&match config.required() {
            required if required.is_something() => {
                format!(
                    "nothing is in force here, and the configuration wants {required}: every call is denied\n"
                )
            }
            _ => "nothing is in force here, so the shipped policy decides\n".into(),
        });
    }
    for line in kept.iter().map(described).chain(history.iter().map(told)) {
        text.push_str(&line);
        text.push('\n');
    }
    for trouble in troubles {
        text.push_str(&format!("trouble: {trouble}\n"));
    }
    if let Some(advice) = config.advice() {
        text.push_str(&format!("note: {advice}\n"));
    }
    print(&text)
}

fn described(kept: &Kept) -> String {
    format!(
        "{}{}{} {} signed by {}",
        if kept.active { "* " } else { "  " },
        title(&kept.facts),
        if kept.revoked { " (revoked)" } else { "" },
        kept.facts.digest,
        kept.facts.signer.as_deref().unwrap_or("nobody")
    )
}

fn told(entry: &Entry) -> String {
    let mut line = format!("{} {}", entry.at, json!(entry.what).as_str().unwrap_or_default());
    if let (Some(name), Some(version)) = (&entry.name, &entry.version) {
        line.push_str(&format!(" {name} {version}"));
    } else if let Some(digest) = &entry.digest {
        line.push_str(&format!(" {digest}"));
    }
    let key = match (&entry.key_name, &entry.key) {
        (Some(name), Some(id)) => Some(format!("{name} ({id})")),
        (_, key) => key.clone(),
    };
    let who = entry
        .who
        .user
        .clone()
        .or_else(|| entry.who.uid.map(|uid| uid.to_string()));
    for (word, value) in [
        ("by", &who),
        ("from", &entry.from),
        ("key", &key),
        ("because", &entry.why),
    ] {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            line.push_str(&format!(", {word} {value}"));
        }
    }
    line
}

fn which(text: &str) -> Result<Which, Box<dyn Error>> {
    if let Ok(digest) = text.parse() {
        return Ok(Which::Digest(digest));
    }
    let version = text
        .parse()
        .map_err(|_| format!("'{text}' is neither a version (three numbers, as 1.4.0) nor a digest"))?;
    Ok(Which::Version(version))
}

fn tell(changed: &Changed, config: &Policy) -> Done {
    let now = title(&changed.now);
    let before = changed
        .before
        .as_ref()
        .map_or_else(|| "the shipped policy".into(), title);
    print(&match changed.what {
        None => format!("{now} is in force already\n"),
        Some(_) => format!("{now} is in force, in place of {before}\n"),
    })?;
    match &config.path {
        Some(path) => print(&format!(
            "the configuration names a file, policy.path = \"{}\", which decides in its place\n",
            path.display()
        )),
        None => Ok(()),
    }
}
