//! The rounds of one VPG: who inserts, who follows, and what came of it. Pure.
//!
//! A board is only ever changed, and a round of it only ever joined, under one lock. That alone puts a follower's joining
//! before the insert: whoever finds a round that is still gathering has its leader's next step, [`Board::close`], still
//! before it, and the leader inserts after that.

use serde::{Deserialize, Serialize};

/// The most rounds that are remembered. Of those that are over only the latest are of use to somebody who was slow.
const MOST_ROUNDS: usize = 32;
/// The form that boards are written in.
const FORM: u32 = 1;

/// The rounds of one VPG.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    form: u32,
    next: u64,
    rounds: Vec<Round>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Round {
    number: u64,
    stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Stage {
    /// Open: whoever comes may follow.
    Gathering,
    /// Closed: the insert may be on its way, or done.
    Inserting,
    /// The checkpoint with this tag was seen in the journal.
    Seen(String),
    /// There is no checkpoint, or none was seen.
    Failed,
}

/// What came of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Nothing yet.
    Open,
    /// The checkpoint with this tag was seen in the journal by its leader.
    Seen(String),
    /// Its leader tried, and says that it did not succeed.
    Failed,
    /// It is not on the board, or not any more.
    Gone,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            form: FORM,
            next: 1,
            rounds: Vec::new(),
        }
    }
}

impl Board {
    /// Reads a board; none where it is not one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let board: Self = serde_json::from_slice(bytes).ok()?;
        (board.form == FORM).then_some(board)
    }

    /// The board as it is written.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Drops the rounds that are not over and have no leader any more, and says which those were.
    pub fn forget_dead(&mut self, is_alive: impl Fn(u64) -> bool) -> Vec<u64> {
        let is_dead = |round: &Round| !round.is_over() && !is_alive(round.number);
        let dead: Vec<u64> = self
            .rounds
            .iter()
            .filter(|r| is_dead(r))
            .map(|r| r.number)
            .collect();
        self.rounds.retain(|round| !dead.contains(&round.number));
        dead
    }

    /// The round that can still be joined.
    pub fn gathering(&self) -> Option<u64> {
        let open = |round: &&Round| round.stage == Stage::Gathering;
        self.rounds.iter().find(open).map(|round| round.number)
    }

    /// The number that the next round has, unless somebody else's file is in the way.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Begins a round, and says which ones are on their way before it. Without any of those there is nobody to wait for,
    /// and the round is closed at once.
    pub fn begin(&mut self, number: u64) -> Vec<u64> {
        let under_way = self.rounds.iter().filter(|round| !round.is_over());
        let ahead: Vec<u64> = under_way.map(|round| round.number).collect();
        let stage = if ahead.is_empty() {
            Stage::Inserting
        } else {
            Stage::Gathering
        };
        self.rounds.push(Round { number, stage });
        self.next = self.next.max(number.saturating_add(1));
        let extra = self.rounds.len().saturating_sub(MOST_ROUNDS);
        self.rounds.drain(..extra);
        ahead
    }

    /// Lets nobody else join. A round that was given up by its followers stays gone: its leader goes on by itself.
    pub fn close(&mut self, number: u64) {
        self.set(number, Stage::Inserting);
    }

    /// Says what came of a round: the tag of the checkpoint that was seen, or none.
    pub fn finish(&mut self, number: u64, tag: Option<String>) {
        self.set(number, tag.map_or(Stage::Failed, Stage::Seen));
    }

    /// Takes a round away whose leader is there and does nothing.
    pub fn give_up(&mut self, number: u64) {
        self.rounds
            .retain(|round| round.number != number || round.is_over());
    }

    /// What came of a round.
    pub fn fate(&self, number: u64) -> Fate {
        let found = self.rounds.iter().find(|round| round.number == number);
        match found.map(|round| &round.stage) {
            None => Fate::Gone,
            Some(Stage::Gathering | Stage::Inserting) => Fate::Open,
            Some(Stage::Seen(tag)) => Fate::Seen(tag.clone()),
            Some(Stage::Failed) => Fate::Failed,
        }
    }

    fn set(&mut self, number: u64, stage: Stage) {
        if let Some(round) = self.rounds.iter_mut().find(|round| round.number == number) {
            round.stage = stage;
        }
    }
}

impl Round {
    fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Seen(_) | Stage::Failed)
    }
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_round_is_closed_at_once_and_a_second_one_gathers() {
        let mut board = Board::default();
        assert_eq!(board.gathering(), None);
        assert_eq!(board.begin(board.next()), [0; 0]);
        assert_eq!(board.gathering(), None, "nobody can join what may be inserted");
        assert_eq!(board.begin(board.next()), [1]);
        assert_eq!(board.gathering(), Some(2));
        board.close(2);
        assert_eq!(board.gathering(), None);
        board.finish(1, Some("tag".into()));
        board.finish(2, None);
        assert_eq!(
            [board.fate(1), board.fate(2), board.fate(3)],
            [Fate::Seen("tag".into()), Fate::Failed, Fate::Gone]
        );
        assert_eq!(
            board.begin(board.next()),
            [0; 0],
            "what is over is not waited for"
        );
    }

    #[test]
    fn a_dead_leaders_round_is_forgotten_and_one_that_is_over_is_not() {
        let mut board = Board::default();
        for number in 1..=3 {
            board.begin(number);
        }
        board.finish(1, Some("tag".into()));
        assert_eq!(board.forget_dead(|number| number == 3), [2]);
        assert_eq!(board.fate(1), Fate::Seen("tag".into()));
        assert_eq!(board.fate(2), Fate::Gone);
        assert_eq!(board.gathering(), Some(3));
        board.give_up(3);
        board.give_up(1);
        assert_eq!((board.fate(3), board.gathering()), (Fate::Gone, None));
        assert_eq!(board.fate(1), Fate::Seen("tag".into()));
        board.finish(3, Some("late".into()));
        assert_eq!(board.fate(3), Fate::Gone, "its leader goes on by itself");
    }

    #[test]
    fn a_board_is_read_as_it_was_written_and_nothing_else_is() {
        let mut board = Board::default();
        for number in 1..=40 {
            board.begin(number);
            board.finish(number, Some(format!("tag {number}")));
        }
        assert_eq!((board.rounds.len(), board.fate(8)), (MOST_ROUNDS, Fate::Gone));
        assert_eq!(Board::read(&board.bytes()), Some(board.clone()));
        let text = String::from_utf8(board.bytes()).unwrap();
        for bad in [
            String::new(),
            text[..text.len() / 2].to_owned(),
            text.replace("\"form\":1", "\"form\":2"),
            text.replace("seen", "sene"),
        ] {
            assert_eq!(Board::read(bad.as_bytes()), None, "{bad}");
        }
    }
}
