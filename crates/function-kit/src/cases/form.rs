//! Requests and responses as documents that people read.
//!
//! ```yaml
//! reason: why this case exists                  # request only
//! capabilities: [REQUIRED_RESOURCES]            # default: what Crossplane 2.3 announces; [] is an older one
//! input: {}
//! observed: {composite: {…}, resources: {queue: {…}}}
//! desired: {composite: {…}, resources: {queue: {…}}}
//! context: {asya.sh/platform: {…}}
//! required: {flavor-gpu: [{…}]}                 # no key: not fetched yet; []: does not exist
//! extra: {flavor-gpu: [{…}]}                    # the same, by the name that older ones know
//! schemas: {keda: {…}}                          # null: fetched, not served
//! ```
//! A response has `desired` (with `ready: {queue: true}` beside `resources`),
//! `context`, `conditions`, `results`, `requirements` and `ttlSeconds`; what is
//! empty is left out.

use std::collections::HashMap;

use function_proto::v1::{
    Capability, Ready, RequestMeta, Requirements, Resource, ResourceSelector, Resources,
    RunFunctionRequest, RunFunctionResponse, Schema, Severity, State, Status,
    resource_selector::Match,
};
use pbjson_types::Struct;
use serde_json::{Map, Value, json};

use crate::value::{json_to_struct, struct_to_json};

/// Capabilities that Crossplane 2.3 announces.
const CAPABILITIES: [Capability; 5] = [
    Capability::Capabilities,
    Capability::RequiredResources,
    Capability::Credentials,
    Capability::Conditions,
    Capability::RequiredSchemas,
];

/// Reads a request.
///
/// # Errors
/// A key that no request has.
pub fn request(document: &Value) -> Result<RunFunctionRequest, String> {
    const KEYS: [&str; 9] = [
        "reason",
        "capabilities",
        "input",
        "observed",
        "desired",
        "context",
        "required",
        "extra",
        "schemas",
    ];
    let document = document.as_object().ok_or("a request is a map")?;
    if let Some(key) = document.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("a request has no {key:?}"));
    }
    let get = |key: &str| document.get(key).filter(|value| !value.is_null());
    Ok(RunFunctionRequest {
        meta: Some(RequestMeta {
            tag: "tag-of-the-request".to_owned(),
            capabilities: capabilities(get("capabilities"))?,
        }),
        observed: get("observed").map(state),
        desired: get("desired").map(state),
        input: get("input").and_then(structure),
        context: get("context").and_then(structure),
        required_resources: fetched(get("required")),
        extra_resources: fetched(get("extra")),
        required_schemas: entries(get("schemas"))
            .map(|(name, schema)| {
                (
                    name.clone(),
                    Schema {
                        openapi_v3: structure(schema),
                    },
                )
            })
            .collect(),
        ..RunFunctionRequest::default()
    })
}

/// Writes a response.
pub fn response(response: &RunFunctionResponse) -> Value {
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| {
        let empty = match &value {
            Value::Null => true,
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Number(number) => number.as_i64() == Some(0),
            _ => false,
        };
        if !empty {
            document.insert(key.to_owned(), value);
        }
    };
    put(
        "desired",
        response.desired.as_ref().map_or(Value::Null, desired),
    );
    put(
        "context",
        response
            .context
            .as_ref()
            .map_or(Value::Null, struct_to_json),
    );
    put(
        "conditions",
        response.conditions.iter().map(condition).collect(),
    );
    put("results", response.results.iter().map(result).collect());
    put(
        "requirements",
        response
            .requirements
            .as_ref()
            .map_or(Value::Null, requirements),
    );
    let ttl = response.meta.as_ref().and_then(|meta| meta.ttl.as_ref());
    put("ttlSeconds", json!(ttl.map_or(0, |ttl| ttl.seconds)));
    Value::Object(document)
}

fn capabilities(names: Option<&Value>) -> Result<Vec<i32>, String> {
    let Some(names) = names.and_then(Value::as_array) else {
        return Ok(CAPABILITIES.map(|capability| capability as i32).into());
    };
    names
        .iter()
        .map(|name| {
            let name = format!("CAPABILITY_{}", name.as_str().unwrap_or_default());
            Capability::from_str_name(&name)
                .map(|capability| capability as i32)
                .ok_or_else(|| format!("there is no {name}"))
        })
        .collect()
}

