//! What has to be known of the ZVM: where it is, what makes it trusted, as whom, and by which secret.

use std::path::{Path, PathBuf};

use holdpoint_config::LoginKind;

use super::document::{self, Document};
use super::questions::Questions;
use super::{InitError, Report, address, login_name, trust};

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

/// The options that say where the secret is.
pub(super) const SECRET_OPTIONS: &str = "--secret-file, --secret-env, --secret-command or --secret-keyring";

/// A secret that was typed in, and the file that it goes to.
pub(super) type Typed = Option<(PathBuf, String)>;

/// What became known of the ZVM beside what the document says.
pub(super) struct Known {
    pub(super) typed: Typed,
    /// Whether what it shows now is trusted.
    pub(super) is_trusted: bool,
}

impl Zvm {
    /// Whether what the command line says can be right, as far as that can be told from it alone.
    pub(super) fn check(&self) -> Result<(), InitError> {
        self.url.as_deref().map_or(Ok(()), address::check)
    }

    /// What neither this nor the document says and cannot be told otherwise, with the options that say it.
    pub(super) fn missing(&self, document: &Document) -> Vec<(&'static str, &'static str)> {
        let is_client = match self.login {
            Some(login) => login == LoginKind::ClientCredentials,
            None => document.get("login") == Some(login_name(LoginKind::ClientCredentials)),
        };
        let mut missing = Vec::new();
        if self.url.is_none() && !document.has("url") {
            missing.push(("the ZVM", "--url"));
        }
        if is_client && self.client_id.is_none() && !document.has("client_id") {
            missing.push(("the Keycloak client", "--client-id"));
        }
        if !is_client && self.username.is_none() && !document.has("username") {
            missing.push(("the user", "--username"));
        }
        if self.secret.is_none() && !document.has_secret() {
            missing.push(("the secret's place", SECRET_OPTIONS));
        }
        missing
    }

    /// Brings the document to what is wanted, and asks for what neither it nor the command line says.
    pub(super) fn complete(
        self,
        document: &mut Document,
        questions: &Questions,
        report: &mut Report,
    ) -> Result<Known, InitError> {
        let known = self.url.or_else(|| document.get("url").map(str::to_owned));
        let url = address::settle(known, questions)?;
        document.set("url", url.as_str());
        let is_trusted = trust::complete(self.trust, &url, document, questions, report)?;
        if is_trusted && !questions.can_ask() {
            address::tell_stranger(&url, &document.check_zerto()?, report);
        }
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
        Ok(Known { typed, is_trusted })
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
    write_source(source, document)?;
    Ok(typed)
}

/// Says in the document where the secret is.
fn write_source(source: SecretSource, document: &mut Document) -> Result<(), InitError> {
    match source {
        SecretSource::Environment(name) => document.set_secret("secret_env", name),
        SecretSource::File(path) => document.set_secret("secret_file", absolute(&path)?),
        SecretSource::Command(words) => document.set_secret("secret_command", document::list(&words)),
        SecretSource::Keyring(name) => document.set_secret("secret_keyring", name),
    }
    Ok(())
}

/// Asks again where the secret is, and says it in the document.
pub(super) fn ask_again_for_secret(
    document: &mut Document,
    questions: &Questions,
) -> Result<Typed, InitError> {
    let (source, typed) = ask_for_secret(document, questions)?;
    write_source(source, document)?;
    Ok(typed)
}

fn ask_for_secret(document: &Document, questions: &Questions) -> Result<(SecretSource, Typed), InitError> {
    let choices = [
        "in a file that only you can read; type it in now",
        "in a file that is there already",
        "a program prints it",
        "in the operating system's keyring",
        "in an environment variable",
    ];
    let line = |question: &str, default: Option<&str>| {
        questions.line("the secret's place", SECRET_OPTIONS, question, default)
    };
    let question = "Where is the secret?";
    Ok(
        match questions.choice("the secret's place", SECRET_OPTIONS, question, &choices)? {
            0 => {
                let secret = loop {
                    let said = questions.secret("The secret")?;
                    if !said.is_empty() {
                        break said;
                    }
                };
                let usual = usual_secret_file(document.path());
                let path = PathBuf::from(line("Write it to which file?", usual.to_str())?);
                let path = PathBuf::from(absolute(&path)?);
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

pub(super) fn absolute(path: &Path) -> Result<String, InitError> {
    let path = std::path::absolute(path).map_err(InitError::file(path))?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        InitError::Other(format!(
            "{} is no UTF-8, and cannot be configured",
            path.display()
        ))
    })
}
