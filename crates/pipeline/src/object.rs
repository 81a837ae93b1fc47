//! A Kubernetes object as a document.

use std::fmt;

use function_kit::value::{json_to_struct, struct_to_json};
use pbjson_types::Struct;
use serde_json::{Map, Value};

/// A Kubernetes object. A text that is missing or of another type is `""`: to
/// Kubernetes an empty name or namespace is not set either.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(Map<String, Value>);

impl Object {
    /// Its API version, such as `apps/v1`.
    pub fn api_version(&self) -> &str {
        text(&self.0, "apiVersion")
    }

    /// Its kind, such as `Deployment`.
    pub fn kind(&self) -> &str {
        text(&self.0, "kind")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.metadata("name")
    }

    /// Its namespace; empty for a cluster-scoped object.
    pub fn namespace(&self) -> &str {
        self.metadata("namespace")
    }

    /// A text of its metadata.
    pub fn metadata(&self, key: &str) -> &str {
        self.get(&["metadata"])
            .and_then(Value::as_object)
            .map_or("", |metadata| text(metadata, key))
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> &str {
        self.get(&["metadata", "labels", key])
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> &str {
        self.get(&["metadata", "annotations", key])
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The value at a path of keys.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.0.get(*first)?, |value, key| value.get(*key))
    }

    /// The map at a path of keys, created if it is missing.
    pub fn map_mut(&mut self, path: &[&str]) -> &mut Map<String, Value> {
        path.iter().fold(&mut self.0, |map, key| {
            let value = map.entry(*key).or_insert(Value::Null);
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            match value {
                Value::Object(inner) => inner,
                _ => unreachable!("it was just made a map"),
            }
        })
    }

    /// Sets a text of its metadata, or removes it where the text is empty.
    pub fn set_metadata(&mut self, key: &str, text: &str) {
        let metadata = self.map_mut(&["metadata"]);
        if text.is_empty() {
            metadata.remove(key);
        } else {
            metadata.insert(key.to_owned(), Value::from(text));
        }
    }

    /// The object as functions get it.
    pub fn to_struct(&self) -> Struct {
        json_to_struct(&self.0)
    }

    /// An object that came from a function.
    pub fn from_struct(object: &Struct) -> Self {
        match struct_to_json(object) {
            Value::Object(map) => Self(map),
            _ => Self::default(),
        }
    }

    /// The object as a document.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The object as a document.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

impl From<Map<String, Value>> for Object {
    fn from(map: Map<String, Value>) -> Self {
        Self(map)
    }
}

/// Kind and name, as messages name an object: `Secret "db"`.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind(), self.name())
    }
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}
