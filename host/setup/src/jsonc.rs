//! JSON with comments and trailing commas, with the place of every value.

use jsonc_parser::ast::Value;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// How deep a text may be nested: the parser is a recursive one.
const DEEPEST: usize = 500;

/// The text's value with its places; none where it is something else than JSON, comments and trailing commas, or nested too
/// deep to be changed.
pub(crate) fn parse(text: &str) -> Option<Value<'_>> {
    if depth(text) > DEEPEST {
        return None;
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    parse_to_ast(text, &CollectOptions::default(), &options)
        .ok()?
        .value
}

/// How deep a text is nested at most, by its brackets outside of strings. A comment's count too, which only adds to it.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The text with every half of a surrogate pair that stands alone (`\ud83d`) as `\uFFFD`: the client reads those, and this
/// parser does not. Every place in it is the same.
pub(crate) fn readable(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut readable = text.to_owned();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let half = |at: usize| {
            let is_escape = bytes.get(at..at + 2) == Some(b"\\u");
            let digits = text.get(at + 2..at + 6).filter(|_| is_escape)?;
            u16::from_str_radix(digits, 16).ok()
        };
        match half(at) {
            Some(0xd800..0xdc00) if matches!(half(at + 6), Some(0xdc00..0xe000)) => at += 12,
            Some(0xd800..0xe000) => {
                readable.replace_range(at + 2..at + 6, "FFFD");
                at += 6;
            }
            // Past the letter that is escaped, which may be another backslash.
            _ => at += 2,
        }
    }
    readable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_that_stand_alone_are_changed() {
        for (text, expected) in [
            (r#""\ud83d""#, r#""\uFFFD""#),
            (r#""\ud83d\ude00 \udc00""#, r#""\ud83d\ude00 \uFFFD""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\uFFFD\ud83d\ude00""#),
            (r#""\\ud83d \u00e4 \"""#, r#""\\ud83d \u00e4 \"""#),
            (r#""ä\"#, r#""ä\"#),
            (r#""\uä""#, r#""\uä""#),
        ] {
            assert_eq!(readable(text), expected);
            assert_eq!(readable(text).len(), text.len());
        }
        assert!(parse(&readable(r#"{"a": "\ud83d", "b": 1e999}"#)).is_some());
    }
}
