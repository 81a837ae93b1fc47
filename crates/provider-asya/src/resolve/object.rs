//! Accessors for fields that any object has.

use std::collections::BTreeMap;

use actor::binding::ObjectReference;
use actor::binding::targets::group_of;
use actor::health::quote;
use serde_json::Value;

/// The text at a JSON pointer; empty where there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// Reference to an object.
pub(super) fn reference(object: &Value) -> ObjectReference {
    ObjectReference {
        api_version: text(object, "/apiVersion").to_owned(),
        kind: text(object, "/kind").to_owned(),
        name: text(object, "/metadata/name").to_owned(),
    }
}

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(super) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub(super) fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key]
        .as_str()
        .unwrap_or_default()
}

/// Returns whether a field has a value. `null` and a missing field are the same.
pub(super) fn is_set(object: &Value, pointer: &str) -> bool {
    object
        .pointer(pointer)
        .is_some_and(|value| !value.is_null())
}

pub(super) fn is_being_deleted(object: &Value) -> bool {
    is_set(object, "/metadata/deletionTimestamp")
}

/// The owner that controls an object, and its uid. There is at most one.
/// Source: Kubernetes `meta/v1`, `OwnerReference.controller`.
pub(super) fn controller(object: &Value) -> Option<(ObjectReference, &str)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    let reference = ObjectReference {
        api_version: text(owner, "/apiVersion").to_owned(),
        kind: text(owner, "/kind").to_owned(),
        name: text(owner, "/name").to_owned(),
    };
    Some((reference, text(owner, "/uid")))
}

/// The labels of a Deployment's or StatefulSet's selector; none where it has
/// expressions too, since labels alone would select other pods as well.
/// Source: Kubernetes `meta/v1`, `LabelSelector`: both must hold.
pub(super) fn selector(workload: &Value) -> BTreeMap<String, String> {
    let selector = &workload["spec"]["selector"];
    let expressions = selector["matchExpressions"].as_array();
    if expressions.is_some_and(|expressions| !expressions.is_empty()) {
        return BTreeMap::new();
    }
    serde_json::from_value(selector["matchLabels"].clone()).unwrap_or_default()
}

/// Type and message, else reason, of the first of these conditions that is not True.
pub(super) fn failing_condition(
    object: &Value,
    conditions: &[&'static str],
) -> Option<(&'static str, String)> {
    let listed = object["status"]["conditions"].as_array()?;
    conditions.iter().find_map(|type_| {
        let condition = listed
            .iter()
            .find(|condition| condition["type"] == *type_)?;
        let texts = [text(condition, "/message"), text(condition, "/reason")];
        let cause = texts.into_iter().find(|text| !text.trim().is_empty())?;
        let cause = quote(cause).trim_end_matches('.').to_owned();
        (condition["status"] != "True").then_some((*type_, cause))
    })
}

/// Display form such as `Deployment "phi"`, with the group where it is not Kubernetes' own.
pub(super) fn display(reference: &ObjectReference) -> String {
    display_named(
        group_of(&reference.api_version),
        &reference.kind,
        &reference.name,
    )
}

/// [`display`] by parts, quoted on one line: the API server does not validate owner references.
pub(super) fn display_named(group: &str, kind: &str, name: &str) -> String {
    quote(&match group {
        "apps" | "" => format!("{kind} {name:?}"),
        group => format!("{kind} {name:?} ({group})"),
    })
}
