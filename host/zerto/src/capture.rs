//! One capture: the insert of a tagged checkpoint, and the wait until it stands in the VPG's journal.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::api::Insert;
use crate::clock;
use crate::error::Error;
use crate::journal;
use crate::meter::Phase;
use crate::model::Checkpoint;
use crate::wire::{Entry, Task};
use crate::zvm::Zvm;

/// So many polls in a row may fail before the wait is given up.
const MOST_FAILURES: u32 = 5;

impl Zvm {
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
            entry.map(|entry| checkpoint(vpg, tag, entry)).transpose()
        })
        .await
    }
}

/// A capture under way.
struct Capture<'a> {
    zvm: &'a Zvm,
    vpg: &'a str,
    tag: &'a str,
    begun: Instant,
    /// When it is over in any case.
    limit: Instant,
    progress: Mutex<Progress>,
}

/// How far it has come.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// When the insert was last sent.
    sent: Option<Instant>,
    cadence: Option<Duration>,
    /// When the journal promises its next checkpoint, as far as it does.
    due: Option<Instant>,
}

impl<'a> Capture<'a> {
    fn new(zvm: &'a Zvm, vpg: &'a str, tag: &'a str) -> Self {
        let begun = Instant::now();
        let limit = begun
            .checked_add(zvm.longest_wait)
            .map_or(zvm.deadline, |limit| limit.min(zvm.deadline));
        Self {
            zvm,
            vpg,
            tag,
            begun,
            limit,
            progress: Mutex::default(),
        }
    }

    /// Runs it to its end, which is never later than the deadline or the longest wait.
    async fn run(&self) -> Result<Checkpoint, Error> {
        timeout_at(self.limit, self.insert_and_wait())
            .await
            .unwrap_or_else(|_| Err(self.timed_out()))
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn insert_and_wait(&self) -> Result<Checkpoint, Error> {
        let insert = self.insert().await?;
        let _timing = self.zvm.api.http.meter.start(Phase::Journal);
        match insert {
            Insert::Accepted(task) => self.wait(task.as_deref()).await,
            Insert::Lost => self.recover().await,
        }
    }

    async fn insert(&self) -> Result<Insert, Error> {
        self.progress().sent = Some(Instant::now());
        let _timing = self.zvm.api.http.meter.start(Phase::Insert);
        self.zvm.api.insert(self.vpg, self.tag).await
    }

    /// Goes on after a lost answer. An insert is not idempotent, so it is sent again only when the checkpoint of the
    /// first has had its time to surface. Whichever of the two surfaces will do.
    async fn recover(&self) -> Result<Checkpoint, Error> {
        let lost = Instant::now();
        let left = self.limit.duration_since(lost);
        if let Some(found) = self
            .watch(|cadence| lost + journal::lost_wait(cadence, left))
            .await?
        {
            return Ok(found);
        }
        if Instant::now() >= self.limit {
            return Err(self.timed_out());
        }
        let task = match self.insert().await {
            Ok(Insert::Accepted(task)) => task,
            Ok(Insert::Lost) | Err(Error::Unreachable(_)) => None,
            Err(error) => return Err(error),
        };
        self.wait(task.as_deref()).await
    }

    /// Waits for the journal, or for the task to fail.
    async fn wait(&self, task: Option<&str>) -> Result<Checkpoint, Error> {
        let sent = self.progress().sent.unwrap_or(self.begun);
        let end = |cadence| sent + journal::longest_wait(cadence, self.limit.duration_since(sent));
        let journal = pin!(self.watch(end));
        let found = match task {
            None => journal.await?,
            Some(task) => match select(journal, pin!(self.failure(task))).await {
                Either::Left((found, _)) => found?,
                Either::Right((error, _)) => return Err(error),
            },
        };
        found.ok_or_else(|| self.timed_out())
    }

    /// Reads the journal until the tag stands in it, or until the end, which can depend on the cadence.
    async fn watch(&self, end: impl Fn(Option<Duration>) -> Instant) -> Result<Option<Checkpoint>, Error> {
        let mut failures = 0;
        loop {
            let asked = Instant::now();
            let cadence = self.progress().cadence;
            match timeout_at(end(cadence), self.read_journal()).await {
                Err(_) => return Ok(None),
                Ok(Ok(Some(found))) => return Ok(Some(found)),
                Ok(Ok(None)) => failures = 0,
                Ok(Err(error)) => {
                    failures += 1;
                    if failures == MOST_FAILURES || matches!(error, Error::Unauthorized(_)) {
                        return Err(error);
                    }
                }
            }
            let cadence = self.progress().cadence;
            // Counted from poll to poll, so that slow answers do not add to the interval; but never without a pause.
            let interval = journal::back_off(self.interval(), failures);
            let next = (asked + interval).max(Instant::now() + interval / 2);
            sleep_until(next.min(end(cadence))).await;
            if Instant::now() >= end(cadence) {
                return Ok(None);
            }
        }
    }

    async fn read_journal(&self) -> Result<Option<Checkpoint>, Error> {
        let entries = self.zvm.read_journal(self.vpg, self.begun).await?;
        if let Some(cadence) = journal::cadence(&entries) {
            let clock = self.zvm.clock().await?;
            let due = journal::latest(&entries).and_then(|latest| clock.moment(latest)?.checked_add(cadence));
            let mut progress = self.progress();
            (progress.cadence, progress.due) = (Some(cadence), due);
        }
        journal::find(&entries, self.tag)
            .map(|entry| checkpoint(self.vpg, self.tag, entry))
            .transpose()
    }

    /// Follows the task, and comes back only if it fails. A task that cannot be asked for is no failure, and neither is
    /// one that the ZVM has forgotten: the journal decides.
    async fn failure(&self, task: &str) -> Error {
        loop {
            match self.zvm.api.task(task).await {
                Ok(Task::Failed(reason)) => return Error::Refused(reason),
                Ok(Task::Completed) | Err(Error::NotFound) => return pending().await,
                Ok(Task::Running) | Err(_) => sleep_until(Instant::now() + self.interval()).await,
            }
        }
    }

    fn interval(&self) -> Duration {
        let Progress { sent, cadence, due } = *self.progress();
        let (now, elapsed) = (Instant::now(), sent.unwrap_or(self.begun).elapsed());
        let until = due.map(|due| journal::Until {
            left: due.saturating_duration_since(now),
            overdue: now.saturating_duration_since(due),
        });
        journal::interval(elapsed, cadence, until)
    }

    fn timed_out(&self) -> Error {
        let Progress { sent, cadence, .. } = *self.progress();
        let Some(sent) = sent else {
            return Error::timed_out("the deadline passed before the checkpoint was asked for");
        };
        let cadence = cadence.map_or_else(
            || "unknown".into(),
            |cadence| format!("{:.1} s", cadence.as_secs_f64()),
        );
        Error::timed_out(format!(
            "the checkpoint was not in the journal after {:.1} s (cadence: {cadence}); it may still surface, with the \
             tag {:?}",
            sent.elapsed().as_secs_f64(),
            self.tag
        ))
    }
}

/// What is told of an entry.
fn checkpoint(vpg: &str, tag: &str, entry: &Entry) -> Result<Checkpoint, Error> {
    let identifier = entry.identifier.clone();
    Ok(Checkpoint {
        identifier: identifier.ok_or_else(|| Error::malformed("a checkpoint without an identifier"))?,
        vpg_identifier: vpg.to_owned(),
        tag: tag.to_owned(),
        time: entry.time.map(clock::format).unwrap_or_default(),
    })
}
