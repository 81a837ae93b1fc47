//! Writes to one object: status, annotations and finalizers, as merge patches.
//!
//! A whole update would drop fields that a newer version of the kind has.

use std::fmt::Debug;

use actor::managed::FINALIZER;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::patch;

/// Writes the difference between two statuses, if there is one. With `version` the
/// write fails where the object is newer: the cache may be behind, and what is said
/// from an old status would change what was said since.
pub(super) async fn status<K>(
    api: &Api<K>,
    name: &str,
    old: &Value,
    new: &Value,
    version: Option<&str>,
) -> kube::Result<()>
where
    K: Clone + DeserializeOwned + Debug,
{
    let Some(difference) = patch::between(old, new) else {
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

/// Sets annotations. With `version` the write fails where the object is newer,
/// which proves that nobody else is at work on it.
pub(super) async fn annotations<K>(
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

/// Adds our finalizer, or removes it, where that changes anything.
pub(super) async fn finalizer<K>(
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
    // A merge patch replaces the whole list, so nobody may have changed it since.
    let version = object.resource_version();
    let body = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
    let name = object.name_any();
    api.patch(&name, &PatchParams::default(), &Patch::Merge(&body))
        .await
        .map(Some)
}

/// Why the API server did not do as asked, in its own words where it answered: they are the
/// same each time, which the numbers of versions and requests around them are not.
pub(super) fn refusal(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("the API server answered {:?}", status.message),
        other => other.to_string(),
    }
}

/// Whether a write came too late: the object is newer than we knew, or gone. The next pass knows.
pub(super) fn is_outdated(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict() || status.is_not_found())
}

/// Whether somebody else's finalizer is on a managed resource.
pub(super) fn others_hold<K: Resource>(object: &K) -> bool {
    object.finalizers().iter().any(|name| name != FINALIZER)
}

/// The API for an object of a namespace.
pub(super) fn api_of<K>(client: &Client, object: &K) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), &object.namespace().unwrap_or_default())
}
