//! Why Zerto could not be asked, and how foreign text becomes fit to be shown.

/// No text of an error is longer than this, in characters.
pub(crate) const LONGEST_TEXT: usize = 300;

/// Why Zerto could not be asked, or did not do what it was asked. The cases are those of the WIT interface `zerto`.
///
/// The texts are one line of at most 300 characters each, without control characters and without any secret of the
/// [`Settings`](crate::Settings) or a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Zerto answered that what was named does not exist.
    #[error("not found")]
    NotFound,
    /// Zerto answered and declined; its own words.
    #[error("refused: {0}")]
    Refused(String),
    /// The credentials were not accepted, or are not sufficient.
    #[error("unauthorized: {0}")]
    Unauthorized(String),
    /// No answer could be had from the ZVM, its certificate is not trusted, or the settings lead nowhere.
    #[error("unreachable: {0}")]
    Unreachable(String),
    /// The deadline, or the longest wait for a checkpoint, passed first.
    #[error("timed out: {0}")]
    TimedOut(String),
    /// The ZVM's answer made no sense.
    #[error("malformed answer: {0}")]
    Malformed(String),
}

impl Error {
    pub(crate) fn unreachable(text: impl AsRef<str>) -> Self {
        Self::Unreachable(clean(text.as_ref()))
    }

    pub(crate) fn malformed(text: impl AsRef<str>) -> Self {
        Self::Malformed(clean(text.as_ref()))
    }

    pub(crate) fn timed_out(text: impl AsRef<str>) -> Self {
        Self::TimedOut(clean(text.as_ref()))
    }
}

/// One line of at most [`LONGEST_TEXT`] characters. Control characters, and those that reorder or hide text on a
/// terminal, become spaces; runs of white space become one space.
pub(crate) fn clean(text: &str) -> String {
    let visible: String = text
        .chars()
        .take(LONGEST_TEXT * 8)
        .map(|c| if deceives(c) { ' ' } else { c })
        .collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST_TEXT {
        return line;
    }
    let mut cut: String = line.chars().take(LONGEST_TEXT - 1).collect();
    cut.push('…');
    cut
}

fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_visible_line() {
        assert_eq!(clean("a\u{1b}[31m\r\nb\t\0c\u{202e}d "), "a [31m b c d");
    }

    #[test]
    fn texts_are_cut_by_characters() {
        let cut = clean(&"ä".repeat(5000));
        assert_eq!(cut.chars().count(), LONGEST_TEXT);
        assert!(cut.ends_with('…'));
        assert_eq!(clean(&"ä".repeat(LONGEST_TEXT)), "ä".repeat(LONGEST_TEXT));
    }
}
