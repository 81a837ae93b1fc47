//! ProviderConfigs in the watch caches of their controllers.
//!
//! A watch may be behind, so a config that is not cached is read from the API server.

use std::sync::OnceLock;

use actor::provider_config::{CLUSTER_KIND, KIND};
use actor::queue::ProviderConfigRef;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::broadcast;

use super::{ConnectError, ResolvedConfig, text, version};
use crate::kinds::{ClusterProviderConfig, ProviderConfig, Queue};

/// Capacity of the channel of changes. A receiver that falls behind gets an error.
const CHANGES_MAX: usize = 64;

/// Cache of both kinds of config, and a channel of their changes.
pub struct ConfigCache {
    /// The store of the ProviderConfig controller, once it runs.
    pub namespaced: OnceLock<Store<ProviderConfig>>,
    /// The store of the ClusterProviderConfig controller, once it runs.
    pub cluster: OnceLock<Store<ClusterProviderConfig>>,
    changes: broadcast::Sender<ConfigChange>,
}

/// A config whose spec has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The config, as Queues name it.
    pub reference: ProviderConfigRef,
    /// Namespace of a namespaced config.
    pub namespace: Option<String>,
}

impl ConfigChange {
    /// Returns whether a Queue uses the config.
    pub fn concerns(&self, queue: &Queue) -> bool {
        let is_within = self.namespace.is_none() || self.namespace == queue.namespace();
        is_within && queue.spec.provider_config_ref == self.reference
    }
}

impl Default for ConfigCache {
    fn default() -> Self {
        Self {
            namespaced: OnceLock::new(),
            cluster: OnceLock::new(),
            changes: broadcast::channel(CHANGES_MAX).0,
        }
    }
}

impl ConfigCache {
    /// Sends a change to all receivers.
    pub fn notify(&self, change: ConfigChange) {
        // Without a receiver the Queue controller is not running: it will reconcile all Queues.
        drop(self.changes.send(change));
    }

    /// A receiver of changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<ConfigChange> {
        self.changes.subscribe()
    }

    /// The config that an object of `namespace` names; `own_namespace` is the provider's.
    pub(super) async fn find(
        &self,
        client: &Client,
        reference: &ProviderConfigRef,
        namespace: &str,
        own_namespace: &str,
    ) -> Result<ResolvedConfig, ConnectError> {
        let name = &reference.name;
        let missing = |place: &str| {
            format!(
                "{} {name:?} does not exist{place}: create it, or name another in `spec.providerConfigRef`",
                reference.kind
            )
        };
        match reference.kind.as_str() {
            KIND => {
                let key = ObjectRef::new(name).within(namespace);
                let cached = self.namespaced.get().and_then(|store| store.get(&key));
                let found = match cached {
                    Some(cached) => cached.as_ref().clone(),
                    None => Api::<ProviderConfig>::namespaced(client.clone(), namespace)
                        .get_opt(name)
                        .await
                        .map_err(text)?
                        .ok_or_else(|| missing(&format!(" in namespace {namespace:?}")))?,
                };
                Ok(ResolvedConfig {
                    reference: reference.clone(),
                    version: version(&found.metadata),
                    spec: found.spec,
                    shared_policies: found.status.shared_policies,
                    namespace: namespace.to_owned(),
                    cluster: None,
                })
            }
            CLUSTER_KIND => {
                let key = ObjectRef::new(name);
                let cached = self.cluster.get().and_then(|store| store.get(&key));
                let found = match cached {
                    Some(cached) => cached.as_ref().clone(),
                    None => Api::<ClusterProviderConfig>::all(client.clone())
                        .get_opt(name)
                        .await
                        .map_err(text)?
                        .ok_or_else(|| missing(""))?,
                };
                Ok(ResolvedConfig {
                    reference: reference.clone(),
                    version: version(&found.metadata),
                    spec: found.spec.connection.clone(),
                    shared_policies: found.status.shared_policies,
                    namespace: own_namespace.to_owned(),
                    cluster: Some(found.spec),
                })
            }
            kind => Err(format!("unsupported provider config kind: {kind}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_concerns_the_queues_that_name_the_config() {
        let queue: Queue = serde_json::from_value(json!({
            "metadata": {"name": "cart", "namespace": "shop"},
            "spec": {"forProvider": {}, "providerConfigRef": {"kind": "ProviderConfig", "name": "main"}},
        }))
        .unwrap();
        let cases = [
            ("its own", "ProviderConfig", "main", Some("shop"), true),
            (
                "of another namespace",
                "ProviderConfig",
                "main",
                Some("bank"),
                false,
            ),
            (
                "of another name",
                "ProviderConfig",
                "other",
                Some("shop"),
                false,
            ),
            (
                "of another kind",
                "ClusterProviderConfig",
                "main",
                None,
                false,
            ),
        ];
        for (reason, kind, name, namespace, expected) in cases {
            let change = ConfigChange {
                reference: ProviderConfigRef {
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                },
                namespace: namespace.map(str::to_owned),
            };
            assert_eq!(change.concerns(&queue), expected, "{reason}");
        }
    }
}
