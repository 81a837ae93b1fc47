//! Documentation of fields from the API's schemas, as `kubectl explain` shows it.

use actor::schema;
use merge::Segment;
use serde_json::Value;

use crate::kubernetes::{Type, fields_of, root_at};
use crate::nearest::nearest;

/// Documentation of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDocs {
    /// The path from the root of its document: `spec.scaling.minReplicaCount`.
    pub path: String,
    /// Its type: `integer`, `[]object`, `map[string]string`.
    pub r#type: String,
    /// Effect, default, range and mutability.
    pub description: String,
    /// Allowed values; empty if all are.
    pub values: Vec<String>,
    /// Fields in it, sorted by name.
    pub fields: Vec<ChildDocs>,
}

/// A field in another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildDocs {
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: String,
    /// The first sentence of its description.
    pub summary: String,
}

/// A path that is no field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parent} has no field {name:?}{}", .meant.as_ref().map_or_else(String::new, |meant| format!(", did you mean {meant:?}?")))]
pub struct UnknownField {
    /// The path that exists.
    pub parent: String,
    /// The name after it.
    pub name: String,
    /// The nearest name.
    pub meant: Option<String>,
}

/// The documentation of a field. The path begins with `spec` for actors, `data` or `platform` for the
/// platform's settings; without either it is a path in `spec`.
///
/// # Errors
/// When there is no such field.
pub fn docs(path: &str) -> Result<FieldDocs, UnknownField> {
    let path = path.replace("[]", "");
    let mut names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
    let (root, schema) = match names.first() {
        Some(&"platform" | &"data") => {
            names.remove(0);
            ("data", schema::settings())
        }
        Some(&"spec" | &"flavor") => {
            names.remove(0);
            ("spec", schema::spec())
        }
        _ => ("spec", schema::spec()),
    };
    let mut shown = root.to_owned();
    let mut field = &schema;
    let mut inside_root: Vec<Segment> = Vec::new();
    let mut names = names.into_iter();
    while let Some(name) = names.next() {
        if let Some(r#type) = root_at(&inside_root, root == "data", false) {
            let rest = std::iter::once(name).chain(names);
            return kubernetes(&shown, &r#type, rest);
        }
        let inside = element(field);
        let properties = inside.get("properties").and_then(Value::as_object);
        let known = properties.and_then(|properties| properties.get(name));
        field = match (known, inside.get("additionalProperties")) {
            (Some(known), _) => known,
            (None, Some(values)) if values.is_object() => values,
            _ => {
                let names = properties
                    .into_iter()
                    .flat_map(|properties| properties.keys());
                return Err(UnknownField {
                    parent: shown,
                    name: name.to_owned(),
                    meant: nearest(name, names.map(String::as_str)).map(str::to_owned),
                });
            }
        };
        shown.push('.');
        shown.push_str(name);
        inside_root.push(name.into());
        let is_root = root_at(&inside_root, root == "data", false).is_some();
        if field["type"] == "array" && !is_root {
            inside_root.push(0.into());
        }
    }
    if let Some(r#type) = root_at(&inside_root, root == "data", false) {
        let own = kubernetes(&shown, &r#type, std::iter::empty())?;
        return Ok(FieldDocs {
            description: description(field).to_owned(),
            ..own
        });
    }
    let properties = element(field).get("properties").and_then(Value::as_object);
    let fields = properties
        .into_iter()
        .flatten()
        .map(|(name, field)| ChildDocs {
            name: name.clone(),
            r#type: type_of(field),
            summary: first_sentence(description(field)).to_owned(),
        });
    let values = field.get("enum").and_then(Value::as_array);
    Ok(FieldDocs {
        path: shown,
        r#type: type_of(field),
        description: description(field).to_owned(),
        values: values.into_iter().flatten().map(Value::to_string).collect(),
        fields: fields.collect(),
    })
}

/// The documentation of a field that Kubernetes defines: its type, and the fields in it.
fn kubernetes<'a>(
    parent: &str,
    r#type: &Type,
    names: impl Iterator<Item = &'a str>,
) -> Result<FieldDocs, UnknownField> {
    let mut shown = parent.to_owned();
    let mut field = r#type.clone();
    for name in names {
        let inner = match innermost(&field) {
            Type::Object(object) => fields_of(object),
            _ => None,
        };
        let known = inner.and_then(|fields| fields.get(name));
        let Some(known) = known else {
            let names = inner.into_iter().flat_map(|fields| fields.keys().copied());
            return Err(UnknownField {
                parent: shown,
                name: name.to_owned(),
                meant: nearest(name, names).map(str::to_owned),
            });
        };
        shown.push('.');
        shown.push_str(name);
        field = known.r#type.clone();
    }
    let inner = match innermost(&field) {
        Type::Object(object) => fields_of(object),
        _ => None,
    };
    let fields = inner.into_iter().flatten().map(|(name, field)| ChildDocs {
        name: (*name).to_owned(),
        r#type: field.r#type.name(),
        summary: if field.is_required {
            "Required.".to_owned()
        } else {
            String::new()
        },
    });
    let described = match innermost(&field) {
        Type::Object(object) => format!("{object} of Kubernetes: kubectl explain describes it."),
        _ => String::new(),
    };
    Ok(FieldDocs {
        path: shown,
        r#type: field.name(),
        description: described,
        values: Vec::new(),
        fields: fields.collect(),
    })
}

/// The type of items of a list and of values of a map, else the type itself.
fn innermost(r#type: &Type) -> &Type {
    match r#type {
        Type::List(inner) | Type::Map(inner) => innermost(inner),
        other => other,
    }
}

