//! One ZVM, and what a policy asks it.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join;
use reqwest::StatusCode;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::api::Api;
use crate::clock::ServerClock;
use crate::error::Error;
use crate::journal;
use crate::meter::Phase;
use crate::model::{Timings, VmRow, VpgState};
use crate::settings::Settings;
use crate::wire::Entry;

/// One ZVM. Logs in at the first question and remembers what does not change.
pub struct Zvm {
    pub(crate) api: Api,
    pub(crate) deadline: Instant,
    pub(crate) longest_wait: Duration,
    site: OnceCell<Option<String>>,
    clock: OnceCell<ServerClock>,
}

impl Zvm {
    /// Prepares everything that needs no network; inside a runtime or outside.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`] where the address is not `https://host[:port]`, where the CA file cannot be read or holds
    /// no certificate, and where the system's trust is wanted and there is none.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            deadline: settings.deadline.into(),
            longest_wait: settings.longest_wait,
            api: Api::new(settings)?,
            site: OnceCell::new(),
            clock: OnceCell::new(),
        })
    }

    /// The rows of all VMs of exactly this name, whatever its case; empty where there are none.
    ///
    /// # Errors
    ///
    /// All of [`Error`] but [`Error::NotFound`].
    pub async fn find_vms_by_name(&self, name: &str) -> Result<Vec<VmRow>, Error> {
        let wanted = name.to_lowercase();
        let mut rows = self
            .look_up(Some(("vmName", name)), &[])
            .await?
            .unwrap_or_default();
        rows.retain(|row| row.vm_name.to_lowercase() == wanted);
        Ok(rows)
    }

    /// The rows of the VM with exactly this identifier; empty where there is none. Zerto answers 400 to what does not
    /// look like an identifier, and 404 to one that it does not know. Some releases answer 500 to either, as they do
    /// where something is wrong with them: then the whole list decides.
    ///
    /// # Errors
    ///
    /// All of [`Error`] but [`Error::NotFound`].
    pub async fn find_vms_by_identifier(&self, identifier: &str) -> Result<Vec<VmRow>, Error> {
        let missed = [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND];
        let filter = Some(("vmIdentifier", identifier));
        let mut rows = match self.look_up(filter, &missed).await? {
            Some(rows) => rows,
            None => self.look_up(None, &[]).await?.unwrap_or_default(),
        };
        rows.retain(|row| row.vm_identifier.eq_ignore_ascii_case(identifier));
        Ok(rows)
    }

    /// The present state of a VPG.
    ///
    /// # Errors
    ///
    /// All of [`Error`]; [`Error::NotFound`] where the ZVM knows no such VPG.
    pub async fn vpg(&self, identifier: &str) -> Result<VpgState, Error> {
        self.ask(self.api.vpg(identifier)).await
    }

    /// How far apart the VPG's checkpoints are, told from the last ten minutes of its journal; none where that holds
    /// fewer than three.
    ///
    /// # Errors
    ///
    /// All of [`Error`]; [`Error::NotFound`] where the ZVM knows no such VPG.
    pub async fn cadence(&self, vpg: &str) -> Result<Option<Duration>, Error> {
        let journal = self.ask(self.read_journal(vpg, Instant::now())).await?;
        Ok(journal::cadence(&journal))
    }

    /// Reads the ZVM's clock, where that has not been done: for a [`confirm`](Self::confirm) that will follow.
    ///
    /// # Errors
    ///
    /// All of [`Error`].
    pub async fn read_clock(&self) -> Result<(), Error> {
        self.in_time(self.clock()).await.map(drop)
    }

    /// The identifier of the ZVM's own site, where it was asked and told.
    pub fn known_site(&self) -> Option<String> {
        self.site.get().cloned().flatten()
    }

    /// How long the parts took so far, and how many requests there were.
    pub fn timings(&self) -> Timings {
        self.api.http.meter.read()
    }

    /// Asks for VMs and, beside that, for what a direction needs: no round trip of its own. None where the ZVM answers
    /// 500 to a filter, which may be its way of saying that it knows no such VM.
    pub(crate) async fn look_up(
        &self,
        filter: Option<(&str, &str)>,
        missed: &[StatusCode],
    ) -> Result<Option<Vec<VmRow>>, Error> {
        self.ask(async {
            let (vms, site) = join(self.api.vms(filter), self.site()).await;
            let answer = vms?;
            if missed.contains(&answer.status) {
                return Ok(Some(Vec::new()));
            }
            if answer.status == StatusCode::INTERNAL_SERVER_ERROR && !missed.is_empty() {
                return Ok(None);
            }
            // Why the VMs could not be had says more than why the site could not.
            let site = if answer.status.is_success() {
                site?.as_deref()
            } else {
                None
            };
            self.api.vm_rows(&answer, site).map(Some)
        })
        .await
    }

    async fn site(&self) -> Result<&Option<String>, Error> {
        self.site.get_or_try_init(|| self.api.site_identifier()).await
    }

    pub(crate) async fn clock(&self) -> Result<&ServerClock, Error> {
        self.clock
            .get_or_try_init(async || {
                // A log-in of its own would make the reading look later than it is.
                self.api.log_in().await?;
                let asked = Instant::now();
                let time = self.api.server_time().await?;
                Ok(ServerClock { time, asked })
            })
            .await
    }

    /// Reads a VPG's journal from ten minutes before this moment, by the ZVM's clock.
    pub(crate) async fn read_journal(&self, vpg: &str, moment: Instant) -> Result<Vec<Entry>, Error> {
        let time = self.clock().await?.at(moment);
        self.api.journal(vpg, &journal::start_date(time)).await
    }

    /// A question after the log-in, by the deadline.
    pub(crate) async fn ask<T>(&self, question: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.in_time(async {
            self.api.log_in().await?;
            let _timing = self.api.http.meter.start(Phase::LookUp);
            question.await
        })
        .await
    }

    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let late = |_| {
            Err(Error::timed_out(
                "the deadline passed before the ZVM had answered",
            ))
        };
        timeout_at(self.deadline, work).await.unwrap_or_else(late)
    }
}
