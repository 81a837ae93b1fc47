//! Types of Kubernetes as definitions of a JSON Schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::kubernetes::{Field, Type, fields_of, is_required, range_of, values_of};

/// The field of a schema that has the definitions.
pub(super) const DEFINITIONS: &str = "definitions";

/// Definitions of the types that a schema refers to.
#[derive(Debug, Default)]
pub(super) struct Definitions(BTreeMap<String, Value>);

impl Definitions {
    /// The schema of a value. An item of a list `is_whole`: flavor and actor append lists, so it needs its
    /// required fields. Elsewhere, one can give what the other leaves open.
    pub(super) fn reference(&mut self, r#type: &Type, is_whole: bool) -> Value {
        match r#type {
            Type::Text => json!({"type": "string"}),
            Type::Integer(_) => json!({"type": "integer"}),
            Type::Boolean => json!({"type": "boolean"}),
            Type::Quantity => json!({"type": ["string", "number"]}),
            Type::IntOrText => json!({"type": ["integer", "string"]}),
            Type::Any => json!({}),
            Type::List(items) => json!({"type": "array", "items": self.reference(items, true)}),
            Type::Map(values) => json!({
                "type": "object", "additionalProperties": self.reference(values, is_whole),
            }),
            Type::Object(name) => self.object(name, is_whole),
        }
    }

    fn object(&mut self, name: &'static str, is_whole: bool) -> Value {
        let Some(fields) = fields_of(name) else {
            return json!({"type": "object"});
        };
        let required = |it: &(&&'static str, &Field)| is_required(name, it.0, it.1);
        let required: Vec<&str> = fields.iter().filter(required).map(|it| *it.0).collect();
        let key = if is_whole {
            name.to_owned()
        } else {
            format!("{name}.partial")
        };
        if !self.0.contains_key(&key) {
            // Types refer to themselves: the key is taken before its content is known.
            self.0.insert(key.clone(), Value::Null);
            let mut properties = Map::new();
            for (field, it) in fields {
                let mut schema = self.reference(&it.r#type, is_whole);
                limit(&mut schema, name, field);
                properties.insert((*field).to_owned(), schema);
            }
            let mut schema = json!({
                "type": "object", "properties": properties, "additionalProperties": false,
            });
            if is_whole && !required.is_empty() {
                schema["required"] = json!(required);
            }
            self.0.insert(key.clone(), schema);
        }
        json!({"$ref": format!("#/{DEFINITIONS}/{key}")})
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0.into_iter().collect())
    }
}

/// Adds the values or the range that a field allows.
fn limit(schema: &mut Value, of: &str, field: &str) {
    let is_list = schema["type"] == "array";
    let schema = if is_list {
        &mut schema["items"]
    } else {
        schema
    };
    let values = values_of(of, field);
    if !values.is_empty() {
        schema["enum"] = json!(values);
    }
    if let (Some((least, most)), true) = (range_of(of, field), schema["type"] != "object") {
        schema["minimum"] = json!(least);
        if most < i64::MAX {
            schema["maximum"] = json!(most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_has_a_definition() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(map) => {
                    let own = map.get("$ref").and_then(Value::as_str);
                    found.extend(own.map(|it| it.replace("#/definitions/", "")));
                    map.values().for_each(|it| references(it, found));
                }
                Value::Array(list) => list.iter().for_each(|it| references(it, found)),
                _ => {}
            }
        }
        let schema = super::super::of(super::super::Document::All);
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(found.len() > 100, "{}", found.len());
        for name in found {
            assert!(schema[DEFINITIONS][&name].is_object(), "{name}");
        }
    }

    #[test]
    fn items_of_lists_need_their_required_fields_and_parts_do_not() {
        let schema = super::super::of(super::super::Document::Flavor);
        let data = &schema["properties"]["data"]["properties"];
        let variable = "#/definitions/EnvVar";
        assert_eq!(data["env"]["items"]["$ref"], variable);
        assert!(data["env"]["description"].is_string());
        let definitions = &schema[DEFINITIONS];
        assert_eq!(definitions["EnvVar"]["required"], json!(["name"]));
        assert!(definitions["PodSpec.partial"]["required"].is_null());
        let operator = &definitions["Toleration"]["properties"]["operator"];
        assert_eq!(operator["enum"], json!(["Exists", "Equal"]));
    }
}
