//! Just as much of a JSON object as is asked for.
//!
//! Payloads hold prompts, arguments and outputs. Values that nobody asks for stay undecoded text, and text is decoded to
//! bytes: a harness may cut a text in the middle of a surrogate pair, and such an escape must not cost the count.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object's members in their order, values undecoded.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Text, &'a RawValue)>);

/// A decoded string: UTF-8, but for surrogates that stand alone, which are encoded as if they were characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<u8>);

impl<'a> Object<'a> {
    /// The object that a whole text is, or none where it is anything else.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// A member's value as it is written. Of members with one name the last one counts.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let member = self.0.iter().rev().find(|(key, _)| key.0 == name.as_bytes());
        member.map(|(_, value)| value.get())
    }

    /// A member's text, or none where it is missing or no text.
    pub(crate) fn text(&self, name: &str) -> Option<Text> {
        text(self.get(name)?)
    }
}

impl Text {
    /// The text as UTF-8, or none where a surrogate stands alone.
    pub(crate) fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

/// The text that a JSON value is, or none where it is anything else.
pub(crate) fn text(json: &str) -> Option<Text> {
    serde_json::from_str(json).ok()
}

/// Whether there is nothing but white space.
pub(crate) fn is_blank(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| trim(text).is_empty())
}

/// The text without white space around it, by Python's notion, which has four separators more than Unicode's.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character: char| {
        character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
    })
}

/// The whole number that a JSON number is, saturated; none for fractions, exponents, texts and the rest.
pub(crate) fn whole_number(json: &str) -> Option<i64> {
    let first = json.bytes().next()?;
    (first == b'-' || first.is_ascii_digit())
        .then(|| written_number(json))
        .flatten()
}

/// The whole number that a text spells, saturated: a sign, digits, single underscores between digits, spaces around.
pub(crate) fn written_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let grouped = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    if !unsigned.split('_').all(grouped) {
        return None;
    }
    let digits = unsigned.bytes().filter(u8::is_ascii_digit);
    let number = digits.fold(0_i64, |number, digit| {
        number.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    Some(if text.starts_with('-') { -number } else { number })
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                self.visit_bytes(text.as_bytes())
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_members_the_last_one_counts() {
        let object = Object::parse(r#"{"a":1,"b":"x","a":2}"#).unwrap();
        assert_eq!(object.get("a"), Some("2"));
        assert_eq!(object.text("a"), None);
        assert!(object.text("b").unwrap() == *"x");
        assert!(Object::parse("[]").is_none());
    }

    #[test]
    fn a_surrogate_that_stands_alone_costs_nothing() {
        let object = Object::parse(r#"{"\ud800":"\udfff","error":"\ud83d","id":"\ud800x"}"#).unwrap();
        assert_eq!(object.text("id").unwrap().0, b"\xed\xa0\x80x");
        assert!(!is_blank(&object.text("error").unwrap().0));
        assert!(is_blank(b" \x1c\xc2\xa0") && is_blank(b"") && !is_blank(b"x"));
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        for (text, number) in [
            ("7", Some(7)),
            (" +1_0\n", Some(10)),
            ("-0", Some(0)),
            ("\u{a0}-3", Some(-3)),
            ("99999999999999999999", Some(i64::MAX)),
            ("1__0", None),
            ("_1", None),
            ("--1", None),
            ("1.5", None),
            ("0x1", None),
            ("", None),
        ] {
            assert_eq!(written_number(text), number, "{text:?}");
        }
        assert_eq!(whole_number("-4"), Some(-4));
        assert_eq!(whole_number("1e3"), None);
        assert_eq!(whole_number("true"), None);
    }
}
