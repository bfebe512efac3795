//! Scripted troubles: which request each one meets, and what it does to the answer.

use std::collections::HashMap;
use std::time::Duration;

use hyper::{HeaderMap, StatusCode};
use serde::Deserialize;

use crate::answer::{Answer, JSON};

/// JSON that is an answer to no request: a list where an object is due, and rows whose fields have other types.
const WRONG_TYPE: &str = r#"[{"VmName":17,"VpgName":{},"CheckpointIdentifier":[],"Tag":false},42]"#;

const HTML: &str = "<!doctype html>\n<title>Log in</title>\n";

/// Something that goes wrong with the requests that it matches. Made by [`crate::Scenario::from_toml`].
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Entry")]
pub struct Trouble {
    method: String,
    path: Vec<String>,
    /// How often it applies; `None` for every time.
    pub(crate) times: Option<u64>,
    /// How many matching requests it lets pass first.
    pub(crate) after: u64,
    pub(crate) delay: Duration,
    pub(crate) effect: Effect,
}

/// What a trouble does.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// Another answer; the work is not done.
    Instead(Answer),
    /// A body that has no end, or as many bytes as are given; the work is not done.
    Huge(Option<u64>),
    /// The connection ends before any byte; the work is not done.
    Close,
    /// Nothing is ever answered; the work is not done.
    Hang,
    /// The work is done, after the delay.
    Delay,
    /// The work is done, and answered by 202 with an empty body.
    Unnamed,
    /// The work is done, and the connection ends before any byte.
    Lost,
    /// The work is done, and the connection ends in the middle of the body.
    Cut,
    /// The work is done, and the body comes one byte each delay.
    Slow,
}

impl Trouble {
    /// Whether it meets a request. `*` is one segment, or at the end the rest; case is no matter.
    pub(crate) fn matches(&self, method: &str, path: &str) -> bool {
        let mut segments = path.trim_matches('/').split('/');
        let last = self.path.len() - 1;
        let fits =
            self.path
                .iter()
                .enumerate()
                .all(|(index, wanted)| match (segments.next(), wanted.as_str()) {
                    (None, _) => false,
                    (Some(_), "*") if index == last => {
                        segments.by_ref().for_each(drop);
                        true
                    }
                    (Some(_), "*") => true,
                    (Some(segment), wanted) => segment.eq_ignore_ascii_case(wanted),
                });
        fits && segments.next().is_none() && (self.method == "*" || self.method.eq_ignore_ascii_case(method))
    }
}

/// A trouble as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    on: String,
    times: Option<u64>,
    #[serde(default)]
    after: u64,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    kind: Kind,
    status: Option<u16>,
    body: Option<String>,
    headers: Option<HashMap<String, String>>,
    size: Option<u64>,
    location: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Status,
    Cut,
    Close,
    Hang,
    BadJson,
    Html,
    Huge,
    Redirect,
    Unauthorized,
    Lost,
    Slow,
    Delay,
    Unnamed,
    WrongType,
    Null,
    Empty,
}

impl TryFrom<Entry> for Trouble {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
        entry.check_keys()?;
        let (method, path) = entry
            .on
            .split_once(' ')
            .filter(|(_, path)| path.starts_with('/') && !path.contains(['?', ' ']))
            .ok_or_else(|| format!("`on` is `{}`, not a method and a path", entry.on))?;
        Ok(Self {
            method: method.to_owned(),
            path: path.trim_matches('/').split('/').map(str::to_owned).collect(),
            times: entry.times,
            after: entry.after,
            delay: Duration::from_millis(entry.delay_ms),
            effect: entry.effect()?,
        })
    }
}

impl Entry {
    /// Each kind has keys of its own, and one that stands with another kind is a mistake.
    fn check_keys(&self) -> Result<(), String> {
        let keys = [
            (self.status.is_some(), "status", Kind::Status),
            (self.body.is_some(), "body", Kind::Status),
            (self.headers.is_some(), "headers", Kind::Status),
            (self.size.is_some(), "size", Kind::Huge),
            (self.location.is_some(), "location", Kind::Redirect),
        ];
        match keys
            .into_iter()
            .find(|(given, _, kind)| *given && *kind != self.kind)
        {
            Some((_, key, _)) => Err(format!("`{key}` does not go with this kind of trouble")),
            None => Ok(()),
        }
    }

    fn effect(&self) -> Result<Effect, String> {
        let json = |text: &'static str| Effect::Instead(Answer::text(JSON, text));
        Ok(match self.kind {
            Kind::Status => Effect::Instead(self.status_answer()?),
            Kind::Redirect => Effect::Instead(self.redirect()?),
            Kind::Unauthorized => Effect::Instead(Answer::unauthorized()),
            Kind::BadJson => json(r#"[{"VmName": "#),
            Kind::WrongType => json(WRONG_TYPE),
            Kind::Null => json("null"),
            Kind::Html => Effect::Instead(Answer::text("text/html; charset=utf-8", HTML)),
            Kind::Empty => Effect::Instead(Answer::empty()),
            Kind::Huge => Effect::Huge(self.size),
            Kind::Close => Effect::Close,
            Kind::Hang => Effect::Hang,
            Kind::Delay => Effect::Delay,
            Kind::Unnamed => Effect::Unnamed,
            Kind::Lost => Effect::Lost,
            Kind::Cut => Effect::Cut,
            Kind::Slow => Effect::Slow,
        })
    }

    fn redirect(&self) -> Result<Answer, String> {
        let location = self.location.clone().ok_or("a redirect needs a `location`")?;
        let answer = Answer::empty().with_status(StatusCode::FOUND);
        with_headers(answer, &HashMap::from([("location".to_owned(), location)]))
    }

    fn status_answer(&self) -> Result<Answer, String> {
        let status = self.status.ok_or("this kind of trouble needs a `status`")?;
        let status = StatusCode::from_u16(status)
            .ok()
            .filter(|status| !status.is_informational())
            .ok_or_else(|| format!("{status} is no final HTTP status"))?;
        let body = self.body.clone().unwrap_or_default();
        let answer = Answer::text(JSON, body).with_status(status);
        self.headers.iter().try_fold(answer, with_headers)
    }
}

fn with_headers(mut answer: Answer, headers: &HashMap<String, String>) -> Result<Answer, String> {
    let headers = HeaderMap::try_from(headers).map_err(|error| format!("headers: {error}"))?;
    answer.headers.extend(headers);
    Ok(answer)
}
