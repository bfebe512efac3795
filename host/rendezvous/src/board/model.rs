//! The protocol against every order of events: processes that arrive, stop and are killed between any two of their steps,
//! and a ZVM that takes an insert on when it likes and shows it later still.
//!
//! Each step is what [`Place`](crate::Place) does in one piece: under the board's lock, or by itself. The model's locks
//! end with their process, as the system's do, and its journal counts events, so that "before" needs no clock.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::board::{Board, Fate, Stage};

const PROCESSES: usize = 5;

/// What the scheduler lets happen next.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A process takes its next step.
    Step(usize),
    /// A process is killed, at whatever point it is.
    Kill(usize),
    /// A process is stopped for so long that its followers lose patience; it can step again later.
    LosePatience(usize),
    /// The ZVM takes on the oldest insert that is on its way.
    TakeOn,
    /// Every checkpoint that was taken on can be seen.
    Tick,
    /// The board is lost.
    Lose,
}

/// Where a process is.
#[derive(Debug, Clone, PartialEq)]
enum At {
    Outside,
    Arriving,
    Gathering {
        number: u64,
        ahead: Vec<u64>,
    },
    Sending {
        number: Option<u64>,
    },
    Watching {
        number: Option<u64>,
        tag: String,
    },
    Following {
        number: u64,
    },
    /// It was told of this tag, and has not yet looked into the journal itself.
    Confirming {
        tag: String,
    },
    Passed,
    Dead,
}

#[derive(Debug)]
struct Process {
    at: At,
    /// When it began to wait for a checkpoint.
    began: usize,
    tries: usize,
}

/// A checkpoint at the ZVM.
#[derive(Debug)]
struct Checkpoint {
    inserted: usize,
    visible: bool,
}

#[derive(Debug, Default)]
struct World {
    time: usize,
    board: Board,
    processes: Vec<Process>,
    /// Who holds which round's lock.
    leaders: BTreeMap<u64, usize>,
    /// Sent and not taken on.
    on_their_way: Vec<String>,
    journal: BTreeMap<String, Checkpoint>,
    /// A mistake that the model has to notice: rounds are joined after they were closed.
    joins_late: bool,
    /// A mistake that the model has to notice: rounds that are over are joined.
    joins_the_past: bool,
}

