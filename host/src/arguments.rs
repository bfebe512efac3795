//! Keeps a call's arguments to a size that a policy can be handed: a written file of 20 MB is an argument too.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Arguments up to this many bytes are handed over as they are.
const WHOLE: usize = 256 * 1024;
/// In larger ones, a text longer than this (in bytes) is left out. No machine's name is nearly as long.
const LONGEST_TEXT: usize = 4 * 1024;
/// How many values larger ones may hold, however small; with more, everything is left out.
const MOST_VALUES: usize = 20_000;

/// The arguments for the policy, and whether something was left out of them.
///
/// What is left out reads as `null`, which is no machine's name and equals nothing that a rule compares with, so a cut
/// can turn a verdict only into a stricter one.
pub fn bounded(arguments: &RawValue) -> (Cow<'_, str>, bool) {
    if arguments.get().len() <= WHOLE {
        return (Cow::Borrowed(arguments.get()), false);
    }
    let budget = Budget {
        values: Cell::new(MOST_VALUES),
        bytes: Cell::new(WHOLE),
    };
    let mut deserializer = serde_json::Deserializer::from_str(arguments.get());
    let kept = budget.deserialize(&mut deserializer).unwrap_or(Value::Null);
    (Cow::Owned(kept.to_string()), true)
}

/// What may still be kept.
struct Budget {
    values: Cell<usize>,
    bytes: Cell<usize>,
}

impl Budget {
    fn take_value<E: Error>(&self) -> Result<(), E> {
        let left = self
            .values
            .get()
            .checked_sub(1)
            .ok_or_else(|| E::custom("too many values"))?;
        self.values.set(left);
        Ok(())
    }

    fn fits(&self, text: &str) -> bool {
        let left = self
            .bytes
            .get()
            .checked_sub(text.len())
            .filter(|_| text.len() <= LONGEST_TEXT);
        self.bytes.set(left.unwrap_or_else(|| self.bytes.get()));
        left.is_some()
    }
}

impl<'de> DeserializeSeed<'de> for &Budget {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.take_value()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Budget {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(if self.fits(value) {
            value.into()
        } else {
            Value::Null
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            kept.push(item);
        }
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = fields.next_key::<Cow<'de, str>>()? {
            let value = fields.next_value_seed(self)?;
            // A key that is left out would make an argument absent, which can mean less than one that cannot be read.
            if !self.fits(&key) {
                return Err(A::Error::custom("too many names"));
            }
            kept.insert(key.into_owned(), value);
        }
        Ok(Value::Object(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(json: String) -> (String, bool) {
        let raw = RawValue::from_string(json).unwrap();
        let (text, cut) = bounded(&raw);
        (text.into_owned(), cut)
    }

    #[test]
    fn small_arguments_are_left_alone() {
        assert_eq!(
            bound(r#"{ "host": "web01" }"#.into()),
            (r#"{ "host": "web01" }"#.into(), false)
        );
    }

    #[test]
    fn a_large_text_is_left_out_and_the_rest_is_kept() {
        let json = format!(
            r#"{{"content":"{}\n","host":"web01","n":[1,-2,0.5,true,null]}}"#,
            "x".repeat(20 << 20)
        );
        assert_eq!(
            bound(json),
            (
                r#"{"content":null,"host":"web01","n":[1,-2,0.5,true,null]}"#.into(),
                true
            )
        );
    }

    #[test]
    fn too_many_small_values_leave_nothing() {
        assert_eq!(
            bound(format!(r#"{{"host":"web01","n":[{}1]}}"#, "1,".repeat(1 << 20))),
            ("null".into(), true)
        );
        assert_eq!(
            bound(format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20))),
            ("null".into(), true)
        );
    }

    #[test]
    fn no_name_is_left_out_while_others_stay() {
        let pad = vec!["x".repeat(LONGEST_TEXT); WHOLE / LONGEST_TEXT];
        for spare in 0..32 {
            let mut pad = pad.clone();
            pad[0].truncate(LONGEST_TEXT - spare);
            let json = serde_json::json!({ "vm": "web01", "pad": pad, "_args": ["db01"] });
            let (text, cut) = bound(json.to_string());
            assert!(
                cut && (text == "null" || text.contains("\"_args\"")),
                "{spare}: {}",
                text.len()
            );
        }
    }

    #[test]
    fn many_middling_texts_are_bounded_together() {
        let (text, cut) = bound(format!(
            r#"{{"host":"web01","n":[{}""]}}"#,
            format!("\"{}\",", "y".repeat(4000)).repeat(500)
        ));
        assert!(cut && text.len() < 2 * WHOLE && text.contains("web01"));
    }
}
