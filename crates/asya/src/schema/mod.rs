//! JSON Schemas for editors, such as those with yaml-language-server.

use actor::names::PLATFORM;
use actor::{ENVIRONMENT_CONFIG, GROUP, KIND, VERSION, schema};
use serde_json::{Map, Value, json};

/// Documents with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Document {
    /// An `AsyncActor`
    Actor,
    /// An `EnvironmentConfig` with a flavor
    Flavor,
    /// The `EnvironmentConfig` with the platform's settings
    Platform,
    /// Any of them, by kind and name
    All,
}

/// The JSON Schema (draft 7) of a document. Unknown fields are errors.
pub fn of(document: Document) -> Value {
    let mut schema = match document {
        Document::Actor => object(
            &[&format!("{GROUP}/{VERSION}")],
            KIND,
            "spec",
            strict(schema::spec()),
        ),
        Document::Flavor => config(strict(schema::spec())),
        Document::Platform => config(strict(schema::settings())),
        Document::All => {
            let kind = |kind: &str| json!({"properties": {"kind": {"const": kind}}});
            let platform = json!({
                "properties": {"metadata": {"properties": {"name": {"const": PLATFORM}}}},
            });
            json!({
                "type": "object",
                "required": ["apiVersion", "kind"],
                "allOf": [
                    {"if": kind(KIND), "then": of(Document::Actor)},
                    {"if": kind(ENVIRONMENT_CONFIG.1), "then": {
                        "if": platform, "then": of(Document::Platform), "else": of(Document::Flavor),
                    }},
                ],
            })
        }
    };
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema
}

fn config(data: Value) -> Value {
    let (version, kind) = ENVIRONMENT_CONFIG;
    object(&[version], kind, "data", data)
}

fn object(versions: &[&str], kind: &str, root: &str, content: Value) -> Value {
    let mut properties = Map::new();
    properties.insert("apiVersion".to_owned(), json!({"enum": versions}));
    properties.insert("kind".to_owned(), json!({"const": kind}));
    properties.insert(
        "metadata".to_owned(),
        json!({"type": "object", "required": ["name"]}),
    );
    properties.insert(root.to_owned(), content);
    properties.insert("status".to_owned(), json!({"type": "object"}));
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A Kubernetes schema as a JSON Schema: without fields of Kubernetes' own, and with unknown fields
/// refused where Kubernetes would drop them.
fn strict(mut schema: Value) -> Value {
    close(&mut schema);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("crossplane".to_owned(), json!({"type": "object"}));
    }
    schema
}

fn close(node: &mut Value) {
    match node {
        Value::Object(map) => {
            let is_open = map.remove("x-kubernetes-preserve-unknown-fields") == Some(json!(true));
            if map.remove("x-kubernetes-int-or-string") == Some(json!(true)) {
                map.remove("type");
                map.insert("type".to_owned(), json!(["integer", "string"]));
            }
            map.retain(|key, _| !key.starts_with("x-kubernetes-"));
            map.remove("nullable");
            let is_object = map.get("properties").is_some_and(Value::is_object);
            if is_object && map.get("type") == Some(&json!("object")) && !is_open {
                map.entry("additionalProperties").or_insert(json!(false));
            }
            map.values_mut().for_each(close);
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_has_a_schema_without_kubernetes_extensions() {
        for document in [
            Document::Actor,
            Document::Flavor,
            Document::Platform,
            Document::All,
        ] {
            let schema = of(document);
            assert!(
                !schema.to_string().contains("x-kubernetes-"),
                "{document:?}"
            );
        }
        let actor = of(Document::Actor);
        let spec = &actor["properties"]["spec"];
        assert_eq!(spec["additionalProperties"], false);
        assert_eq!(spec["properties"]["image"]["type"], "string");
        assert_eq!(spec["properties"]["crossplane"]["type"], "object");
    }
}
