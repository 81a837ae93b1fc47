//! Reading JSON into types, with the path of the problem.

use std::fmt;

use merge::{FieldPath, Segment};
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// A document does not have the shape that the API asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// Path in the document; empty for the document itself.
    pub path: FieldPath,
    /// The problem at that path.
    pub problem: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.segments().is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}

impl DecodeError {
    /// The same problem, seen from one level further out.
    #[must_use]
    pub fn under(self, parent: &str) -> Self {
        let inner = self.path.segments().iter().cloned();
        let path = std::iter::once(Segment::from(parent))
            .chain(inner)
            .collect();
        Self { path, ..self }
    }
}

/// Reads `value` into `T`. Nulls count as not set.
pub(crate) fn decode<T: DeserializeOwned>(value: Value) -> Result<T, DecodeError> {
    let document = Document(without_nulls(value));
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path: FieldPath = error.path().iter().filter_map(segment).collect();
        let mut problem = in_plain_words(&error.into_inner().to_string());
        if may_hold_secrets(&path) {
            problem = without_value(&problem);
        }
        DecodeError { path, problem }
    })
}

/// Fields whose values people write secrets into, whatever they are advised.
const MAY_HOLD_SECRETS: [&str; 5] = ["annotations", "args", "command", "env", "podAnnotations"];

fn may_hold_secrets(path: &FieldPath) -> bool {
    path.segments().iter().any(|segment| match segment {
        Segment::Key(key) => MAY_HOLD_SECRETS.contains(&key.as_str()),
        Segment::Index(_) => false,
    })
}

/// `invalid type: string "hunter2", expected a map` without what was found there, for `env` may
/// be `["PASSWORD=hunter2"]`.
fn without_value(problem: &str) -> String {
    let Some((found, expected)) = problem.rsplit_once(", expected ") else {
        return problem.to_owned();
    };
    let kind = found.split(['"', '`']).next().unwrap_or_default();
    format!("{}, expected {expected}", kind.trim_end())
}

fn segment(segment: &serde_path_to_error::Segment) -> Option<Segment> {
    match segment {
        serde_path_to_error::Segment::Seq { index } => Some(Segment::Index(*index)),
        serde_path_to_error::Segment::Map { key } => Some(Segment::Key(key.clone())),
        _ => None,
    }
}

/// A JSON value that gives a struct only as a map. Of a list, which flavors may hold
/// where the API has a map, serde would take the items for the struct's fields, in
/// their order.
struct Document(Value);

impl<'de> Deserializer<'de> for Document {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Self)))
            }
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(key, value)| (key, Self(value)));
                visitor.visit_map(MapDeserializer::new(fields))
            }
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if self.0.is_array() {
            return Err(Self::Error::invalid_type(Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes
        byte_buf unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl IntoDeserializer<'_, serde_json::Error> for Document {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Serde names Rust's types; people know other words.
fn in_plain_words(problem: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("expected u32", "expected a whole number of 0 or more"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected a sequence", "expected a list"),
        ("expected a boolean", "expected true or false"),
        ("invalid type: sequence", "invalid type: list"),
        ("invalid type: map", "invalid type: a map"),
    ];
    let text = WORDS
        .iter()
        .fold(problem.to_owned(), |text, (rust, plain)| {
            text.replace(rust, plain)
        });
    // `expected struct Scaling`
    match text.split_once("expected struct ") {
        Some((found, _)) => format!("{found}expected a map"),
        None => text,
    }
}

/// `value` without the map entries whose value is null, at any depth.
///
/// Flavors may hold nulls, which the merge keeps; every reader treats them as
/// not set. A null inside a list is kept, for it has a position.
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        Value::Array(list) => Value::Array(list.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn errors_name_the_path() {
        let problem = decode::<BTreeMap<String, Vec<u32>>>(json!({"a": [1, "x"]})).unwrap_err();
        assert_eq!(problem.path.to_string(), "a[1]");
        assert_eq!(problem.under("spec").path.to_string(), "spec.a[1]");
    }

    #[test]
    fn errors_use_terms_of_yaml() {
        let problem = |value| crate::spec::Spec::parse(value).unwrap_err().to_string();
        let cases = [
            (
                json!({"scaling": 5}),
                "scaling: invalid type: integer `5`, expected a map",
            ),
            (
                json!({"env": {}}),
                "env: invalid type: a map, expected a list",
            ),
            (
                json!({"replicas": []}),
                "replicas: invalid type: list, expected a whole number of 0 or more",
            ),
        ];
        for (document, text) in cases {
            assert_eq!(problem(document), text);
        }
    }

    #[test]
    fn errors_contain_no_values_that_may_be_secret() {
        let problem = |value| crate::spec::Spec::parse(value).unwrap_err().to_string();
        let secret = "hunter2, expected \"x\"";
        let cases = [
            (
                json!({"env": [format!("PASSWORD={secret}")]}),
                "env[0]: invalid type: string, expected a map",
            ),
            (
                json!({"env": secret}),
                "env: invalid type: string, expected a list",
            ),
            (
                json!({"sidecar": {"env": [4711]}}),
                "sidecar.env[0]: invalid type: integer, expected a map",
            ),
            (
                json!({"args": secret}),
                "args: invalid type: string, expected a list",
            ),
            (
                json!({"podAnnotations": {"a": 4711}}),
                "podAnnotations.a: invalid type: integer, expected a string",
            ),
        ];
        for (document, text) in cases {
            assert_eq!(problem(document), text);
        }
    }

    #[test]
    fn a_struct_is_a_map_and_nothing_else() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Outer {
            inner: Option<Inner>,
        }
        #[derive(Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(default)]
        struct Inner {
            count: u32,
        }
        let cases = [
            (json!({"inner": {"count": 1}}), None, "a map"),
            (
                json!({"inner": [1]}),
                Some("inner: invalid type: list, expected a map"),
                "items are no fields",
            ),
            (
                json!({"inner": []}),
                Some("inner: invalid type: list, expected a map"),
                "not even none",
            ),
            (
                json!({"inner": "1"}),
                Some("inner: invalid type: string \"1\", expected a map"),
                "a scalar",
            ),
            (
                json!([{}]),
                Some("invalid type: list, expected a map"),
                "the document itself has no path",
            ),
        ];
        for (document, expected, reason) in cases {
            let problem = decode::<Outer>(document).map_err(|error| error.to_string());
            assert_eq!(problem.err().as_deref(), expected, "{reason}");
        }
    }

    #[test]
    fn nulls_count_as_not_set_at_any_depth() {
        let value = json!({"a": null, "b": {"c": null, "d": [{"e": null}]}});
        assert_eq!(without_nulls(value), json!({"b": {"d": [{}]}}));
    }
}
