//! Reading JSON into types, with the path of the fault.

use merge::{FieldPath, Segment};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A document does not have the shape that the API asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct DecodeError {
    /// Where in the document.
    pub path: FieldPath,
    /// What is wrong there.
    pub fault: String,
}

impl DecodeError {
    /// The same fault, seen from one level further out.
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
    serde_path_to_error::deserialize(without_nulls(value)).map_err(|error| DecodeError {
        path: error.path().iter().filter_map(segment).collect(),
        fault: in_plain_words(&error.into_inner().to_string()),
    })
}

fn segment(segment: &serde_path_to_error::Segment) -> Option<Segment> {
    match segment {
        serde_path_to_error::Segment::Seq { index } => Some(Segment::Index(*index)),
        serde_path_to_error::Segment::Map { key } => Some(Segment::Key(key.clone())),
        _ => None,
    }
}

/// Serde names Rust's types; people know other words.
fn in_plain_words(fault: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("expected u32", "expected a whole number of 0 or more"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected a sequence", "expected a list"),
        ("expected a boolean", "expected true or false"),
        ("invalid type: sequence", "invalid type: list"),
        ("invalid type: map", "invalid type: a map"),
    ];
    let text = WORDS.iter().fold(fault.to_owned(), |text, (rust, plain)| {
        text.replace(rust, plain)
    });
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
    fn the_path_of_the_fault_is_named() {
        let fault = decode::<BTreeMap<String, Vec<u32>>>(json!({"a": [1, "x"]})).unwrap_err();
        assert_eq!(fault.path.to_string(), "a[1]");
        assert_eq!(fault.under("spec").path.to_string(), "spec.a[1]");
    }

    #[test]
    fn faults_are_told_in_plain_words() {
        let fault = |value| crate::spec::Spec::parse(value).unwrap_err().to_string();
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
            assert_eq!(fault(document), text);
        }
    }

    #[test]
    fn nulls_count_as_not_set_at_any_depth() {
        let value = json!({"a": null, "b": {"c": null, "d": [{"e": null}]}});
        assert_eq!(without_nulls(value), json!({"b": {"d": [{}]}}));
    }
}
