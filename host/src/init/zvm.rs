//! What has to be known of the ZVM: where it is, as whom, by which secret, and what makes it trusted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdpoint_zerto::Trust;

use super::certificate::{Handshake, shake_hands, with_colons};
use super::document::{self, Document};
use super::questions::Questions;
use super::{InitError, Report, login_name};
use crate::config::{Config, LoginKind};
use crate::secret;

/// What the command line says of the ZVM.
#[derive(Debug, Default)]
pub struct Zvm {
    /// `https://…`.
    pub url: Option<String>,
    /// Which kind of log-in.
    pub login: Option<LoginKind>,
    /// The user.
    pub username: Option<String>,
    /// The Keycloak client.
    pub client_id: Option<String>,
    /// Where the secret is.
    pub secret: Option<SecretSource>,
    /// What makes the certificate trusted.
    pub trust: Option<Trusted>,
}

/// Where the secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In an environment variable.
    Environment(String),
    /// In a file.
    File(PathBuf),
    /// A program prints it.
    Command(Vec<String>),
    /// In the operating system's keyring.
    Keyring(String),
}

/// What makes the certificate trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trusted {
    /// An authority's certificate, in this file.
    CaFile(PathBuf),
    /// The certificate's SHA-256: `sha256:…`.
    Pin(String),
    /// Whatever is shown now.
    FirstSeen,
}

/// A secret that was typed in, and the file that it goes to.
type Typed = Option<(PathBuf, String)>;

impl Zvm {
    /// Brings the document to what is wanted, and asks for what neither it nor the command line says.
    pub(super) fn complete(
        self,
        document: &mut Document,
        questions: &Questions,
        report: &mut Report,
    ) -> Result<Typed, InitError> {
        let url = match self.url.or_else(|| document.get("url").map(str::to_owned)) {
            Some(url) => url,
            None => questions.line("the ZVM", "--url", "The ZVM (https://…)", None)?,
        };
        document.set("url", url.as_str());
        let login = complete_login(self.login, document, questions)?;
        if login == LoginKind::ClientCredentials || self.client_id.is_some() {
            let known = self
                .client_id
                .or_else(|| document.get("client_id").map(str::to_owned));
            let client_id = match known {
                Some(client_id) => client_id,
                None => questions.line("the Keycloak client", "--client-id", "The Keycloak client", None)?,
            };
            document.set("client_id", client_id);
        }
        if login != LoginKind::ClientCredentials {
            let known = self
                .username
                .or_else(|| document.get("username").map(str::to_owned));
            let username = match known {
                Some(username) => username,
                None => questions.line("the user", "--username", "The user at the ZVM", None)?,
            };
            document.set("username", username);
        }
        let typed = complete_secret(self.secret, document, questions)?;
        complete_trust(self.trust, &url, document, questions, report)?;
        Ok(typed)
    }
}

fn complete_login(
    wanted: Option<LoginKind>,
    document: &mut Document,
    questions: &Questions,
) -> Result<LoginKind, InitError> {
    const KINDS: [LoginKind; 3] = [
        LoginKind::Password,
        LoginKind::ClientCredentials,
        LoginKind::WindowsSession,
    ];
    let written = document.get("login");
    let written = KINDS.into_iter().find(|kind| Some(login_name(*kind)) == written);
    let kind = match wanted.or(written) {
        Some(kind) => kind,
        // The default is what a configuration that says nothing means, and good enough for a script that gives a user.
        None if !questions.can_ask() || document.has("username") => return Ok(LoginKind::Password),
        None => {
            let choices = [
                "a user and a password (Linux appliance)",
                "a client and its secret, no human's password (Linux appliance)",
                "a user and a password (Windows ZVM)",
            ];
            KINDS[questions.choice(
                "the kind of log-in",
                "--login",
                "How does Holdpoint log in?",
                &choices,
            )?]
        }
    };
    document.set("login", login_name(kind));
    Ok(kind)
}

fn complete_secret(
    wanted: Option<SecretSource>,
    document: &mut Document,
    questions: &Questions,
) -> Result<Typed, InitError> {
    let (source, typed) = match wanted {
        Some(source) => (source, None),
        None if document.has_secret() => return Ok(None),
        None => ask_for_secret(document, questions)?,
    };
    match source {
        SecretSource::Environment(name) => document.set_secret("secret_env", name),
        SecretSource::File(path) => document.set_secret("secret_file", absolute(&path)?),
        SecretSource::Command(words) => document.set_secret("secret_command", document::list(&words)),
        SecretSource::Keyring(name) => document.set_secret("secret_keyring", name),
    }
    Ok(typed)
}

fn ask_for_secret(document: &Document, questions: &Questions) -> Result<(SecretSource, Typed), InitError> {
    let options = "--secret-file, --secret-env, --secret-command or --secret-keyring";
    let choices = [
        "in a file that only you can read; type it in now",
        "in a file that is there already",
        "a program prints it",
        "in the operating system's keyring",
        "in an environment variable",
    ];
    let line = |question: &str, default: Option<&str>| {
        questions.line("the secret's place", options, question, default)
    };
    Ok(
        match questions.choice("the secret's place", options, "Where is the secret?", &choices)? {
            0 => {
                let usual = usual_secret_file(document.path());
                let path = PathBuf::from(line("The file", usual.to_str())?);
                let secret = questions.secret("The secret")?;
                (SecretSource::File(path.clone()), Some((path, secret)))
            }
            1 => (SecretSource::File(line("The file", None)?.into()), None),
            2 => {
                let words = line("The program's absolute path and its arguments", None)?;
                let words = words.split_whitespace().map(str::to_owned).collect();
                (SecretSource::Command(words), None)
            }
            3 => (
                SecretSource::Keyring(line("The item's account", Some("zvm"))?),
                None,
            ),
            _ => (SecretSource::Environment(line("The variable", None)?), None),
        },
    )
}

