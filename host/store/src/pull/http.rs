//! One GET and its answer: bounded in size, in the clear on this machine only, and never led where it may not go.

use std::error::Error as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

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

/// The way out. Certificates are checked against the system's roots, or those of a file.
pub(super) struct Http {
    through_proxies: Client,
    direct: Client,
}

impl Http {
    pub(super) fn new(ca_file: Option<&Path>) -> Result<Self, FetchError> {
        let tls = tls(ca_file)?;
        let client = || {
            Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                // A connection does not outlive the runtime that it was made in.
                .pool_max_idle_per_host(0)
                .connect_timeout(CONNECT_TIMEOUT)
                .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
        };
        let failed = |error: reqwest::Error| FetchError::Setup(cause(&error));
        Ok(Self {
            through_proxies: client().build().map_err(failed)?,
            direct: client().no_proxy().build().map_err(failed)?,
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
        match (url.scheme(), is_loopback(url)) {
            ("https", false) => {
                holdpoint_common::proxy::check().map_err(FetchError::Setup)?;
                Ok(self.through_proxies.request(method, url.clone()))
            }
            ("https" | "http", true) => Ok(self.direct.request(method, url.clone())),
            _ => Err(FetchError::InTheClear(shown(url))),
        }
    }

    async fn exchange(&self, url: &Url, request: RequestBuilder, most: u64) -> Result<Answer, FetchError> {
        let broken = |error: reqwest::Error| FetchError::Unreachable(shown(url), cause(&error));
        let mut response = request.send().await.map_err(broken)?;
        let mut body = Vec::new();
        let too_large = || FetchError::TooLarge(shown(url), most);
        if response.content_length().is_some_and(|length| length > most) {
            return Err(too_large());
        }
        while let Some(chunk) = Response::chunk(&mut response).await.map_err(broken)? {
            if (body.len() + chunk.len()) as u64 > most {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
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

pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, FetchError> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            let bad = |why: String| FetchError::Setup(format!("CA file {}: {why}", path.display()));
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| bad(error.to_string()))? {
                let certificate = certificate.map_err(|error| bad(error.to_string()))?;
                roots.add(certificate).map_err(|error| bad(error.to_string()))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| FetchError::Setup(error.to_string()))
        .map(|builder| builder.with_root_certificates(roots).with_no_client_auth())
}

/// The innermost error in words.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match error.source() {
        Some(_) => cause.to_string(),
        // The error's own text would repeat the address, query and all.
        None if error.is_timeout() => "it took too long".into(),
        None => "the connection broke".into(),
    }
}
