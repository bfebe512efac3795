//! Makes foreign text safe to show: tool names, VM names, Zerto's words and policies' reasons end in terminals.

/// The longest text that goes to a harness, in characters as it counts them: UTF-16 units. Claude Code takes 10,000 and
/// replaces more by a file's name.
pub const LONGEST: usize = 8_000;

/// Replaces characters that act on a terminal or reorder what is read, and cuts what comes out to `longest` UTF-16
/// units.
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
    // Nearly every text, several of them in every call.
    if text.len() <= longest && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len().min(longest * 2));
    let mut length = 0;
    for letter in text.chars() {
        let before = safe.len();
        if letter == '\n' && breaks || !acts(letter) {
            safe.push(letter);
            length += letter.len_utf16();
        } else {
            safe.extend(letter.escape_unicode());
            length += safe.len() - before;
        }
        if length > longest {
            safe.truncate(before);
            safe.push('…');
            break;
        }
    }
    safe
}

/// Whether a character does something other than being shown: control characters (escape sequences begin with one),
/// and those that have no width of their own and reverse, hide or join what stands around them. Variation selectors stay:
/// emoji need them.
fn acts(letter: char) -> bool {
    // Nearly every letter is one of these.
    let plain = matches!(letter, ' '..='~');
    !plain
        && (letter.is_control()
            || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
            | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'))
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
        // Two units each, as the harness counts.
        assert_eq!(clean("😀😀😀", 4), "😀😀…");
        // What comes out counts, not what went in.
        assert_eq!(clean("\u{1b}\u{1b}", 8), "\\u{1b}…");
    }
}
