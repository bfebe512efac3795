//! How long a leader gathers, and when a follower stops waiting for its leader. Pure.

use std::time::Duration;

/// How long a leader waits for others while an earlier round is on its way: what bounds the number of checkpoints, and
/// what a call can lose by not inserting at once. Below half the usual cadence of five seconds, so that a call which came
/// just too late for one round is still answered within two cadences.
const GATHER: Duration = Duration::from_secs(2);

/// A leader that works says so every second. One that has said nothing for so long was stopped.
const STALLED: Duration = Duration::from_secs(10);

/// Whether a leader inserts now: nobody is ahead any more, so that waiting would gather the next calls and cost this one
/// a cadence, or enough has been gathered.
pub fn may_insert(gathered: Duration, is_anybody_ahead: bool) -> bool {
    !is_anybody_ahead || gathered >= GATHER
}

/// What a follower sees of its leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It holds its lock, and has said so many times that it works.
    Working(u64),
    /// Nobody holds the lock.
    Free,
}

/// What a follower does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Looks again.
    Wait,
    /// Reads on the board what came of the round.
    Read,
    /// Takes the round away and looks for another one.
    GiveUp,
}

/// A follower's patience with one leader, measured by the follower's own clock.
#[derive(Debug)]
pub struct Patience {
    beats: u64,
    since: Duration,
}

impl Patience {
    /// Begins to wait; `now` is any clock that only goes forward.
    pub fn new(now: Duration) -> Self {
        Self { beats: 0, since: now }
    }

    /// What to do after a look.
    pub fn after(&mut self, look: Look, now: Duration) -> Next {
        match look {
            Look::Free => Next::Read,
            Look::Working(beats) if beats != self.beats => {
                (self.beats, self.since) = (beats, now);
                Next::Wait
            }
            Look::Working(_) if now.saturating_sub(self.since) < STALLED => Next::Wait,
            Look::Working(_) => Next::GiveUp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_leader_gathers_only_while_somebody_is_ahead_and_not_for_long() {
        assert!(may_insert(s(0), false));
        assert!(!may_insert(s(1), true));
        assert!(may_insert(s(2), true));
    }

    #[test]
    fn a_leader_that_works_is_waited_for_and_a_stopped_one_is_not() {
        let mut patience = Patience::new(s(100));
        for now in 101..200 {
            assert_eq!(patience.after(Look::Working(now), s(now)), Next::Wait);
        }
        assert_eq!(patience.after(Look::Working(199), s(208)), Next::Wait);
        assert_eq!(patience.after(Look::Working(199), s(209)), Next::GiveUp);
        assert_eq!(patience.after(Look::Free, s(209)), Next::Read);
        assert_eq!(Patience::new(s(5)).after(Look::Working(0), s(14)), Next::Wait);
        assert_eq!(Patience::new(s(5)).after(Look::Working(0), s(15)), Next::GiveUp);
    }
}
