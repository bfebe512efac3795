//! Foreign words made fit for a terminal, a model and a log.

/// The most characters of a foreign word that are shown.
const WORD: usize = 120;
/// The most characters of Zerto's own words that are shown: they end with what to do, and are longer than a name.
const WORDS: usize = 300;
/// The most characters of a whole reason or note.
const REASON: usize = 1_900;

/// A foreign word between quotation marks: cut, and with everything that could hide or reorder text made visible.
pub fn quoted(word: &str) -> String {
    format!("\"{}\"", shown(word))
}

/// A foreign word: cut, and with everything that could hide or reorder text made visible.
pub fn shown(word: &str) -> String {
    shown_to(word, WORD)
}

/// Zerto's own words: as a foreign word, but longer.
pub fn words(words: &str) -> String {
    shown_to(words, WORDS)
}

fn shown_to(word: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for c in word.chars() {
        let piece = match c {
            '"' => "'".to_owned(),
            c if is_hidden(c) => c.escape_unicode().to_string(),
            c => c.to_string(),
        };
        length += piece.chars().count();
        if length > most {
            shown.push('…');
            break;
        }
        shown.push_str(&piece);
    }
    shown
}

/// A whole reason or note, under 2,000 characters.
pub fn whole(reason: &str) -> String {
    cut(reason, REASON)
}

/// At most `most` characters of a text; where some are left out, an ellipsis stands for them.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Words listed as in a sentence, `a, b and c`; after the sixth, the rest is only counted.
pub fn listed(words: &[String]) -> String {
    match words {
        [] => "none".to_owned(),
        [only] => only.clone(),
        [first @ .., last] if first.len() < 6 => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", words[..6].join(", "), words.len() - 6),
    }
}

/// Control characters, line separators, and Unicode's format characters (class Cf and the variation selectors), which
/// have no width of their own and can reorder or hide what stands beside them.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
