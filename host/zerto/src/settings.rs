//! Which ZVM, as whom, trusted by what, and for how long.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

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

impl Login {
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

    #[test]
    fn a_secret_shows_nothing() {
        let settings = Settings {
            url: "https://zvm".into(),
            login: Login::Password {
                client_id: "zerto-client".into(),
                username: "admin".into(),
                password: Secret::new("p\"ä\\ß"),
            },
            trust: Trust::System,
            deadline: Instant::now(),
            longest_wait: Duration::from_secs(1),
        };
        let shown = format!("{settings:?} {}", Secret::new("p\"ä\\ß"));
        assert!(shown.contains("admin"));
        assert!(!shown.contains('ä') && !shown.contains('ß'), "{shown}");
    }
}
