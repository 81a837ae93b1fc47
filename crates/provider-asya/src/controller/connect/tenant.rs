//! What a ClusterProviderConfig allows to the objects of a namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, ResourceExt as _};

use super::{ConnectError, Connector, ResolvedConfig, text};
use crate::kinds::Queue;
use crate::tenancy;

/// What an object has of a queue by its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing: its names may belong to another namespace.
    None,
    /// The queue and its place, whichever namespace was made since. Its exchange may have changed.
    Live,
    /// As [`Claim::Live`]; it is being deleted, and no exchange matters.
    Deleting,
}

/// What an object has of the queue called `name`.
pub(super) fn claim(queue: &Queue, name: &str) -> Claim {
    let recorded = &queue.status.at_provider;
    let is_recorded = recorded.name.as_deref() == Some(name) && recorded.owner_id.is_some();
    match (is_recorded, queue.metadata.deletion_timestamp.is_some()) {
        (false, _) => Claim::None,
        (true, false) => Claim::Live,
        (true, true) => Claim::Deleting,
    }
}

impl Connector {
    /// Checks that the config allows a queue that is missing, and would be created: that it was created before
    /// counts for nothing.
    ///
    /// # Errors
    /// The config is missing, or does not allow it.
    pub async fn check_creation(&self, queue: &Queue, name: &str) -> Result<(), ConnectError> {
        let namespace = queue.namespace().unwrap_or_default();
        let reference = &queue.spec.provider_config_ref;
        let config = self
            .configs
            .find(&self.client, reference, &namespace, &self.own_namespace)
            .await?;
        self.check_tenant(&config, queue, name, Claim::None).await
    }

    pub(super) async fn check_tenant(
        &self,
        config: &ResolvedConfig,
        queue: &Queue,
        name: &str,
        claim: Claim,
    ) -> Result<(), ConnectError> {
        let Some(cluster) = &config.cluster else {
            return Ok(());
        };
        let namespace = queue.namespace().unwrap_or_default();
        let labels = if tenancy::needs_labels(cluster) {
            let api: Api<Namespace> = Api::all(self.client.clone());
            let found = api.get(&namespace).await.map_err(|error| {
                format!("cannot read namespace {namespace:?}, whose labels `allowedNamespaces` selects: {error}")
            })?;
            found.metadata.labels.unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        let (config, settings) = (&config.reference.name, &queue.spec.for_provider);
        let check = |namespaces: &BTreeSet<String>| {
            tenancy::check(
                config, cluster, &namespace, &labels, namespaces, name, settings,
            )
            .map_err(text)
        };
        match claim {
            Claim::None if tenancy::needs_namespaces(cluster, &namespace, name, settings) => {
                check(self.all_namespaces(&namespace).await?.as_ref())
            }
            Claim::None | Claim::Deleting => check(&BTreeSet::new()),
            Claim::Live => {
                check(&BTreeSet::new())?;
                if !tenancy::exchange_needs_namespaces(cluster, &namespace, settings) {
                    return Ok(());
                }
                let namespaces = self.all_namespaces(&namespace).await?;
                tenancy::check_exchange(config, cluster, &namespace, &namespaces, settings)
                    .map_err(text)
            }
        }
    }

    async fn all_namespaces(&self, of: &str) -> Result<Arc<BTreeSet<String>>, ConnectError> {
        self.namespaces.list(&self.client).await.map_err(|error| {
            format!("cannot list namespaces, by which names of {of:?} are separated from those of longer namespaces: {error}")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_recorded_queue_of_that_name_is_claimed() {
        let cases = [
            (json!({}), false, Claim::None),
            (json!({"name": "asya-cart"}), false, Claim::None),
            (
                json!({"name": "asya-other", "ownerID": "east"}),
                false,
                Claim::None,
            ),
            (
                json!({"name": "asya-cart", "ownerID": "east"}),
                false,
                Claim::Live,
            ),
            (
                json!({"name": "asya-cart", "ownerID": "east"}),
                true,
                Claim::Deleting,
            ),
            (json!({"name": "asya-cart"}), true, Claim::None),
        ];
        for (at_provider, is_deleted, expected) in cases {
            let case = format!("{at_provider} {is_deleted}");
            let mut queue = json!({"metadata": {"name": "cart", "namespace": "shop"},
                "spec": {"forProvider": {}, "providerConfigRef": {"name": "main"}},
                "status": {"atProvider": at_provider}});
            if is_deleted {
                queue["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            let queue = serde_json::from_value(queue).unwrap();
            assert_eq!(claim(&queue, "asya-cart"), expected, "{case}");
        }
    }
}
