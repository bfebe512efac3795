//! Captures of calls that wait at the same time: for each VPG one of them inserts, and all see the checkpoint in the
//! journal themselves. What this rests on is written down in `docs/rendezvous.md`.

use std::slice;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use holdpoint_rendezvous::{Directory, Error, Fate, Follow, Lead, Place, Turn};
use holdpoint_zerto::{self as zvm, Checkpoint, Zvm};
use tokio::time::{sleep, timeout, timeout_at};

use super::CaptureOutcome;
use crate::record::Record;

/// How often others are looked at.
const LOOK: Duration = Duration::from_millis(15);
/// How often a leader says that it works.
const BEAT: Duration = Duration::from_secs(1);
/// So many leaders may die or stop under a call before it goes on by itself.
const MOST_LEADERS: usize = 8;
/// So many checkpoints of others may turn out not to be certainly later than the beginning of the wait. The next round's
/// is later by a cadence; one that is still not certain is a forged board's, or comes too often to be worth waiting for.
const MOST_DOUBTFUL: usize = 2;

/// What one call shares.
pub(super) struct Sharing<'a> {
    pub(super) zvm: &'a Zvm,
    pub(super) directory: &'a Arc<Directory>,
    /// The ZVM's address.
    pub(super) url: &'a str,
    /// The call's own tag.
    pub(super) tag: &'a str,
    pub(super) deadline: Instant,
    pub(super) record: &'a Mutex<Record>,
}

impl Sharing<'_> {
    /// Captures all these VPGs at once. The results stand in their order; one that is named twice is captured once.
    pub(super) async fn capture(&self, vpgs: &[String]) -> Vec<CaptureOutcome> {
        let mut unique: Vec<&String> = Vec::new();
        for vpg in vpgs {
            if !unique.contains(&vpg) {
                unique.push(vpg);
            }
        }
        let outcomes = join_all(unique.iter().map(|vpg| self.one(vpg))).await;
        let outcome = |vpg| {
            let all = unique.iter().zip(&outcomes);
            all.into_iter()
                .find(|(other, _)| **other == vpg)
                .map(|(_, outcome)| outcome.clone())
        };
        vpgs.iter().filter_map(outcome).collect()
    }

    async fn one(&self, vpg: &String) -> CaptureOutcome {
        match self.together(vpg).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => self.alone(vpg).await,
            Err(error) => {
                self.tell(&error);
                self.alone(vpg).await
            }
        }
    }

    async fn alone(&self, vpg: &String) -> CaptureOutcome {
        self.zvm
            .capture(slice::from_ref(vpg), self.tag)
            .await
            .pop()
            .unwrap_or(Err(zvm::Error::NotFound))
    }

    /// None where nobody else's checkpoint will do.
    async fn together(&self, vpg: &String) -> Result<Option<CaptureOutcome>, Error> {
        // Whatever is inserted after this protects the call.
        let began = Instant::now();
        let place = Place::new(Arc::clone(self.directory), self.url, vpg);
        let mut doubtful = 0;
        for _ in 0..MOST_LEADERS {
            match place.arrive()? {
                Turn::Lead(lead) => return self.lead(lead, vpg).await.map(Some),
                Turn::Follow(follow) => match timeout_at(self.deadline.into(), self.follow(follow)).await {
                    Ok(fate) => match fate? {
                        Fate::Seen(tag) => {
                            if let Some(checkpoint) = self.confirmed(vpg, &tag, began).await {
                                return Ok(Some(Ok(checkpoint)));
                            }
                            doubtful += 1;
                            if doubtful == MOST_DOUBTFUL {
                                return Ok(None);
                            }
                        }
                        Fate::Failed => return Ok(None),
                        Fate::Gone | Fate::Open => {}
                    },
                    Err(_) => return Ok(Some(Err(too_late()))),
                },
            }
        }
        Ok(None)
    }

    async fn lead(&self, mut lead: Lead, vpg: &String) -> Result<CaptureOutcome, Error> {
        let mut said = Instant::now();
        while !lead.may_insert() {
            if said.elapsed() >= BEAT {
                lead.beat();
                said = Instant::now();
            }
            sleep(LOOK).await;
        }
        lead.close()?;
        let mut capture = std::pin::pin!(self.alone(vpg));
        let outcome = loop {
            match timeout(BEAT, capture.as_mut()).await {
                Ok(outcome) => break outcome,
                Err(_) => lead.beat(),
            }
        };
        let tag = outcome.as_ref().ok().map(|checkpoint| checkpoint.tag.clone());
        if let Err(error) = lead.finish(tag) {
            self.tell(&error);
        }
        Ok(outcome)
    }

    async fn follow(&self, mut follow: Follow) -> Result<Fate, Error> {
        // The ZVM's clock is wanted at the end, and there is time now. Without it, nothing will be confirmed.
        let _ = self.zvm.read_clock().await;
        loop {
            match follow.look()? {
                Fate::Open => sleep(LOOK).await,
                fate => return Ok(fate),
            }
        }
    }

    /// The checkpoint that a leader saw, seen by this call: a file's word alone lets nothing pass.
    async fn confirmed(&self, vpg: &str, tag: &str, began: Instant) -> Option<Checkpoint> {
        self.zvm.confirm(vpg, tag, began).await.ok().flatten()
    }

    fn tell(&self, error: &Error) {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.trouble(&format!("the checkpoint is not shared with other calls: {error}"));
    }
}

fn too_late() -> zvm::Error {
    zvm::Error::TimedOut(
        "the deadline passed while this call waited for a checkpoint that another call had asked for".into(),
    )
}