/// The schema of items of a list, of values of a map without own fields, else the schema itself.
fn element(field: &Value) -> &Value {
    match (field.get("items"), field.get("properties")) {
        (Some(items), _) => element(items),
        _ => field,
    }
}

fn type_of(field: &Value) -> String {
    if field["x-kubernetes-int-or-string"] == true {
        return "integer or string".to_owned();
    }
    match field["type"].as_str().unwrap_or("any") {
        "array" => format!("[]{}", type_of(&field["items"])),
        "object" if field["additionalProperties"].is_object() => {
            format!("map[string]{}", type_of(&field["additionalProperties"]))
        }
        other => other.to_owned(),
    }
}

fn description(field: &Value) -> &str {
    field["description"].as_str().unwrap_or_default()
}

fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").or_else(|| text.find(".\n"));
    end.map_or(text, |end| &text[..=end])
}

/// The documentation as `kubectl explain` shows it.
pub fn text(docs: &FieldDocs) -> String {
    let mut text = format!("FIELD: {} <{}>\n", docs.path, docs.r#type);
    if !docs.values.is_empty() {
        text.push_str(&format!("VALUES: {}\n", docs.values.join(", ")));
    }
    if !docs.description.is_empty() {
        text.push_str("\nDESCRIPTION:\n");
        for line in docs.description.lines() {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        }
    }
    if !docs.fields.is_empty() {
        text.push_str("\nFIELDS:\n");
    }
    for child in &docs.fields {
        text.push_str(&format!("  {} <{}>\n", child.name, child.r#type));
        if !child.summary.is_empty() {
            let summary = child
                .summary
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            text.push_str(&format!("    {summary}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_actors_and_of_the_platform_are_found() {
        let cases = [
            ("", "spec", "object"),
            ("image", "spec.image", "string"),
            (
                "spec.scaling.minReplicaCount",
                "spec.scaling.minReplicaCount",
                "integer",
            ),
            ("env[].name", "spec.env.name", "string"),
            ("tolerations", "spec.tolerations", "[]Toleration"),
            ("tolerations[].key", "spec.tolerations.key", "string"),
            (
                "workload.template.spec.containers.resources.limits",
                "spec.workload.template.spec.containers.resources.limits",
                "map[string]Quantity",
            ),
            (
                "stateProxy.connector.env",
                "spec.stateProxy.connector.env",
                "[]EnvVar",
            ),
            ("platform.sidecar.image", "data.sidecar.image", "string"),
        ];
        for (path, shown, r#type) in cases {
            let docs = docs(path).unwrap();
            assert_eq!((docs.path.as_str(), docs.r#type.as_str()), (shown, r#type));
            // Kubernetes describes its own fields.
            let is_foreign = path.contains("key") || path.contains("limits") || path.contains("[]");
            assert!(
                is_foreign || path.is_empty() || !docs.description.is_empty(),
                "{path}"
            );
        }
    }

    #[test]
    fn an_unknown_field_has_a_suggestion() {
        let error = docs("scaling.minReplicaCout").unwrap_err().to_string();
        let expected =
            "spec.scaling has no field \"minReplicaCout\", did you mean \"minReplicaCount\"?";
        assert_eq!(error, expected);
        let error = docs("tolerations.opertor").unwrap_err().to_string();
        let expected = "spec.tolerations has no field \"opertor\", did you mean \"operator\"?";
        assert_eq!(error, expected);
        let error = docs("image.inner").unwrap_err().to_string();
        assert_eq!(error, "spec.image has no field \"inner\"");
    }
}
