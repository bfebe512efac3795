//! What a policy's makers do: keys and signatures.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_artifact::{KeyPair, Manifest, Trust, Version, catalog_of, gate, inspect, sign as signed};
use holdpoint_common::access;
use holdpoint_common::read::{self, limit};
use holdpoint_config as config;
use holdpoint_runtime::sandbox;
use holdpoint_store::pull;

use super::{Channel, Done, Passphrase, Sign, about, not_made, now, only, print, read_policy};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Makes a key pair: the private key's file for its owner only, the public key's beside it.
pub(super) fn keygen(path: &Path, passphrase: &Passphrase) -> Done {
    let public_path = beside(path, ".pub");
    // Before anything is made, so that there is never half a pair.
    for path in [path, &public_path] {
        if path.exists() {
            return Err(not_made(path, &io::ErrorKind::AlreadyExists.into()));
        }
    }
    let pair = KeyPair::generate()?;
    let private = pair.to_pem(passphrase.read()?.as_deref())?;
    for (path, text, public) in [
        (path, private.as_str(), false),
        (&public_path, pair.public().to_pem().as_str(), true),
    ] {
        access::create(path, public)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| not_made(path, &error))?;
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
    let component = read_policy(&arguments.component)?;
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
    replace(out, &file)?;
    print(&format!(
        "{}: {} {}, signed by {}\n",
        out.display(),
        manifest.name,
        manifest.version,
        key.public().id()
    ))
}

/// Writes a channel's document and its signature. It names only what a host that trusts this key lets in.
pub(super) fn channel(arguments: &Channel) -> Done {
    let file = &arguments.file;
    let bytes = read_policy(file)?;
    let key = private_key(&arguments.key, &arguments.passphrase)?;
    let grants = config::CAPABILITIES.map(str::to_owned);
    let admitted = gate(&bytes, &only(key.public()), &sandbox::contract(&grants), now());
    let facts = admitted.map_err(|refusal| about(file, refusal))?.into_facts();
    let location = match (&arguments.location, file.file_name()) {
        (Some(location), _) => location.clone(),
        (None, Some(name)) => name.to_string_lossy().into_owned(),
        (None, None) => return Err(about(file, "has no name; say where it lies with --location")),
    };
    let issued = now();
    let expires = issued.plus(DAY * u32::from(arguments.days));
    let document = pull::Channel::of(&facts, &arguments.channel, &location, issued, expires)
        .ok_or_else(|| about(file, "has no manifest"))?;
    let (document, signature) = document.sign(&key)?;
    let (out, beside) = (&arguments.out, beside(&arguments.out, ".sig"));
    replace(out, &document)?;
    replace(&beside, signature.as_bytes())?;
    print(&format!(
        "{}: {} is current in the channel {}, to be believed until {expires}\n{}: its signature, by {}\n",
        out.display(),
        holdpoint_store::title(&facts),
        arguments.channel,
        beside.display(),
        key.public().id()
    ))
}

/// Writes a file whole: by rename, so that nobody ever reads half of it.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Done {
    let fresh = beside(path, ".new");
    fs::write(&fresh, bytes)
        .and_then(|()| fs::rename(&fresh, path))
        .map_err(|error| about(path, error))
}

/// The version of the contract that a component is built against.
fn contract_of(component: &[u8]) -> Result<Version, Box<dyn Error>> {
    let trust = Trust {
        signature: holdpoint_artifact::Signature::NotRequired,
        ..Trust::default()
    };
    let inspection = inspect(component, &trust, &sandbox::contract(&[]), now());
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
    // Before who may read it: of a public key, that is everybody.
    if read::read_text(path, limit::KEY).is_ok_and(|text| text.contains("-----BEGIN PUBLIC KEY-----")) {
        return Err(about(
            path,
            "this is a public key, which checks signatures; signing takes the private one beside it",
        ));
    }
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
                env::var(name).map_err(|error| match error {
                    env::VarError::NotPresent => format!(
                        "the environment variable {name}, which should hold the passphrase, is not set; set it with: read \
                         -rs {name}; export {name}"
                    ),
                    env::VarError::NotUnicode(_) => format!("the environment variable {name} holds no text"),
                })?
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
    let (file, metadata) = read::open(path).map_err(|error| about(path, error))?;
    if access::readable_by_others(&metadata) {
        let path = path.display();
        return Err(format!("{path} may be read by others; mend it with: chmod 600 {path}").into());
    }
    let bytes = read::read_opened(&file, &metadata, limit::KEY);
    bytes.and_then(read::text).map_err(|error| about(path, error))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
