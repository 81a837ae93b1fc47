//! Configs as the watches of their controllers know them, so that no pass asks for them.
//!
//! A watch may be behind: what it does not know is asked for, lest a config
//! that was made a moment ago be called missing.

use std::sync::OnceLock;

use actor::provider_config::{CLUSTER_KIND, KIND};
use actor::queue::ProviderConfigRef;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::broadcast;

use super::{Config, Reason, text, version};
use crate::kinds::{ClusterProviderConfig, ProviderConfig, Queue};

/// How many changes may wait for their queues to be found. A listener that falls behind
/// hears that it did.
const CHANGES_MAX: usize = 64;

/// What is known of configs without asking.
pub struct Known {
    /// Set by the controller of `ProviderConfig`s when it starts.
    pub namespaced: OnceLock<Store<ProviderConfig>>,
    /// Set by the controller of `ClusterProviderConfig`s when it starts.
    pub cluster: OnceLock<Store<ClusterProviderConfig>>,
    changes: broadcast::Sender<Changed>,
}

/// A config of which something that queues depend on has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The config, as queues name it.
    pub reference: ProviderConfigRef,
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
}

impl Changed {
    /// Whether the queue uses the config.
    pub fn concerns(&self, queue: &Queue) -> bool {
        let is_within = self.namespace.is_none() || self.namespace == queue.namespace();
        is_within && queue.spec.provider_config_ref == self.reference
    }
}

impl Default for Known {
    fn default() -> Self {
        Self {
            namespaced: OnceLock::new(),
            cluster: OnceLock::new(),
            changes: broadcast::channel(CHANGES_MAX).0,
        }
    }
}

impl Known {
    /// Tells whoever listens of a changed config.
    pub fn tell(&self, changed: Changed) {
        // Nobody listens before the controller of queues is up, and then it looks at all of them.
        drop(self.changes.send(changed));
    }

    /// The changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<Changed> {
        self.changes.subscribe()
    }

    /// The config that an object of `namespace` names. `own_namespace` is the provider's.
    pub(super) async fn find(
        &self,
        client: &Client,
        reference: &ProviderConfigRef,
        namespace: &str,
        own_namespace: &str,
    ) -> Result<Config, Reason> {
        let name = &reference.name;
        let absent = |place: &str| {
            format!(
                "{} {name:?} does not exist{place}: create it, or name another in `spec.providerConfigRef`",
                reference.kind
            )
        };
        match reference.kind.as_str() {
            KIND => {
                let key = ObjectRef::new(name).within(namespace);
                let known = self.namespaced.get().and_then(|store| store.get(&key));
                let found = match known {
                    Some(known) => known.as_ref().clone(),
                    None => Api::<ProviderConfig>::namespaced(client.clone(), namespace)
                        .get_opt(name)
                        .await
                        .map_err(text)?
                        .ok_or_else(|| absent(&format!(" in namespace {namespace:?}")))?,
                };
                Ok(Config {
                    reference: reference.clone(),
                    version: version(&found.metadata),
                    spec: found.spec,
                    namespace: namespace.to_owned(),
                    cluster: None,
                })
            }
            CLUSTER_KIND => {
                let key = ObjectRef::new(name);
                let known = self.cluster.get().and_then(|store| store.get(&key));
                let found = match known {
                    Some(known) => known.as_ref().clone(),
                    None => Api::<ClusterProviderConfig>::all(client.clone())
                        .get_opt(name)
                        .await
                        .map_err(text)?
                        .ok_or_else(|| absent(""))?,
                };
                Ok(Config {
                    reference: reference.clone(),
                    version: version(&found.metadata),
                    spec: found.spec.connection.clone(),
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
    fn a_changed_config_concerns_those_that_name_it() {
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
            let changed = Changed {
                reference: ProviderConfigRef {
                    kind: kind.to_owned(),
                    name: name.to_owned(),
                },
                namespace: namespace.map(str::to_owned),
            };
            assert_eq!(changed.concerns(&queue), expected, "{reason}");
        }
    }
}