impl World {
    fn new() -> Self {
        let process = || Process {
            at: At::Outside,
            began: 0,
            tries: 0,
        };
        Self {
            processes: (0..PROCESSES).map(|_| process()).collect(),
            ..Self::default()
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        self.time += 1;
        match event {
            Event::Step(who) => return self.step(who),
            Event::Kill(who) => {
                self.processes[who].at = At::Dead;
                self.leaders.retain(|_, leader| *leader != who);
            }
            Event::LosePatience(who) => {
                if let At::Following { number } = self.processes[who].at {
                    self.board.give_up(number);
                    self.processes[who].at = At::Arriving;
                }
            }
            Event::TakeOn if !self.on_their_way.is_empty() => {
                let tag = self.on_their_way.remove(0);
                let checkpoint = Checkpoint {
                    inserted: self.time,
                    visible: false,
                };
                self.journal.insert(tag, checkpoint);
            }
            Event::Tick => self
                .journal
                .values_mut()
                .for_each(|checkpoint| checkpoint.visible = true),
            Event::Lose => self.board = Board::default(),
            Event::TakeOn => {}
        }
        Ok(())
    }

    fn step(&mut self, who: usize) -> Result<(), String> {
        let at = self.processes[who].at.clone();
        self.processes[who].at = match at {
            At::Outside => {
                self.processes[who].began = self.time;
                At::Arriving
            }
            At::Arriving => self.arrive(who),
            At::Gathering { number, mut ahead } => {
                ahead.retain(|round| self.leaders.contains_key(round));
                // Whether it gathered long enough is the scheduler's choice.
                if ahead.is_empty() || self.time.is_multiple_of(3) {
                    self.board.close(number);
                    At::Sending { number: Some(number) }
                } else {
                    At::Gathering { number, ahead }
                }
            }
            At::Sending { number } => {
                self.processes[who].tries += 1;
                let tag = format!("{who}-{}", self.processes[who].tries);
                self.on_their_way.push(tag.clone());
                At::Watching { number, tag }
            }
            At::Watching { number, tag } => self.watch(who, number, tag)?,
            At::Following { number } => self.follow(number),
            At::Confirming { tag } => {
                self.accept(who, &tag)?;
                At::Passed
            }
            over @ (At::Passed | At::Dead) => over,
        };
        Ok(())
    }

    fn arrive(&mut self, who: usize) -> At {
        let leaders = &self.leaders;
        self.board.forget_dead(|number| leaders.contains_key(&number));
        let joined = self.board.gathering().or_else(|| self.mistaken());
        if let Some(number) = joined {
            return At::Following { number };
        }
        let mut number = self.board.next();
        while self.leaders.contains_key(&number) {
            number += 1;
        }
        let ahead = self.board.begin(number);
        self.leaders.insert(number, who);
        if ahead.is_empty() {
            At::Sending { number: Some(number) }
        } else {
            At::Gathering { number, ahead }
        }
    }

    fn mistaken(&self) -> Option<u64> {
        let mut rounds = self.board.rounds.iter();
        let found = rounds.find(|round| match round.stage {
            Stage::Inserting => self.joins_late,
            Stage::Seen(_) => self.joins_the_past,
            _ => false,
        });
        found.map(|round| round.number)
    }

    /// A leader, or one by itself, looks into the journal.
    fn watch(&mut self, who: usize, number: Option<u64>, tag: String) -> Result<At, String> {
        if !self
            .journal
            .get(&tag)
            .is_some_and(|checkpoint| checkpoint.visible)
        {
            // Every fifth look is the last one.
            let gives_up = self.time.is_multiple_of(5) && number.is_some();
            if let Some(number) = number.filter(|_| gives_up) {
                self.board.finish(number, None);
                self.leaders.remove(&number);
                return Ok(At::Dead);
            }
            return Ok(At::Watching { number, tag });
        }
        if let Some(number) = number {
            self.board.finish(number, Some(tag.clone()));
            self.leaders.remove(&number);
        }
        self.accept(who, &tag)?;
        Ok(At::Passed)
    }

    fn follow(&self, number: u64) -> At {
        if self.leaders.contains_key(&number) {
            return At::Following { number };
        }
        match self.board.fate(number) {
            Fate::Seen(tag) => At::Confirming { tag },
            Fate::Failed => At::Sending { number: None },
            Fate::Open | Fate::Gone => At::Arriving,
        }
    }

    /// What must hold of every checkpoint that a call passes with.
    fn accept(&self, who: usize, tag: &str) -> Result<(), String> {
        let Some(checkpoint) = self.journal.get(tag).filter(|checkpoint| checkpoint.visible) else {
            return Err(format!("{who} passes without a checkpoint: {tag}"));
        };
        if checkpoint.inserted <= self.processes[who].began {
            return Err(format!("{who} passes with one from before its wait: {tag}"));
        }
        Ok(())
    }

    /// Lets everybody who lives come to an end, with nothing else in the way.
    fn settle(&mut self) -> Result<(), String> {
        let is_over = |process: &Process| matches!(process.at, At::Passed | At::Dead);
        for _ in 0..100 {
            if self.processes.iter().all(is_over) {
                return Ok(());
            }
            for who in 0..PROCESSES {
                self.happen(Event::Step(who))?;
            }
            self.happen(Event::TakeOn)?;
            self.happen(Event::Tick)?;
        }
        Err(format!("somebody waits for ever: {self:?}"))
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let who = 0..PROCESSES;
    let event = prop_oneof![
        20 => who.clone().prop_map(Event::Step),
        1 => who.clone().prop_map(Event::Kill),
        1 => who.prop_map(Event::LosePatience),
        3 => Just(Event::TakeOn),
        2 => Just(Event::Tick),
        1 => Just(Event::Lose),
    ];
    vec(event, 0..120)
}

fn run(mut world: World, events: &[Event]) -> Result<World, String> {
    events.iter().try_for_each(|&event| world.happen(event))?;
    world.settle()?;
    Ok(world)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nobody_passes_without_a_checkpoint_from_after_the_beginning_of_the_wait(events in events()) {
        let world = run(World::new(), &events);
        prop_assert!(world.is_ok(), "{}", world.unwrap_err());
    }

    #[test]
    fn nobody_inserts_twice_for_one_call_unless_somebody_else_failed(events in events()) {
        let world = run(World::new(), &events).map_err(TestCaseError::fail)?;
        for process in &world.processes {
            prop_assert!(process.tries <= 1, "{process:?}");
        }
    }
}

/// The model is worth something only if it finds what is wrong.
#[test]
fn the_model_notices_rounds_that_are_joined_too_late() {
    let finds = |make: fn() -> World| {
        let config = ProptestConfig {
            cases: 300,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let mut runner = proptest::test_runner::TestRunner::new(config);
        runner
            .run(&events(), |events| {
                run(make(), &events).map(drop).map_err(TestCaseError::fail)
            })
            .is_err()
    };
    assert!(finds(|| World {
        joins_late: true,
        ..World::new()
    }));
    assert!(finds(|| World {
        joins_the_past: true,
        ..World::new()
    }));
    assert!(!finds(World::new));
}

/// The case that sharing is for: many calls at once, nobody killed.
#[test]
fn many_calls_at_once_need_two_checkpoints() {
    let mut world = World::new();
    for _ in 0..2 {
        for who in 0..PROCESSES {
            world.happen(Event::Step(who)).unwrap();
        }
    }
    world.settle().unwrap();
    assert!(world.processes.iter().all(|process| process.at == At::Passed));
    assert_eq!(world.journal.len(), 2, "{world:?}");
}
