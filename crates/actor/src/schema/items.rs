//! Lists and maps that Kubernetes defines.
//!
//! Their keys are kept whole, also those that this program does not know. What
//! is declared here is what rules read: a rule may name only declared fields,
//! even where all are kept.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::rules::{self, VALIDATIONS};
use crate::entry::{EnvVar, Named, VolumeMount};
use crate::names::{LABEL_MAX, SUBDOMAIN_MAX};

/// Most containers of one list in a pod. Rules walk these lists, and the API
/// server refuses a schema whose rules could cost too much.
const CONTAINERS_MAX: usize = 32;
/// Most volumes that a binding adds to a pod.
const FRAGMENT_VOLUMES_MAX: usize = 64;
/// Longest name of an environment variable in characters.
const VARIABLE_MAX: usize = 1024;

impl JsonSchema for Named {
    fn schema_name() -> Cow<'static, str> {
        "Named".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        named("Name of the item.", SUBDOMAIN_MAX)
    }
}

impl JsonSchema for EnvVar {
    fn schema_name() -> Cow<'static, str> {
        "EnvVar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = json!({"type": "string", "description": "Value."});
        declaring(named("Name of the variable.", VARIABLE_MAX), "value", value)
    }
}

impl JsonSchema for VolumeMount {
    fn schema_name() -> Cow<'static, str> {
        "VolumeMount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let path = json!({
            "type": "string",
            "description": "Mount path in the container.",
            "minLength": 1,
        });
        let mut mount = declaring(named("Name of the volume.", LABEL_MAX), "mountPath", path);
        mount.insert("required".to_owned(), json!(["mountPath", "name"]));
        mount
    }
}

/// `spec.env`.
pub(crate) fn environment(generator: &mut SchemaGenerator) -> Schema {
    let mut variable = EnvVar::json_schema(generator);
    variable.insert(VALIDATIONS.to_owned(), json!(rules::of_variable()));
    json_schema!({"type": "array", "items": variable})
}

/// `spec.initContainers`.
pub(crate) fn init_containers(_: &mut SchemaGenerator) -> Schema {
    containers("Init containers of the pod.", &rules::of_init_container())
}

/// `spec.workload.template`.
pub(crate) fn pod_template(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": true,
        "properties": {
            "metadata": {
                "type": "object",
                "description": "Labels and annotations of the pods.",
                "additionalProperties": true,
            },
            "spec": {
                "type": "object",
                "description": "The PodSpec.",
                "additionalProperties": true,
                "properties": {
                    "containers": containers(
                        "Containers of the pod; exactly one is `asya-runtime`.",
                        &rules::of_container(),
                    ),
                    "initContainers": containers(
                        "Init containers of the pod.",
                        &rules::of_init_container(),
                    ),
                },
            },
        },
    })
}

/// `template` of a WorkloadBinding. Keys of a pod that it does not have cannot be set:
/// what is added to another owner's pods must not change what runs there.
pub(crate) fn pod_fragment(_: &mut SchemaGenerator) -> Schema {
    let texts = |description: &str| -> Value {
        json!({
            "type": "object",
            "description": description,
            "maxProperties": 64,
            "additionalProperties": {"type": "string"},
        })
    };
    let items = |description: &str, item: &str| -> Value {
        json!({
            "type": "array",
            "description": description,
            "maxItems": FRAGMENT_VOLUMES_MAX,
            "items": named(item, SUBDOMAIN_MAX),
        })
    };
    let own_names = [json!({
        "rule": "self.name.startsWith('asya-')",
        "message": "a binding adds containers of its own, whose names begin with 'asya-', \
                    and changes none of the target's",
    })];
    json_schema!({
        "type": "object",
        "description": "Additions to the pods of the target with strategy `Inject`.",
        "properties": {
            "metadata": {
                "type": "object",
                "description": "Additional labels and annotations of the pods.",
                "properties": {
                    "annotations": texts("Annotations of the pods."),
                    "labels": texts("Labels of the pods; never one of the target's selector."),
                },
            },
            "spec": {
                "type": "object",
                "description": "Additional containers, volumes and image pull secrets.",
                "properties": {
                    "containers": containers("Containers called `asya-…`.", &own_names),
                    "imagePullSecrets": items(
                        "Secrets with which their images are pulled.",
                        "Name of the Secret.",
                    ),
                    "volumes": items("Their volumes.", "Name of the volume."),
                },
            },
        },
    })
}

fn containers(description: &str, rules: &[Value]) -> Schema {
    let command = json!({
        "type": "array",
        "description": "Command, instead of the image's entry point.",
        "items": {"type": "string"},
    });
    let mut container = declaring(
        named("Name of the container.", LABEL_MAX),
        "command",
        command,
    );
    container.insert(VALIDATIONS.to_owned(), json!(rules));
    json_schema!({
        "type": "array",
        "description": description,
        "maxItems": CONTAINERS_MAX,
        "items": container,
    })
}

/// An item with a name, every key kept.
pub(super) fn named(description: &str, max: usize) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": true,
        "required": ["name"],
        "properties": {
            "name": {
                "type": "string",
                "description": description,
                "minLength": 1,
                "maxLength": max,
            },
        },
    })
}

fn declaring(mut item: Schema, field: &str, schema: Value) -> Schema {
    if let Some(Value::Object(properties)) = item.get_mut("properties") {
        properties.insert(field.to_owned(), schema);
    }
    item
}
