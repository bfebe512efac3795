//! Looks up the machines that a call names, and sorts them by what can be done about each.

use crate::judge::{Judgement, Machine, judge};
use crate::lookup::{self, Known};
use crate::model::{World, ZertoError};
use crate::target::{Found, Target, Wanted};
use crate::text::quoted;

/// The most names in one text that are tried in every way in which they can belong together.
const MOST_PARTS: usize = 6;

/// What became of the machines of a call.
#[derive(Debug, Default)]
pub struct Sorted {
    /// Those of which a checkpoint can be taken.
    pub machines: Vec<Machine>,
    /// Why a human has to decide.
    pub asks: Vec<String>,
    /// Why the call must not run.
    pub denies: Vec<String>,
}

impl Sorted {
    /// Looks up one target.
    ///
    /// # Errors
    /// Zerto could not be asked.
    pub fn add(
        &mut self,
        target: &Target,
        domains: &[String],
        world: &mut impl World,
    ) -> Result<(), ZertoError> {
        let known = match &target.wanted {
            Wanted::Name(name) => lookup::by_any_form(world, name, domains)?,
            Wanted::Identifier(identifier) => lookup::by_exact_identifier(world, identifier)?,
            Wanted::Joined { parts, split } => {
                return self.add_joined(&target.said, parts, *split, domains, world);
            }
        };
        self.sort(&target.said, &known);
        Ok(())
    }

    fn sort(&mut self, said: &str, known: &Known) {
        let judgement = match known {
            Known::Rows(rows) => judge(said, rows),
            Known::LookAlike(name) => Judgement::Ask(format!(
                "Zerto knows no VM {}, only {}, which is spelt with other letters",
                quoted(said),
                quoted(name)
            )),
        };
        match judgement {
            Judgement::Capture(machine) if self.machines.contains(&machine) => {}
            Judgement::Capture(machine) => self.machines.push(machine),
            Judgement::Ask(why) => self.asks.push(why),
            Judgement::Deny(why) => self.denies.push(why),
        }
    }

    /// A text that can be one VM's name or several names. The whole of it is looked up first. Only where no VM is called
    /// so, nor like some of the names together, are they looked up one by one.
    fn add_joined(
        &mut self,
        said: &str,
        parts: &Found,
        split: bool,
        domains: &[String],
        world: &mut impl World,
    ) -> Result<(), ZertoError> {
        let whole = lookup::by_exact_name(world, said)?;
        if is_known(&whole) {
            if split {
                self.asks.push(mixed(said, said));
            } else {
                self.sort(said, &whole);
            }
            return Ok(());
        }
        if !split {
            let pieces: Vec<&str> = said.split(',').collect();
            if pieces.len() > MOST_PARTS {
                self.asks.push(format!(
                    "{} holds more than {MOST_PARTS} names, or commas of one; write them as a list",
                    quoted(said)
                ));
                return Ok(());
            }
            for run in runs(&pieces) {
                if is_known(&lookup::by_exact_name(world, run.trim())?) {
                    self.asks.push(mixed(said, run.trim()));
                    return Ok(());
                }
            }
        }
        self.asks.extend(parts.doubts.iter().cloned());
        parts
            .targets
            .iter()
            .try_for_each(|part| self.add(part, domains, world))
    }
}

fn is_known(known: &Known) -> bool {
    !matches!(known, Known::Rows(rows) if rows.is_empty())
}

fn mixed(said: &str, vm: &str) -> String {
    format!(
        "{} can mean several machines, but a VM is called {}",
        quoted(said),
        quoted(vm)
    )
}

/// Two or more neighbours together, but not all of them.
fn runs(pieces: &[&str]) -> Vec<String> {
    let starts = 0..pieces.len();
    starts
        .flat_map(|start| (start + 2..=pieces.len()).map(move |end| (start, end)))
        .filter(|(start, end)| end - start < pieces.len())
        .map(|(start, end)| pieces[start..end].join(","))
        .collect()
}
