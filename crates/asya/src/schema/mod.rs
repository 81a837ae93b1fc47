//! JSON Schemas for editors, such as those with yaml-language-server.

mod kubernetes;

use actor::names::PLATFORM;
use actor::{ENVIRONMENT_CONFIG, GROUP, KIND, VERSION, schema};
use merge::Segment;
use serde_json::{Map, Value, json};

use self::kubernetes::{DEFINITIONS, Definitions};
use crate::kubernetes::root_at;

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

/// The JSON Schema (draft 7) of a document. Unknown fields are errors, also in parts that Kubernetes defines.
pub fn of(document: Document) -> Value {
    let mut definitions = Definitions::default();
    let mut schema = schema_of(document, &mut definitions);
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema[DEFINITIONS] = definitions.into_value();
    schema
}

fn schema_of(document: Document, definitions: &mut Definitions) -> Value {
    match document {
        Document::Actor => object(
            &[&format!("{GROUP}/{VERSION}")],
            KIND,
            "spec",
            strict(schema::spec(), false, definitions),
        ),
        Document::Flavor => config(strict(schema::spec(), false, definitions)),
        Document::Platform => config(strict(schema::settings(), true, definitions)),
        Document::All => {
            let kind = |kind: &str| json!({"properties": {"kind": {"const": kind}}});
            let platform = json!({
                "properties": {"metadata": {"properties": {"name": {"const": PLATFORM}}}},
            });
            let [actor, platform_settings, flavor] =
                [Document::Actor, Document::Platform, Document::Flavor]
                    .map(|document| schema_of(document, definitions));
            json!({
                "type": "object",
                "required": ["apiVersion", "kind"],
                "allOf": [
                    {"if": kind(KIND), "then": actor},
                    {"if": kind(ENVIRONMENT_CONFIG.1), "then": {
                        "if": platform, "then": platform_settings, "else": flavor,
                    }},
                ],
            })
        }
    }
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

/// A Kubernetes schema as a JSON Schema: without fields of Kubernetes' own, with unknown fields refused where
/// Kubernetes would drop them, and with the types of Kubernetes where the schema leaves a part to it.
fn strict(mut schema: Value, is_platform: bool, definitions: &mut Definitions) -> Value {
    close(&mut schema);
    add_types(&mut schema, &mut Vec::new(), is_platform, definitions);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("crossplane".to_owned(), json!({"type": "object"}));
    }
    schema
}

/// Replaces the parts that Kubernetes defines, with the descriptions of this API.
fn add_types(
    node: &mut Value,
    path: &mut Vec<Segment>,
    is_platform: bool,
    definitions: &mut Definitions,
) {
    let types = [false, true].map(|stateful| root_at(path, is_platform, stateful));
    if let [Some(r#type), Some(of_stateful)] = types {
        let description = node["description"].take();
        *node = definitions.reference(&r#type, false);
        if r#type != of_stateful {
            *node = json!({"anyOf": [node.take(), definitions.reference(&of_stateful, false)]});
        }
        if node.get("$ref").is_some() {
            // In draft 7 nothing beside a reference counts.
            *node = json!({"allOf": [node.take()]});
        }
        if !description.is_null() {
            node["description"] = description;
        }
        return;
    }
    if let Some(properties) = node.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, property) in properties {
            path.push(name.as_str().into());
            add_types(property, path, is_platform, definitions);
            path.pop();
        }
    }
    if let Some(items) = node.get_mut("items") {
        path.push(0.into());
        add_types(items, path, is_platform, definitions);
        path.pop();
    }
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
