//! Who signs, and where: read from the environment, as the `asqav` package reads it.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use holdpoint_common::read;
use reqwest::Url;
use reqwest::header::HeaderValue;

use super::error::Error;
use crate::net;

const API_KEY: &str = "ASQAV_API_KEY";
const AGENT_ID: &str = "ASQAV_AGENT_ID";
const DEADLINE: &str = "ASQAV_HOOK_DEADLINE_SECONDS";
const CREDENTIALS: &str = "ASQAV_CREDENTIALS_PATH";

/// The service where nothing names another, as in the package.
const HOSTED: &str = "https://api.asqav.com/api/v1";

/// The time that the package's hook gives the service.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(5);

/// The largest credentials file that is read, in bytes.
const LARGEST_FILE: u64 = 64 * 1024;

/// The account that receipts are signed under.
pub struct Account {
    pub(super) api_key: HeaderValue,
    pub(super) agent_id: String,
    pub(super) base: Url,
    pub(super) deadline: Duration,
}

/// What the `asqav login` of the package left behind: a key and, where it was given, an address.
#[derive(Default, serde::Deserialize)]
struct Credentials {
    api_key: Option<String>,
    api_base: Option<String>,
}

impl Account {
    /// Reads the account: `ASQAV_API_KEY` (else the key that `asqav login` saved), `ASQAV_AGENT_ID`,
    /// `ASQAV_HOOK_DEADLINE_SECONDS` (5 where it is not set), and the service's address, which is the given one, else
    /// that of `ASQAV_API_URL`, `ASQAV_API_BASE`, the log-in, or the hosted service.
    ///
    /// An empty variable is one that is not set. `home` is where `.asqav/credentials` is looked for.
    ///
    /// # Errors
    ///
    /// [`Error::Identity`] names every variable that is missing, [`Error::Setting`] what cannot be used: a deadline that
    /// is no number above 0, an address that is not `https://` (`http://` only on this machine), a key that no header
    /// can hold.
    pub fn read(
        variable: impl Fn(&str) -> Option<String>,
        home: Option<&Path>,
        url: Option<&str>,
    ) -> Result<Self, Error> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let saved = match variable(CREDENTIALS) {
            Some(path) => saved(Path::new(&path)),
            None => home
                .map(|home| saved(&home.join(".asqav/credentials")))
                .unwrap_or_default(),
        };
        let present = |value: Option<String>| value.filter(|value| !value.is_empty());
        let api_key = variable(API_KEY).or_else(|| present(saved.api_key));
        let agent_id = variable(AGENT_ID);
        let (Some(api_key), Some(agent_id)) = (&api_key, &agent_id) else {
            let missing = [(API_KEY, api_key.is_none()), (AGENT_ID, agent_id.is_none())];
            let missing = missing.into_iter().filter(|(_, missing)| *missing);
            return Err(Error::Identity(missing.map(|(name, _)| name).collect()));
        };
        let named = |name| Some((name, variable(name)?));
        let (origin, base) = url
            .map(|url| ("the service's address", url.to_owned()))
            .or_else(|| named("ASQAV_API_URL"))
            .or_else(|| named("ASQAV_API_BASE"))
            .or_else(|| Some(("the address of asqav login", present(saved.api_base)?)))
            .unwrap_or_else(|| ("the service's address", HOSTED.to_owned()));
        Ok(Self {
            api_key: secret(api_key)?,
            agent_id: agent_id.clone(),
            base: address(origin, &base)?,
            deadline: variable(DEADLINE).map_or(Ok(DEFAULT_DEADLINE), |text| seconds(&text))?,
        })
    }

    /// The agent that the receipts are signed under.
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// How long the service has for one receipt.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The service's address, without what may be secret in it.
    pub fn service(&self) -> String {
        self.base.origin().ascii_serialization()
    }
}

/// Shows everything but the key.
impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("agent_id", &self.agent_id)
            .field("service", &self.service())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// A log-in that is not there, or that cannot be read, is none: the error then names the variable that is missing.
