//! Asks a Zerto Virtual Manager for VMs and captures tagged checkpoints.
//!
//! This library knows ZVMs and nothing of hooks, policies or Wasm. Its functions run on a Tokio runtime that the caller
//! owns (with timers and I/O, one thread is enough), and none of them answers later than the deadline of the
//! [`Settings`]. A look-up of a host name runs on Tokio's blocking pool and cannot be stopped: whoever must end in time
//! ends the process, or shuts the runtime down in the background.
//!
//! What a ZVM answers, and how, is known from Zerto's OpenAPI description (release 10.0 U6), Zerto's own SDKs and help
//! pages. What they leave open is read so that it can only delay or refuse, never count as a checkpoint.

mod api;
mod capture;
mod certificate;
mod checkup;
mod clock;
mod error;
mod http;
mod journal;
mod kept;
mod login;
mod meter;
mod model;
mod settings;
mod tls;
mod wire;

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, join, join_all, select};
use reqwest::StatusCode;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::api::Api;
use crate::capture::Capture;
use crate::clock::ServerClock;
use crate::meter::Phase;
use crate::wire::Entry;

pub use crate::certificate::Certificate;
pub use crate::checkup::Permission;
pub use crate::error::Error;
pub use crate::kept::Keeper;
pub use crate::model::{Checkpoint, Direction, SiteState, Timings, VmRow, VpgState};
pub use crate::settings::{Login, Secret, Settings, Trust};

/// One ZVM. Logs in at the first question and remembers what does not change.
pub struct Zvm {
    api: Api,
    deadline: Instant,
    longest_wait: Duration,
    site: OnceCell<Option<String>>,
    clock: OnceCell<ServerClock>,
}

/// Whether an address names a ZVM: `https://host[:port]`, and nothing behind it.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn check_address(url: &str) -> Result<(), String> {
    http::origin(url).map(drop).map_err(|error| match error {
        Error::Unreachable(words) => words,
        other => other.to_string(),
    })
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

    /// Inserts a checkpoint with this tag into all these VPGs at once, and waits until each is seen in its VPG's
    /// journal or is known not to come. The results stand in the order of the VPGs; a VPG that is named twice gets one
    /// checkpoint.
    ///
    /// The tag must be unique: whatever entry of the journal has it counts.
    pub async fn capture(&self, vpgs: &[String], tag: &str) -> Vec<Result<Checkpoint, Error>> {
        if tag.is_empty() {
            return vec![Err(Error::Refused("a checkpoint needs a tag".into())); vpgs.len()];
        }
        if let Err(error) = self.log_in().await {
            return vec![Err(error); vpgs.len()];
        }
        let mut unique: Vec<&String> = Vec::new();
        for vpg in vpgs {
            if !unique.contains(&vpg) {
                unique.push(vpg);
            }
        }
        let captures: Vec<_> = unique.iter().map(|vpg| Capture::new(self, vpg, tag)).collect();
        // The journal is read by the ZVM's clock, which is asked for while the inserts are answered. Where it cannot be
        // had, the journal's first reader tries again and says why.
        let clock = async {
            let _ = self.clock().await;
            pending::<Infallible>().await
        };
        let all = join_all(captures.iter().map(Capture::run));
        let results = match select(pin!(all), pin!(clock)).await {
            Either::Left((results, _)) => results,
            Either::Right((never, _)) => match never {},
        };
        let result = |vpg| {
            unique
                .iter()
                .zip(&results)
                .find(|(other, _)| **other == vpg)
                .map(|(_, result)| result.clone())
        };
        vpgs.iter().filter_map(result).collect()
    }

    /// The checkpoint with this tag, where it stands in the VPG's journal and was taken after this moment: what another
    /// process inserted and has seen, seen by this one.
    ///
    /// Moments are compared by the ZVM's clock, dated by the sending of the question: no checkpoint from before the moment
    /// passes. The journal's times are cut to the second, so one that was taken after it, by less than two seconds and a
    /// round trip, may not pass either.
    ///
    /// # Errors
    ///
    /// All of [`Error`]; [`Error::NotFound`] where the ZVM knows no such VPG.
    pub async fn confirm(
        &self,
        vpg: &str,
        tag: &str,
        after: std::time::Instant,
    ) -> Result<Option<Checkpoint>, Error> {
        self.in_time(async {
            let _timing = self.api.http.meter.start(Phase::Journal);
            let clock = self.clock().await?;
            let earliest = clock.not_before(after.into());
            let entries = self
                .api
                .journal(vpg, &journal::start_date(clock.at(after.into())))
                .await?;
            let entry =
                journal::find(&entries, tag).filter(|entry| entry.time.is_some_and(|time| time >= earliest));
            entry
                .map(|entry| capture::checkpoint(vpg, tag, entry))
                .transpose()
        })
        .await
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
    async fn look_up(
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

    async fn clock(&self) -> Result<&ServerClock, Error> {
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
    async fn read_journal(&self, vpg: &str, moment: Instant) -> Result<Vec<Entry>, Error> {
        let time = self.clock().await?.at(moment);
        self.api.journal(vpg, &journal::start_date(time)).await
    }

    /// A question after the log-in, by the deadline.
    async fn ask<T>(&self, question: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.in_time(async {
            self.api.log_in().await?;
            let _timing = self.api.http.meter.start(Phase::LookUp);
            question.await
        })
        .await
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let late = |_| {
            Err(Error::timed_out(
                "the deadline passed before the ZVM had answered",
            ))
        };
        timeout_at(self.deadline, work).await.unwrap_or_else(late)
    }
}