/// Beside the configuration.
pub(super) fn usual_secret_file(config: &Path) -> PathBuf {
    config.with_file_name("zvm-secret")
}

fn complete_trust(
    wanted: Option<Trusted>,
    url: &str,
    document: &mut Document,
    questions: &Questions,
    report: &mut Report,
) -> Result<(), InitError> {
    match wanted {
        Some(Trusted::CaFile(path)) => {
            let path = absolute(&path)?;
            match shake_hands(url, Trust::CaFile(path.clone().into())) {
                Handshake::Trusted => {
                    report.done(format!("{url} shows a certificate that {path} vouches for."));
                }
                Handshake::Distrusted(seen) => {
                    return Err(InitError::Other(format!(
                        "{path} does not vouch for the certificate that {url} shows (SHA-256 {})",
                        with_colons(&seen.sha256)
                    )));
                }
                Handshake::Nobody(why) => report.remark(not_reached(url, &why)),
            }
            document.set_trust("ca_file", path);
        }
        Some(Trusted::Pin(pin)) => {
            document.set_trust("pin", pin.as_str());
            let bytes = document.check()?.zerto.fingerprint();
            match shake_hands(url, Trust::Pin(bytes.unwrap_or_default())) {
                Handshake::Trusted => report.done(format!("{url} shows the pinned certificate.")),
                Handshake::Distrusted(seen) => {
                    return Err(InitError::Other(format!(
                        "{url} shows another certificate than the pinned one, with the SHA-256 {}",
                        with_colons(&seen.sha256)
                    )));
                }
                Handshake::Nobody(why) => report.remark(not_reached(url, &why)),
            }
        }
        None if document.has_trust() => {}
        first_seen => trust_what_is_seen(first_seen.is_some(), url, document, questions, report)?,
    }
    Ok(())
}

/// Neither an authority nor a pin was named: where the system does not vouch for the certificate, a human has to.
fn trust_what_is_seen(
    said_before: bool,
    url: &str,
    document: &mut Document,
    questions: &Questions,
    report: &mut Report,
) -> Result<(), InitError> {
    match shake_hands(url, Trust::System) {
        Handshake::Trusted if !said_before => {
            report.done(format!(
                "{url} shows a certificate that this system's authorities vouch for."
            ));
        }
        Handshake::Nobody(why) if said_before => {
            return Err(InitError::Other(format!("{url} shows no certificate now: {why}")));
        }
        Handshake::Nobody(why) => {
            report.remark(not_reached(url, &why));
            report.remark("Only certificates that this system's authorities vouch for are trusted. For a self-signed one, run init again with --pin or --ca-file.");
        }
        Handshake::Trusted | Handshake::Distrusted(_) => {
            // Once more, trusting nothing, so that it is seen in either case.
            let Handshake::Distrusted(seen) = shake_hands(url, Trust::Pin([0; 32])) else {
                return Err(InitError::Other(format!(
                    "{url} shows no certificate now; try again"
                )));
            };
            let shown = with_colons(&seen.sha256);
            if !said_before {
                if !questions.can_ask() {
                    return Err(InitError::Other(format!(
                        "this system does not vouch for the certificate of {url}, SHA-256 {shown}: compare it at the ZVM \
                         and say --pin sha256:{}, or name its authority by --ca-file, or trust what is shown now by \
                         --trust-on-first-use",
                        seen.sha256
                    )));
                }
                let question = format!(
                    "This system does not vouch for the certificate of {url}. Its SHA-256 is\n  {shown}\nCompare it at the \
                     ZVM: whoever stands in between can show one of their own. Is it the right one?"
                );
                if !questions.yes(&question)? {
                    return Err(InitError::Declined);
                }
            }
            document.set_trust("pin", format!("sha256:{}", seen.sha256));
            report.done(format!("The certificate with the SHA-256 {shown} is pinned."));
        }
    }
    Ok(())
}

fn not_reached(url: &str, why: &str) -> String {
    format!("{url} could not be asked for its certificate now: {why}")
}

fn absolute(path: &Path) -> Result<String, InitError> {
    let path = std::path::absolute(path).map_err(InitError::file(path))?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        InitError::Other(format!(
            "{} is no UTF-8, and cannot be configured",
            path.display()
        ))
    })
}

/// Says so where the secret cannot be read yet.
pub(super) fn remark_on_secret(config: &Config, report: &mut Report) {
    if let Err(error) = secret::read(&config.zerto, Instant::now() + Duration::from_secs(31)) {
        let why = crate::zerto::words(&error);
        report.remark(format!(
            "The secret cannot be read yet, and every change is denied until it can: {why}"
        ));
    }
}
