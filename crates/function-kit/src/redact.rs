//! A spec that may be logged.

use serde_json::{Map, Value};

const HIDDEN: &str = "***";

/// `spec` with every literal environment value, argument and annotation value
/// hidden, at any depth. References to Secrets stay: they name, they do not tell.
#[must_use]
pub fn redacted(spec: &Map<String, Value>) -> Map<String, Value> {
    spec.iter()
        .map(|(key, value)| {
            let value = match key.as_str() {
                "env" => hide_in_items(value),
                "args" | "command" | "podAnnotations" | "annotations" => hide_all(value),
                _ => redacted_value(value),
            };
            (key.clone(), value)
        })
        .collect()
}

fn redacted_value(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(redacted(map)),
        Value::Array(list) => Value::Array(list.iter().map(redacted_value).collect()),
        scalar => scalar.clone(),
    }
}

/// Environment variables: the literal value of each.
fn hide_in_items(value: &Value) -> Value {
    let Value::Array(list) = value else {
        return hide_all(value);
    };
    Value::Array(
        list.iter()
            .map(|item| match item {
                Value::Object(map) => Value::Object(
                    map.iter()
                        .map(|(key, value)| match key.as_str() {
                            "name" | "valueFrom" => (key.clone(), value.clone()),
                            _ => (key.clone(), Value::from(HIDDEN)),
                        })
                        .collect(),
                ),
                other => hide_all(other),
            })
            .collect(),
    )
}

fn hide_all(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.keys()
                .map(|key| (key.clone(), Value::from(HIDDEN)))
                .collect(),
        ),
        Value::Array(list) => Value::Array(list.iter().map(|_| Value::from(HIDDEN)).collect()),
        Value::Null => Value::Null,
        _ => Value::from(HIDDEN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literal_values_are_hidden_wherever_they_stand() {
        let spec = json!({
            "image": "app:1",
            "env": [{"name": "A", "value": "s1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "p"}}}, "s2"],
            "args": ["s3"],
            "podAnnotations": {"a": "s4"},
            "sidecar": {"env": [{"name": "C", "value": "s5"}]},
            "stateProxy": [{"name": "x", "connector": {"env": [{"name": "D", "value": "s6"}]}}],
            "workload": {"template": {
                "metadata": {"annotations": {"a": "s7"}},
                "spec": {"containers": [{"name": "r", "args": ["s8"], "env": [{"name": "E", "value": "s9"}]}]},
            }},
        });
        let text = Value::Object(redacted(spec.as_object().unwrap())).to_string();
        for secret in 1..=9 {
            assert!(
                !text.contains(&format!("s{secret}\"")),
                "s{secret} in {text}"
            );
        }
        for kept in ["app:1", "\"A\"", "fieldPath"] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
    }
}
