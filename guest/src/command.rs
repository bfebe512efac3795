//! Commands that a dispatcher carries as text or words.

use serde_json::Value;

use crate::catalog::format::{Command, Dispatch};

/// The words of the commands that an argument holds. Each has to be judged.
///
/// A text is one command. A list whose first item has blanks in it is a list of commands. A list of plain words is one
/// command. Where the first item is a word and a later one has blanks, it can be either, and both readings are given.
///
/// # Errors
/// Why the argument cannot be read.
pub fn commands(value: &Value) -> Result<Vec<Vec<String>>, &'static str> {
    const UNREADABLE: &str = "the command is neither a text nor a list of texts";
    match value {
        Value::String(text) => Ok(vec![split(text)?]),
        Value::Array(items) => {
            let items: Vec<&str> = items
                .iter()
                .map(Value::as_str)
                .collect::<Option<_>>()
                .ok_or(UNREADABLE)?;
            let words = || {
                items
                    .iter()
                    .map(|item| plain(item).map(str::to_owned))
                    .collect::<Result<_, _>>()
            };
            let each = || items.iter().map(|item| split(item)).collect();
            let has_blanks = |item: &&str| item.trim().contains(char::is_whitespace);
            match (
                items.first().is_some_and(&has_blanks),
                items.iter().any(has_blanks),
            ) {
                (true, _) => each(),
                (false, false) => Ok(vec![words()?]),
                (false, true) => {
                    let mut both: Vec<Vec<String>> = each()?;
                    both.push(words()?);
                    Ok(both)
                }
            }
        }
        _ => Err(UNREADABLE),
    }
}

/// The words of a further argument: a text of words, or a list of them.
///
/// # Errors
/// Why they cannot be read. An option among them could name another machine than the command's own flags, so it counts
/// as unreadable.
pub fn extra_words(value: &Value) -> Result<Vec<String>, &'static str> {
    let words = match value {
        Value::Null => Vec::new(),
        Value::String(text) => split(text)?,
        Value::Array(items) => items
            .iter()
            .map(|item| {
                item.as_str()
                    .ok_or("the further words are no texts")
                    .and_then(plain)
                    .map(str::to_owned)
            })
            .collect::<Result<_, _>>()?,
        _ => return Err("the further words are no texts"),
    };
    if words.iter().any(|word| word.starts_with('-')) {
        return Err("an option stands among the further words");
    }
    Ok(words)
}

/// The table's entry for a command, with the words that follow the command's own.
///
/// Of several entries the strictest counts. Words before the command (global options) make it unknown.
pub fn known<'d, 'w>(dispatch: &'d Dispatch, words: &'w [String]) -> Option<(&'d Command, &'w [String])> {
    let words = match (&dispatch.program, words) {
        (Some(program), [first, rest @ ..]) if first == program.as_ref() => rest,
        _ => words,
    };
    let fitting = dispatch
        .commands
        .iter()
        .filter_map(|command| Some((command, after(command, words)?)))
        .filter(|(_, rest)| !dispatch.exact || rest.is_empty());
    fitting.max_by_key(|(command, _)| command.class)
}

fn after<'w>(command: &Command, words: &'w [String]) -> Option<&'w [String]> {
    let (own, rest) = words.split_at_checked(command.words.len())?;
    let fits = command
        .words
        .iter()
        .zip(own)
        .all(|(known, word)| match known.strip_suffix('*') {
            Some(stem) => word.starts_with(stem),
            None => word == known,
        });
    fits.then_some(rest)
}

/// The values of an option: `--a=x`, and every word after `--a` up to the next option.
pub fn option_values(words: &[String], option: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut inside = false;
    for word in words {
        if !word.starts_with('-') {
            if inside {
                values.push(word.clone());
            }
            continue;
        }
        let (name, value) = word
            .split_once('=')
            .map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
        let is_it = name == option;
        inside = is_it && value.is_none();
        values.extend(value.filter(|_| is_it).map(str::to_owned));
    }
    values
}

/// The words that are no options, from `position` on.
///
/// # Errors
/// A word follows an option that has no `=`: it can be that option's value or one more machine.
pub fn positional(words: &[String], position: usize) -> Result<Vec<String>, &'static str> {
    let mut plain = Vec::new();
    let mut after_option = false;
    for word in words {
        if word.starts_with('-') {
            after_option |= !word.contains('=');
        } else if after_option {
            return Err(
                "it cannot be told which words of the command are machines and which belong to an option",
            );
        } else {
            plain.push(word.clone());
        }
    }
    Ok(plain.split_off(position.min(plain.len())))
}

/// Splits a text into words at blanks, outside quotation marks.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in plain(text)?.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quote.is_some() {
        Err("a quotation mark is left open in the command")
    } else {
        Ok(words)
    }
}

/// The text, unless a shell could read more than one plain command in it.
fn plain(text: &str) -> Result<&str, &'static str> {
    // Programs differ in which blanks separate words, beside the plain one.
    let special = |c: char| {
        matches!(c, ';' | '|' | '&' | '$' | '`' | '<' | '>' | '\\')
            || c.is_control()
            || (c.is_whitespace() && c != ' ')
    };
    if text.contains(special) {
        return Err("the command holds characters that mean more than themselves to a shell");
    }
    Ok(text)
}
