//! The scalers of an actor, which read its queue until they are gone.

use kube::api::{ApiResource, ListParams, PartialObjectMeta};
use kube::core::GroupVersionKind;
use kube::{Api, Client};

/// Whether a ScaledObject or TriggerAuthentication of the actor's is left.
///
/// Where KEDA is not installed there are none; where we may not look, nobody
/// waits for them, and the log says so.
pub(super) async fn remain(client: &Client, namespace: &str, actor: &str) -> kube::Result<bool> {
    for kind in ["ScaledObject", "TriggerAuthentication"] {
        let (group, version) = actor::KEDA_API_VERSION.split_once('/').unwrap_or_default();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<PartialObjectMeta<kube::core::DynamicObject>> =
            Api::namespaced_with(client.clone(), namespace, &resource);
        let parameters = ListParams::default()
            .labels(&format!("{}={actor}", actor::labels::ACTOR))
            .limit(1);
        match api.list_metadata(&parameters).await {
            Ok(list) if !list.items.is_empty() => return Ok(true),
            Ok(_) => {}
            // For a group that it does not know, the API server answers in plain text, which
            // has no reason.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                tracing::info!(
                    kind,
                    namespace,
                    "not allowed to look for scalers; not waiting for them"
                );
            }
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
