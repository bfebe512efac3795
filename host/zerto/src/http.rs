//! One request and its answer: bounded in size and time, tried again only where that is harmless, never led elsewhere.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holdpoint_net::{Proxies, Unread, cause, root};
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use crate::certificate::Certificate;
use crate::error::{Error, clean};
use crate::meter::Meter;
use crate::settings::{Secret, Settings};
use crate::{tls, wire};

/// No answer may be longer, in bytes.
const LONGEST_BODY: u64 = 4 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The pauses before a GET whose connection broke is tried again.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
const MOST_REDIRECTS: usize = 3;
/// The wait after a 429 that does not say how long.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// What is to be sent.
#[derive(Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Body<'a>,
    pub(crate) identity: Identity<'a>,
}

/// A request's body.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    None,
    Json(&'a Value),
    Form(&'a [(&'a str, &'a str)]),
}

/// How a request says who sends it.
#[derive(Clone)]
pub(crate) enum Identity<'a> {
    None,
    Basic(&'a str, &'a Secret),
    Header(HeaderName, HeaderValue),
}

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Which request it answers, for error texts.
    pub(crate) name: String,
}

/// No answer.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) stage: Stage,
}

/// How far a request without an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The ZVM never saw it, and trying again may help.
    Unsent,
    /// The connection broke; the ZVM may have done what was asked.
    Broken,
    /// The ZVM said nothing in time; it may have done what was asked.
    Silent,
    /// Trying again would not help.
    Final,
}

impl Failure {
    pub(crate) fn last(error: Error) -> Self {
        Self {
            error,
            stage: Stage::Final,
        }
    }
}

