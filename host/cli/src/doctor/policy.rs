//! Whether the policy in force can be run, and for how long.

use std::time::{Duration, SystemTime};

use holdpoint_artifact::{Trust, TrustedKey, UtcTime};
use holdpoint_common::way::Problem;
use holdpoint_config::{Policy, Shadow};
use holdpoint_runtime::policy::{Identity, LoadError, load, load_shadow, trust};
use holdpoint_runtime::sandbox;
use holdpoint_store::{Admission, Store, StoreError, Trouble};

use super::finding::{Finding, Repair};
use super::reach;

/// From so long before its end on, something is said to end soon.
const SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// What is known of the policy.
pub(super) struct Facts {
    pub(super) loaded: Result<Identity, LoadError>,
    pub(super) troubles: Vec<Trouble>,
    /// The candidate that looks on, where one is configured.
    pub(super) shadow: Option<(Shadow, Result<Identity, LoadError>)>,
    pub(super) keys: Vec<TrustedKey>,
    pub(super) now: UtcTime,
}

impl Facts {
    pub(super) fn gather(config: &Policy) -> Self {
        let now = SystemTime::now().into();
        let trust = trust(config);
        let troubles = match (config.store(), &trust) {
            // A file that the configuration names decides in the store's place.
            (Some(root), Ok(trust)) if config.path.is_none() => troubles(&root, trust, config, now),
            _ => Vec::new(),
        };
        Self {
            loaded: load(config).map(|loaded| loaded.identity),
            troubles,
            shadow: config.shadow().and_then(|shadow| {
                let loaded = load_shadow(config).transpose()?;
                Some((shadow, loaded.map(|loaded| loaded.identity)))
            }),
            keys: trust.map(|trust| trust.keys).unwrap_or_default(),
            now,
        }
    }
}

fn troubles(root: &std::path::Path, trust: &Trust, config: &Policy, now: UtcTime) -> Vec<Trouble> {
    let store = match Store::open(root) {
        Ok(store) => store,
        Err(StoreError::NoStore(_)) => return Vec::new(),
        // Said by the load.
        Err(_) => return Vec::new(),
    };
    let grants = config.grants();
    store.troubles(&Admission {
        trust,
        contract: &sandbox::contract(&grants),
        now,
        map: None,
    })
}

/// Judges what was gathered.
pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &facts.loaded {
        Ok(identity) => findings.extend(of_loaded(identity, facts)),
        Err(error) => findings.push(unusable(error)),
    }
    findings.extend(
        facts
            .shadow
            .as_ref()
            .map(|(shadow, loaded)| of_shadow(shadow, loaded)),
    );
    for trouble in &facts.troubles {
        match trouble {
            // Both are said by the load.
            Trouble::Unusable(_) | Trouble::FellBack { .. } => {}
            trouble => findings.push(
                Finding::caution(
                    "policy.update",
                    trouble.to_string(),
                    "an older policy decides than was meant to",
                )
                .mended_by("holdpoint policy list, then holdpoint policy install FILE"),
            ),
        }
    }
    findings
}

fn of_shadow(shadow: &Shadow, loaded: &Result<Identity, LoadError>) -> Finding {
    match loaded {
        Ok(identity) => Finding::good("policy.shadow", format!("{identity} looks on")),
        Err(error) => Finding::caution(
            "policy.shadow",
            format!("{shadow} (policy.shadow): {error}"),
            "the candidate is asked nothing; what is decided does not change",
        )
        .mended_by(match error {
            LoadError::Replaceable {
                problem: Problem::Exposed(folder),
                ..
            } => format!("chmod go-w {}", folder.display()),
            LoadError::NotCompiled { path } => format!("holdpoint-compile {}", path.display()),
            _ => "a candidate that this host would load, in policy.shadow; or take that out".into(),
        }),
    }
}

fn of_loaded(identity: &Identity, facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![if identity.fallback.is_some() {
        Finding::caution(
            "policy",
            identity.to_string(),
            "not the policy that was put in force decides, but the last good one before it",
        )
        .mended_by("holdpoint policy install FILE")
    } else {
        Finding::good("policy", identity.to_string())
    }];
    let Some(of_file) = &identity.facts else {
        return findings;
    };
    let manifest = of_file.manifest.as_ref();
    let ends = manifest.and_then(|manifest| manifest.not_after);
    findings.extend(ends.and_then(|end| ends_soon("policy.expiry", "the policy", end, facts.now)));
    let signer = facts
        .keys
        .iter()
        .find(|key| Some(&key.id) == of_file.signer.as_ref());
    if let Some((key, end)) = signer.and_then(|key| Some((key, key.not_after?))) {
        let what = format!("the trust in the key {}, which signed the policy,", key.id);
        findings.extend(ends_soon("policy.key", &what, end, facts.now));
    }
    findings
}

fn ends_soon(check: &'static str, what: &str, end: UtcTime, now: UtcTime) -> Option<Finding> {
    (end < now.plus(SOON)).then(|| {
        Finding::caution(
            check,
            format!("{what} ends at {end}"),
            "from then on it is refused and every call is denied",
        )
        .mended_by("holdpoint policy install FILE, one that counts for longer")
    })
}

fn unusable(error: &LoadError) -> Finding {
    let finding = Finding::broken("policy", error.to_string(), "every call is denied");
    match error {
        LoadError::Recompile { file, .. } => finding
            .mended_by(format!("holdpoint policy install {}", file.display()))
            .repaired_by(Repair::Compile(file.clone())),
        LoadError::Exposed { path } => finding.fixed_by_mode(path, 0o022, false),
        LoadError::Replaceable {
            problem: Problem::Exposed(folder),
            ..
        } => finding.fixed_by_mode(folder, 0o022, false),
        LoadError::Replaceable { path, .. } => {
            finding.mended_by(format!("move {} to a folder of your own", path.display()))
        }
        LoadError::NotCompiled { path } => finding.mended_by(format!("holdpoint-compile {}", path.display())),
        LoadError::Unreadable { path, .. } => {
            let path_is_wrong = || {
                format!(
                    "put the policy's file at {}, or take policy.path out",
                    path.display()
                )
            };
            finding.mended_by(reach::remedy(path).unwrap_or_else(path_is_wrong))
        }
        LoadError::Store(error) | LoadError::Installed(holdpoint_store::LoadError::Store(error)) => {
            of_store(finding, error)
        }
        LoadError::Foreign { .. } => finding.mended_by("holdpoint-compile POLICY.wasm"),
        _ => finding.mended_by("holdpoint policy rollback, or holdpoint policy install FILE"),
    }
}

/// What is wrong with the store itself is not wrong with a policy, and another policy does not help.
fn of_store(finding: Finding, error: &StoreError) -> Finding {
    match error {
        StoreError::Exposed { path } | StoreError::Foreign { path, .. } => {
            finding.fixed_by_mode(path, 0o022, false)
        }
        StoreError::Readable { path } => finding.fixed_by_mode(path, 0o077, false),
        StoreError::Io { path, cause } if cause.kind() == std::io::ErrorKind::NotADirectory => finding
            .mended_by(format!(
                "move {} away, or set policy.store to a folder",
                path.display()
            )),
        StoreError::Io { path, .. } => {
            let unknown = || format!("see that this user may read {}", path.display());
            finding.mended_by(reach::remedy(path).unwrap_or_else(unknown))
        }
        _ => finding.mended_by("holdpoint policy rollback, or holdpoint policy install FILE"),
    }
}
