//! Where the calls that need a checkpoint of one VPG meet: boards, files and locks.
//!
//! | file | what |
//! |---|---|
//! | `<key>` | the board |
//! | `<key>.lock` | held by whoever reads the board to join, or changes it |
//! | `<key>.<round>` | held by the round's leader until the round is over or the process ends; grows while it works |

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::board::{Board, Fate};
use crate::directory::Directory;
use crate::error::Error;
use crate::patience::{Look, Next, Patience, may_insert};
use crate::this_machine::machine;

/// Where the calls that need a checkpoint of one VPG meet.
#[derive(Debug, Clone)]
pub struct Place {
    directory: Arc<Directory>,
    key: String,
}

/// What a call does that has come to the place.
#[derive(Debug)]
pub enum Turn {
    /// It inserts, for whoever follows.
    Lead(Lead),
    /// It waits for the one who inserts.
    Follow(Follow),
}

/// The leader of a round. Dropped before the round is over, it leaves the round to its followers.
#[derive(Debug)]
pub struct Lead {
    place: Place,
    number: u64,
    lock: File,
    /// The rounds that were on their way when this one began, and still are.
    ahead: Vec<u64>,
    /// Whether nobody else can join.
    closed: bool,
    begun: Instant,
}

/// One who follows.
#[derive(Debug)]
pub struct Follow {
    place: Place,
    number: u64,
    patience: Patience,
    begun: Instant,
}

impl Place {
    /// The place of a VPG of a ZVM, on this machine in its present run.
    pub fn new(directory: Arc<Directory>, zvm: &str, vpg: &str) -> Self {
        let mut digest = Sha256::new();
        for part in [&machine(), zvm, &vpg.to_ascii_lowercase()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let key = digest
            .finalize()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self { directory, key }
    }

    /// Joins the round that gathers, or begins one.
    ///
    /// # Errors
    ///
    /// Where the directory's files cannot be used.
    pub fn arrive(&self) -> Result<Turn, Error> {
        let _lock = self.lock()?;
        let mut board = self.board()?;
        for dead in board.forget_dead(|number| self.is_led(number)) {
            self.directory.remove(&self.leader(dead))?;
        }
        if let Some(number) = board.gathering() {
            return Ok(Turn::Follow(Follow {
                place: self.clone(),
                number,
                patience: Patience::new(std::time::Duration::ZERO),
                begun: Instant::now(),
            }));
        }
        let (number, lock) = self.claim(board.next())?;
        let ahead = board.begin(number);
        if let Err(error) = self.directory.replace(&self.key, &board.bytes()) {
            let _ = self.directory.remove(&self.leader(number));
            return Err(error);
        }
        Ok(Turn::Lead(Lead {
            place: self.clone(),
            number,
            lock,
            closed: ahead.is_empty(),
            ahead,
            begun: Instant::now(),
        }))
    }

    /// Takes the first number from this one on whose file nobody holds. One is held only by somebody whose board was
    /// lost; one that is there and not held was left by a process that ended before its round was on the board.
    fn claim(&self, first: u64) -> Result<(u64, File), Error> {
        for number in first..first.saturating_add(64) {
            let name = self.leader(number);
            if let Some(file) = self.directory.try_lock(&name)? {
                file.set_len(0)
                    .map_err(|cause| Error::io(&self.directory.file(&name), cause))?;
                return Ok((number, file));
            }
        }
        Err(Error::Busy {
            path: self.directory.file(&self.leader(first)),
        })
    }

    fn change(&self, change: impl FnOnce(&mut Board)) -> Result<(), Error> {
        let _lock = self.lock()?;
        let mut board = self.board()?;
        change(&mut board);
        self.directory.replace(&self.key, &board.bytes())
    }

    fn lock(&self) -> Result<File, Error> {
        self.directory.lock(&format!("{}.lock", self.key))
    }

    /// The board; to be read under the lock by whoever joins or changes it. One that makes no sense is removed, so that
    /// it is met once: those whose rounds stood on it find them gone.
    fn board(&self) -> Result<Board, Error> {
        match self.directory.read(&self.key)? {
            None => {
                self.directory.sweep();
                Ok(Board::default())
            }
            Some(bytes) => match Board::read(&bytes) {
                Some(board) => Ok(board),
                None => {
                    self.directory.remove(&self.key)?;
                    let path = self.directory.file(&self.key);
                    Err(Error::Corrupt { path })
                }
            },
        }
    }

    fn leader(&self, number: u64) -> String {
        format!("{}.{number}", self.key)
    }

    fn is_led(&self, number: u64) -> bool {
        matches!(self.look(number), Ok(Look::Working(_)))
    }

    fn look(&self, number: u64) -> Result<Look, Error> {
        let name = self.leader(number);
        let Some(file) = self.directory.find(&name)? else {
            return Ok(Look::Free);
        };
        let io = |cause| Error::io(&self.directory.file(&name), cause);
        // Shared, so that those who look do not take one another for the leader.
        match file.try_lock_shared() {
            Ok(()) => Ok(Look::Free),
            Err(TryLockError::WouldBlock) => Ok(Look::Working(file.metadata().map_err(io)?.len())),
            Err(TryLockError::Error(cause)) => Err(io(cause)),
        }
    }
}

impl Lead {
    /// Whether this leader inserts now, or lets others join for a while longer.
    pub fn may_insert(&mut self) -> bool {
        let place = &self.place;
        self.ahead.retain(|&number| place.is_led(number));
        may_insert(self.begun.elapsed(), !self.ahead.is_empty())
    }

    /// Lets nobody else join. To be called before the insert is sent, always.
    ///
    /// # Errors
    ///
    /// Where the directory's files cannot be used. Others may still be joining then: the leader is to be dropped, and
    /// the call goes on by itself.
    pub fn close(&mut self) -> Result<(), Error> {
        if !self.closed {
            self.place.change(|board| board.close(self.number))?;
            self.closed = true;
        }
        Ok(())
    }

    /// Tells followers that this leader works; to be called every second.
    pub fn beat(&mut self) {
        // A leader that cannot say so is taken for a stopped one, which costs a checkpoint.
        let _ = self.lock.write_all(b".");
    }

    /// Says what came of the round: the tag of the checkpoint that was seen in the journal, or none.
    ///
    /// # Errors
    ///
    /// Where the directory's files cannot be used. Followers take this leader for a dead one then.
    pub fn finish(self, tag: Option<String>) -> Result<(), Error> {
        let finished = self.place.change(|board| board.finish(self.number, tag));
        // Before the lock is let go, so that whoever has this number next does not lose its file.
        self.place.directory.remove(&self.place.leader(self.number))?;
        finished
    }
}

impl Follow {
    /// What came of the round so far. [`Fate::Gone`] also where the leader has ended or was stopped: then the call
    /// arrives once more.
    ///
    /// # Errors
    ///
    /// Where the directory's files cannot be used.
    pub fn look(&mut self) -> Result<Fate, Error> {
        let place = &self.place;
        let seen = place.look(self.number)?;
        match self.patience.after(seen, self.begun.elapsed()) {
            Next::Wait => Ok(Fate::Open),
            Next::GiveUp => {
                place.change(|board| board.give_up(self.number))?;
                Ok(Fate::Gone)
            }
            // A leader writes the board before it lets go of its lock, so an open round without one stays open.
            Next::Read => {
                let board = place.directory.read(&place.key)?;
                match board
                    .and_then(|bytes| Board::read(&bytes))
                    .unwrap_or_default()
                    .fate(self.number)
                {
                    Fate::Open => Ok(Fate::Gone),
                    fate => Ok(fate),
                }
            }
        }
    }
}
