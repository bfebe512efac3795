//! How the ZVM is reached, and what of that contradicts itself.

use std::path::PathBuf;
use std::time::Duration;

use holdpoint_common::credentials;
use serde::Deserialize;

use crate::directories::{self, NoFolder};
use crate::error::ConfigError;

/// How the ZVM is reached.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Zerto {
    /// `https://…`, without a path.
    pub url: Option<String>,
    /// Which kind of log-in.
    pub login: LoginKind,
    /// The Keycloak client.
    pub client_id: Option<String>,
    /// The user, for kinds that have one.
    pub username: Option<String>,
    /// The environment variable that holds the password or client secret.
    pub secret_env: Option<String>,
    /// The file that holds it, readable by its owner only.
    pub secret_file: Option<PathBuf>,
    /// The program that prints it, and what the program is called with.
    pub secret_command: Option<Vec<String>>,
    /// Under which name the operating system's keyring has it.
    pub secret_keyring: Option<String>,
    /// The certificates that are trusted, PEM; only these.
    pub ca_file: Option<PathBuf>,
    /// The one certificate that is trusted: `sha256:` and 64 hexadecimal digits.
    pub pin: Option<String>,
    pub(crate) verify: Option<bool>,
    pub(crate) longest_wait_seconds: Option<f64>,
    share_checkpoints: Option<bool>,
    keep_token: Option<bool>,
    pub(crate) directory: Option<PathBuf>,
    /// The original hook's configuration, where that is what was read.
    #[serde(skip)]
    pub(crate) original: Option<PathBuf>,
    /// The original's configuration holds its password itself; ours names where it is.
    #[serde(skip)]
    pub legacy_password: Option<LegacyPassword>,
}

/// A password that came from the original's configuration file. Never shown.
#[derive(Clone)]
pub struct LegacyPassword(pub String);

impl std::fmt::Debug for LegacyPassword {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("(not shown)")
    }
}

/// The kinds of log-in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum LoginKind {
    /// Keycloak's password grant, on the Linux appliance.
    #[default]
    Password,
    /// Keycloak's client-credentials grant: no human's password.
    ClientCredentials,
    /// The session of the Windows ZVM.
    WindowsSession,
}

impl TryFrom<String> for LoginKind {
    type Error = &'static str;

    /// The word itself is in no error: what stands beside a log-in may be its secret.
    fn try_from(word: String) -> Result<Self, Self::Error> {
        match word.as_str() {
            "password" => Ok(Self::Password),
            "client-credentials" => Ok(Self::ClientCredentials),
            "windows-session" => Ok(Self::WindowsSession),
            _ => Err("the kind of log-in has to be password, client-credentials or windows-session"),
        }
    }
}

