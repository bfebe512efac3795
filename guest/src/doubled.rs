//! Names that stand twice in one JSON object. Parsers differ in which of the two counts.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// The names that stand twice in some object of a JSON text, at whatever depth. What cannot be read names none.
pub fn names(text: &str) -> BTreeSet<String> {
    let doubled = Doubled::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match doubled.deserialize(&mut deserializer) {
        Ok(()) | Err(_) => doubled.0.take(),
    }
}

#[derive(Default)]
struct Doubled(RefCell<BTreeSet<String>>);

impl<'de> DeserializeSeed<'de> for &Doubled {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Doubled {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                self.0.borrow_mut().insert(name);
            }
            fields.next_value_seed(self)?;
        }
        Ok(())
    }
}
