//! JSON that has one reading only.
//!
//! A member that stands there twice is read differently by different readers, and so is a whole number that no double
//! holds: whoever signs or compares digests of such a text can be shown one thing and made to accept another.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The largest whole number that every reader holds exactly.
const LARGEST: u64 = (1 << 53) - 1;

/// Reads a JSON text, and refuses one that has more than one reading.
pub(super) fn read(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Strict>(text).map(|strict| strict.0)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        match value.unsigned_abs() <= LARGEST {
            true => Ok(value.into()),
            false => Err(E::custom(format_args!("{value} is beyond ±(2^53 - 1)"))),
        }
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        match value <= LARGEST {
            true => Ok(value.into()),
            false => Err(E::custom(format_args!("{value} is beyond ±(2^53 - 1)"))),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // Whole numbers of more than 64 bits come this way, too.
        if value.fract() == 0.0 && value.abs() > LARGEST as f64 {
            return Err(E::custom(format_args!("{value} is beyond ±(2^53 - 1)")));
        }
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that is none"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("{name:?} stands there twice")));
            }
            let Strict(value) = members.next_value()?;
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn what_has_one_reading_is_read() {
        let text = br#" {"a":[1,-2,0.5,1e3,null,true,"\u00e4"],"b":{"a":9007199254740991}} "#;
        let value = read(text).unwrap();
        assert_eq!(
            value,
            json!({ "a": [1, -2, 0.5, 1e3, null, true, "ä"], "b": { "a": 9_007_199_254_740_991_u64 } })
        );
    }

    #[test]
    fn what_has_two_readings_is_refused() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"[{"x":{"b":1,"c":2,"b":3}}]"#,
            "9007199254740992",
            "-9007199254740992",
            "123456789012345678901234567890",
            "1e300",
            "1e400",
            "{} {}",
            "",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
