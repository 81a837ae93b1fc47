//! The definitions of `AsyncActor` as a composite resource.

use serde_json::{Value, json};

use super::{rules, structural};
use crate::spec::Spec;
use crate::status::StatusDocument;
use crate::{GROUP, KIND, VERSION};

const PLURAL: &str = "asyncactors";

/// `AsyncActor` as a namespaced composite resource, composed by six functions.
pub fn xrd() -> Value {
    modern_xrd(&format!("{PLURAL}.{GROUP}"))
}

/// The same, composed by one function. It takes the place of [`xrd`].
pub fn one_step_xrd() -> Value {
    modern_xrd(&format!("one-step.{PLURAL}.{GROUP}"))
}

/// Core takes any Composition that fits unless the definition names one.
fn modern_xrd(default_composition: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v2",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.{GROUP}")},
        "spec": {
            "scope": "Namespaced",
            "group": GROUP,
            "names": names(),
            "defaultCompositionRef": {"name": default_composition},
            "versions": [version(false)],
        },
    })
}

/// `AsyncActor` as the claim of a cluster-scoped `XAsyncActor`, for clusters that
/// keep to claims. It takes the place of [`xrd`]: both define the same kind.
pub fn legacy_xrd() -> Value {
    let plural = format!("x{PLURAL}");
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": format!("X{KIND}"),
                "listKind": format!("X{KIND}List"),
                "plural": plural,
                "singular": "xasyncactor",
            },
            "claimNames": names(),
            "defaultCompositionRef": {"name": format!("{plural}.{GROUP}")},
            "versions": [version(true)],
        },
    })
}

/// Returns the `names` of the kind. The category holds this kind alone, so that `kubectl get asya` prints
/// one table.
fn names() -> Value {
    json!({
        "kind": KIND,
        "listKind": format!("{KIND}List"),
        "plural": PLURAL,
        "singular": "asyncactor",
        "shortNames": ["asya", "asyas"],
        "categories": ["asya"],
    })
}

fn version(legacy: bool) -> Value {
    let mut spec = structural::of::<Spec>();
    spec["description"] = json!("The actor. Its flavors provide the fields that it does not set.");
    json!({
        "name": VERSION,
        "served": true,
        "referenceable": true,
        "additionalPrinterColumns": columns(),
        "schema": {"openAPIV3Schema": {
            "type": "object",
            "description": "An actor: a Python handler that processes the messages of a queue.",
            "required": ["spec"],
            "properties": {
                "spec": spec,
                "status": structural::of::<StatusDocument>(),
            },
            "x-kubernetes-validations": rules::of_object(legacy),
        }},
    })
}

