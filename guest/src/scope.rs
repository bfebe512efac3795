//! The scope that a machine's name stands in: a vCenter, a resource group, a zone.
//!
//! Names are unique within a scope only, so `vm-38` of another vCenter is another machine.

use serde_json::Value;

use crate::arguments::Arguments;
use crate::catalog::format::Machine;
use crate::command;
use crate::lookup::same;
use crate::surroundings::{Scope, Surroundings};

/// The scopes that a call names, in the catalog's order, without those that the operator named for the server.
pub fn foreign(
    machine: &Machine,
    words: &[String],
    arguments: &Arguments<'_>,
    around: Surroundings<'_>,
) -> Vec<Scope> {
    let mut foreign = Vec::new();
    for place in machine.scope.iter() {
        let name = name(place);
        let said = if place.starts_with('-') {
            command::option_values(words, place)
        } else {
            match arguments.get(place) {
                Some(Value::String(text)) => vec![text.clone()],
                None | Some(Value::Null) if !arguments.cut() => Vec::new(),
                None | Some(Value::Null) => vec!["left out because of its size".into()],
                Some(other) => vec![other.to_string()],
            }
        };
        let is_home = |said: &str| {
            let homes = around.servers.iter().map(|server| server.scopes.get(name));
            !around.servers.is_empty()
                && homes
                    .into_iter()
                    .all(|home| home.is_some_and(|home| same(home, said)))
        };
        foreign.extend(said.into_iter().filter(|said| !is_home(said)).map(|said| Scope {
            name: name.to_owned(),
            said,
        }));
    }
    foreign
}

/// A place's name as the settings have it: the last part of a JSON Pointer, an option without its dashes.
fn name(place: &str) -> &str {
    let last = place.rsplit_once('/').map_or(place, |(_, last)| last);
    last.trim_start_matches('-')
}
