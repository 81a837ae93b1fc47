//! Kinds that the cluster serves, from its OpenAPI v3 documents.

use std::collections::BTreeMap;

use function_kit::value::json_to_struct;
use function_proto::v1::{Schema, SchemaSelector};
use serde_json::{Map, Value, json};

/// Marks a schema with the kinds that it describes.
const KINDS: &str = "x-kubernetes-group-version-kind";
/// Prefix of a reference to another schema of a document.
const REFERENCE: &str = "#/components/schemas/";

/// OpenAPI v3 documents, as `kubectl get --raw /openapi/v3/GROUP-VERSION` gives
/// them, by the group-versions that they describe.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schemas {
    /// The schemas of each document, by name.
    documents: Vec<Map<String, Value>>,
    /// API version to the first document that describes it.
    described: BTreeMap<String, usize>,
}

impl Schemas {
    /// Takes in a document.
    pub fn add(&mut self, document: Value) {
        let Value::Object(mut document) = document else {
            return;
        };
        let schemas = document
            .get_mut("components")
            .and_then(|components| components.get_mut("schemas"))
            .map(Value::take);
        let Some(Value::Object(schemas)) = schemas else {
            return;
        };
        let position = self.documents.len();
        for (api_version, _) in schemas.values().flat_map(kinds) {
            self.described.entry(api_version).or_insert(position);
        }
        self.documents.push(schemas);
    }

    /// Returns Crossplane's response to a selector: the kind's schema with all references resolved; an
    /// empty one for a kind that no document describes.
    pub(crate) fn select(&self, selector: &SchemaSelector) -> Schema {
        let found = self
            .described
            .get(&selector.api_version)
            .and_then(|&position| {
                let document = self.documents.get(position)?;
                // What describes several kinds (DeleteOptions) is no kind's schema.
                let is_wanted = |schema: &&Value| {
                    let wanted = (selector.api_version.clone(), selector.kind.clone());
                    kinds(schema) == [wanted]
                };
                let schema = document.values().find(is_wanted)?;
                Some(resolved(document, schema, &mut Vec::new()))
            });
        Schema {
            openapi_v3: found
                .as_ref()
                .and_then(Value::as_object)
                .map(json_to_struct),
        }
    }
}

/// The API versions and kinds that a schema describes.
fn kinds(schema: &Value) -> Vec<(String, String)> {
    let list = schema.get(KINDS).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|kind| {
            let text = |key: &str| kind[key].as_str().unwrap_or_default();
            let api_version = match text("group") {
                "" => text("version").to_owned(),
                group => format!("{group}/{}", text("version")),
            };
            (api_version, text("kind").to_owned())
        })
        .collect()
}

/// `schema` with every reference replaced by what it refers to. `open` are the
/// references that are being replaced: a schema inside itself is just an object.
fn resolved<'a>(
    document: &'a Map<String, Value>,
    schema: &'a Value,
    open: &mut Vec<&'a str>,
) -> Value {
    if let Some(name) = reference(schema) {
        let Some(target) = document.get(name).filter(|_| !open.contains(&name)) else {
            return json!({"type": "object"});
        };
        open.push(name);
        let target = resolved(document, target, open);
        open.pop();
        return target;
    }
    let mut result = schema.clone();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties = properties
            .iter()
            .map(|(name, property)| (name.clone(), resolved(document, property, open)))
            .collect();
        result["properties"] = Value::Object(properties);
    }
    for key in ["additionalProperties", "items"] {
        if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
            result[key] = resolved(document, inner, open);
        }
    }
    result
}

/// The name of the schema that this one merely refers to. Where Kubernetes adds a
/// description to a reference, it wraps it in `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference.strip_prefix(REFERENCE);
    }
    schema.get("allOf")?.as_array()?.iter().find_map(reference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use function_kit::value::struct_to_json;

    fn document() -> Value {
        let of = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
        json!({"components": {"schemas": {
            "config-map": {"type": "object", KINDS: [of("", "v1", "ConfigMap")], "properties": {
                "metadata": {"allOf": [{"$ref": "#/components/schemas/meta"}], "description": "its own"},
                "list": {"type": "array", "items": {"$ref": "#/components/schemas/meta"}},
                "map": {"additionalProperties": {"$ref": "#/components/schemas/missing"}},
            }},
            "meta": {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/meta"}, "name": {"type": "string"}}},
            "options": {KINDS: [of("", "v1", "Options"), of("apps", "v1", "Options")]},
            "deployment": {"type": "object", KINDS: [of("apps", "v1", "Deployment")]},
        }}})
    }

    fn select(schemas: &Schemas, api_version: &str, kind: &str) -> Value {
        let schema = schemas.select(&SchemaSelector {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        });
        schema
            .openapi_v3
            .as_ref()
            .map_or(Value::Null, struct_to_json)
    }

    #[test]
    fn a_kind_that_is_described_has_a_schema() {
        let mut schemas = Schemas::default();
        schemas.add(document());
        let cases = [
            ("v1", "ConfigMap", true, "the core group"),
            ("apps/v1", "Deployment", true, "a group"),
            ("v1", "Options", false, "several kinds share it"),
            ("v1", "Deployment", false, "of another group"),
            ("keda.sh/v1alpha1", "ScaledObject", false, "not served"),
        ];
        for (api_version, kind, described, reason) in cases {
            assert_eq!(
                !select(&schemas, api_version, kind).is_null(),
                described,
                "{reason}"
            );
        }
        assert_eq!(select(&Schemas::default(), "v1", "ConfigMap"), Value::Null);
    }

    #[test]
    fn references_are_replaced_once() {
        let mut schemas = Schemas::default();
        schemas.add(document());
        let meta = json!({"type": "object", "properties": {"inner": {"type": "object"}, "name": {"type": "string"}}});
        assert_eq!(
            select(&schemas, "v1", "ConfigMap")["properties"],
            json!({
                "metadata": meta,
                "list": {"type": "array", "items": meta},
                "map": {"additionalProperties": {"type": "object"}},
            })
        );
    }

    #[test]
    fn documents_that_are_none_are_passed_over() {
        let mut schemas = Schemas::default();
        for document in [
            json!(null),
            json!({}),
            json!({"components": {"schemas": []}}),
        ] {
            schemas.add(document);
        }
        assert_eq!(schemas, Schemas::default());
    }
}
