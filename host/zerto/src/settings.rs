//! Which ZVM, as whom, trusted by what, and for how long.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::keeper::Keeper;

/// Everything that a [`Zvm`](crate::Zvm) needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The ZVM's origin, `https://zvm.example` or, for a Windows ZVM, usually `https://zvm.example:9669`. Nothing but
    /// https is taken, and nothing may follow the port.
    pub url: String,
    /// How to log in.
    pub login: Login,
    /// Which certificate is accepted.
    pub trust: Trust,
    /// No function answers later than this.
    pub deadline: Instant,
    /// No capture takes longer, whatever the cadence.
    pub longest_wait: Duration,
    /// What keeps log-ins, and refusals of them, for the next process; none where each one is on its own.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// Whether a log-in is kept, where there is a keeper.
    pub keep_log_in: bool,
    /// Whether a log-in is sent although it was refused a short while ago: where a human asked for it.
    pub retry_refused: bool,
}

/// The three ways into a ZVM.
#[derive(Clone, Debug)]
pub enum Login {
    /// A user of the Linux appliance (Keycloak's password grant).
    Password {
        /// Keycloak's client; `zerto-client` is built in.
        client_id: String,
        /// The user.
        username: String,
        /// The user's password.
        password: Secret,
    },
    /// A client of its own on the Linux appliance, made by the operator in Keycloak.
    ClientCredentials {
        /// Keycloak's client.
        client_id: String,
        /// The client's secret.
        client_secret: Secret,
    },
    /// A user of a Windows ZVM (9.7 and older), which hands out sessions.
    WindowsSession {
        /// The user, with its domain where needed.
        username: String,
        /// The user's password.
        password: Secret,
    },
}

/// What makes the ZVM's certificate acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The certificate authorities of this machine.
    System,
    /// Only the certificates in this PEM file, one or more.
    CaFile(PathBuf),
    /// The SHA-256 of the certificate's DER form. Neither its chain nor its names are checked then.
    Pin([u8; 32]),
    /// Any certificate: whoever answers gets the credentials.
    Nothing,
}

/// A text that is never shown, and overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the text over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Settings {
    /// Tells apart what a log-in is good for: which ZVM, as whom, trusted by what. The secret is no part of it: a digest of
    /// it would lie in a file.
    pub(crate) fn binding(&self) -> String {
        let trust = match &self.trust {
            Trust::System => "system".to_owned(),
            Trust::CaFile(path) => format!("ca {}", path.display()),
            Trust::Pin(pin) => format!("pin {}", hex(pin)),
            Trust::Nothing => "nothing".to_owned(),
        };
        let login = match &self.login {
            Login::Password {
                client_id, username, ..
            } => ["password", client_id, username],
            Login::ClientCredentials { client_id, .. } => ["client-credentials", client_id, ""],
            Login::WindowsSession { username, .. } => ["windows-session", "", username],
        };
        let mut digest = Sha256::new();
        for part in [self.url.trim(), &trust].into_iter().chain(login) {
            // With its length, so that no two settings read the same when strung together.
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        hex(&digest.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Login {
    /// The password, or the client's secret.
    pub(crate) fn secret(&self) -> &Secret {
        match self {
            Self::Password { password, .. } | Self::WindowsSession { password, .. } => password,
            Self::ClientCredentials { client_secret, .. } => client_secret,
        }
    }

    /// The secret itself, and the forms in which a server that echoes a request would give it back.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let (name, secret) = match self {
            Self::Password {
                username, password, ..
            }
            | Self::WindowsSession { username, password } => (username, password),
            Self::ClientCredentials {
                client_id,
                client_secret,
            } => (client_id, client_secret),
        };
        let plain = secret.expose();
        let json = serde_json::Value::from(plain).to_string();
        let json = json
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(&json);
        let form = serde_urlencoded::to_string([("", plain)]).unwrap_or_default();
        vec![
            secret.clone(),
            Secret::new(json),
            Secret::new(form.strip_prefix('=').unwrap_or(&form)),
            Secret::new(basic(name, secret)),
        ]
    }
}

/// The value that HTTP Basic sends after its scheme.
fn basic(username: &str, password: &Secret) -> String {
    use base64::Engine;
    let pair = Zeroizing::new(format!("{username}:{}", password.expose()));
    base64::engine::general_purpose::STANDARD.encode(pair.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            url: "https://zvm".into(),
            login: Login::Password {
                client_id: "zerto-client".into(),
                username: "admin".into(),
                password: Secret::new("p\"ä\\ß"),
            },
            trust: Trust::System,
            deadline: Instant::now(),
            longest_wait: Duration::from_secs(1),
            keeper: None,
            keep_log_in: false,
            retry_refused: false,
        }
    }

    #[test]
    fn a_log_in_is_bound_to_everything_that_it_rests_on_but_the_secret() {
        let password = |client_id: &str, username: &str, password: &str| Login::Password {
            client_id: client_id.into(),
            username: username.into(),
            password: Secret::new(password),
        };
        let with = |url: &str, login, trust| Settings {
            url: url.into(),
            login,
            trust,
            ..settings()
        };
        let same = with(
            "https://zvm ",
            password("zerto-client", "admin", "new"),
            Trust::System,
        );
        assert_eq!(same.binding(), settings().binding());
        let right = || password("zerto-client", "admin", "");
        let others = [
            with("https://zvn", right(), Trust::System),
            with(
                "https://zvm",
                password("zerto-clien", "tadmin", ""),
                Trust::System,
            ),
            with("https://zvm", password("zerto-client", "root", ""), Trust::System),
            with("https://zvm", right(), Trust::Nothing),
            with("https://zvm", right(), Trust::Pin([0; 32])),
            with("https://zvm", right(), Trust::Pin([1; 32])),
            with("https://zvm", right(), Trust::CaFile("/a".into())),
            with(
                "https://zvm",
                Login::WindowsSession {
                    username: "admin".into(),
                    password: Secret::new(""),
                },
                Trust::System,
            ),
        ];
        let mut bindings: Vec<_> = others.iter().map(Settings::binding).collect();
        bindings.push(settings().binding());
        bindings.sort();
        bindings.dedup();
        assert_eq!(bindings.len(), others.len() + 1);
    }

    #[test]
    fn a_secret_shows_nothing() {
        let settings = settings();
        let shown = format!("{settings:?} {}", Secret::new("p\"ä\\ß"));
        assert!(shown.contains("admin"));
        assert!(!shown.contains('ä') && !shown.contains('ß'), "{shown}");
    }
}
