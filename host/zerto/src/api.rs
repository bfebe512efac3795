//! The part of Zerto's API that a hold point needs, one function for each question.

use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::error::Error;
use crate::http::{Answer, Ask, Body, Failure, Http, Stage};
use crate::kept::Shelf;
use crate::login::Session;
use crate::model::{Permission, SiteState, VmRow, VpgState};
use crate::settings::Settings;
use crate::wire::{self, Entry, Read, Task};

/// One ZVM and our session there.
pub(crate) struct Api {
    pub(crate) http: Http,
    session: Session,
}

/// What came of an insert.
pub(crate) enum Insert {
    /// The ZVM took it on; the task's identifier, where the answer names one. Where it does not, the journal alone says
    /// what became of it.
    Accepted(Option<String>),
    /// The ZVM may or may not have taken it on.
    Lost,
}

impl Api {
    pub(crate) fn new(settings: Settings) -> Result<Self, Error> {
        let http = Http::new(&settings)?;
        let shelf = Shelf::new(&settings);
        Ok(Self {
            http,
            session: Session::new(settings.login, shelf, settings.retry_refused),
        })
    }

    /// Logs in, where that has not been done.
    pub(crate) async fn log_in(&self) -> Result<Option<Duration>, Error> {
        Ok(self.session.pass(&self.http, None).await?.life())
    }

    /// The answer to `GET /v1/vms`, to be read with [`vm_rows`](Self::vm_rows).
    pub(crate) async fn vms(&self, filter: Option<(&str, &str)>) -> Result<Answer, Error> {
        self.get(&["v1", "vms"], filter.as_slice()).await
    }

    pub(crate) fn vm_rows(&self, answer: &Answer, local: Option<&str>) -> Result<Vec<VmRow>, Error> {
        self.read_fixed(answer, |body| wire::vm_rows(body, local))
    }

    /// The identifier of the ZVM's own site; none where the ZVM does not say. Not asked for where an earlier process did,
    /// with the same log-in.
    pub(crate) async fn site_identifier(&self) -> Result<Option<String>, Error> {
        if let Some(site) = self.session.site().await {
            return Ok(site);
        }
        let answer = self.get(&["v1", "localsite"], &[]).await?;
        let site = match answer.status {
            StatusCode::NOT_FOUND => None,
            _ => self.read(&answer, wire::site_identifier)?,
        };
        self.session.keep_site(site.as_deref()).await;
        Ok(site)
    }

    pub(crate) async fn site_state(&self) -> Result<SiteState, Error> {
        let answer = self.get(&["v1", "localsite"], &[]).await?;
        self.read_fixed(&answer, wire::site_state)
    }

    pub(crate) async fn server_time(&self) -> Result<OffsetDateTime, Error> {
        let answer = self
            .get(&["v1", "serverDateTime", "serverDateTimeUtc"], &[])
            .await?;
        self.read_fixed(&answer, wire::server_time)
    }

    pub(crate) async fn vpg(&self, vpg: &str) -> Result<VpgState, Error> {
        let answer = self.get(&["v1", "vpgs", named(vpg)?], &[]).await?;
        self.read(&answer, |body| wire::vpg_state(body, vpg))
    }

    pub(crate) async fn vpgs(&self) -> Result<Vec<VpgState>, Error> {
        let answer = self.get(&["v1", "vpgs"], &[]).await?;
        self.read_fixed(&answer, wire::vpg_states)
    }

    pub(crate) async fn journal(&self, vpg: &str, start_date: &str) -> Result<Vec<Entry>, Error> {
        let path = ["v1", "vpgs", named(vpg)?, "checkpoints"];
        let answer = self.get(&path, &[("startDate", start_date)]).await?;
        self.read(&answer, wire::journal)
    }

    pub(crate) async fn task(&self, task: &str) -> Result<Task, Error> {
        let answer = self.get(&["v1", "tasks", named(task)?], &[]).await?;
        let task = self.read(&answer, wire::task)?;
        Ok(match task {
            Task::Failed(reason) => Task::Failed(self.http.shown(&reason)),
            other => other,
        })
    }

