//! The ProviderConfigUsage of a Queue, which keeps its ProviderConfig from being deleted.

use actor::provider_config::USAGE_KIND;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;

use crate::kinds::{ProviderConfigUsage, Queue};

/// Label: name of the config.
pub(super) const CONFIG: &str = "crossplane.io/provider-config";
/// Label: kind of the config.
pub(super) const CONFIG_KIND: &str = "crossplane.io/provider-config-kind";

/// Field manager of usages.
const MANAGER: &str = env!("CARGO_PKG_NAME");

/// Writes the ProviderConfigUsage of a queue, before the config is used. Not for objects that are
/// being deleted: nothing can be created in a namespace that is terminating.
pub(super) async fn record(client: &Client, queue: &Queue) -> kube::Result<()> {
    let (namespace, name) = (queue.namespace().unwrap_or_default(), queue.name_any());
    let uid = queue.uid().unwrap_or_default();
    let reference = &queue.spec.provider_config_ref;
    let kind = Queue::kind(&());
    let usage = json!({
        "apiVersion": actor::PROVIDER_API_VERSION,
        "kind": USAGE_KIND,
        "metadata": {
            "name": uid,
            "namespace": namespace,
            "labels": {CONFIG: reference.name, CONFIG_KIND: reference.kind},
            "ownerReferences": [{
                "apiVersion": actor::PROVIDER_API_VERSION,
                "kind": kind,
                "name": name,
                "uid": uid,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "providerConfigRef": reference,
        "resourceRef": {"apiVersion": actor::PROVIDER_API_VERSION, "kind": kind, "name": name},
    });
    let api: Api<ProviderConfigUsage> = Api::namespaced(client.clone(), &namespace);
    let parameters = PatchParams::apply(MANAGER).force();
    api.patch(&uid, &parameters, &Patch::Apply(&usage))
        .await
        .map(drop)
}