/// The way to one ZVM.
pub(crate) struct Http {
    client: Client,
    origin: Url,
    deadline: Instant,
    pub(crate) meter: Meter,
    shown: tls::Shown,
    secrets: Mutex<Vec<Secret>>,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        let shown = tls::Shown::default();
        let tls = tls::configuration(&settings.trust, &shown)?;
        let client = holdpoint_net::client(tls, Proxies::None)
            .https_only(true)
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map_err(|error| Error::unreachable(format!("HTTP: {}", cause(&error))))?;
        Ok(Self {
            client,
            origin: origin(&settings.url)?,
            deadline: settings.deadline.into(),
            meter: Meter::default(),
            shown,
            secrets: Mutex::new(settings.login.secrets()),
        })
    }

    /// The address of a resource. The segments are escaped.
    pub(crate) fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.origin.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// The certificate that was shown last.
    pub(crate) fn certificate(&self) -> Option<Certificate> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Shakes hands and waits for any answer at all. Nothing secret is sent.
    pub(crate) async fn reach(&self) -> Result<(), Error> {
        self.ask_nobody(&[]).await.map(drop)
    }

    /// Asks for a resource once, without saying who asks.
    pub(crate) async fn ask_nobody(&self, segments: &[&str]) -> Result<Answer, Error> {
        let ask = Ask {
            method: Method::GET,
            url: self.url(segments, &[]),
            body: Body::None,
            identity: Identity::None,
        };
        self.exchange(&ask).await.map_err(|failure| failure.error)
    }

    /// Keeps a text out of everything that this ZVM's words are shown in.
    pub(crate) fn hide(&self, secret: Secret) {
        self.secrets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(secret);
    }

    /// The ZVM's words, without secrets and fit to be shown.
    pub(crate) fn shown(&self, words: &str) -> String {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let hidden = secrets
            .iter()
            .filter(|secret| !secret.expose().is_empty())
            .fold(words.to_owned(), |words, secret| {
                words.replace(secret.expose(), "[secret]")
            });
        clean(&hidden)
    }

    /// Sends until there is an answer that is neither "too many requests" nor a redirect.
    pub(crate) async fn send(&self, mut ask: Ask<'_>) -> Result<Answer, Failure> {
        let again = ask.method == Method::GET;
        let (mut pauses, mut hops) = (PAUSES.into_iter(), 0);
        loop {
            match self.exchange(&ask).await {
                Err(Failure {
                    error,
                    stage: stage @ (Stage::Unsent | Stage::Broken),
                }) if again => {
                    let Some(pause) = pauses.next() else {
                        return Err(Failure { error, stage });
                    };
                    sleep(pause).await;
                }
                Err(failure) => return Err(failure),
                Ok(answer) if answer.status == StatusCode::TOO_MANY_REQUESTS => self.pause(&answer).await?,
                Ok(answer) if answer.status.is_redirection() => {
                    hops += 1;
                    ask.url = self.follow(&ask, &answer, hops).map_err(Failure::last)?;
                }
                Ok(answer) => return Ok(answer),
            }
        }
    }

    async fn exchange(&self, ask: &Ask<'_>) -> Result<Answer, Failure> {
        let name = format!("{} {}", ask.method, ask.url.path());
        let late = || Error::timed_out(format!("the deadline passed before {name} was answered"));
        let now = Instant::now();
        if now >= self.deadline {
            return Err(Failure::last(late()));
        }
        let until = self.deadline.min(now + REQUEST_TIMEOUT);
        self.meter.count_request();
        match timeout_at(until, self.round_trip(ask, &name)).await {
            Ok(done) => done,
            Err(_) if until == self.deadline => Err(Failure {
                error: late(),
                stage: Stage::Silent,
            }),
            Err(_) => {
                let text = format!("{name} was not answered within {} s", REQUEST_TIMEOUT.as_secs());
                Err(Failure {
                    error: Error::unreachable(text),
                    stage: Stage::Silent,
                })
            }
        }
    }

    async fn round_trip(&self, ask: &Ask<'_>, name: &str) -> Result<Answer, Failure> {
        let mut response = self
            .build(ask)
            .send()
            .await
            .map_err(|error| self.broken(name, &error))?;
        let body = self.read(&mut response, name).await?;
        Ok(Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body,
            name: name.to_owned(),
        })
    }

    fn build(&self, ask: &Ask<'_>) -> RequestBuilder {
        let request = self
            .client
            .request(ask.method.clone(), ask.url.clone())
            .header(ACCEPT, "application/json");
        let request = match ask.body {
            Body::None => request,
            Body::Json(value) => request.json(value),
            Body::Form(fields) => request.form(fields),
        };
        match &ask.identity {
            Identity::None => request,
            Identity::Basic(username, password) => request.basic_auth(username, Some(password.expose())),
            Identity::Header(name, value) => request.header(name, value),
        }
    }

    async fn read(&self, response: &mut Response, name: &str) -> Result<Vec<u8>, Failure> {
        let read = holdpoint_net::body(response, LONGEST_BODY).await;
        read.map_err(|unread| match unread {
            Unread::Broken(error) => self.broken(name, &error),
            Unread::TooLarge => Failure::last(Error::malformed(format!(
                "{name}: more than {} MiB",
                LONGEST_BODY >> 20
            ))),
        })
    }

    fn broken(&self, name: &str, error: &reqwest::Error) -> Failure {
        let root = root(error);
        let distrust = tls::distrust(root);
        let stage = match (&distrust, error.is_connect(), error.is_timeout()) {
            (Some(_), _, _) | (None, true, true) => Stage::Final,
            (None, true, false) => Stage::Unsent,
            (None, false, _) => Stage::Broken,
        };
        let text = match distrust {
            Some(why) => format!("{}: {why}", self.origin.authority()),
            None => format!("{} at {name}: {}", self.origin.authority(), cause(error)),
        };
        Failure {
            error: Error::unreachable(text),
            stage,
        }
    }

    /// Waits as long as a "too many requests" asks for.
    async fn pause(&self, answer: &Answer) -> Result<(), Failure> {
        let wait = answer
            .headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map_or(DEFAULT_RETRY_AFTER, Duration::from_secs);
        // A retry without any pause would only be one more of too many.
        let wait = wait.max(PAUSES[0]);
        if self.deadline.duration_since(Instant::now()) <= wait {
            let text = format!(
                "{}: the ZVM asked to wait {} s, past the deadline",
                answer.name,
                wait.as_secs()
            );
            return Err(Failure::last(Error::timed_out(text)));
        }
        sleep(wait).await;
        Ok(())
    }

    /// Where a redirect leads, if we go there.
    fn follow(&self, ask: &Ask<'_>, answer: &Answer, hops: usize) -> Result<Url, Error> {
        let target = answer
            .headers
            .get(LOCATION)
            .and_then(|value| ask.url.join(value.to_str().ok()?).ok())
            .ok_or_else(|| Error::malformed(format!("{}: a redirect to nowhere", answer.name)))?;
        let refused = |why: &str| {
            let host = target.host_str().unwrap_or("another host");
            Err(Error::Unreachable(
                self.shown(&format!("{}: redirected to {host}; {why}", answer.name)),
            ))
        };
        if target.origin() != self.origin.origin() {
            refused("another host is never followed")
        } else if ask.method != Method::GET {
            refused("only a GET is followed")
        } else if hops > MOST_REDIRECTS {
            refused("too many redirects")
        } else {
            Ok(target)
        }
    }

    /// What an answer that is not a success means. Only a ZVM that gave its own words declined; a bare 5xx comes from
    /// something in between as often as not.
    pub(crate) fn refusal(&self, answer: &Answer) -> Error {
        let words = wire::words(&answer.body);
        let by_zerto = words.as_ref().is_some_and(|words| words.by_zerto);
        let words = words.map(|words| self.shown(&words.text));
        let status = format!("HTTP {} from {}", answer.status.as_u16(), answer.name);
        let both = words
            .as_ref()
            .map_or_else(|| status.clone(), |words| format!("{words} ({status})"));
        match answer.status.as_u16() {
            401 | 403 => Error::Unauthorized(clean(&both)),
            404 => Error::NotFound,
            400..=499 => Error::Refused(words.unwrap_or(status)),
            500..=599 if by_zerto => Error::Refused(words.unwrap_or(status)),
            _ => Error::unreachable(both),
        }
    }
}

/// Takes an address apart far enough to know that it names an origin and nothing else.
pub(crate) fn origin(url: &str) -> Result<Url, Error> {
    let bad = |why: &str| Error::unreachable(format!("the ZVM's address {why}"));
    let url = Url::parse(url.trim()).map_err(|error| bad(&format!("cannot be read: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("must not hold a user or a password"));
    }
    if url.scheme() != "https" {
        return Err(bad("must begin with https://"));
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(bad("must end after the host and the port"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_https_origin() {
        for good in [
            "https://zvm",
            "https://zvm/",
            " https://10.0.0.1:9669",
            "https://[::1]:443/",
        ] {
            assert!(origin(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "zvm",
            "http://zvm",
            "https://",
            "https://zvm/v1",
            "https://zvm/?a",
            "https://zvm/#a",
            "ftp://z",
        ] {
            assert!(matches!(origin(bad), Err(Error::Unreachable(_))), "{bad}");
        }
    }

    #[test]
    fn credentials_in_an_address_are_refused_and_not_repeated() {
        let error = origin("https://admin:pa55@zvm").unwrap_err();
        assert!(!error.to_string().contains("pa55"), "{error}");
    }
}
