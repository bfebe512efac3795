//! Which options a dispatched command may carry.
//!
//! An option can lead a command to another place (`--endpoint-url`, `-u`) or name one more machine, so a command that
//! changes machines is known only with the options that its catalog lists. Of a command that changes none only those
//! are refused that lead it elsewhere or write.

use serde_json::Value;

use crate::catalog::format::{Class, Command, Dispatch};
use crate::doubts;
use crate::text::quoted;

/// Checks the options among a command's further words and the fields of `flags`.
///
/// # Errors
/// Which option the catalog does not know, or why they cannot be read.
pub fn check(dispatch: &Dispatch, command: &Command, words: &[String], flags: &Value) -> Result<(), String> {
    for word in words.iter().filter(|word| word.starts_with('-')) {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        let is_listed = is_mild(command) || as_word(command, name);
        if is_refused(dispatch, name) || !is_listed {
            return Err(unknown(name));
        }
    }
    match flags {
        Value::Null => Ok(()),
        Value::Object(flags) => flags
            .iter()
            .try_for_each(|(key, value)| check_flag(dispatch, command, key, value)),
        _ => Err("its options are no object".into()),
    }
}

fn check_flag(dispatch: &Dispatch, command: &Command, key: &str, value: &Value) -> Result<(), String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let is_plain = !key.is_empty() && !key.starts_with('-') && key.chars().all(is_word);
    if !is_plain || is_refused(dispatch, key) {
        return Err(unknown(key));
    }
    // The value of a switch would be read as a further word by the program: one more machine, or one more option.
    let is_value = value.is_null() || doubts::is_one_value(value);
    let fits = if is_mild(command) {
        value.is_boolean() || is_value
    } else {
        match as_flag(dispatch, command, key).ok_or_else(|| unknown(key))? {
            Takes::Nothing => value.is_boolean() || value.is_null(),
            Takes::Value => is_value,
        }
    };
    if fits {
        Ok(())
    } else {
        Err(format!(
            "the value of its option {} is none that belongs to it",
            quoted(key)
        ))
    }
}

/// Whether an option takes a value.
enum Takes {
    Nothing,
    Value,
}

fn is_mild(command: &Command) -> bool {
    command.class <= Class::Other
}

fn as_word(command: &Command, name: &str) -> bool {
    let machines = command
        .machine
        .iter()
        .flat_map(|machine| machine.option.iter().chain(machine.scope.iter()));
    let options = command.options.iter().map(|option| option.trim_end_matches('='));
    machines
        .map(AsRef::as_ref)
        .chain(options)
        .any(|option| option == name)
}

fn as_flag(dispatch: &Dispatch, command: &Command, key: &str) -> Option<Takes> {
    let flags = dispatch
        .flags
        .as_deref()
        .unwrap_or_default()
        .trim_start_matches('/');
    let place = format!("/{flags}/{key}");
    let mut machines = command
        .machine
        .iter()
        .flat_map(|machine| machine.arguments.iter().chain(machine.scope.iter()));
    if machines.any(|argument| *argument == place) {
        return Some(Takes::Value);
    }
    command.options.iter().find_map(|option| {
        let name = option.trim_start_matches('-');
        match name.strip_suffix('=') {
            Some(name) => (name == key).then_some(Takes::Value),
            None => (name == key).then_some(Takes::Nothing),
        }
    })
}

/// Many programs accept a long option that is spelt short, and some servers read their options' names in any case, so every
/// beginning of a long option is refused with it, in either spelling and as a field as well.
fn is_refused(dispatch: &Dispatch, name: &str) -> bool {
    let bare = name.trim_start_matches('-');
    let is_short = name.starts_with('-') && !name.starts_with("--");
    dispatch.refused.iter().any(|refused| {
        let long = refused.strip_prefix("--");
        refused.trim_start_matches('-') == bare
            || long.is_some_and(|long| {
                let beginning = long.as_bytes().get(..bare.len());
                !is_short
                    && beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(bare.as_bytes()))
            })
    })
}

fn unknown(option: &str) -> String {
    format!(
        "the catalog does not know the option {} of the command",
        quoted(option)
    )
}