    /// Asks for a checkpoint. An answer that is no answer, from a broken connection or from a gateway, leaves open
    /// whether there will be one.
    pub(crate) async fn insert(&self, vpg: &str, tag: &str) -> Result<Insert, Error> {
        let url = self.http.url(&["v1", "vpgs", named(vpg)?, "checkpoints"], &[]);
        let body = json!({"checkpointName": tag});
        let answer = match self.send(Method::POST, url, Some(&body)).await {
            Ok(answer) => answer,
            Err(Failure {
                stage: Stage::Broken | Stage::Silent,
                ..
            }) => return Ok(Insert::Lost),
            Err(failure) => return Err(failure.error),
        };
        if answer.status.is_success() {
            // Some releases answer 202 and nothing more. As an error, that would deny the call and leave a checkpoint.
            if answer.body.trim_ascii().is_empty() {
                return Ok(Insert::Accepted(None));
            }
            return self
                .read(&answer, wire::task_identifier)
                .map(|task| Insert::Accepted(Some(task)));
        }
        let words = wire::words(&answer.body).filter(|words| words.by_zerto);
        Err(
            match (self.http.refusal(&answer), answer.status.as_u16(), words) {
                (Error::Unreachable(_), 502..=504, _) => return Ok(Insert::Lost),
                (Error::NotFound, _, Some(words)) => Error::Refused(self.http.shown(&words.text)),
                (error, _, _) => error,
            },
        )
    }

    /// Asks for a checkpoint of what is no VPG. Who may insert is told that there is none.
    pub(crate) async fn permission(&self, no_vpg: &str, tag: &str) -> Result<Permission, Error> {
        let url = self.http.url(&["v1", "vpgs", named(no_vpg)?, "checkpoints"], &[]);
        let body = json!({"checkpointName": tag});
        let answer = self.send(Method::POST, url, Some(&body)).await;
        let answer = answer.map_err(|failure| failure.error)?;
        if answer.status.is_success() {
            return Ok(Permission::Granted);
        }
        match self.http.refusal(&answer) {
            Error::NotFound => Ok(Permission::Granted),
            Error::Unauthorized(words) => Ok(Permission::Denied(words)),
            Error::Refused(words) => Ok(Permission::Unclear(words)),
            error => Err(error),
        }
    }

    async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Answer, Error> {
        self.send(Method::GET, self.http.url(path, query), None)
            .await
            .map_err(|failure| failure.error)
    }

    /// Sends with the present pass; once more with a new one where the ZVM turned it away. A pass that was kept may also
    /// say less of its user than is true by now.
    async fn send(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Answer, Failure> {
        let mut stale = None;
        loop {
            let pass = self
                .session
                .pass(&self.http, stale)
                .await
                .map_err(Failure::last)?;
            let ask = Ask {
                method: method.clone(),
                url: url.clone(),
                body: body.map_or(Body::None, Body::Json),
                identity: pass.identity(),
            };
            let answer = self.http.send(ask).await?;
            let turned_away = match answer.status {
                StatusCode::UNAUTHORIZED => true,
                StatusCode::FORBIDDEN => pass.is_kept(),
                _ => false,
            };
            if !turned_away || stale.is_some() {
                return Ok(answer);
            }
            stale = Some(pass.number());
        }
    }

    /// Reads a resource that every ZVM has. "Not found" is said of what a caller named, and nobody named this.
    fn read_fixed<T>(&self, answer: &Answer, read: impl FnOnce(&[u8]) -> Read<T>) -> Result<T, Error> {
        self.read(answer, read).map_err(|error| match error {
            Error::NotFound => Error::unreachable(format!(
                "HTTP 404 from {}: is this a ZVM, and of a release that has this resource?",
                answer.name
            )),
            other => other,
        })
    }

    fn read<T>(&self, answer: &Answer, read: impl FnOnce(&[u8]) -> Read<T>) -> Result<T, Error> {
        if !answer.status.is_success() {
            return Err(self.http.refusal(answer));
        }
        read(&answer.body).map_err(|why| Error::malformed(format!("{}: {why}", answer.name)))
    }
}

/// An identifier that can stand in a path. Nothing that Zerto names is written otherwise, so anything else names
/// nothing.
fn named(identifier: &str) -> Result<&str, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let real = identifier.chars().all(plain) && identifier.chars().any(|c| c.is_ascii_alphanumeric());
    if real && identifier.len() <= 200 {
        Ok(identifier)
    } else {
        Err(Error::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identifiers_stand_in_paths() {
        for good in ["3b6f0a2e-1111-4c22-8f33-5a5a5a5a5a5a", "task.site_1"] {
            assert_eq!(named(good), Ok(good));
        }
        for bad in ["", ".", "..", "a/b", "a?b", "a%2fb", "ä", "a b", &"a".repeat(201)] {
            assert_eq!(named(bad), Err(Error::NotFound), "{bad}");
        }
    }
}