/// The columns of `kubectl get`, those of `-o wide` last; Crossplane adds its own
/// after them.
fn columns() -> Vec<Value> {
    let column = |(name, r#type, path): (&str, &str, &str)| json!({"name": name, "type": r#type, "jsonPath": path});
    // STATUS is read from the condition, which a fatal step sets too.
    let normal = [
        (
            "STATUS",
            "string",
            ".status.conditions[?(@.type=='ActorReady')].reason",
        ),
        ("RUNNING", "integer", ".status.replicas.ready"),
        ("FAILING", "integer", ".status.replicas.failing"),
        ("TOTAL", "integer", ".status.replicas.total"),
        ("DESIRED", "integer", ".status.replicas.desired"),
        ("MIN", "integer", ".status.replicas.min"),
        ("MAX", "integer", ".status.replicas.max"),
        ("LAST-SCALE", "date", ".status.lastScaleTime"),
        ("DIRECTION", "string", ".status.lastScaleDirection"),
    ];
    let wide = [
        ("WORKLOAD", "string", ".status.workload"),
        ("TRANSPORT", "string", ".status.transport"),
        ("SCALING", "string", ".status.scaling"),
        ("QUEUED", "integer", ".status.queue.queued"),
        ("PROCESSING", "integer", ".status.queue.processing"),
    ];
    let wide = wide.into_iter().map(|wide| {
        let mut column = column(wide);
        column["priority"] = json!(1);
        column
    });
    normal.into_iter().map(column).chain(wide).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;
    use crate::schema::input_crd;
    use crate::spec::{KNOWN_FIELDS, KNOWN_INSIDE, LEGACY_MACHINERY, MACHINERY};
    use serde_json::Map;

    type Node = Map<String, Value>;

    /// Calls `visit` with every schema node below `schema`, and its path.
    fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Node)) {
        let node = schema
            .as_object()
            .unwrap_or_else(|| panic!("{path} is no schema: {schema}"));
        visit(path, node);
        for (name, field) in node
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            walk(&format!("{path}.{name}"), field, visit);
        }
        for (keyword, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
            if let Some(inner) = node.get(keyword) {
                walk(&format!("{path}{suffix}"), inner, visit);
            }
        }
    }

    /// Checks every node of every schema that is generated.
    fn check(mut visit: impl FnMut(&str, &Node)) {
        let schema_of =
            |crd: &Value| crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        let schemas = [
            ("xrd", schema_of(&xrd())),
            ("legacy xrd", schema_of(&legacy_xrd())),
            ("input", schema_of(&input_crd::<Platform>("some-step"))),
        ];
        for (name, schema) in schemas {
            walk(name, &schema, &mut visit);
        }
    }

    #[test]
    fn no_field_has_a_default() {
        check(|path, node| {
            assert!(
                !node.contains_key("default"),
                "{path} would beat the flavors"
            );
        });
    }

    #[test]
    fn lists_have_an_end_and_are_never_merged_by_key() {
        check(|path, node| {
            if node.get("type") == Some(&json!("array")) {
                assert!(node.contains_key("maxItems"), "{path}");
            }
            assert!(!node.contains_key("x-kubernetes-list-type"), "{path}");
        });
    }

    #[test]
    fn schemas_hold_nothing_that_the_api_server_refuses() {
        const KEYWORDS: [&str; 18] = [
            "additionalProperties",
            "description",
            "enum",
            "format",
            "items",
            "maxItems",
            "maxLength",
            "maximum",
            "minLength",
            "minimum",
            "pattern",
            "properties",
            "required",
            "type",
            "x-kubernetes-int-or-string",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-validations",
            "minItems",
        ];
        const UNTYPED: [&str; 2] = [
            "x-kubernetes-int-or-string",
            "x-kubernetes-preserve-unknown-fields",
        ];
        check(|path, node| {
            for keyword in node.keys() {
                assert!(KEYWORDS.contains(&keyword.as_str()), "{path}: {keyword}");
            }
            let is_typed = node.get("type").is_some_and(Value::is_string);
            assert!(
                is_typed || UNTYPED.iter().any(|key| node.contains_key(*key)),
                "{path}"
            );
        });
    }

    #[test]
    fn every_field_has_a_description_for_users() {
        check(|path, node| {
            let properties = node.get("properties").and_then(Value::as_object);
            for (name, field) in properties.into_iter().flatten() {
                // The API server takes nothing but a type for metadata.
                if name == "metadata" && !path.ends_with("template") {
                    continue;
                }
                let text = field["description"].as_str().unwrap_or_default();
                assert!(text.ends_with('.'), "{path}.{name}: {text:?}");
                assert!(
                    !text.contains("[`"),
                    "{path}.{name} links to Rust: {text:?}"
                );
                assert!(
                    !text.contains('\n'),
                    "{path}.{name} has line breaks: {text:?}"
                );
            }
        });
    }

    #[test]
    fn the_spec_has_the_fields_that_the_api_knows() {
        let spec = structural::of::<Spec>();
        let fields: Vec<&String> = spec["properties"].as_object().unwrap().keys().collect();
        assert_eq!(fields, KNOWN_FIELDS);
        let mut machinery = LEGACY_MACHINERY.into_iter().chain([MACHINERY]);
        assert!(
            machinery.all(|field| !KNOWN_FIELDS.contains(&field)),
            "Crossplane adds its own"
        );
        assert_eq!(
            spec["x-kubernetes-preserve-unknown-fields"],
            Value::Null,
            "others are refused"
        );
    }

    #[test]
    fn the_maps_of_the_spec_have_the_fields_that_the_api_knows() {
        let mut found = Vec::new();
        maps_of_ours(&mut Vec::new(), &structural::of::<Spec>(), &mut found);
        let known = KNOWN_INSIDE.map(|(path, fields)| (path.join("."), json!(fields)));
        assert_eq!(found, known);
    }

    /// The maps inside `schema`, with their fields, that no list lies around. What
    /// Kubernetes defines is passed over: its maps are `resources`, or keep unknown fields.
    fn maps_of_ours(path: &mut Vec<String>, schema: &Value, found: &mut Vec<(String, Value)>) {
        let keeps_unknown = schema["x-kubernetes-preserve-unknown-fields"] == true;
        let (Some(fields), false) = (schema["properties"].as_object(), keeps_unknown) else {
            return;
        };
        if path.last().is_some_and(|key| key == "resources") {
            return;
        }
        if !path.is_empty() {
            let names: Vec<&String> = fields.keys().collect();
            found.push((path.join("."), json!(names)));
        }
        for (key, field) in fields {
            path.push(key.clone());
            maps_of_ours(path, field, found);
            path.pop();
        }
    }

    #[test]
    fn both_definitions_let_users_write_the_same_kind() {
        let (modern, legacy) = (xrd(), legacy_xrd());
        assert_eq!(modern["spec"]["names"], legacy["spec"]["claimNames"]);
        let spec = |xrd: &Value| {
            let schema = &xrd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            schema["properties"].clone()
        };
        assert_eq!(spec(&modern), spec(&legacy));
    }
}