fn state(document: &Value) -> State {
    State {
        composite: document.get("composite").map(resource),
        resources: entries(document.get("resources"))
            .map(|(name, object)| (name.clone(), resource(object)))
            .collect(),
    }
}

fn resource(object: &Value) -> Resource {
    Resource {
        resource: structure(object),
        ..Resource::default()
    }
}

fn fetched(answers: Option<&Value>) -> HashMap<String, Resources> {
    entries(answers)
        .map(|(key, items)| {
            let items = resources(items);
            (key.clone(), Resources { items })
        })
        .collect()
}

fn resources(items: &Value) -> Vec<Resource> {
    items
        .as_array()
        .into_iter()
        .flatten()
        .map(resource)
        .collect()
}

fn structure(value: &Value) -> Option<Struct> {
    value.as_object().map(json_to_struct)
}

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

/// Desired state, as a response has it; null where there is none.
pub(super) fn desired(state: &State) -> Value {
    let object = |resource: &Resource| resource.resource.as_ref().map(struct_to_json);
    let mut document = Map::new();
    if let Some(xr) = state
        .composite
        .as_ref()
        .and_then(object)
        .filter(|xr| *xr != json!({}))
    {
        document.insert("composite".to_owned(), xr);
    }
    let resources: Map<String, Value> = state
        .resources
        .iter()
        .map(|(name, composed)| (name.clone(), object(composed).unwrap_or_default()))
        .collect();
    let ready: Map<String, Value> = state
        .resources
        .iter()
        .filter(|(_, composed)| composed.ready != Ready::Unspecified as i32)
        .map(|(name, composed)| {
            (
                name.clone(),
                Value::Bool(composed.ready == Ready::True as i32),
            )
        })
        .collect();
    for (key, map) in [("resources", resources), ("ready", ready)] {
        if !map.is_empty() {
            document.insert(key.to_owned(), Value::Object(map));
        }
    }
    Value::Object(document)
}

fn condition(condition: &function_proto::v1::Condition) -> Value {
    let status = match Status::try_from(condition.status) {
        Ok(Status::ConditionTrue) => "True",
        Ok(Status::ConditionFalse) => "False",
        _ => "Unknown",
    };
    let mut document = json!({
        "type": condition.r#type, "status": status, "reason": condition.reason,
    });
    if let Some(message) = &condition.message {
        document["message"] = json!(message);
    }
    document
}

fn result(result: &function_proto::v1::Result) -> Value {
    let severity =
        Severity::try_from(result.severity).map_or("", |severity| severity.as_str_name());
    json!({
        "severity": severity.trim_start_matches("SEVERITY_"),
        "reason": result.reason,
        "message": result.message,
    })
}

fn requirements(requirements: &Requirements) -> Value {
    let selectors = |selectors: &HashMap<String, ResourceSelector>| {
        selectors
            .iter()
            .map(|(key, s)| (key.clone(), selector(s)))
            .collect::<Map<_, _>>()
    };
    let schemas: Map<String, Value> = requirements
        .schemas
        .iter()
        .map(|(key, s)| {
            (
                key.clone(),
                json!({"apiVersion": s.api_version, "kind": s.kind}),
            )
        })
        .collect();
    let parts = [
        ("resources", selectors(&requirements.resources)),
        ("extraResources", selectors(&requirements.extra_resources)),
        ("schemas", schemas),
    ];
    parts
        .into_iter()
        .filter(|(_, map)| !map.is_empty())
        .map(|(key, map)| (key.to_owned(), Value::Object(map)))
        .collect()
}

fn selector(selector: &ResourceSelector) -> Value {
    let mut document = json!({"apiVersion": selector.api_version, "kind": selector.kind});
    match &selector.r#match {
        Some(Match::MatchName(name)) => document["name"] = json!(name),
        Some(Match::MatchLabels(labels)) => {
            let labels: Map<String, Value> = labels
                .labels
                .iter()
                .map(|(key, value)| (key.clone(), json!(value)))
                .collect();
            document["labels"] = Value::Object(labels);
        }
        None => {}
    }
    if let Some(namespace) = &selector.namespace {
        document["namespace"] = json!(namespace);
    }
    document
}
