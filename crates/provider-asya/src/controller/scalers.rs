//! The scalers of an actor. Until they are deleted, KEDA reads the actor's queue and scales its workload.

use kube::api::{ApiResource, ListParams, PartialObjectMeta};
use kube::core::GroupVersionKind;
use kube::{Api, Client};

/// Returns whether a ScaledObject or TriggerAuthentication of the actor exists.
///
/// Without KEDA there are none. Without the right to list them the result is `false`, and the log
/// contains that.
///
/// # Errors
/// The API server does not answer.
pub(in crate::controller) async fn remain(
    client: &Client,
    namespace: &str,
    actor: &str,
) -> kube::Result<bool> {
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
            // For an unknown group the API server answers in plain text, without a reason.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                tracing::info!(
                    kind,
                    namespace,
                    "not allowed to list scalers: deletion does not wait for them"
                );
            }
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
