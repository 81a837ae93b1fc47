//! Documentation of fields from the API's schemas, as `kubectl explain` shows it.

mod form;
mod kubernetes;
mod values;

use actor::schema;
use merge::Segment;
use serde_json::{Value, json};

use crate::kubernetes::{Type, root_at};
use crate::nearest::nearest;

pub use form::text;

/// Documentation of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDocs {
    /// The path from the root of its document: `spec.scaling.minReplicaCount`.
    pub path: String,
    /// Its type: `integer`, `[]object`, `map[string]string`.
    pub r#type: String,
    /// True if its parent must have it.
    pub is_required: bool,
    /// Effect, default, range and mutability.
    pub description: String,
    /// Allowed values; empty if all are, or if the description has them.
    pub values: Vec<ValueDocs>,
    /// Fields in it, sorted by name.
    pub fields: Vec<ChildDocs>,
}

/// A value that a field may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueDocs {
    /// The value.
    pub value: String,
    /// Its meaning; empty if the value explains itself.
    pub meaning: String,
}

/// A field in another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildDocs {
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: String,
    /// True if it must be set.
    pub is_required: bool,
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

/// First names of paths that are no field of the spec.
const ROOTS: [&str; 6] = ["data", "flavor", "metadata", "platform", "spec", "status"];

/// The documentation of a field. The path begins with `spec`, `status` or `metadata` for actors, `flavor` for
/// flavors, `data` or `platform` for the platform's settings; without any of them it is a path in `spec`.
///
/// # Errors
/// When there is no such field.
pub fn docs(path: &str) -> Result<FieldDocs, UnknownField> {
    let path = path.replace("[]", "");
    let mut names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
    let first = names.first().copied().filter(|name| ROOTS.contains(name));
    if first.is_some() {
        names.remove(0);
    }
    let (root, schema) = match first {
        Some("metadata") => return kubernetes::metadata(names.into_iter()),
        Some("platform" | "data") => ("data", schema::settings()),
        Some("status") => ("status", status()),
        _ => ("spec", schema::spec()),
    };
    let mut shown = root.to_owned();
    let mut field = &schema;
    let mut is_required = false;
    let mut inside_root: Vec<Segment> = Vec::new();
    let kubernetes_type = |path: &[Segment]| match root {
        "status" => None,
        root => root_at(path, root == "data", false),
    };
    let mut names = names.into_iter();
    while let Some(name) = names.next() {
        if let Some(r#type) = kubernetes_type(&inside_root) {
            let rest = std::iter::once(name).chain(names);
            return kubernetes::below(&shown, &r#type, rest);
        }
        let inside = element(field);
        is_required = requires(inside, name);
        let properties = inside.get("properties").and_then(Value::as_object);
        let known = properties.and_then(|properties| properties.get(name));
        field = match (known, inside.get("additionalProperties")) {
            (Some(known), _) => known,
            (None, Some(values)) if values.is_object() => values,
            _ => {
                let known = properties.into_iter().flat_map(|it| it.keys());
                let known = known.map(String::as_str);
                let roots = ROOTS
                    .into_iter()
                    .filter(|_| first.is_none() && shown == root);
                return Err(UnknownField {
                    meant: nearest(name, known.chain(roots)).map(str::to_owned),
                    parent: shown,
                    name: name.to_owned(),
                });
            }
        };
        shown.push('.');
        shown.push_str(name);
        inside_root.push(name.into());
        let is_root = kubernetes_type(&inside_root).is_some();
        if field["type"] == "array" && !is_root {
            inside_root.push(0.into());
        }
    }
    if let Some(r#type) = kubernetes_type(&inside_root) {
        let own = kubernetes::below(&shown, &r#type, std::iter::empty())?;
        let described = [description(field), &own.description].into_iter();
        let described: Vec<&str> = described.filter(|text| !text.is_empty()).collect();
        return Ok(FieldDocs {
            description: described.join("\n\n"),
            is_required,
            ..own
        });
    }
    Ok(FieldDocs {
        values: values::of(&shown, field),
        path: shown,
        r#type: type_of(field),
        is_required,
        description: description(field).to_owned(),
        fields: children(field, |name| {
            let path = inside_root.iter().cloned();
            let path: Vec<Segment> = path.chain([name.into()]).collect();
            kubernetes_type(&path)
        }),
    })
}

/// Fields of an object, or of the items of a list. Those that Kubernetes defines have its types.
fn children(field: &Value, kubernetes_type: impl Fn(&str) -> Option<Type>) -> Vec<ChildDocs> {
    let inside = element(field);
    let properties = inside.get("properties").and_then(Value::as_object);
    let child = |(name, field): (&String, &Value)| ChildDocs {
        name: name.clone(),
        r#type: kubernetes_type(name).map_or_else(|| type_of(field), |it| it.name()),
        is_required: requires(inside, name),
        summary: first_sentence(description(field)).to_owned(),
    };
    properties.into_iter().flatten().map(child).collect()
}

/// The schema of an actor's status, with the conditions, which Crossplane adds to the definition.
fn status() -> Value {
    let mut xrd = schema::xrd();
    let mut status =
        xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"].take();
    let text = |description: &str| json!({"type": "string", "description": description});
    let conditions = json!({
        "type": "array",
        "description": "Conditions of the actor. Crossplane's own `Synced` and `Ready` stand beside those of Asya.",
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "lastTransitionTime"],
            "properties": {
                "type": text("Type of the condition. `ActorReady` is the summary of the others."),
                "status": text("`True`, `False` or `Unknown`."),
                "reason": text("Reason of the status, in one word. That of `ActorReady` is `status.status`."),
                "message": text("Details, in one line: the object, container or field, and what to do."),
                "lastTransitionTime": text("Time of the last change of the status."),
                "observedGeneration": {
                    "type": "integer",
                    "description": "Generation of the actor that the condition describes.",
                },
            },
        },
    });
    status["properties"]["conditions"] = conditions;
    status
}

