//! `holdpoint policy …`: makes, checks, installs and takes back policies.

mod author;
mod new;
mod operator;
mod pack;
mod revoke;
mod trials;

use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, Subcommand};
use holdpoint_artifact::{
    Inspection, LARGEST, PublicKey, Signature, Trust, TrustedKey, UtcTime, Version, gate, inspect,
};
use holdpoint_common::read::{self, limit};
use holdpoint_config::{ConfigError, Policy};
use holdpoint_hook::exit::ExitCode;
use holdpoint_runtime::policy::trust;
use holdpoint_runtime::sandbox;
use holdpoint_store::{Store, StoreError};
use serde::Serialize;

use super::configuration::configured as configured_by;

/// What a verb comes to: its errors say what to do.
type Done = Result<(), Box<dyn Error>>;

/// The verbs that have to do with policies.
#[derive(Debug, Args)]
pub(super) struct PolicyArguments {
    /// The configuration; default: the one that the hook entry names, else as for the hook.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a policy of your own: a crate that builds to one, with a case that it passes.
    #[command(after_help = "Example:\n  holdpoint policy new guard")]
    New {
        /// The policy's name, and its folder's: lower-case letters, digits and dashes.
        name: String,
    },
    /// Put other catalogs into the shipped policy, or into one that was packed before. Nothing is built.
    #[command(after_help = "Example:\n  holdpoint policy pack shipped --catalog catalogs --out guard.wasm")]
    Pack {
        /// The policy: a file, or `shipped`, which is the one inside this program.
        base: PathBuf,
        /// The folder with the catalogs (*.toml): all that the policy will know.
        #[arg(long, value_name = "DIRECTORY")]
        catalog: PathBuf,
        /// Where the policy goes, not signed yet; what is there is replaced.
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
    },
    /// Create a key that signs policies: KEY, for its owner only, and beside it the public key, KEY.pub.
    #[command(after_help = "Example:\n  holdpoint policy keygen team.pem --passphrase-env TEAM_PASSPHRASE")]
    Keygen {
        /// The file for the private key; must not exist.
        key: PathBuf,
        #[command(flatten)]
        passphrase: Passphrase,
    },
    /// Put a manifest into a component and sign it.
    #[command(
        after_help = "Example:\n  holdpoint policy sign guard.wasm --key team.pem --name guard --version 1.4.0 --out guard-1.4.0.wasm"
    )]
    Sign(Sign),
    /// Write a channel's document, which says that this is the current version and until when that is to be believed, and
    /// its signature beside it.
    #[command(
        after_help = "Example:\n  holdpoint policy channel guard-1.4.0.wasm --key team.pem --channel stable --out stable.json\n\n\
                      Publish both files with the policy. Write them again before they expire, also if nothing changed."
    )]
    Channel(Channel),
    /// Verify a policy file: by this host's configuration, or by one public key.
    #[command(after_help = "Example:\n  holdpoint policy verify guard-1.4.0.wasm --key team.pem.pub")]
    Verify {
        /// The policy.
        file: PathBuf,
        /// A public key; default: the keys that the configuration trusts.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show everything about a policy file without running it, and whether it would load here.
    #[command(after_help = "Example:\n  holdpoint policy inspect guard-1.4.0.wasm --json")]
    Inspect {
        /// The policy: a file, or `shipped`.
        file: PathBuf,
        /// Run it once, in the test kit, and show what that cost.
        #[arg(long)]
        run: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run the conformance checks: odd calls, empty and huge ones, every error of the host.
    #[command(
        after_help = "Example:\n  holdpoint policy check guard.wasm\n\nExit codes: 0, no probe fails; 1, one does; 3, the file \
                      cannot be read."
    )]
    Check(trials::CheckArguments),
    /// Summarise what the shadow would have decided for the calls in the log.
    #[command(after_help = "Example:\n  holdpoint policy shadow --json")]
    Shadow {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Verify a policy file, compile it and activate it.
    #[command(after_help = "Example:\n  holdpoint policy install guard-1.4.0.wasm")]
    Install {
        /// The policy.
        file: PathBuf,
        /// Accept one that is older than the active policy, or of another name; the history says so.
        #[arg(long)]
        allow_downgrade: bool,
    },
    /// List what is installed, what is active, and what happened.
    #[command(after_help = "Example:\n  holdpoint policy list --json")]
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Activate an earlier policy again: the one before, or the one named.
    #[command(after_help = "Example:\n  holdpoint policy rollback 1.3.0")]
    Rollback {
        /// A version, or a digest.
        to: Option<String>,
    },
    /// Revoke a policy, or everything that a key signed. This cannot be undone.
    #[command(after_help = "Example:\n  holdpoint policy revoke team --why 'the laptop was stolen'")]
    Revoke {
        /// A policy: its digest, its file or an installed version. Or a key: its name in the configuration, or its id.
        what: String,
        /// Why, for the history.
        #[arg(long, default_value = "")]
        why: String,
    },
    /// Fetch a policy from an OCI registry or a channel, and install it.
    #[command(after_help = "Example:\n  holdpoint policy pull https://updates.example/guard/stable.json")]
    Pull {
        /// REGISTRY/REPOSITORY:TAG, REGISTRY/REPOSITORY@sha256:…, or a channel's https: or file: address.
        reference: String,
        /// Accept one that is older than the active policy, or of another name; the history says so.
        #[arg(long)]
        allow_downgrade: bool,
        /// Certificates to trust instead of the system's, PEM.
        #[arg(long, value_name = "FILE")]
        ca_file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
struct Sign {
    /// The component.
    component: PathBuf,
    /// The private key.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
    /// The policy's name: lower-case letters, digits and dashes.
    #[arg(long)]
    name: String,
    /// The policy's version, by which one is newer than another: three numbers, as 1.4.0.
    #[arg(long, value_parser = version)]
    version: Version,
    /// The last second at which it may be used, for example 2027-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    not_after: Option<UtcTime>,
    /// Where the signed policy goes; what is there is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct Channel {
    /// The policy, signed by the same key.
    file: PathBuf,
    /// The private key.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
    /// The channel's name, which stays the same at an address.
    #[arg(long, value_name = "NAME")]
    channel: String,
    /// For how many days it is to be believed that there is nothing newer.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
    /// Where the policy lies, relative to the document or on the same host; default: beside it, under its file's name.
    #[arg(long)]
    location: Option<String>,
    /// Where the document goes; its signature goes beside it, with .sig after the name. What is there is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Where a private key's passphrase is. Never an argument: every user of the machine can read those.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct Passphrase {
    /// The environment variable that holds the private key's passphrase.
    #[arg(long, value_name = "VARIABLE")]
    passphrase_env: Option<String>,
    /// The file that holds it; only its owner may read it.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// Runs a verb and says how the process has to end.
pub(super) fn run(arguments: PolicyArguments) -> ExitCode {
    if let Verb::Check(check) = &arguments.verb {
        return trials::check(check, arguments.config.as_deref());
    }
    match arguments.run() {
        Ok(()) => ExitCode::OK,
        Err(error) => {
            let _ = writeln!(io::stderr(), "holdpoint: {error}");
            ExitCode::FAILED
        }
    }
}

impl PolicyArguments {
    fn run(self) -> Done {
        let configured = || -> Result<Policy, ConfigError> { Ok(configured_by(self.config.clone())?.policy) };
        match self.verb {
            Verb::New { name } => new::new(&name),
            Verb::Pack { base, catalog, out } => pack::pack(&base, &catalog, &out),
            Verb::Keygen { key, passphrase } => author::keygen(&key, &passphrase),
            Verb::Sign(sign) => author::sign(&sign),
            Verb::Channel(channel) => author::channel(&channel),
            Verb::Verify {
                file,
                key: None,
                json,
            } => verify(&file, &trusted_here(&configured()?)?, &configured()?, json),
            Verb::Verify {
                file,
                key: Some(key),
                json,
            } => verify(&file, &only(public_key(&key)?), &configured()?, json),
            Verb::Inspect {
                file,
                run: false,
                json,
            } => show(&file, &configured()?, json),
            Verb::Inspect {
                file,
                run: true,
                json,
            } => trials::inspect(&file, self.config.as_deref(), &configured()?, json),
            Verb::Check(check) => unreachable!("{check:?} ends with codes of its own"),
            Verb::Shadow { json } => trials::shadow(self.config.clone(), json),
            Verb::Install {
                file,
                allow_downgrade,
            } => operator::install(&configured()?, &file, allow_downgrade),
            Verb::List { json } => operator::list(&configured()?, json),
            Verb::Rollback { to } => operator::rollback(&configured()?, to.as_deref()),
            Verb::Revoke { what, why } => revoke::revoke(&configured()?, &what, &why),
            Verb::Pull {
                reference,
                allow_downgrade,
                ca_file,
            } => operator::pull(&configured()?, &reference, allow_downgrade, ca_file.as_deref()),
        }
    }
}

fn public_key(path: &Path) -> Result<PublicKey, Box<dyn Error>> {
    let text = read::read_text(path, limit::KEY).map_err(|error| about(path, error))?;
    PublicKey::from_pem(&text).map_err(|error| about(path, error))
}

/// Trust in one key and nobody else.
fn only(public: PublicKey) -> Trust {
    Trust {
        signature: Signature::Required,
        keys: vec![TrustedKey {
            id: public.id().to_string(),
            public,
            not_before: None,
            not_after: None,
            revoked: false,
        }],
        ..Trust::default()
    }
}

fn verify(file: &Path, trust: &Trust, config: &Policy, json: bool) -> Done {
    let (bytes, grants) = (read_policy(file)?, config.grants());
    let admitted = gate(&bytes, trust, &sandbox::contract(&grants), now());
    let facts = admitted.map_err(|refusal| about(file, refusal))?.into_facts();
    if json {
        return print_json(&facts);
    }
    let by = facts.signer.as_deref().unwrap_or("nobody (it is not signed)");
    print(&format!(
        "{} would be let in: {}, signed by {by}, {}\n",
        file.display(),
        holdpoint_store::title(&facts),
        facts.digest
    ))
}

fn show(file: &Path, config: &Policy, json: bool) -> Done {
    let inspection = inspection(file, config)?;
    if json {
        return print_json(&inspection);
    }
    print(&format!("{inspection}\n"))
}

/// What can be told of a policy's file, or of the policy inside this program, which needs no signature.
fn inspection(file: &Path, config: &Policy) -> Result<Inspection, Box<dyn Error>> {
    let (mut trust, grants) = (trusted_here(config)?, config.grants());
    if file == Path::new(SHIPPED) {
        trust.signature = Signature::NotRequired;
    }
    let bytes = read_named(file)?;
    Ok(inspect(&bytes, &trust, &sandbox::contract(&grants), now()))
}

/// Whom this host trusts: what its store has revoked counts, as it does where a policy is installed or loaded.
fn trusted_here(config: &Policy) -> Result<Trust, Box<dyn Error>> {
    let trust = trust(config)?;
    match config.store().map(|root| Store::open(&root)) {
        None | Some(Err(StoreError::NoStore(_))) => Ok(trust),
        Some(store) => Ok(store?.trust_of(&trust)?.into_owned()),
    }
}

fn now() -> UtcTime {
    SystemTime::now().into()
}

/// What the commands call the policy inside this program.
const SHIPPED: &str = "shipped";

/// Reads the policy that a command line names: a file's, or the one inside this program.
pub(super) fn read_named(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    if path == Path::new(SHIPPED) {
        return Ok(pack::SHIPPED.to_vec());
    }
    // A word that is no file's name is most likely that word, misspelt.
    let is_word = path.components().count() == 1 && path.extension().is_none();
    read_policy(path).map_err(|error| {
        if is_word && !path.exists() {
            format!("{error}; the policy inside this program is called {SHIPPED}").into()
        } else {
            error
        }
    })
}

/// Reads a policy's file; of one that is far too large to be a policy, only so much that this is seen.
fn read_policy(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    read::open(path)
        .and_then(|(file, _)| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| about(path, error))?;
    Ok(bytes)
}

/// What keeps a new file from being made.
pub(super) fn not_made(path: &Path, error: &io::Error) -> Box<dyn Error> {
    match error.kind() {
        io::ErrorKind::AlreadyExists => about(path, "is there already and is not overwritten"),
        _ => about(path, error),
    }
}

/// A version on a command line.
fn version(text: &str) -> Result<Version, String> {
    text.parse()
        .map_err(|_| "a version is three numbers, as 1.4.0".to_owned())
}

/// An error with the file that it is about.
fn about(path: &Path, error: impl std::fmt::Display) -> Box<dyn Error> {
    format!("{}: {error}", path.display()).into()
}

fn print(text: &str) -> Done {
    Ok(io::stdout().write_all(text.as_bytes())?)
}

fn print_json(value: &impl Serialize) -> Done {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}
