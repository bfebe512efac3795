//! Why it is not certain what a call does, by the arguments that an entry of a catalog speaks of.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::arguments::Arguments;
use crate::catalog::format::{Class, Dispatch, Group};
use crate::segment;
use crate::target;
use crate::text::quoted;

/// Why arguments that this entry speaks of make it uncertain what a call does.
pub fn doubts(group: &Group, arguments: &Arguments<'_>) -> Vec<String> {
    let mut doubts = redirecting(group, arguments);
    doubts.extend(on_a_command_line(group, arguments));
    let segments = group.segments.iter();
    doubts.extend(segments.filter_map(|argument| segment::doubt(arguments, argument)));
    let machines = group.machine.iter().flat_map(|machine| machine.arguments.iter());
    doubts.extend(
        machines
            .filter_map(|argument| arguments.get(argument))
            .filter_map(|value| target::option_among(value).or_else(|| target::template_among(value))),
    );
    let named = named(group);
    let repeated = named.iter().find(|argument| arguments.repeats(argument));
    doubts.extend(match repeated {
        Some(argument) => Some(format!(
            "the argument {} stands there in several spellings, and which of them counts is not known",
            quoted(argument)
        )),
        None => elsewhere(group, &named, arguments),
    });
    doubts
}

/// Arguments that may lead a call elsewhere, or that may have stood there before parts were left out.
fn redirecting(group: &Group, arguments: &Arguments<'_>) -> Vec<String> {
    let doubtful = group
        .doubtful
        .iter()
        .filter(|argument| arguments.may_hold(argument));
    let mut doubts: Vec<String> = doubtful
        .map(|argument| {
            format!(
                "the argument {} may change which machine is reached or what is done",
                quoted(argument)
            )
        })
        .collect();
    let words = group
        .dispatch
        .as_ref()
        .filter(|dispatch| dispatch.flags.is_some() || !dispatch.extra_words.is_empty());
    let unread = arguments
        .unread()
        .filter(|_| words.is_some() || group.command_line);
    doubts.extend(unread.map(|why| format!("{why}, and words of the command may be missing")));
    doubts
}

/// Arguments that would be more on the server's command line than the catalog says they are.
fn on_a_command_line(group: &Group, arguments: &Arguments<'_>) -> Vec<String> {
    let present = |argument: &str| arguments.get(argument).filter(|value| !value.is_null());
    let mut doubts = Vec::new();
    for argument in group.switches.iter() {
        if present(argument).is_some_and(|value| !value.is_boolean()) {
            doubts.push(format!(
                "the switch {} is neither true nor false, and the server may read what it holds as further words of the command",
                quoted(argument)
            ));
        }
    }
    for argument in group.values.iter() {
        if present(argument).is_some_and(|value| !is_one_value(value)) {
            doubts.push(not_one_value(argument));
        }
    }
    for argument in group.words.iter() {
        if present(argument).is_some_and(|value| !are_plain_words(value)) {
            doubts.push(format!(
                "among the words of {} stands an option, or something that is not a word",
                quoted(argument)
            ));
        }
    }
    if group.command_line {
        let machines = group.machine.iter().flat_map(|machine| machine.arguments.iter());
        let separated = group
            .machine
            .as_ref()
            .is_some_and(|machine| machine.separator.is_some());
        let odd = machines.filter(|argument| match present(argument) {
            None | Some(Value::Number(_)) => false,
            // The server splits only what the catalog calls words; elsewhere a blank belongs to the name.
            Some(Value::String(text)) => {
                separated && !group.words.contains(argument) && text.contains(char::is_whitespace)
            }
            Some(_) => true,
        });
        doubts.extend(odd.map(|argument| not_one_value(argument)));
        doubts.extend(undeclared(group, arguments));
    }
    doubts
}

fn not_one_value(argument: &str) -> String {
    format!(
        "the argument {} is not one plain value, and the server may read it as an option or as further words",
        quoted(argument)
    )
}

/// A number, or a text that no program takes for an option.
pub fn is_one_value(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => {
            !text.trim_start().starts_with('-') || text.trim().parse::<f64>().is_ok_and(f64::is_finite)
        }
        _ => false,
    }
}

/// A text of which no word begins like an option, whatever the quotation marks in it mean to the server.
fn are_plain_words(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\'))
            .all(|word| !word.starts_with('-'))
    })
}

/// An argument that the entry does not name, where the server may put it on its command line.
fn undeclared(group: &Group, arguments: &Arguments<'_>) -> Option<String> {
    let mut known = named(group);
    for list in [&group.switches, &group.values, &group.words] {
        known.extend(list.iter().map(AsRef::as_ref));
    }
    let machines = group.machine.iter();
    known.extend(
        machines
            .flat_map(|machine| machine.arguments.iter())
            .map(AsRef::as_ref),
    );
    let first = |place: &str| place.trim_start_matches('/').split('/').next().map(str::to_owned);
    let known: BTreeSet<String> = known.into_iter().filter_map(first).collect();
    let odd = arguments
        .parsed()
        .as_object()?
        .iter()
        .find(|(key, value)| !value.is_null() && !known.contains(key.as_str()))?;
    Some(format!(
        "the catalog does not know the argument {}, which the server may put on its command line",
        quoted(odd.0)
    ))
}

/// An argument that counts and whose name stands at another place too, in whatever spelling: which of the places the
/// server reads is then not known.
fn elsewhere(group: &Group, named: &BTreeSet<&str>, arguments: &Arguments<'_>) -> Option<String> {
    // What a doubtful argument holds is the server's business: it asks as a whole.
    let counting: Vec<&str> = named
        .iter()
        .copied()
        .filter(|argument| !group.doubtful.iter().any(|doubtful| doubtful == argument))
        .collect();
    if let Some(argument) = arguments.doubled(&counting) {
        return Some(format!(
            "the argument {} stands there twice, and which of them counts is not known",
            quoted(argument)
        ));
    }
    let (argument, place) = arguments.elsewhere(&counting)?;
    Some(format!(
        "the argument {} also stands at {}, and which of them counts is not known",
        quoted(argument),
        quoted(&place)
    ))
}

/// The arguments that an entry speaks of. Where it only reads, whatever its machine arguments say, those do not matter.
fn named(group: &Group) -> BTreeSet<&str> {
    let machines = group.machine.iter().filter(|_| group.class != Class::Read);
    let mut named: BTreeSet<&str> = machines
        .flat_map(|machine| machine.arguments.iter().chain(machine.scope.iter()))
        .chain(group.doubtful.iter())
        .chain(group.segments.iter())
        .chain(group.rules.iter().map(|rule| &rule.argument))
        .chain(group.rules.iter().filter_map(|rule| rule.repeated_in.as_ref()))
        .map(AsRef::as_ref)
        .collect();
    if let Some(dispatch) = &group.dispatch {
        named.extend(carried(dispatch));
    }
    named
}

/// The arguments in which a dispatcher's command and its machines stand.
fn carried(dispatch: &Dispatch) -> impl Iterator<Item = &str> {
    let places = [
        &dispatch.tool,
        &dispatch.arguments,
        &dispatch.command,
        &dispatch.flags,
    ];
    let machines = dispatch
        .commands
        .iter()
        .filter_map(|command| command.machine.as_ref())
        .flat_map(|machine| machine.arguments.iter().chain(machine.scope.iter()))
        .filter(|place| !place.starts_with('-'));
    places
        .into_iter()
        .flatten()
        .chain(dispatch.extra_words.iter())
        .chain(machines)
        .map(AsRef::as_ref)
}
