//! What a policy's makers do: keys and signatures.

use std::env;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use holdpoint_artifact::{KeyPair, Manifest, Trust, Version, catalog_of, inspect, sign as signed};

use super::{Done, Passphrase, Sign, about, now, print, read};
use crate::{private, runtime};

/// Makes a key pair: the private key's file for its owner only, the public key's beside it.
pub(super) fn keygen(path: &Path, passphrase: &Passphrase) -> Done {
    let pair = KeyPair::generate()?;
    let private = pair.to_pem(passphrase.read()?.as_deref())?;
    let public_path = beside(path, ".pub");
    for (path, text, public) in [
        (path, private.as_str(), false),
        (&public_path, pair.public().to_pem().as_str(), true),
    ] {
        private::create(path, public)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| about(path, error))?;
    }
    let id = pair.public().id();
    print(&format!(
        "{}: the private key; whoever has it can make policies\n{}: the public key {id}, for the hosts' configuration:\n\n\
         [policy.keys.NAME]\npublic_file = \"/etc/holdpoint/{}\"\n",
        path.display(),
        public_path.display(),
        public_path.file_name().unwrap_or_default().display()
    ))
}

/// Signs a component.
pub(super) fn sign(arguments: &Sign) -> Done {
    let component = read(&arguments.component)?;
    let in_component = |error: &dyn Error| about(&arguments.component, error);
    let key = private_key(&arguments.key, &arguments.passphrase)?;
    let manifest = Manifest {
        name: arguments.name.clone(),
        version: arguments.version.clone(),
        wit: contract_of(&component).map_err(|error| in_component(&*error))?,
        catalog: catalog_of(&component).map_err(|error| in_component(&error))?,
        made: now(),
        not_after: arguments.not_after,
    };
    let file = signed(&component, &manifest, &key).map_err(|error| in_component(&error))?;
    let out = &arguments.out;
    // By rename, so that nobody ever reads half a policy.
    let fresh = beside(out, ".new");
    fs::write(&fresh, &file)
        .and_then(|()| fs::rename(&fresh, out))
        .map_err(|error| about(out, error))?;
    print(&format!(
        "{}: {} {}, signed by {}\n",
        out.display(),
        manifest.name,
        manifest.version,
        key.public().id()
    ))
}

/// The version of the contract that a component is built against.
fn contract_of(component: &[u8]) -> Result<Version, Box<dyn Error>> {
    let trust = Trust {
        signature: holdpoint_artifact::Signature::NotRequired,
        ..Trust::default()
    };
    let inspection = inspect(component, &trust, &runtime::contract(&[]), now());
    match inspection
        .world
        .as_deref()
        .and_then(|world| world.split_once('@'))
    {
        Some((_, version)) => Ok(version.parse()?),
        None => Err(match inspection.refusal {
            Some(refusal) => refusal.into(),
            None => "this is no policy".into(),
        }),
    }
}

/// Reads a private key, from a file that nobody else can read.
fn private_key(path: &Path, passphrase: &Passphrase) -> Result<KeyPair, Box<dyn Error>> {
    let text = read_secret(path)?;
    KeyPair::from_pem(&text, passphrase.read()?.as_deref()).map_err(|error| {
        let hint = match error {
            holdpoint_artifact::KeyError::PassphraseNeeded => {
                "; say where it is with --passphrase-env or --passphrase-file"
            }
            _ => "",
        };
        about(path, format!("{error}{hint}"))
    })
}

impl Passphrase {
    fn read(&self) -> Result<Option<String>, Box<dyn Error>> {
        let passphrase = match (&self.passphrase_env, &self.passphrase_file) {
            (Some(name), _) => {
                env::var(name).map_err(|error| format!("the environment variable {name}: {error}"))?
            }
            (None, Some(path)) => read_secret(path)?.trim_end_matches(['\r', '\n']).to_owned(),
            (None, None) => return Ok(None),
        };
        if passphrase.is_empty() {
            return Err("the passphrase is empty; leave the option out for a key without one".into());
        }
        Ok(Some(passphrase))
    }
}

fn read_secret(path: &Path) -> Result<String, Box<dyn Error>> {
    let file = fs::File::open(path).map_err(|error| about(path, error))?;
    let metadata = file.metadata().map_err(|error| about(path, error))?;
    if private::readable_by_others(&metadata) {
        let path = path.display();
        return Err(format!("{path} may be read by others; mend it with: chmod 600 {path}").into());
    }
    std::io::read_to_string(file).map_err(|error| about(path, error))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
