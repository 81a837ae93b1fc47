//! The smallest merge patch between two documents.

use serde_json::{Map, Value};

/// The JSON merge patch from `old` to `new`; none where they are equal.
///
/// A field that is not in `new` is removed by name, so leave fields of `old` that this program does
/// not know out of both.
pub(in crate::controller) fn merge_patch(old: &Value, new: &Value) -> Option<Value> {
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
        if let Some(difference) = merge_patch(old.get(key).unwrap_or(&Value::Null), new) {
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
    fn a_patch_contains_only_the_difference() {
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
            assert_eq!(merge_patch(&old, &new), expected, "from {old} to {new}");
        }
    }
}
