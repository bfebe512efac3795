//! Makes foreign text safe to show: tool names, VM names, Zerto's words and policies' reasons end in terminals.

/// The longest text, in characters, that goes to a harness. Claude Code takes 10,000 and replaces more by a file's name.
pub const LONGEST: usize = 8_000;

/// Replaces characters that act on a terminal or reorder what is read, and cuts the text to `longest` characters.
///
/// Line breaks stay, since reasons may have several lines; whoever puts a foreign name into a line uses [`clean_line`].
pub fn clean(text: &str, longest: usize) -> String {
    cleaned(text, longest, true)
}

/// As [`clean`], for what has to stay in one line.
pub fn clean_line(text: &str, longest: usize) -> String {
    cleaned(text, longest, false)
}

fn cleaned(text: &str, longest: usize, breaks: bool) -> String {
    let mut safe = String::with_capacity(text.len().min(longest));
    let mut left = longest;
    for letter in text.chars() {
        // What is written counts, not what is read: an escaped character takes several.
        let (shown, length) = if letter == '\n' && breaks || !acts(letter) {
            (None, 1)
        } else {
            let escaped = letter.escape_unicode();
            let length = escaped.len();
            (Some(escaped), length)
        };
        let Some(rest) = left.checked_sub(length) else {
            safe.push('…');
            break;
        };
        left = rest;
        match shown {
            None => safe.push(letter),
            Some(escaped) => safe.extend(escaped),
        }
    }
    safe
}

/// Whether a character does something other than being shown: control characters (escape sequences begin with one),
/// and the format characters that reverse, hide or join what stands around them.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_becomes_visible() {
        assert_eq!(
            clean("a\u{1b}]0;title\u{7}b\u{9b}c\u{202e}d", 99),
            "a\\u{1b}]0;title\\u{7}b\\u{9b}c\\u{202e}d"
        );
        assert_eq!(clean("two\nlines", 99), "two\nlines");
        assert_eq!(clean_line("two\r\nlines", 99), "two\\u{d}\\u{a}lines");
    }

    #[test]
    fn a_long_text_is_cut_by_characters() {
        assert_eq!(clean("äöüß", 2), "äö…");
        assert_eq!(clean("äö", 2), "äö");
        assert_eq!(clean(&"\u{1b}".repeat(9_000), LONGEST).chars().count(), 7_999);
    }
}
