//! The fields of a structural schema, as rows of a table.

use serde_json::Value;

/// Fields, with type and description.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Its path: `a.b` is a key of a map, `a[]` an item of a list, `a.<key>` a value of a map whose
    /// keys are free.
    pub(super) path: String,
    /// Type; with `, required` if the field is required.
    pub(super) r#type: String,
    /// Meaning.
    pub(super) description: String,
}

impl Field {
    /// The cells of its row.
    pub(super) fn row(&self) -> [String; 3] {
        let path = format!("`{}`", self.path);
        [path, self.r#type.clone(), self.description.clone()]
    }
}

/// Every field below a schema, with what is in it, in the order of their names.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    below(schema, "", &mut fields);
    fields
}

fn below(schema: &Value, path: &str, fields: &mut Vec<Field>) {
    let joined = |key: &str| {
        let dot = if path.is_empty() { "" } else { "." };
        format!("{path}{dot}{key}")
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, property) in properties {
        let path = joined(name);
        let is_required = schema["required"]
            .as_array()
            .is_some_and(|required| required.iter().any(|one| one == name));
        let required = if is_required { ", required" } else { "" };
        fields.push(Field {
            r#type: format!("{}{required}", type_of(property)),
            description: text(property),
            path: path.clone(),
        });
        below(property, &path, fields);
    }
    if let Some(items) = schema.get("items") {
        below(items, &format!("{path}[]"), fields);
    }
    if let Some(values) = schema
        .get("additionalProperties")
        .filter(|values| values.is_object())
    {
        below(values, &joined("<key>"), fields);
    }
}

/// Type of a schema, in words.
fn type_of(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str);
        return values
            .map(|value| format!("`{value}`"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return "number or string".to_owned();
    }
    let plural = |schema: &Value| match type_of(schema).as_str() {
        "object" => "objects".to_owned(),
        "string" => "strings".to_owned(),
        "integer" => "integers".to_owned(),
        other => other.to_owned(),
    };
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", plural(&schema["items"])),
        Some("object") => match schema.get("additionalProperties") {
            Some(values) if values.is_object() => format!("map to {}", plural(values)),
            _ => "object".to_owned(),
        },
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

/// The description in one line.
pub(super) fn text(schema: &Value) -> String {
    let description = schema["description"].as_str().unwrap_or_default();
    description.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rules that the API server holds, below a schema: their messages, each once, in order.
pub(super) fn rules(schema: &Value) -> Vec<String> {
    let mut messages = Vec::new();
    messages_below(schema, &mut messages);
    messages.sort();
    messages.dedup();
    messages
}

fn messages_below(schema: &Value, messages: &mut Vec<String>) {
    let rules = schema["x-kubernetes-validations"].as_array();
    for rule in rules.into_iter().flatten() {
        messages.extend(rule["message"].as_str().map(str::to_owned));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(key) {
            messages_below(schema, messages);
        }
    }
    for property in schema["properties"].as_object().into_iter().flatten() {
        messages_below(property.1, messages);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_listed_with_path_type_and_requiredness() {
        let schema = json!({
            "required": ["name"],
            "properties": {
                "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}},
                "mode": {"type": "string", "enum": ["A", "B"]},
                "name": {"type": "string", "description": "Its\n  name."},
                "rules": {"type": "array", "items": {"type": "object", "properties": {
                    "errors": {"type": "array", "items": {"type": "string"}},
                }}},
            },
        });
        let rows: Vec<String> = fields(&schema)
            .iter()
            .map(|field| field.row().join(" "))
            .collect();
        assert_eq!(
            rows,
            [
                "`limits` map to number or string ",
                "`mode` `A`, `B` ",
                "`name` string, required Its name.",
                "`rules` list of objects ",
                "`rules[].errors` list of strings ",
            ]
        );
    }

    #[test]
    fn rules_are_found_at_any_depth() {
        let rule = |message: &str| json!([{"rule": "true", "message": message}]);
        let schema = json!({
            "x-kubernetes-validations": rule("root"),
            "properties": {"list": {"items": {"x-kubernetes-validations": rule("item")}}},
            "additionalProperties": {"x-kubernetes-validations": rule("item")},
        });
        assert_eq!(rules(&schema), ["item", "root"]);
    }
}