fn saved(path: &Path) -> Credentials {
    let text = read::read(path, LARGEST_FILE).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

fn secret(key: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(key)
        .map_err(|_| Error::Setting(API_KEY, "it holds characters that a header cannot hold".into()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn address(origin: &'static str, text: &str) -> Result<Url, Error> {
    let bad = |why: &str| Error::Setting(origin, format!("{} {why}", net::quoted(text)));
    let mut url = net::address(text).map_err(bad)?;
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

fn seconds(text: &str) -> Result<Duration, Error> {
    text.trim()
        .parse()
        .ok()
        .filter(|seconds: &f64| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| Error::Setting(DEADLINE, format!("{text:?} is no number of seconds above 0")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::error::Error;
    use super::Account;

    const IDENTITY: [(&str, &str); 2] = [("ASQAV_API_KEY", "sk_test_1"), ("ASQAV_AGENT_ID", "agt_1")];

    fn read(more: &[(&str, &str)], home: Option<&std::path::Path>) -> Result<Account, Error> {
        let find = |name: &str| {
            let found = more.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Account::read(find, home, None)
    }

    fn with(more: &[(&str, &str)]) -> Result<Account, Error> {
        read(&[more, &IDENTITY].concat(), None)
    }

    #[test]
    fn every_variable_that_is_missing_is_named() {
        let told = |variables: &[(&str, &str)]| read(variables, None).unwrap_err().to_string();
        assert_eq!(
            told(&[]),
            "ASQAV_API_KEY and ASQAV_AGENT_ID must be set for receipts signed by asqav"
        );
        assert!(told(&IDENTITY[..1]).starts_with("ASQAV_AGENT_ID must be set"));
        assert!(told(&IDENTITY[1..]).starts_with("ASQAV_API_KEY must be set"));
        assert!(told(&[("ASQAV_API_KEY", ""), IDENTITY[1]]).starts_with("ASQAV_API_KEY must be set"));
    }

    #[test]
    fn without_more_the_hosted_service_has_five_seconds() {
        let account = with(&[]).unwrap();
        assert_eq!(account.base.as_str(), "https://api.asqav.com/api/v1");
        assert_eq!(account.deadline, Duration::from_secs(5));
    }

    #[test]
    fn an_address_comes_from_the_first_that_names_one() {
        let url = ("ASQAV_API_URL", "https://one.example/api");
        let base = ("ASQAV_API_BASE", "https://two.example/api");
        assert_eq!(with(&[url, base]).unwrap().service(), "https://one.example");
        assert_eq!(with(&[base]).unwrap().service(), "https://two.example");
        let given = Account::read(
            |name| {
                IDENTITY
                    .iter()
                    .chain([&url])
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            },
            None,
            Some("https://three.example"),
        );
        assert_eq!(given.unwrap().service(), "https://three.example");
    }

    #[test]
    fn a_log_in_of_the_package_serves_and_the_environment_wins() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(".asqav")).unwrap();
        let file = home.path().join(".asqav/credentials");
        let saved = r#"{"api_key":"sk_saved","api_base":"https://saved.example/api/v1"}"#;
        std::fs::write(&file, saved).unwrap();
        let account = read(&IDENTITY[1..], Some(home.path())).unwrap();
        assert_eq!(
            (account.api_key.as_bytes(), account.service().as_str()),
            (&b"sk_saved"[..], "https://saved.example")
        );
        let account = read(&IDENTITY, Some(home.path())).unwrap();
        assert_eq!(account.api_key.as_bytes(), b"sk_test_1");
        let elsewhere = ("ASQAV_CREDENTIALS_PATH", "/nowhere/at/all");
        assert!(read(&[IDENTITY[1], elsewhere], Some(home.path())).is_err());
    }

    #[test]
    fn the_key_goes_nowhere_in_the_clear() {
        for address in [
            "http://asqav.example/api/v1",
            "ftp://localhost/",
            "asqav.example",
            "https://",
        ] {
            let error = with(&[("ASQAV_API_URL", address)]).unwrap_err();
            assert!(matches!(error, Error::Setting(..)), "{address}: {error}");
        }
        for address in [
            "http://127.0.0.1:1/api/v1",
            "http://[::1]:1/",
            "http://localhost/",
        ] {
            assert!(with(&[("ASQAV_API_URL", address)]).is_ok(), "{address}");
        }
        assert!(!format!("{:?}", with(&[]).unwrap()).contains("sk_test"));
    }

    #[test]
    fn a_deadline_that_is_none_is_told() {
        assert_eq!(
            with(&[("ASQAV_HOOK_DEADLINE_SECONDS", "0.25")]).unwrap().deadline,
            Duration::from_millis(250)
        );
        for text in ["0", "-1", "soon", "inf", "nan", "5s"] {
            let error = with(&[("ASQAV_HOOK_DEADLINE_SECONDS", text)])
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("ASQAV_HOOK_DEADLINE_SECONDS: "),
                "{text}: {error}"
            );
        }
    }
}
