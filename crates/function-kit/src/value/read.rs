//! Reading types straight out of protobuf Structs.
//!
//! A document that is read by every step would otherwise be copied into JSON each time. What is
//! read is the same as by way of JSON: whole numbers count as such, and what is null or no number
//! at all counts as not set.

use std::fmt;

use pbjson_types::{Struct, Value, value::Kind};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{as_struct, pb_to_json, whole};

/// The document does not have the type's form. Reading it as JSON gives the path and the difference.
#[derive(Debug)]
pub(crate) struct Mismatch;

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the document has another form")
    }
}

impl std::error::Error for Mismatch {}

impl serde::de::Error for Mismatch {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// Reads the document.
pub(crate) fn read<T: DeserializeOwned>(document: &Struct) -> Result<T, Mismatch> {
    T::deserialize(Fields(document))
}

/// A map.
struct Fields<'a>(&'a Struct);

impl<'de> Deserializer<'de> for Fields<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let fields = self.0.fields.iter().filter(|(_, value)| !is_null(value));
        let fields = fields.map(|(key, value)| (key.as_str(), Field(value)));
        visitor.visit_map(MapDeserializer::new(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

/// Items of a map or a list.
#[derive(Clone, Copy)]
struct Field<'a>(&'a Value);

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.0.kind {
            Some(Kind::BoolValue(truth)) => visitor.visit_bool(*truth),
            Some(Kind::StringValue(text)) => visitor.visit_borrowed_str(text),
            Some(Kind::StructValue(map)) => Fields(map).deserialize_any(visitor),
            Some(Kind::ListValue(list)) => {
                let items = list.values.iter().map(Field);
                visitor.visit_seq(SeqDeserializer::new(items))
            }
            Some(Kind::NumberValue(number)) if number.is_finite() => match whole(*number) {
                Some(whole) => match u64::try_from(whole) {
                    Ok(natural) => visitor.visit_u64(natural),
                    Err(_) => visitor.visit_i64(whole),
                },
                None => visitor.visit_f64(*number),
            },
            None | Some(Kind::NullValue(_) | Kind::NumberValue(_)) => visitor.visit_unit(),
        }
    }

    /// Refuses a list: serde would take its items for the struct's fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        Fields(as_struct(self.0).ok_or(Mismatch)?).deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if is_null(self.0) {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let value = pb_to_json(self.0);
        let value = value.deserialize_enum(name, variants, visitor);
        value.map_err(|_: serde_json::Error| Mismatch)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Mismatch> for Field<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Returns whether the value is null, also as JSON, which has no infinite numbers.
fn is_null(value: &Value) -> bool {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => true,
        Some(Kind::NumberValue(number)) => !number.is_finite(),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use actor::spec::Spec;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::value::{into_struct, struct_to_json};

    #[test]
    fn direct_reading_equals_reading_through_json() {
        let cases = [
            (json!({}), true, "nothing"),
            (
                json!({"image": "app:1", "replicas": 3, "flavors": ["a", "b"], "transport": null}),
                true,
                "texts, numbers, lists and a null",
            ),
            (
                json!({"env": [{"name": "A", "value": null}, {"name": "B", "value": "1"}]}),
                true,
                "a null in a list's item",
            ),
            (
                json!({"affinity": {"nodeAffinity": {"weight": 1.5, "kept": [null, -3, 1e300], "gone": null}}}),
                true,
                "a document that is carried on as it is",
            ),
            (
                json!({"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}),
                true,
                "a quantity as a number",
            ),
            (json!({"imagePullPolicy": "Always"}), true, "a choice"),
            (json!({"colour": {"of": ["a", 1]}}), true, "an unknown key"),
            (json!({"imagePullPolicy": "Sometimes"}), false, "no choice"),
            (json!({"replicas": 1.5}), false, "half a replica"),
            (json!({"replicas": -1}), false, "less than nothing"),
            (json!({"scaling": ["a"]}), false, "items are no fields"),
            (json!({"scaling": "a"}), false, "a text for a map"),
            (json!({"env": {"A": "1"}}), false, "a map for a list"),
            (
                json!({"flavors": [null]}),
                false,
                "a null in a list of texts",
            ),
        ];
        for (document, is_taken, reason) in cases {
            let Json::Object(document) = document else {
                unreachable!("{reason}");
            };
            same(&into_struct(document), is_taken, reason);
        }
        for (number, is_taken) in [(f64::NAN, true), (f64::INFINITY, true), (1e16, false)] {
            let value = Value {
                kind: Some(Kind::NumberValue(number)),
            };
            let fields = [("replicas".to_owned(), value)].into();
            same(&Struct { fields }, is_taken, &number.to_string());
        }
    }

    fn same(document: &Struct, is_taken: bool, reason: &str) {
        let read: Result<Spec, Mismatch> = read(document);
        let parsed = Spec::parse(struct_to_json(document));
        assert_eq!(read.is_ok(), is_taken, "{reason}");
        assert_eq!(read.ok(), parsed.ok(), "{reason}");
    }
}
