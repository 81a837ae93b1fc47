//! From the JSON schema of a Rust type to the structural schema of the API server.
//!
//! They differ in what *not set* means: there a field is absent, never `null`,
//! and it has no default, for the API server would fill it in before the merge
//! and so beat every flavor. A map that may hold anything is marked by a keyword of
//! Kubernetes' own, else its content would be cut off.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Assumed items of a list without `maxItems`. The API server estimates what a rule costs by the longest
/// list there may be, so each needs an end.
const LIST_MAX: usize = 1024;
/// The formats that the API server knows, of those that types come with.
const FORMATS: [&str; 3] = ["date-time", "int32", "int64"];
/// Kubernetes' key for a map that may hold anything.
const KEEPS_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

/// The structural schema of a type, as a document that is read.
pub(super) fn of<T: JsonSchema>() -> Value {
    let mut schema = generator().into_root_schema_for::<T>();
    structural(&mut schema);
    schema.to_value()
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator()
}

fn structural(schema: &mut Schema) {
    let node = schema.ensure_object();
    node.remove("title");
    node.remove("default");
    without_null(node);
    if let Some(Value::String(text)) = node.get_mut("description") {
        *text = flowing(text);
    }
    with_named_values(node);
    if let Some(Value::String(format)) = node.get("format")
        && !FORMATS.contains(&format.as_str())
    {
        node.remove("format");
    }
    if node.get("additionalProperties") == Some(&Value::Bool(true)) {
        node.remove("additionalProperties");
        node.insert(KEEPS_UNKNOWN.to_owned(), json!(true));
    }
    if node.get("type") == Some(&json!("array")) {
        node.entry("maxItems").or_insert(json!(LIST_MAX));
    }
    if !node.contains_key("type") && !node.contains_key("x-kubernetes-int-or-string") {
        node.insert(KEEPS_UNKNOWN.to_owned(), json!(true));
    }
    transform_subschemas(&mut structural, schema);
}

/// Null as one of several types, or as one of two alternatives, is what an
/// optional field comes with. Other alternatives cannot be expressed: any value is allowed.
fn without_null(node: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = node.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            node.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(mut alternatives)) = node.remove("anyOf") {
        alternatives.retain(|alternative| alternative["type"] != "null");
        if let [Value::Object(only)] = &mut alternatives[..] {
            for (keyword, value) in std::mem::take(only) {
                node.entry(keyword).or_insert(value);
            }
        }
    }
}

/// The alternatives of an enum are values of one text; what each means goes to
/// the description.
fn with_named_values(node: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = node.remove("oneOf") else {
        return;
    };
    let own = node.remove("description");
    let mut sentences = vec![
        own.as_ref()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
    ];
    let mut values = Vec::new();
    for alternative in alternatives {
        let value = alternative["const"].clone();
        if let (Some(name), Some(text)) = (value.as_str(), alternative["description"].as_str()) {
            sentences.push(format!("`{name}`: {}", flowing(text)));
        }
        values.push(value);
    }
    node.insert("type".to_owned(), json!("string"));
    node.insert("enum".to_owned(), Value::Array(values));
    node.insert(
        "description".to_owned(),
        json!(sentences.join(" ").trim_start()),
    );
}

/// Text of a doc comment with its lines joined and its paragraphs kept.
fn flowing(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::json_schema;

    fn check(schema: Schema, expected: &Value, reason: &str) {
        let mut schema = schema;
        structural(&mut schema);
        assert_eq!(schema.as_value(), expected, "{reason}");
    }

    #[test]
    fn schemas_are_rewritten_in_structural_form() {
        let cases = [
            (
                json_schema!({"type": ["integer", "null"], "format": "uint32", "minimum": 0, "default": null}),
                json!({"type": "integer", "minimum": 0}),
                "an optional number",
            ),
            (
                json_schema!({"type": "string", "format": "date-time", "title": "Time"}),
                json!({"type": "string", "format": "date-time"}),
                "a format that it knows",
            ),
            (
                json_schema!({"type": "object", "additionalProperties": true}),
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
                "a map of anything",
            ),
            (
                json_schema!({"type": "object", "additionalProperties": {"type": ["string", "null"]}}),
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "a map of texts",
            ),
            (
                json_schema!({"type": "array", "items": true}),
                json!({"type": "array", "maxItems": 1024, "items": {"x-kubernetes-preserve-unknown-fields": true}}),
                "a list of anything",
            ),
            (
                json_schema!({"type": "array", "maxItems": 8, "items": {"type": "string"}}),
                json!({"type": "array", "maxItems": 8, "items": {"type": "string"}}),
                "a list with limits",
            ),
            (
                json_schema!({"properties": {"default": {"type": "string", "default": ""}}, "type": "object"}),
                json!({"properties": {"default": {"type": "string"}}, "type": "object"}),
                "a field may be called default",
            ),
            (
                json_schema!({"description": "x", "anyOf": [{"type": "string"}, {"type": "array"}]}),
                json!({"description": "x", "x-kubernetes-preserve-unknown-fields": true}),
                "alternatives",
            ),
            (
                json_schema!({"x-kubernetes-int-or-string": true}),
                json!({"x-kubernetes-int-or-string": true}),
                "a type of Kubernetes' own",
            ),
        ];
        for (schema, expected, reason) in cases {
            check(schema, &expected, reason);
        }
    }

    #[test]
    fn an_optional_enum_is_a_text_whose_description_names_its_values() {
        check(
            json_schema!({
                "description": "How the\npod ends.",
                "anyOf": [
                    {
                        "description": "The enum's own words.",
                        "oneOf": [
                            {"const": "Fast", "type": "string", "description": "At once."},
                            {"const": "Slow", "type": "string"},
                        ],
                    },
                    {"type": "null"},
                ],
            }),
            &json!({
                "description": "How the pod ends. `Fast`: At once.",
                "type": "string",
                "enum": ["Fast", "Slow"],
            }),
            "the field's own description comes first",
        );
    }
}
