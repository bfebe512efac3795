//! `holdpoint policy revoke`: what is meant, and what becomes of what is in force.

use std::error::Error;
use std::path::Path;

use holdpoint_artifact::{Facts, Signature, Version, inspect};
use holdpoint_config::Policy;
use holdpoint_runtime::sandbox;
use holdpoint_store::{Revocation, Store, StoreError, Target, Which, title};

use super::operator::Gatekeeper;
use super::{Done, about, now, print, read_policy};

/// Revokes.
pub(super) fn revoke(config: &Policy, what: &str, why: &str) -> Done {
    let gatekeeper = Gatekeeper::of(config)?;
    let (target, told) = gatekeeper.target(what)?;
    let store = Store::create(&gatekeeper.root)?;
    let came_to = gatekeeper.with(|admission| store.revoke(&target, why, admission))?;
    let mut text = format!("{told} is revoked in this host's store");
    if let Revocation::InForce { way_back } = &came_to {
        let instead = match (&target, way_back) {
            (_, Some(facts)) => format!(
                "another is installed; or go back to {}: holdpoint policy rollback",
                title(facts)
            ),
            (Target::Key { .. }, None) => {
                "a policy is installed that another key signed; nothing earlier would be let in".into()
            }
            (Target::Policy(_), None) => "another is installed; nothing earlier would be let in".into(),
        };
        text.push_str(&format!(
            "; what is in force falls under that, so every call is denied until {instead}"
        ));
    }
    text.push('\n');
    print(&text)
}

impl Gatekeeper {
    /// What a text names, and how that is told.
    fn target(&self, what: &str) -> Result<(Target, String), Box<dyn Error>> {
        if let Ok(digest) = what.parse() {
            return Ok((Target::Policy(digest), what.to_owned()));
        }
        if let Some(key) = self.key(what) {
            return Ok(key);
        }
        let of_version = what.parse().map(|version| self.kept(&version));
        if let Ok(found) = of_version
            && let Some(found) = found?
        {
            return Ok(found);
        }
        if Path::new(what).is_file() {
            return self.file(Path::new(what));
        }
        Err(format!(
            "'{what}' is neither a digest, nor a key that the configuration trusts, nor a version that is installed, nor a \
             file; holdpoint policy list shows the digests of what is installed, holdpoint policy inspect FILE that of a file"
        )
        .into())
    }

    /// The key of this name or id. What is revoked is the key itself, whatever it is called.
    fn key(&self, what: &str) -> Option<(Target, String)> {
        let mut keys = self.trust.keys.iter();
        let key = keys.find(|key| key.id == what || key.public.id().to_string() == what)?;
        let id = key.public.id();
        let name = Some(key.id.clone());
        Some((Target::Key { id, name }, format!("the key {} ({id})", key.id)))
    }

    /// The installed policy of this version.
    fn kept(&self, version: &Version) -> Result<Option<(Target, String)>, Box<dyn Error>> {
        let kept = match Store::open(&self.root) {
            Err(StoreError::NoStore(_)) => Vec::new(),
            store => store?.all(&Which::Version(version.clone()))?,
        };
        let one_of = |facts: &Facts| format!("{} {}", title(facts), facts.digest);
        match kept.as_slice() {
            [] => Ok(None),
            [facts] => Ok(Some((Target::Policy(facts.digest), one_of(facts)))),
            several => {
                let several: Vec<String> = several.iter().map(one_of).collect();
                Err(format!(
                    "several policies are of the version {version}; name one by its digest: {}",
                    several.join(", ")
                )
                .into())
            }
        }
    }

    /// The policy in a file, whether it would be let in or not.
    fn file(&self, path: &Path) -> Result<(Target, String), Box<dyn Error>> {
        let bytes = read_policy(path)?;
        let inspection = inspect(&bytes, &self.trust, &sandbox::contract(&[]), now());
        let digest = inspection.digest.ok_or_else(|| about(path, "is no policy"))?;
        // Its manifest comes with the signature, and another digest with that.
        if inspection.signers.is_empty() && self.trust.signature == Signature::Required {
            return Err(about(
                path,
                "is not signed, and signed it has another digest; name the signed file",
            ));
        }
        Ok((Target::Policy(digest), format!("{} ({digest})", path.display())))
    }
}
