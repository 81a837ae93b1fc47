//! The least patch that turns one document into another.

use serde_json::{Map, Value};

/// The JSON merge patch from `old` to `new`; nothing when they are equal.
///
/// Fields that are not in `new` are removed by name. Fields of `old` that this
/// program does not know have to be left out of both.
pub(super) fn between(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return Some(new.clone());
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, new) in new {
        if let Some(difference) = between(old.get(key).unwrap_or(&Value::Null), new) {
            patch.insert(key.clone(), difference);
        }
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_in_a_patch() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1}), None),
            (
                json!({"a": 1, "b": 2}),
                json!({"a": 1, "b": 3}),
                Some(json!({"b": 3})),
            ),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": 1}}),
                Some(json!({"a": {"c": null}})),
            ),
            (
                json!({"a": [1, 2]}),
                json!({"a": [1]}),
                Some(json!({"a": [1]})),
            ),
            (
                json!({}),
                json!({"a": {"b": 1}}),
                Some(json!({"a": {"b": 1}})),
            ),
        ];
        for (old, new, expected) in cases {
            assert_eq!(between(&old, &new), expected, "from {old} to {new}");
        }
    }
}
