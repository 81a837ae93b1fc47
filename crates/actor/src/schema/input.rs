//! The CRD of a step's input.

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::structural;
use crate::VERSION;

/// The input of a step, described as a CRD.
///
/// It goes into the step's package for editors and `crossplane resource
/// validate`; Crossplane never installs it. `step` is the step's name, such as
/// `render-queue`; the input's group is `<step>.fn.asya.sh`.
pub fn input_crd<T: JsonSchema>(step: &str) -> Value {
    let group = format!("{step}.fn.{}", crate::GROUP);
    let mut schema = structural::of::<T>();
    let properties = [
        (
            "apiVersion",
            json!({"type": "string", "description": format!("`{group}/{VERSION}`.")}),
        ),
        ("kind", json!({"type": "string", "description": "`Input`."})),
        ("metadata", json!({"type": "object"})),
    ];
    for (name, property) in properties {
        schema["properties"][name] = property;
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("inputs.{group}")},
        "spec": {
            "group": group,
            "names": {
                "categories": ["crossplane"],
                "kind": "Input",
                "listKind": "InputList",
                "plural": "inputs",
                "singular": "input",
            },
            "scope": "Namespaced",
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}
