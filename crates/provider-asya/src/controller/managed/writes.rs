//! Merge patches of one object: status, annotations, finalizers.
//!
//! An update of the whole object would drop fields that a newer version of the kind has.

use std::fmt::Debug;

use actor::managed::FINALIZER;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::merge_patch;

/// Writes the difference between two statuses, where there is one. With `version` the write fails
/// where the object is newer: the cache may be behind, and a status that follows from an old one
/// would overwrite newer conditions.
pub(in crate::controller) async fn status<K>(
    api: &Api<K>,
    name: &str,
    old: &Value,
    new: &Value,
    version: Option<&str>,
) -> kube::Result<()>
where
    K: Clone + DeserializeOwned + Debug,
{
    let Some(difference) = merge_patch(old, new) else {
        return Ok(());
    };
    let mut body = json!({"status": difference});
    if let Some(version) = version {
        body["metadata"] = json!({"resourceVersion": version});
    }
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&body))
        .await
        .map(drop)
}

/// Writes fields of the status in the middle of a reconcile; fails where the object is newer.
pub(in crate::controller) async fn early_status<K>(
    api: &Api<K>,
    object: &K,
    fields: Value,
) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let version = object.resource_version();
    let body = json!({"metadata": {"resourceVersion": version}, "status": fields});
    let name = object.name_any();
    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&body))
        .await
}

/// Sets annotations. With `version` the write fails where the object is newer, which proves that
/// no other process reconciles it.
pub(in crate::controller) async fn annotations<K>(
    api: &Api<K>,
    name: &str,
    pairs: &[(&str, &str)],
    version: Option<&str>,
) -> kube::Result<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    let annotations: serde_json::Map<String, Value> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    let mut metadata = json!({"annotations": annotations});
    if let Some(version) = version {
        metadata["resourceVersion"] = json!(version);
    }
    let body = json!({"metadata": metadata});
    api.patch(name, &PatchParams::default(), &Patch::Merge(&body))
        .await
}

/// Sets annotations and adds a finalizer in one write, which fails where the object is newer.
pub(in crate::controller) async fn begin<K>(
    api: &Api<K>,
    object: &K,
    pairs: &[(&str, &str)],
    finalizer: &str,
) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let annotations: serde_json::Map<String, Value> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    let mut finalizers = object.finalizers().to_vec();
    if !finalizers.iter().any(|name| name == finalizer) {
        finalizers.push(finalizer.to_owned());
    }
    let body = json!({"metadata": {
        "annotations": annotations,
        "finalizers": finalizers,
        "resourceVersion": object.resource_version(),
    }});
    let name = object.name_any();
    api.patch(&name, &PatchParams::default(), &Patch::Merge(&body))
        .await
}

/// Adds or removes a finalizer; none where nothing changes.
pub(in crate::controller) async fn finalizer<K>(
    api: &Api<K>,
    object: &K,
    finalizer: &str,
    is_wanted: bool,
) -> kube::Result<Option<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let found = object.finalizers();
    if found.iter().any(|name| name == finalizer) == is_wanted {
        return Ok(None);
    }
    let mut finalizers: Vec<&str> = found
        .iter()
        .map(String::as_str)
        .filter(|name| *name != finalizer)
        .collect();
    if is_wanted {
        finalizers.push(finalizer);
    }
    // A merge patch replaces the whole list, so the list must not have changed since it was read.
    let version = object.resource_version();
    let body = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
    let name = object.name_any();
    api.patch(&name, &PatchParams::default(), &Patch::Merge(&body))
        .await
        .map(Some)
}

/// The API server's message where it answered, which is the same each time, unlike the versions
/// and request ids around it; else the error.
pub(in crate::controller) fn refusal(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("the API server answered {:?}", status.message),
        other => other.to_string(),
    }
}

/// Returns whether a write failed because the object is newer or was deleted: the next reconcile has the
/// newer version.
pub(in crate::controller) fn is_outdated(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_not_found())
}

/// Returns whether a managed resource has a finalizer of another program.
pub(in crate::controller) fn has_other_finalizers<K: Resource>(object: &K) -> bool {
    object.finalizers().iter().any(|name| name != FINALIZER)
}

/// The API of a namespaced object.
pub(in crate::controller) fn api_of<K>(client: &Client, object: &K) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}