impl Zerto {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self
            .url
            .as_deref()
            .is_some_and(|url| !url.starts_with("https://"))
        {
            return Err(ConfigError::value("zerto.url", "has to begin with https://"));
        }
        if self.url.as_deref().is_some_and(credentials::are_in) {
            return Err(ConfigError::value("zerto.url", credentials::REFUSED));
        }
        if self.pin.is_some() && self.fingerprint().is_none() {
            return Err(ConfigError::value(
                "zerto.pin",
                "has to be 'sha256:' and 64 hexadecimal digits",
            ));
        }
        let trusts = [
            self.pin.is_some(),
            self.ca_file.is_some(),
            self.verify == Some(false),
        ];
        if trusts.into_iter().filter(|set| *set).count() > 1 {
            return Err(ConfigError::value(
                "zerto.pin, zerto.ca_file and zerto.verify = false",
                "say different things of what is trusted; leave one of them",
            ));
        }
        self.check_secret()
    }

    fn check_secret(&self) -> Result<(), ConfigError> {
        let sources = [
            ("zerto.secret_env", self.secret_env.is_some()),
            ("zerto.secret_file", self.secret_file.is_some()),
            ("zerto.secret_command", self.secret_command.is_some()),
            ("zerto.secret_keyring", self.secret_keyring.is_some()),
        ];
        let mut set = sources.into_iter().filter(|(_, is_set)| *is_set);
        if let (Some((first, _)), Some((second, _))) = (set.next(), set.next()) {
            let cause = format!("stands beside {second}; leave one of them");
            return Err(ConfigError::value(first, cause));
        }
        if self.secret_env.as_deref().is_some_and(|name| !is_variable(name)) {
            // Not the text itself: it may be the secret, in the wrong place.
            let cause =
                "has to be the name of an environment variable: letters, digits and _, with no digit first";
            return Err(ConfigError::value("zerto.secret_env", cause));
        }
        let is_absolute = |program: &String| std::path::Path::new(program).is_absolute();
        if let Some(command) = &self.secret_command
            && !command.first().is_some_and(is_absolute)
        {
            let cause = "has to begin with the absolute path of a program, each argument after it by itself";
            return Err(ConfigError::value("zerto.secret_command", cause));
        }
        Ok(())
    }

    /// The pin's digest: `sha256:` and 64 hexadecimal digits, with or without colons between the bytes, as `openssl x509`
    /// prints them.
    pub fn fingerprint(&self) -> Option<[u8; 32]> {
        fingerprint(self.pin.as_deref()?.strip_prefix("sha256:")?)
    }

    /// Whether the original hook's configuration was read, for want of one of ours.
    pub const fn is_original(&self) -> bool {
        self.original.is_some()
    }

    /// A key as whoever set it knows it: one of `[zerto]`, or a member of the original hook's configuration.
    pub fn named(&self, key: &str) -> String {
        let Some(path) = &self.original else {
            return format!("zerto.{key}");
        };
        let member = match key {
            "url" => "zerto_url",
            "secret" => "password",
            other => other,
        };
        format!("{member} in {}", path.display())
    }

    /// Whether the ZVM's certificate is verified. Only an explicit `false` turns that off.
    pub fn verify(&self) -> bool {
        self.verify.unwrap_or(true)
    }

    /// Whether calls that wait at the same time share a checkpoint.
    pub fn share_checkpoints(&self) -> bool {
        self.share_checkpoints.unwrap_or(true)
    }

    /// Whether a log-in is kept for the next call.
    pub fn keep_token(&self) -> bool {
        self.keep_token.unwrap_or(true)
    }

    /// Where calls meet and log-ins are kept.
    ///
    /// # Errors
    ///
    /// Where nothing is configured and no home folder is known.
    pub fn directory(&self) -> Result<PathBuf, NoFolder> {
        match &self.directory {
            Some(directory) => Ok(directory.clone()),
            None => Ok(directories::state()?.join("zerto")),
        }
    }

    /// The longest wait for one checkpoint.
    pub fn longest_wait(&self) -> Duration {
        Duration::from_secs_f64(self.longest_wait_seconds.unwrap_or(300.0))
    }
}

/// Whether shells take this for a variable's name.
fn is_variable(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    name.starts_with(is_letter)
        && name
            .chars()
            .all(|letter| is_letter(letter) || letter.is_ascii_digit())
}

/// A digest of 64 hexadecimal digits, with or without colons between the bytes.
pub fn fingerprint(digits: &str) -> Option<[u8; 32]> {
    let digits: String = digits.chars().filter(|&letter| letter != ':').collect();
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, position) in bytes.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[position..position + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_tools_print_it() {
        let read = |pin: &str| {
            Zerto {
                pin: Some(pin.into()),
                ..Zerto::default()
            }
            .fingerprint()
        };
        let plain = format!("sha256:{}", "0a".repeat(32));
        let with_colons = format!("sha256:{}", vec!["0A"; 32].join(":"));
        assert_eq!(read(&plain), Some([10; 32]));
        assert_eq!(read(&with_colons), Some([10; 32]));
        for bad in [
            "",
            "0a0a",
            "sha256:0a",
            "md5:0a",
            &format!("sha256:{}", "zz".repeat(32)),
            &format!("sha256:{}", "ä".repeat(32)),
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
