//! A spec that may be logged.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

const HIDDEN: &str = "***";

/// Name of the trigger of an actor's queue in a rendered `ScaledObject`. No other trigger can have it.
const QUEUE_TRIGGER: &str = "queue";
/// Metadata of that trigger: render-scaledobject writes no credentials into them.
const QUEUE_TRIGGER_METADATA: [&str; 10] = [
    "awsEndpoint",
    "awsRegion",
    "host",
    "mode",
    "protocol",
    "queueLength",
    "queueName",
    "queueURL",
    "usernameFromEnv",
    "value",
];

/// A spec or rendered object with every literal value of environment variables, arguments,
/// annotations, HTTP headers and metadata of triggers hidden, at any depth, as it is serialised.
/// References to Secrets stay: they contain no values. The metadata of the queue's own trigger stay
/// too.
#[derive(Debug, Clone, Copy)]
pub struct Redacted<'a>(pub &'a Map<String, Value>);

impl Serialize for Redacted<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            match key.as_str() {
                "env" | "httpHeaders" => map.serialize_entry(key, &Variables(value))?,
                "additionalTriggers" => map.serialize_entry(key, &Triggers(value, None))?,
                "triggers" => {
                    map.serialize_entry(key, &Triggers(value, Some(QUEUE_TRIGGER)))?;
                }
                "args" | "command" | "podAnnotations" | "annotations" => {
                    map.serialize_entry(key, &Hidden(value))?;
                }
                _ => map.serialize_entry(key, &Shown(value))?,
            }
        }
        map.end()
    }
}

/// The same as a document.
#[must_use]
pub fn redacted(spec: &Map<String, Value>) -> Map<String, Value> {
    match serde_json::to_value(Redacted(spec)) {
        Ok(Value::Object(redacted)) => redacted,
        // Maps with texts for keys always become a document.
        _ => Map::new(),
    }
}

/// A value, but for what is to be hidden somewhere in it.
struct Shown<'a>(&'a Value);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(map) => Redacted(map).serialize(s),
            Value::Array(list) => s.collect_seq(list.iter().map(Shown)),
            scalar => scalar.serialize(s),
        }
    }
}

/// Triggers of KEDA: the values of their metadata are hidden, which scalers may take credentials
/// from. Those of the trigger with the given name stay.
struct Triggers<'a>(&'a Value, Option<&'a str>);

impl Serialize for Triggers<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(list) => {
                s.collect_seq(list.iter().map(|trigger| Triggers(trigger, self.1)))
            }
            Value::Object(fields) => {
                let mut map = s.serialize_map(Some(fields.len()))?;
                let name = fields.get("name").and_then(Value::as_str);
                let is_of_queue = name.is_some() && name == self.1;
                for (key, value) in fields {
                    match key.as_str() {
                        "metadata" if is_of_queue => {
                            map.serialize_entry(key, &QueueMetadata(value))?;
                        }
                        "metadata" => map.serialize_entry(key, &Hidden(value))?,
                        _ => map.serialize_entry(key, &Shown(value))?,
                    }
                }
                map.end()
            }
            other => Hidden(other).serialize(s),
        }
    }
}

/// Metadata of the queue's trigger: unknown keys are hidden, and a URL with credentials.
struct QueueMetadata<'a>(&'a Value);

impl Serialize for QueueMetadata<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.0 else {
            return Hidden(self.0).serialize(s);
        };
        s.collect_map(fields.iter().map(|(key, value)| {
            let is_known = QUEUE_TRIGGER_METADATA.contains(&key.as_str());
            let shown = value
                .as_str()
                .filter(|text| is_known && !text.contains('@'));
            (key, shown.unwrap_or(HIDDEN))
        }))
    }
}

/// Environment variables and HTTP headers: the literal value of each is hidden.
struct Variables<'a>(&'a Value);

impl Serialize for Variables<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(list) => s.collect_seq(list.iter().map(Variable)),
            other => Hidden(other).serialize(s),
        }
    }
}

struct Variable<'a>(&'a Value);

impl Serialize for Variable<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.0 else {
            return Hidden(self.0).serialize(s);
        };
        let mut map = s.serialize_map(Some(fields.len()))?;
        for (key, value) in fields {
            match key.as_str() {
                "name" | "valueFrom" => map.serialize_entry(key, value)?,
                _ => map.serialize_entry(key, HIDDEN)?,
            }
        }
        map.end()
    }
}

/// Only the keys of maps are shown.
struct Hidden<'a>(&'a Value);

impl Serialize for Hidden<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(map) => s.collect_map(map.keys().map(|key| (key, HIDDEN))),
            Value::Array(list) => s.collect_seq(list.iter().map(|_| HIDDEN)),
            Value::Null => s.serialize_unit(),
            _ => s.serialize_str(HIDDEN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literal_values_are_masked_at_any_depth() {
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
            "scaling": {"additionalTriggers": [{"type": "redis", "metadata": {"password": "s10", "address": "s11"}}]},
            "livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "Authorization", "value": "s12"}]}},
        });
        let text = serde_json::to_string(&Redacted(spec.as_object().unwrap())).unwrap();
        for secret in 1..=12 {
            assert!(
                !text.contains(&format!("s{secret}\"")),
                "s{secret} in {text}"
            );
        }
        for kept in [
            "app:1",
            "\"A\"",
            "fieldPath",
            "redis",
            "password",
            "Authorization",
        ] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
    }

    #[test]
    fn metadata_of_rendered_triggers_are_masked() {
        let trigger =
            |name: &str, key: &str, value: &str| json!({"name": name, "metadata": {key: value}});
        let cases = [
            ("queue", "queueName", "asya-a", true, "the queue's own"),
            (
                "queue",
                "queueURL",
                "https://sqs/1/a",
                true,
                "the queue's own",
            ),
            (
                "queue",
                "host",
                "http://mq:15672/%2F",
                true,
                "without credentials",
            ),
            (
                "queue",
                "host",
                "amqp://u:p@mq/",
                false,
                "credentials in a URL",
            ),
            ("queue", "password", "p", false, "a key that no step writes"),
            ("lag", "sasl", "p", false, "an additional trigger"),
            ("lag", "queueName", "q", false, "an additional trigger"),
        ];
        for (name, key, value, is_shown, reason) in cases {
            let spec = json!({"spec": {"triggers": [trigger(name, key, value)]}});
            let expected = if is_shown { value } else { HIDDEN };
            assert_eq!(
                Value::Object(redacted(spec.as_object().unwrap())),
                json!({"spec": {"triggers": [trigger(name, key, expected)]}}),
                "{name} {key}: {reason}"
            );
        }
    }
}
