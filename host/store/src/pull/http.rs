//! One GET and its answer: bounded in size, in the clear on this machine only, and never led where it may not go.

use std::path::Path;
use std::time::Duration;

use holdpoint_net::{Proxies, Unread, cause, is_loopback, trust};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use rustls::ClientConfig;

use super::FetchError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 5;

/// Where an answer may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirects {
    /// Within the same scheme, host and port.
    SameOrigin,
    /// Anywhere, but without credentials: what comes is checked against a digest.
    Anywhere,
}

/// An answer that was read whole.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// The way out.
pub(super) struct Http {
    /// For this machine.
    in_the_clear: Client,
    /// Certificates are checked against the system's authorities, or those of a file; or why they cannot be.
    secure: Result<Secure, String>,
}

struct Secure {
    through_proxies: Client,
    direct: Client,
}

impl Secure {
    fn new(ca_file: Option<&Path>) -> Result<Self, String> {
        let tls = trust::tls(ca_file).map_err(|error| error.to_string())?;
        Ok(Self {
            through_proxies: client(tls.clone(), Proxies::OfEnvironment)?,
            direct: client(tls, Proxies::None)?,
        })
    }
}

fn client(tls: ClientConfig, proxies: Proxies) -> Result<Client, String> {
    holdpoint_net::client(tls, proxies)
        // A connection does not outlive the runtime that it was made in.
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT_TIMEOUT)
        .build()
        .map_err(|error| cause(&error))
}

impl Http {
    pub(super) fn new(ca_file: Option<&Path>) -> Result<Self, FetchError> {
        let tls = trust::nobody().map_err(|error| FetchError::Setup(error.to_string()))?;
        Ok(Self {
            in_the_clear: client(tls, Proxies::None).map_err(FetchError::Setup)?,
            secure: Secure::new(ca_file),
        })
    }

    /// Asks for the resource, following redirects as far as they are allowed.
    pub(super) async fn get(
        &self,
        url: &Url,
        headers: &HeaderMap,
        most: u64,
        redirects: Redirects,
    ) -> Result<Answer, FetchError> {
        let (mut url, mut headers) = (url.clone(), headers.clone());
        for _ in 0..=MOST_REDIRECTS {
            let request = self.request(Method::GET, &url)?.headers(headers.clone());
            let answer = self.exchange(&url, request, most).await?;
            if !answer.status.is_redirection() {
                return Ok(answer);
            }
            let target = answer
                .headers
                .get(LOCATION)
                .and_then(|value| url.join(value.to_str().ok()?).ok())
                .ok_or_else(|| FetchError::Answer(shown(&url), "a redirect to nowhere".into()))?;
            if target.origin() != url.origin() {
                let downgraded = url.scheme() == "https" && target.scheme() != "https";
                if redirects == Redirects::SameOrigin || downgraded {
                    return Err(FetchError::LedAway {
                        from: shown(&url),
                        to: shown(&target),
                    });
                }
                headers.remove(AUTHORIZATION);
            }
            url = target;
        }
        Err(FetchError::Answer(shown(&url), "too many redirects".into()))
    }

    /// Sends a form, as token servers want it.
    pub(super) async fn post(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        most: u64,
    ) -> Result<Answer, FetchError> {
        let request = self.request(Method::POST, url)?.form(form);
        self.exchange(url, request, most).await
    }

    fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, FetchError> {
        let secure = || self.secure.as_ref().map_err(|why| FetchError::Setup(why.clone()));
        let client = match (url.scheme(), is_loopback(url)) {
            ("https", false) => {
                holdpoint_common::proxy::check().map_err(FetchError::Setup)?;
                &secure()?.through_proxies
            }
            ("https", true) => &secure()?.direct,
            ("http", true) => &self.in_the_clear,
            _ => return Err(FetchError::InTheClear(shown(url))),
        };
        Ok(client.request(method, url.clone()))
    }

    async fn exchange(&self, url: &Url, request: RequestBuilder, most: u64) -> Result<Answer, FetchError> {
        let broken = |error: reqwest::Error| FetchError::Unreachable(shown(url), cause(&error));
        let mut response = request.send().await.map_err(broken)?;
        let body = holdpoint_net::body(&mut response, most).await;
        let body = body.map_err(|unread| match unread {
            Unread::TooLarge => FetchError::TooLarge(shown(url), most),
            Unread::Broken(error) => broken(error),
        })?;
        Ok(Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body,
        })
    }
}

impl Answer {
    /// The body of a success.
    pub(super) fn success(self, url: &Url) -> Result<Vec<u8>, FetchError> {
        match self.status {
            StatusCode::OK => Ok(self.body),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(FetchError::Unauthorized(shown(url))),
            StatusCode::NOT_FOUND => Err(FetchError::NotFound(shown(url))),
            status => Err(FetchError::Answer(
                shown(url),
                format!("HTTP {}", status.as_u16()),
            )),
        }
    }
}

/// A header that no log shows.
pub(super) fn secret_header(text: &str) -> Result<HeaderValue, FetchError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| FetchError::Credentials("they hold characters that a header cannot hold".into()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// An address without what may be secret in it: signed addresses of storages carry their right in the query.
pub(super) fn shown(url: &Url) -> String {
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let path: String = url.path().chars().take(200).collect();
    format!(
        "{}://{}{port}{path}",
        url.scheme(),
        url.host_str().unwrap_or_default()
    )
}
