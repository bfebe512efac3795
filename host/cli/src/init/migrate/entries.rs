//! The original hook's entries in settings files, and the variables in front of its command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdpoint_setup::reading::Installation;
use holdpoint_setup::{Command, Event, Handler};

/// What the original's program is called.
const PROGRAM: &str = "zerto_guard_hook";
/// The variables that the original reads.
const READ: [&str; 4] = [
    "ZERTO_REWIND_CONFIG",
    "ZERTO_HOOK_GUARD_TIMEOUT",
    "ZERTO_HOOK_UNKNOWN",
    "ZERTO_HOOK_LOG",
];

/// One entry of the original's.
#[derive(Debug, PartialEq)]
pub(in crate::init) struct Entry {
    pub(in crate::init) file: PathBuf,
    pub(super) at: String,
    pub(super) timeout: Option<f64>,
    /// What its command line sets for it.
    pub(super) variables: BTreeMap<String, String>,
    /// The names of variables there that are not taken, and why.
    pub(super) not_taken: Vec<String>,
}

/// Whether a handler starts the original.
pub(in crate::init) fn is_original(command: &Command) -> bool {
    let mut words = command.args.iter().flatten().chain([&command.command]);
    words.any(|word| word.contains(PROGRAM))
}

/// All of them, whichever file they stand in.
pub(in crate::init) fn find(installation: &Installation) -> Vec<Entry> {
    let entries = Event::ALL
        .into_iter()
        .flat_map(|event| installation.entries(event));
    let originals = entries.filter_map(|(file, entry)| match &entry.handler {
        Handler::Command(command) if is_original(command) => {
            let (variables, not_taken) = variables(command);
            Some(Entry {
                file: file.path.clone(),
                at: entry.at(),
                timeout: command.timeout,
                variables,
                not_taken,
            })
        }
        _ => None,
    });
    originals.collect()
}

/// The variables that a command sets for the original, and the names of those that are not taken, with the reason.
fn variables(command: &Command) -> (BTreeMap<String, String>, Vec<String>) {
    let words = match &command.args {
        Some(args) => [&command.command]
            .into_iter()
            .chain(args)
            .map(|word| Word::plain(word))
            .collect(),
        None => words(&command.command),
    };
    let mut found = Found::default();
    let mut exported = false;
    for word in words {
        if word.is_operator {
            // What stands in front of another command is not set for the hook, unless it is exported.
            let before = std::mem::take(&mut found.in_front);
            if exported {
                found.taken.extend(before);
            } else {
                let names = before
                    .into_keys()
                    .map(|name| format!("{name} (set for another command)"));
                found.not_taken.extend(names);
            }
            exported = false;
        } else if word.text.contains(PROGRAM) {
            break;
        } else if word.text == "export" {
            exported = true;
        } else {
            found.take(&word);
        }
    }
    found.taken.extend(found.in_front);
    (found.taken, found.not_taken)
}

#[derive(Default)]
struct Found {
    in_front: BTreeMap<String, String>,
    taken: BTreeMap<String, String>,
    not_taken: Vec<String>,
}

impl Found {
    /// Takes a word that sets a variable. A value is never repeated: it may be a secret.
    fn take(&mut self, word: &Word) {
        let Some((name, value)) = word.text.split_once('=') else {
            return;
        };
        let is_name = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return;
        }
        if !READ.contains(&name) {
            self.not_taken
                .push(format!("{name} (Holdpoint does not read it)"));
        } else if !word.is_literal {
            self.not_taken
                .push(format!("{name} (a shell would work its value out)"));
        } else {
            self.in_front.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// One word of a shell's command line.
#[derive(Debug, Default)]
struct Word {
    text: String,
    /// Whether the shell takes it as it is.
    is_literal: bool,
    is_operator: bool,
}

impl Word {
    fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            is_literal: true,
            is_operator: false,
        }
    }
}

/// The words of a command line, as far as that can be told without a shell.
fn words(line: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let is_expanded = matches!(letter, '$' | '`');
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('"'), '\\') => {
                let next = letters.next().unwrap_or('\\');
                let current = word.get_or_insert_with(|| Word::plain(""));
                if !matches!(next, '"' | '\\' | '$' | '`') {
                    current.text.push('\\');
                }
                current.text.push(next);
            }
            (Some(_), _) => {
                let current = word.get_or_insert_with(|| Word::plain(""));
                current.is_literal &= quote == Some('\'') || !is_expanded;
                current.text.push(letter);
            }
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_with(|| Word::plain(""));
            }
            (None, '\\') => {
                let next = letters.next();
                word.get_or_insert_with(|| Word::plain("")).text.extend(next);
            }
            (None, ';' | '&' | '|' | '\n') => {
                words.extend(word.take());
                words.push(Word {
                    is_operator: true,
                    ..Word::default()
                });
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => {
                let current = word.get_or_insert_with(|| Word::plain(""));
                let opens_home = letter == '~' && current.text.ends_with('=');
                current.is_literal &= !is_expanded && !opens_home && !matches!(letter, '*' | '?' | '[');
                current.text.push(letter);
            }
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (Vec<(String, String)>, Vec<String>) {
        let command = Command {
            command: line.to_owned(),
            ..Command::default()
        };
        let (taken, not_taken) = variables(&command);
        (taken.into_iter().collect(), not_taken)
    }

    #[test]
    fn variables_in_front_of_the_command_are_read_as_a_shell_reads_them() {
        for line in [
            "ZERTO_HOOK_LOG='/a b' python3 /h/zerto_guard_hook.py",
            "ZERTO_HOOK_LOG=\"/a b\" /h/zerto_guard_hook.py",
            "ZERTO_HOOK_LOG=/a\\ b exec python /h/zerto_guard_hook.py",
            "env ZERTO_HOOK_LOG='/a'\" b\" python /h/zerto_guard_hook.py",
            "export ZERTO_HOOK_LOG='/a b'; cd /x && python /h/zerto_guard_hook.py",
        ] {
            let (taken, not_taken) = of(line);
            assert_eq!(
                taken,
                [("ZERTO_HOOK_LOG".to_owned(), "/a b".to_owned())],
                "{line}"
            );
            assert!(not_taken.is_empty(), "{line}: {not_taken:?}");
        }
    }

    #[test]
    fn what_is_not_taken_is_named_without_its_value() {
        for (line, name) in [
            (
                "ZERTO_HOOK_LOG=$HOME/s3cret python /h/zerto_guard_hook.py",
                "ZERTO_HOOK_LOG",
            ),
            (
                "ZERTO_HOOK_LOG=~/s3cret python /h/zerto_guard_hook.py",
                "ZERTO_HOOK_LOG",
            ),
            (
                "ZERTO_HOOK_LOG=/s3cret true; python /h/zerto_guard_hook.py",
                "ZERTO_HOOK_LOG",
            ),
            (
                "ZVM_PASSWORD=s3cret python /h/zerto_guard_hook.py",
                "ZVM_PASSWORD",
            ),
        ] {
            let (taken, not_taken) = of(line);
            assert!(taken.is_empty(), "{line}");
            assert!(
                not_taken.len() == 1 && not_taken[0].starts_with(name),
                "{line}: {not_taken:?}"
            );
            assert!(!not_taken[0].contains("s3cret"), "{line}");
        }
        // What follows the program is its arguments.
        assert_eq!(
            of("python /h/zerto_guard_hook.py ZERTO_HOOK_LOG=/x"),
            (vec![], vec![])
        );
    }
}
