//! Making what a file says fit to be printed.

/// The longest name that is printed, in characters.
const LONGEST: usize = 200;

/// A text from a file, cut, and with everything escaped that could act on a terminal or hide on it.
pub(crate) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn cuts_and_escapes() {
        assert_eq!(shown("wasi:io/poll@0.2.6"), "wasi:io/poll@0.2.6");
        assert_eq!(shown("a\u{1b}[2J\u{202e}b"), "a\\u{1b}[2J\\u{202e}b");
        assert_eq!(shown(&"x".repeat(300)).chars().count(), 201);
    }
}
