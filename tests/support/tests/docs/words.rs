//! Plain words: what the documents and the help texts must not say, and what they say instead.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::page::{prose, without_code};
use crate::{files, help, read};

/// What to say, and what not. `|` parts words of which one fits, and `*` fits any word.
const BANNED: &[(&str, &[&str])] = &[
    ("fix", &["mend|mends|mended|mending"]),
    ("again", &["anew"]),
    (
        "admit, verify",
        &[
            "gate|gates|gated|gating",
            "let|lets|letting in",
            "let|lets|letting * in",
        ],
    ),
    ("active, activate", &["in force"]),
    (
        "shadow: runs beside the active policy",
        &["look|looks|looked|looking on", "look-on"],
    ),
    (
        "checked against, protects against",
        &[
            "hold|holds|held|holding against",
            "hold|holds|held|holding * against",
        ],
    ),
    ("problem", &["trouble|troubles"]),
    ("failure counter", &["tally|tallies|tallied"]),
    (
        "lease, heartbeat, round; calls that share a checkpoint",
        &["the board", "boards", "call|calls meet|meets", "meeting place"],
    ),
    ("fail closed, fail open", &["stance|stances"]),
    ("the policy", &["the guest", "guests"]),
    (
        "not signed; or say who does it",
        &["by nobody", "nobody signed", "signed by none"],
    ),
    ("warning", &["caution|cautions"]),
    (
        "name the thing",
        &[
            "so many first",
            "be|being somebody",
            "whatever has a name",
            "taken for well",
        ],
    ),
    ("is not a …", &["is|are|was|were no *"]),
];

/// What may come before or after `is no`: these are plain.
const PLAIN_BEFORE: &str = "there";
const PLAIN_AFTER: [&str; 3] = ["longer", "more", "less"];

/// The documents of the repository's root, and the pages.
fn documents() -> Vec<PathBuf> {
    let root = ["README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG"];
    let root = root.iter().map(|name| Path::new(name).with_extension("md"));
    root.chain(files("docs", "md")).collect()
}

/// A word of a text, in small letters, or a mark that parts phrases.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    line: usize,
    word: String,
}

/// Words, and what is between them except for blanks. A piece of code is one word, as are a path and a file's name.
fn tokens<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (line, text) in lines {
        let text = without_code(text).replace("``", " `code` ");
        for piece in text.split_whitespace() {
            // What emphasises or links is no part of a word.
            let piece = piece.split("](").next().unwrap_or_default();
            let piece = piece.replace(['*', '[', ']', '"', '“', '”', '('], "");
            let word = piece.trim_end_matches(|letter: char| ".,;:!?)|…".contains(letter));
            if !word.is_empty() {
                let word = word.to_lowercase();
                tokens.push(Token { line, word });
            }
            if word.len() < piece.len() {
                let word = piece[word.len()..].to_owned();
                tokens.push(Token { line, word });
            }
        }
    }
    tokens
}

fn fits(pattern: &str, word: &str) -> bool {
    let word_like = word.chars().any(char::is_alphanumeric);
    if pattern == "*" {
        word_like
    } else {
        pattern.split('|').any(|one| one == word)
    }
}

struct Hit {
    line: usize,
    words: String,
    say: &'static str,
}

impl fmt::Display for Hit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, words, say } = self;
        write!(formatter, "{line}: \"{words}\" (say: {say})")
    }
}

fn hits<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<Hit> {
    let tokens = tokens(lines);
    let mut hits = Vec::new();
    for (start, first) in tokens.iter().enumerate() {
        for (say, patterns) in BANNED {
            for pattern in *patterns {
                let pattern: Vec<_> = pattern.split(' ').collect();
                let Some(words) = tokens.get(start..start + pattern.len()) else {
                    continue;
                };
                let found = pattern
                    .iter()
                    .zip(words)
                    .all(|(part, token)| fits(part, &token.word));
                let plain = pattern.contains(&"no")
                    && (start > 0 && tokens[start - 1].word == PLAIN_BEFORE
                        || words
                            .last()
                            .is_some_and(|last| PLAIN_AFTER.contains(&last.word.as_str())));
                if found && !plain {
                    let words: Vec<_> = words.iter().map(|token| token.word.as_str()).collect();
                    let words = words.join(" ");
                    hits.push(Hit {
                        line: first.line,
                        words,
                        say,
                    });
                }
            }
        }
    }
    hits
}

#[test]
fn the_documents_use_plain_words() {
    let mut found = Vec::new();
    for document in documents() {
        let text = read(&document);
        let hits = hits(prose(&text));
        found.extend(hits.iter().map(|hit| format!("{}:{hit}", document.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_help_texts_use_plain_words() {
    let (mut lines, mut found) = (0, Vec::new());
    for file in files("host", "rs") {
        let source = read(&file);
        let texts = help::texts(&source);
        lines += texts.len();
        let hits = hits(texts.iter().map(|(line, text)| (*line, text.as_str())));
        found.extend(hits.iter().map(|hit| format!("{}:{hit}", file.display())));
    }
    assert!(lines > 200, "only {lines} lines of help were found");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn banned_words_are_found_and_plain_ones_are_not() {
    let count = |text: &str| hits(prose(text)).len();
    for banned in [
        "The command that mends it.",
        "made\nanew",
        "It is **in force**",
        "held against the list",
        "[the gate](signing.md)",
        "That is no file",
        "a policy (signed\nby nobody)",
        "It is no `event`",
    ] {
        assert_eq!(count(banned), 1, "{banned}");
    }
    for plain in [
        "There is no file",
        "It is no longer there",
        "`the gate` and `in force`",
        "```\nthe tally\n```",
        "Let it, in time, end",
        "[stances.md](stances.md)",
        "A policy that comes in. Force it.",
    ] {
        assert_eq!(count(plain), 0, "{plain}");
    }
}
