//! List items that Kubernetes defines: kept whole, with the keys that matter checked.
//!
//! Actors may use every field that their cluster's Kubernetes knows, also ones
//! newer than this program. So an item is a map that is passed on as it is; only
//! what rendering needs is required of it.

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value, json};

/// A list item with a `name`: a volume, a container, an image pull secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Named(Map<String, Value>);

impl Named {
    /// The item's name; never empty.
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or_default()
    }

    /// A text field, if it exists and is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    /// The item as it is.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The item as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        require_text(&map, "name")?;
        Ok(Self(map))
    }
}

/// One environment variable: `name` with `value` or `valueFrom`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct EnvVar(Map<String, Value>);

impl EnvVar {
    /// A variable with a literal value.
    pub fn literal(name: &str, value: impl Into<String>) -> Self {
        Self::object(json!({"name": name, "value": value.into()}))
    }

    /// A variable whose value is a key of a Secret in the pod's namespace.
    pub fn from_secret(name: &str, secret: &str, key: &str) -> Self {
        Self::object(json!({
            "name": name,
            "valueFrom": {"secretKeyRef": {"name": secret, "key": key}},
        }))
    }

    fn object(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self(Map::new()),
        }
    }

    /// The variable's name; never empty.
    pub fn name(&self) -> &str {
        self.0
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The literal value; none where `valueFrom` gives it, or nothing does.
    pub fn value(&self) -> Option<&str> {
        self.0.get("value")?.as_str()
    }

    /// Returns whether the value comes from elsewhere (a Secret, a field, …).
    pub fn is_from_elsewhere(&self) -> bool {
        self.0.contains_key("valueFrom")
    }

    /// The variable as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl<'de> Deserialize<'de> for EnvVar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        require_text(&map, "name")?;
        match map.get("value") {
            // The value itself is not shown: it may be a secret.
            Some(value) if !value.is_string() => Err(D::Error::custom(
                "the value of an environment variable must be a string: put it in quotes",
            )),
            _ => Ok(Self(map)),
        }
    }
}

/// A volume mount: an item with `name` and `mountPath`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct VolumeMount(Map<String, Value>);

impl VolumeMount {
    /// Returns the path of the volume in the container.
    pub fn mount_path(&self) -> &str {
        self.0
            .get("mountPath")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The mount as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl<'de> Deserialize<'de> for VolumeMount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        require_text(&map, "name")?;
        require_text(&map, "mountPath")?;
        Ok(Self(map))
    }
}

fn require_text<E: Error>(map: &Map<String, Value>, key: &'static str) -> Result<(), E> {
    match map.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(()),
        Some(Value::String(_)) => Err(E::custom(format_args!("`{key}` must not be empty"))),
        Some(_) => Err(E::custom(format_args!("`{key}` must be a string"))),
        None => Err(E::missing_field(key)),
    }
}
