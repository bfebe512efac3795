//! The way to the service: answers are bounded, redirects are not followed, and no error repeats the key.

use std::time::Duration;

use holdpoint_net::{Proxies, Unread, cause};
use reqwest::{Client, Method, StatusCode, Url};
use serde_json::{Map, Value};

use super::account::Account;
use super::error::Error;
use super::strict;
use crate::net;

/// The largest answer that is read, in bytes. A receipt with its anchors has a few ten thousand.
const LARGEST_ANSWER: u64 = 4 << 20;

/// How many pages of the published keys are read, as in the package.
const MOST_PAGES: usize = 8;

/// How often, and after which pauses, a service that is busy or not reached is tried again.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(500)];

pub(super) struct Http(Client);

impl Http {
    pub(super) fn new(account: &Account) -> Result<Self, Error> {
        net::client(&account.base, Proxies::None)
            .map(Self)
            .map_err(Error::Unreachable)
    }

    /// Asks for a signature. The body carries a nonce, so the same one is sent again where no answer came.
    pub(super) async fn sign(&self, account: &Account, body: &Map<String, Value>) -> Result<Vec<u8>, Error> {
        let mut url = account.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["agents", &account.agent_id, "sign"]);
        }
        let mut pauses = PAUSES.into_iter();
        loop {
            let request = self
                .0
                .request(Method::POST, url.clone())
                .header("X-API-Key", account.api_key.clone())
                .json(body);
            let answer = self.exchange(&url, request).await;
            let again = match &answer {
                Ok((status, _)) => status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS,
                Err(error) => matches!(error, Error::Unreachable(_)),
            };
            match (again, pauses.next()) {
                (true, Some(pause)) => tokio::time::sleep(pause).await,
                _ => return answer.and_then(|(status, body)| success(status, body, account)),
            }
        }
    }

    /// The keys that the service publishes, everybody's.
    pub(super) async fn keys(&self, account: &Account) -> Result<Vec<Value>, Error> {
        let mut url = account.base.clone();
        url.set_path("/.well-known/jwks.json");
        let (mut keys, mut offset) = (Vec::new(), 0);
        for _ in 0..MOST_PAGES {
            let (status, body) = self
                .exchange(&url, self.0.request(Method::GET, url.clone()))
                .await?;
            let body = success(status, body, account)?;
            let mut page = strict::read(&body)
                .map_err(|error| Error::Malformed(format!("the published keys: {error}")))?;
            let Value::Array(more) = page["keys"].take() else {
                return Err(Error::Malformed("the published keys hold no list of keys".into()));
            };
            keys.extend(more);
            match page["next_offset"].as_u64() {
                Some(next) if next > offset => offset = next,
                _ => break,
            }
            url.set_query(Some(&format!("offset={offset}")));
        }
        Ok(keys)
    }

    async fn exchange(
        &self,
        url: &Url,
        request: reqwest::RequestBuilder,
    ) -> Result<(StatusCode, Vec<u8>), Error> {
        let broken = |error: reqwest::Error| {
            Error::Unreachable(format!(
                "{}: {}",
                url.origin().ascii_serialization(),
                cause(&error)
            ))
        };
        let mut response = request.send().await.map_err(broken)?;
        let body = holdpoint_net::body(&mut response, LARGEST_ANSWER).await;
        let body = body.map_err(|unread| match unread {
            Unread::Broken(error) => broken(error),
            Unread::TooLarge => Error::Malformed(format!("more than {} MiB", LARGEST_ANSWER >> 20)),
        })?;
        Ok((response.status(), body))
    }
}

fn success(status: StatusCode, body: Vec<u8>, account: &Account) -> Result<Vec<u8>, Error> {
    match status.is_success() {
        true => Ok(body),
        false => Err(Error::Refused(status.as_u16(), words(&body, account))),
    }
}

/// The service's reason, fit to be shown: short, on one line, and without the key.
fn words(body: &[u8], account: &Account) -> String {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return String::new();
    };
    let detail = [
        &body["detail"]["message"],
        &body["detail"],
        &body["message"],
        &body["error"],
    ];
    let Some(text) = detail.into_iter().find_map(Value::as_str) else {
        return String::new();
    };
    let text = match account.api_key.to_str() {
        Ok(key) => text.replace(key, "[secret]"),
        Err(_) => return String::new(),
    };
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().take(200).map(clean).collect();
    format!(": {text}")
}
