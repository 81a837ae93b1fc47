//! Applies what flavors give as defaults of a template.

use function_kit::{Call, Code};
use merge::FieldPath;
use serde_json::{Map, Value};

use crate::findings::{Findings, below};

/// Adds the entries of `given` that `own` does not have; at `depth` 2 and more
/// also inside maps that both have.
///
/// Depth 1 suits maps whose values belong together, such as a lifecycle hook or a
/// seccomp profile: half of one and half of the other would mean neither.
pub(crate) fn apply_defaults(
    own: &mut Map<String, Value>,
    given: Map<String, Value>,
    depth: usize,
) {
    for (key, given) in given {
        match (own.get_mut(&key), given) {
            (None, given) => drop(own.insert(key, given)),
            (Some(Value::Object(own)), Value::Object(given)) if depth > 1 => {
                apply_defaults(own, given, depth - 1);
            }
            (Some(_), _) => {}
        }
    }
}

/// [`apply_defaults`] for the map in a field of `parent`, a map of the template with its
/// path. The field is made where it is absent; anything but a map there is an error.
pub(crate) fn apply_to_field(
    (parent, path): (&mut Map<String, Value>, &FieldPath),
    field: &'static str,
    given: Map<String, Value>,
    depth: usize,
    (call, findings): (&Call, &mut Findings),
) {
    match parent.get_mut(field) {
        Some(Value::Object(own)) => apply_defaults(own, given, depth),
        Some(_) => {
            let path = below(path, field);
            findings.error_at(call, Code::InvalidValue, &path, "expected a map");
        }
        None if given.is_empty() => {}
        None => drop(parent.insert(field.to_owned(), Value::Object(given))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_template_wins_on_the_same_key() {
        let cases = [
            (
                json!({"a": 1}),
                json!({"b": 2}),
                1,
                json!({"a": 1, "b": 2}),
                "another key",
            ),
            (
                json!({"a": 1}),
                json!({"a": 2}),
                1,
                json!({"a": 1}),
                "the same key",
            ),
            (
                json!({"a": {"x": 1}}),
                json!({"a": {"y": 2}}),
                1,
                json!({"a": {"x": 1}}),
                "what belongs together stays together",
            ),
            (
                json!({"limits": {"cpu": 1}}),
                json!({"limits": {"cpu": 2, "memory": 3}, "requests": {"cpu": 1}}),
                2,
                json!({"limits": {"cpu": 1, "memory": 3}, "requests": {"cpu": 1}}),
                "quantities one by one",
            ),
        ];
        for (own, given, depth, expected, reason) in cases {
            let (Value::Object(mut own), Value::Object(given)) = (own, given) else {
                panic!("{reason}: no maps")
            };
            apply_defaults(&mut own, given, depth);
            assert_eq!(Value::Object(own), expected, "{reason}");
        }
    }
}
