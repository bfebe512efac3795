//! A VPG's journal. Untagged checkpoints follow from the clock and are never stored; only tags are.

use crate::scenario::Vpg;

/// How far back the journal reaches, in milliseconds.
pub(crate) const HISTORY: i64 = 3_600_000;

/// The time of what does not happen.
pub(crate) const NEVER: i64 = i64::MAX;

/// Numbers that each tick has for itself: its untagged checkpoint and the tags that surface before the next one.
const NUMBERS_PER_TICK: i64 = 1000;

/// One checkpoint; times are milliseconds since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) number: i64,
    pub(crate) at: i64,
    pub(crate) tag: Option<String>,
}

/// The checkpoints of one VPG.
#[derive(Debug)]
pub(crate) struct Journal {
    cadence: i64,
    delay: i64,
    instant: bool,
    tags: Vec<Checkpoint>,
}

impl Journal {
    pub(crate) fn new(vpg: &Vpg) -> Self {
        Self {
            cadence: vpg.cadence_ms.max(1) as i64,
            delay: vpg.visible_after_ms as i64,
            instant: vpg.instant,
            tags: Vec::new(),
        }
    }

    /// Inserts a tag and gives its checkpoint, whose time is when it surfaces, or [`NEVER`].
    pub(crate) fn insert(&mut self, tag: &str, now: i64, surfaces: bool) -> Checkpoint {
        let ready = now + self.delay;
        let (tick, at) = if self.instant {
            (ready.div_euclid(self.cadence), ready)
        } else {
            let tick = (ready + self.cadence - 1).div_euclid(self.cadence);
            (tick, tick * self.cadence)
        };
        // Time only goes forward, so the last tag's number is the highest.
        let last = self.tags.last().map_or(0, |tag| tag.number);
        let number = last.max(self.number(tick)) + 1;
        let at = if surfaces { at } else { NEVER };
        let checkpoint = Checkpoint {
            number,
            at,
            tag: Some(tag.to_owned()),
        };
        self.tags.push(checkpoint.clone());
        checkpoint
    }

    /// What the journal shows now, between two times, oldest first.
    pub(crate) fn between(&self, from: i64, to: i64, now: i64) -> Vec<Checkpoint> {
        let (from, to) = (from.max(now - HISTORY), to.min(now));
        let first = (from + self.cadence - 1).div_euclid(self.cadence);
        let ticks = (first..=to.div_euclid(self.cadence)).map(|tick| self.tick(tick));
        let tags = self
            .tags
            .iter()
            .filter(|tag| (from..=to).contains(&tag.at))
            .cloned();
        let mut all: Vec<_> = ticks.chain(tags).collect();
        all.sort_by_key(|checkpoint| (checkpoint.at, checkpoint.number));
        all
    }

    fn tick(&self, tick: i64) -> Checkpoint {
        Checkpoint {
            number: self.number(tick),
            at: tick * self.cadence,
            tag: None,
        }
    }

    /// The number of a tick's untagged checkpoint. Counted from the oldest tick, so that no number is negative.
    fn number(&self, tick: i64) -> i64 {
        (tick + HISTORY / self.cadence + 1) * NUMBERS_PER_TICK
    }
}