/// The schema of items of a list, of values of a map without own fields, else the schema itself.
fn element(field: &Value) -> &Value {
    match (field.get("items"), field.get("properties")) {
        (Some(items), _) => element(items),
        _ => field,
    }
}

fn requires(object: &Value, name: &str) -> bool {
    let required = object["required"].as_array();
    required.is_some_and(|required| required.iter().any(|it| it == name))
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
            ("flavor.image", "spec.image", "string"),
            ("status", "status", "object"),
            ("status.queue.queued", "status.queue.queued", "integer"),
            ("status.conditions", "status.conditions", "[]object"),
            ("metadata.labels", "metadata.labels", "map[string]string"),
        ];
        for (path, shown, r#type) in cases {
            let docs = docs(path).unwrap();
            assert_eq!((docs.path.as_str(), docs.r#type.as_str()), (shown, r#type));
            assert!(!docs.description.is_empty(), "{path}");
        }
    }

    #[test]
    fn an_unknown_field_has_a_suggestion() {
        let cases = [
            (
                "scaling.minReplicaCout",
                "spec.scaling has no field \"minReplicaCout\", did you mean \"minReplicaCount\"?",
            ),
            (
                "tolerations.opertor",
                "spec.tolerations has no field \"opertor\", did you mean \"operator\"?",
            ),
            ("image.inner", "spec.image has no field \"inner\""),
            (
                "stauts.message",
                "spec has no field \"stauts\", did you mean \"status\"?",
            ),
            (
                "status.mesage",
                "status has no field \"mesage\", did you mean \"message\"?",
            ),
            (
                "metadata.lables",
                "metadata has no field \"lables\", did you mean \"labels\"?",
            ),
        ];
        for (path, expected) in cases {
            assert_eq!(docs(path).unwrap_err().to_string(), expected, "{path}");
        }
    }
}
