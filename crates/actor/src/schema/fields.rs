//! Fields whose schema is stricter than their Rust type.
//!
//! The types name these in `schema_with`, so that a reader of a type sees that
//! there is more to its field.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::items::named;
use super::rules;
use crate::names::{FLAVOR_MIN, FLAVORS_MAX, LABEL_MAX, STATE_PROXY_PREFIX, SUBDOMAIN_MAX};

/// A DNS-1123 label of any length.
const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A DNS-1123 subdomain of any length.
const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// Longest duration in characters; a rule reads it, so there must be an end.
const DURATION_MAX: usize = 64;
/// Longest address in characters, for the same reason.
const URL_MAX: usize = 2048;

pub(crate) fn actor_name(_: &mut SchemaGenerator) -> Schema {
    label(LABEL_MAX)
}

/// The container is named after it, with a prefix.
pub(crate) fn state_proxy_name(_: &mut SchemaGenerator) -> Schema {
    label(LABEL_MAX - STATE_PROXY_PREFIX.len())
}

fn label(max: usize) -> Schema {
    json_schema!({"type": "string", "minLength": 1, "maxLength": max, "pattern": LABEL})
}

/// The runtime reads the list of mounts by `:` and `;`.
pub(crate) fn state_path(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^/[^:;]*$"})
}

pub(crate) fn flavors(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": FLAVORS_MAX,
        "items": {
            "type": "string",
            "minLength": FLAVOR_MIN,
            "maxLength": SUBDOMAIN_MAX,
            "pattern": SUBDOMAIN,
        },
    })
}

pub(crate) fn duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": DURATION_MAX,
        "x-kubernetes-validations": [rules::of_duration()],
    })
}

pub(crate) fn target_url(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": URL_MAX,
        "x-kubernetes-validations": [rules::of_target_url()],
    })
}

pub(crate) fn retry_policy(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["constant", "exponential"]})
}

/// ResourceRequirements. A quantity may be a number, as people write `cpu: 2`.
pub(crate) fn resources(_: &mut SchemaGenerator) -> Schema {
    let quantities = |description: &str| -> Value {
        json!({
            "type": "object",
            "description": description,
            "additionalProperties": {"x-kubernetes-int-or-string": true},
        })
    };
    json_schema!({
        "type": "object",
        "properties": {
            "claims": {
                "type": "array",
                "description": "Resource claims of the pod that the container uses.",
                "items": named("Name of the claim.", LABEL_MAX),
            },
            "limits": quantities("Maximum amount of each resource that the container may use. Default: no limit."),
            "requests": quantities("Amount of each resource that the scheduler reserves for the container. Default: the limit, if there is one."),
        },
    })
}
