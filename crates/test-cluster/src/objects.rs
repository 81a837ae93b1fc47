//! Objects of any kind, as YAML or JSON has them.

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::discovery::{self, Scope};
use kube::{Api, Client};
use serde_json::Value;

/// The API for objects of this one's kind and namespace, as soon as the kind is served.
///
/// # Panics
/// When the object has no kind, or it is not served in time.
pub async fn api_of(client: &Client, object: &Value) -> (Api<DynamicObject>, ApiResource) {
    let object: DynamicObject =
        serde_json::from_value(object.clone()).expect("an object with metadata");
    let types = object.types.expect("apiVersion and kind");
    let kind = (&types).try_into().expect("a readable apiVersion");
    // Definitions are served a moment after they were installed.
    let (resource, capabilities) = crate::until(&format!("{} is served", types.kind), || async {
        discovery::pinned_kind(client, &kind).await.ok()
    })
    .await;
    let api = if capabilities.scope == Scope::Cluster {
        Api::all_with(client.clone(), &resource)
    } else {
        let namespace = object.metadata.namespace.as_deref().unwrap_or("default");
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    (api, resource)
}

/// Applies an object as a user does.
///
/// # Errors
/// If the API server refuses it.
///
/// # Panics
/// Like [`api_of`].
pub async fn apply(client: &Client, object: &Value) -> kube::Result<DynamicObject> {
    let (api, _) = api_of(client, object).await;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let manager = PatchParams::apply("tests").force();
    api.patch(name, &manager, &Patch::Apply(object)).await
}
