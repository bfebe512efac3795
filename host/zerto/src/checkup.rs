//! What an operator wants to know of a ZVM before a call depends on it. Nothing here changes anything there.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::certificate::Certificate;
use crate::error::Error;
use crate::journal;
use crate::model::{Permission, SiteState, VmRow, VpgState};
use crate::zvm::Zvm;

/// How far back a journal is read whose checkpoints are far apart.
const FAR_BACK: time::Duration = time::Duration::hours(2);
/// No VPG has this identifier, so an insert that names it inserts nothing.
const NO_VPG: &str = "00000000-0000-0000-0000-000000000000";
/// The tag of that insert, in case a ZVM writes down what was asked of it.
const NO_TAG: &str = "holdpoint doctor (a test of permissions, meant to fail)";

impl Zvm {
    /// The certificate that was shown in the last handshake, whether or not it was trusted; none before any.
    pub fn certificate(&self) -> Option<Certificate> {
        self.api.http.certificate()
    }

    /// Shakes hands with whoever answers, and no more: nobody logs in and nothing secret is sent.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], also for a certificate that is not trusted, and [`Error::TimedOut`].
    pub async fn reach(&self) -> Result<(), Error> {
        self.api.http.reach().await
    }

    /// Whether whoever answers can be a ZVM, told without a log-in: none where it can, else what speaks against it.
    ///
    /// # Errors
    ///
    /// As [`reach`](Self::reach).
    pub async fn stranger(&self) -> Result<Option<String>, Error> {
        let answer = self.api.http.ask_nobody(&["v1", "localsite"]).await?;
        let is_json =
            |value: &reqwest::header::HeaderValue| value.as_bytes().starts_with(b"application/json");
        let kind = answer.headers.get(reqwest::header::CONTENT_TYPE);
        Ok(match answer.status.as_u16() {
            // A ZVM wants a log-in first, tells what is asked, or has troubles of its own.
            401 | 403 | 500..=599 => None,
            200..=299 if kind.is_some_and(is_json) => None,
            status => Some(format!(
                "it answers {status} to {}, which a ZVM does not",
                answer.name
            )),
        })
    }

    /// Logs in, and says how long that counts; none where it ends by disuse only.
    ///
    /// # Errors
    ///
    /// All of [`Error`] but [`Error::NotFound`].
    pub async fn log_in(&self) -> Result<Option<Duration>, Error> {
        self.in_time(self.api.log_in()).await
    }

    /// Which site and release this is.
    ///
    /// # Errors
    ///
    /// All of [`Error`].
    pub async fn site_state(&self) -> Result<SiteState, Error> {
        self.ask(self.api.site_state()).await
    }

    /// How far the ZVM's clock is ahead of this machine's, in seconds; below zero where it is behind. As exact as half
    /// of a round trip, of which the answer's own time says how long that was.
    ///
    /// # Errors
    ///
    /// All of [`Error`].
    pub async fn clock_ahead(&self) -> Result<f64, Error> {
        self.ask(async {
            let (began, ours) = (Instant::now(), SystemTime::now());
            let theirs = self.api.server_time().await?;
            let ours = ours + began.elapsed() / 2;
            let ours = ours.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Ok(theirs.unix_timestamp_nanos() as f64 / 1e9 - ours.as_secs_f64())
        })
        .await
    }

    /// The states of all VPGs.
    ///
    /// # Errors
    ///
    /// All of [`Error`].
    pub async fn vpgs(&self) -> Result<Vec<VpgState>, Error> {
        self.ask(self.api.vpgs()).await
    }

    /// The rows of all VMs that these credentials may see.
    ///
    /// # Errors
    ///
    /// All of [`Error`] but [`Error::NotFound`].
    pub async fn vms(&self) -> Result<Vec<VmRow>, Error> {
        // What the ZVM does anyway: a filter that filters nothing.
        Ok(self.look_up(None, &[]).await?.unwrap_or_default())
    }

    /// As [`Zvm::cadence`], and told from the last two hours where ten minutes hold too few checkpoints for that.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn long_cadence(&self, vpg: &str) -> Result<Option<Duration>, Error> {
        if let Some(cadence) = self.cadence(vpg).await? {
            return Ok(Some(cadence));
        }
        let journal = self
            .ask(async {
                let time = self.clock().await?.at(Instant::now()) - FAR_BACK;
                self.api.journal(vpg, &journal::start_date(time)).await
            })
            .await?;
        Ok(journal::cadence(&journal))
    }

    /// Whether these credentials may insert a checkpoint, told from an insert into a VPG that does not exist: who may
    /// not is turned away before anything is looked for.
    ///
    /// # Errors
    ///
    /// Where the ZVM could not be asked.
    pub async fn may_insert(&self) -> Result<Permission, Error> {
        self.ask(self.api.permission(NO_VPG, NO_TAG)).await
    }
}
