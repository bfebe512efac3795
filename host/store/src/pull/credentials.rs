//! Who we are to a registry, from the usual Docker configuration.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdpoint_common::read::{self, limit};
use serde::Deserialize;

use super::FetchError;
use crate::child::{ChildError, run};

/// How long a credential helper may take: it may ask a keychain, and that a human.
const HELPERS_TIME: Duration = Duration::from_secs(30);

/// What a registry's token server is told.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    Password {
        user: String,
        password: String,
    },
    /// A refresh token.
    Identity(String),
}

/// The keys of Docker's configuration that matter here; it has many more.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    auths: HashMap<String, Auth>,
    cred_helpers: HashMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase", default)]
struct Auth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

/// What a helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    username: String,
    secret: String,
}

/// Where Docker's configuration lies: in `$DOCKER_CONFIG`, else in `~/.docker`.
#[must_use]
pub fn docker_configuration() -> Option<PathBuf> {
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(env::home_dir()?.join(".docker")))?;
    Some(folder.join("config.json"))
}

/// The credentials for a registry; none where none are kept for it.
pub(super) fn look_up(config: &Path, registry: &str) -> Result<Option<Credentials>, FetchError> {
    let bad = |why: String| FetchError::Credentials(format!("{} {why}", config.display()));
    let bytes = match read::read(config, limit::SETTINGS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|error| bad(format!("cannot be read ({error})")))?,
    };
    // The parser's own words could quote a password.
    let config: Config = serde_json::from_slice(&bytes)
        .map_err(|error| bad(format!("is not Docker's configuration (line {})", error.line())))?;
    // Docker's own registry is known by an older name, and older entries are addresses.
    let names: Vec<String> = match registry {
        "docker.io" => vec!["https://index.docker.io/v1/".into(), registry.into()],
        _ => vec![
            registry.into(),
            format!("https://{registry}"),
            format!("http://{registry}"),
        ],
    };
    for name in &names {
        if let Some(helper) = config.cred_helpers.get(name).or(config.creds_store.as_ref())
            && let Some(found) = ask(helper, name)?
        {
            return Ok(Some(found));
        }
        if let Some(auth) = config.auths.get(name)
            && let Some(found) = auth
                .read()
                .ok_or_else(|| bad(format!("has no readable entry for {name}")))?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

impl Auth {
    /// The entry's credentials; the inner none where it is empty, as it is beside a helper.
    fn read(&self) -> Option<Option<Credentials>> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(token) = filled(&self.identitytoken) {
            return Some(Some(Credentials::Identity(token)));
        }
        if let (Some(user), Some(password)) = (filled(&self.username), filled(&self.password)) {
            return Some(Some(Credentials::Password { user, password }));
        }
        let Some(auth) = filled(&self.auth) else {
            return Some(None);
        };
        let both = String::from_utf8(STANDARD.decode(auth).ok()?).ok()?;
        let (user, password) = both.split_once(':')?;
        Some(Some(Credentials::Password {
            user: user.to_owned(),
            password: password.trim_end_matches('\0').to_owned(),
        }))
    }
}

/// Asks a credential helper, which is a program that is known by the end of its name.
fn ask(helper: &str, registry: &str) -> Result<Option<Credentials>, FetchError> {
    let program = format!("docker-credential-{helper}");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if helper.is_empty() || !helper.bytes().all(plain) {
        return Err(FetchError::Credentials(
            "a credential helper's name is no name".into(),
        ));
    }
    let answer = match run(
        Command::new(&program).arg("get"),
        registry.as_bytes(),
        HELPERS_TIME,
    ) {
        // That it knows nothing is a failure, too, by the helpers' protocol.
        Err(ChildError::Failed { .. }) => return Ok(None),
        answer => answer.map_err(|cause| FetchError::Credentials(format!("{program} {cause}")))?,
    };
    let Ok(Helped { username, secret }) = serde_json::from_slice(&answer) else {
        return Err(FetchError::Credentials(format!(
            "{program} gave an answer that is none"
        )));
    };
    Ok(Some(if username == "<token>" {
        Credentials::Identity(secret)
    } else {
        Credentials::Password {
            user: username,
            password: secret,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(config: &str, registry: &str) -> Result<Option<Credentials>, FetchError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), config).unwrap();
        look_up(file.path(), registry)
    }

    fn password(user: &str, password: &str) -> Option<Credentials> {
        Some(Credentials::Password {
            user: user.into(),
            password: password.into(),
        })
    }

    #[test]
    fn entries_are_found_under_every_name_that_docker_gives_them() {
        // `joe:pa:ss`
        let config = r#"{"auths": {"r.example": {"auth": "am9lOnBhOnNz"}, "https://s.example": {"auth": "am9lOnBhOnNz"},
            "https://index.docker.io/v1/": {"username": "joe", "password": "pa:ss"}, "t.example": {}}, "other": 1}"#;
        for registry in ["r.example", "s.example", "docker.io"] {
            assert!(
                from(config, registry).unwrap() == password("joe", "pa:ss"),
                "{registry}"
            );
        }
        for registry in ["t.example", "r.example.org", "u.example"] {
            assert!(from(config, registry).unwrap().is_none(), "{registry}");
        }
    }

    #[test]
    fn identity_tokens_are_told_apart() {
        let config = r#"{"auths": {"r.example": {"auth": "am9lOg==", "identitytoken": "tok"}}}"#;
        assert!(from(config, "r.example").unwrap() == Some(Credentials::Identity("tok".into())));
    }

    #[test]
    fn a_broken_configuration_says_so_and_repeats_no_secret() {
        for config in [
            r#"{"auths": {"r.example": {"auth": 71"#,
            r#"{"auths": {"r.example": {"auth": "cGF5"}}}"#,
        ] {
            let Err(error) = from(config, "r.example") else {
                panic!("{config}")
            };
            assert!(!error.to_string().contains("cGF5"), "{error}");
        }
        assert!(from(r#"{"credsStore": "../evil"}"#, "r.example").is_err());
    }

    #[test]
    fn no_configuration_means_no_credentials() {
        assert!(
            look_up(Path::new("/nowhere/config.json"), "r.example")
                .unwrap()
                .is_none()
        );
    }
}
