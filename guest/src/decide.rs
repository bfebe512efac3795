//! The way of one call through the policy.

use crate::arguments::Arguments;
use crate::capture;
use crate::classify::{self, Judged};
use crate::model::{Call, Tally, Verdict, World};
use crate::reading::{Change, Reading};
use crate::say;
use crate::settings::{Settings, Stance};
use crate::sort::Sorted;
use crate::target::{self, MOST_TARGETS};

/// Judges a call before it runs.
pub fn before(call: &Call, world: &mut impl World) -> Verdict {
    let settings = match Settings::read(&call.settings) {
        Ok(settings) => settings,
        Err(why) => return Verdict::Deny(say::bad_settings(&why)),
    };
    let arguments = Arguments::new(&call.arguments, call.arguments_cut);
    let judged = classify::classify(call, &settings, &arguments);
    if let Some(line) = say::reading(&judged) {
        world.note(&line);
    }
    let judging = Judging {
        call,
        settings: &settings,
        arguments: &arguments,
        judged: &judged,
    };
    let verdict = match &judged.reading {
        Reading::NotMcp | Reading::Read => Verdict::Pass(None),
        Reading::Foreign => Verdict::Deny(say::foreign(&judged)),
        Reading::Other => by_stance(settings.control_plane, say::control_plane(&judged)),
        Reading::Change(_) if judged.control_plane && settings.control_plane != Stance::Pass => {
            by_stance(settings.control_plane, say::control_plane(&judged))
        }
        Reading::Unlisted => by_stance(settings.unknown_tool, say::unlisted(&judged)),
        Reading::Change(change) => judging.change(change, world),
    };
    if judged.ignored_own {
        say::add(verdict, say::IGNORED_OWN)
    } else {
        verdict
    }
}

/// What the operator chose for calls of this sort.
fn by_stance(stance: Stance, reason: String) -> Verdict {
    match stance {
        Stance::Ask => Verdict::Ask(say::longer(&reason, say::QUESTION)),
        Stance::Deny => Verdict::Deny(say::longer(&reason, say::TELL)),
        Stance::Pass => Verdict::Pass(None),
    }
}

/// One call that changes machines.
struct Judging<'a> {
    call: &'a Call,
    settings: &'a Settings,
    arguments: &'a Arguments<'a>,
    judged: &'a Judged,
}

impl Judging<'_> {
    /// Nothing is captured unless every machine is known and can be captured. A deny weighs more than an ask, so all
    /// machines are looked up before either is given.
    fn change(&self, change: &Change, world: &mut impl World) -> Verdict {
        if change.obscure && self.settings.unknown_tool == Stance::Deny {
            return Verdict::Deny(say::change(self.judged, &change.found.doubts, say::DENIED));
        }
        if change.found.count() > MOST_TARGETS {
            let doubt = format!("it names more than {MOST_TARGETS} machines");
            return Verdict::Ask(say::change(self.judged, &[doubt], say::ASKED));
        }
        let mut sorted = Sorted {
            asks: change.found.doubts.clone(),
            ..Sorted::default()
        };
        for target in &change.found.targets {
            // Nothing better is to be expected from asking the same ZVM for the rest.
            if let Err(error) = sorted.add(target, &self.settings.domains, world) {
                return Verdict::Deny(say::not_found_out(self.judged, &target.said, &error));
            }
        }
        let Sorted {
            machines,
            asks,
            denies,
        } = sorted;
        if !denies.is_empty() {
            return Verdict::Deny(say::change(self.judged, &denies, say::DENIED));
        }
        if !asks.is_empty() || machines.is_empty() {
            return Verdict::Ask(self.asking(change, &asks));
        }
        // Before anything is captured, so that nothing is where the tally cannot be had.
        let strained = self.strained(world);
        let verdict = capture::capture(
            self.call,
            self.settings,
            self.judged,
            &machines,
            change.deletes,
            world,
        );
        match (verdict, strained) {
            (Verdict::Pass(Some(note)), Some((tally, from))) => {
                Verdict::Ask(say::strained(self.judged, tally, from, &note))
            }
            (verdict, _) => verdict,
        }
    }

    /// The session's tally and the level from which on a human decides, where it has come to that. Not asked for unless
    /// configured.
    fn strained(&self, world: &mut impl World) -> Option<(Tally, u8)> {
        let from = self.settings.session_ask_level?;
        let tally = world.tally().filter(|tally| tally.level >= from)?;
        Some((tally, from))
    }

    fn asking(&self, change: &Change, asks: &[String]) -> String {
        let mut reason = say::change(self.judged, asks, say::ASKED);
        if change.found.targets.is_empty()
            && let Some(hint) = target::hint(self.arguments.parsed())
        {
            reason = say::longer(&reason, &hint);
        }
        reason
    }
}
