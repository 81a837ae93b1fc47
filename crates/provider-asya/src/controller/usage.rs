//! The ProviderConfigUsage of a Queue, which keeps its ProviderConfig from being deleted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use actor::provider_config::USAGE_KIND;
use actor::queue::ProviderConfigRef;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::sync::OnceCell;

use super::Context;
use crate::cluster;
use crate::kinds::{ProviderConfigUsage, Queue};

/// Label: name of the config.
pub(super) const CONFIG: &str = "crossplane.io/provider-config";
/// Label: kind of the config.
pub(super) const CONFIG_KIND: &str = "crossplane.io/provider-config-kind";

/// Usages that existed when the provider started, less those that were found since: name and config.
/// One list replaces a write for each queue.
#[derive(Debug, Default)]
pub(super) struct ExistingUsages(OnceCell<Mutex<BTreeMap<String, ProviderConfigRef>>>);

impl ExistingUsages {
    /// Returns whether the usage of a queue existed at start, for the config that it uses now. It counts once,
    /// because usages may be deleted later.
    async fn take(&self, client: &Client, queue: &Queue) -> kube::Result<bool> {
        let existing = self.0.get_or_try_init(|| list(client)).await?;
        let mut existing = existing.lock().unwrap_or_else(PoisonError::into_inner);
        let found = existing.remove(&queue.uid().unwrap_or_default());
        Ok(found.is_some_and(|config| config == queue.spec.provider_config_ref))
    }
}

async fn list(client: &Client) -> kube::Result<Mutex<BTreeMap<String, ProviderConfigRef>>> {
    let api: Api<ProviderConfigUsage> = Api::all(client.clone());
    let mut parameters = ListParams::default().limit(cluster::PAGE);
    let mut existing = BTreeMap::new();
    loop {
        let page = api.list(&parameters).await?;
        let usages = page.items.into_iter();
        existing.extend(usages.map(|usage| (usage.name_any(), usage.usage.provider_config_ref)));
        match page.metadata.continue_ {
            Some(next) if !next.is_empty() => parameters = parameters.continue_token(&next),
            _ => return Ok(Mutex::new(existing)),
        }
    }
}

/// Field manager of usages.
const MANAGER: &str = env!("CARGO_PKG_NAME");

/// Writes the ProviderConfigUsage of a queue, before the config is used, unless it exists. Not for objects that are
/// being deleted: nothing can be created in a namespace that is terminating.
pub(super) async fn record(context: &Context, queue: &Queue) -> kube::Result<()> {
    let client = &context.client;
    match context.existing_usages.take(client, queue).await {
        Ok(true) => return Ok(()),
        Ok(false) => {}
        Err(error) => tracing::debug!(%error, "cannot list ProviderConfigUsages"),
    }
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
