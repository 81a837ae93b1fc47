//! Safe start: a controller starts once the CustomResourceDefinitions of its kinds are established.
//!
//! Crossplane installs a kind when it is activated, which may be long after the provider started.

use std::pin::pin;

use futures::{StreamExt as _, future};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};

use crate::access;

/// Kinds that the controllers of Queues and configs need.
pub const KINDS: [&str; 4] = [
    "queues.provider.asya.sh",
    "providerconfigs.provider.asya.sh",
    "clusterproviderconfigs.provider.asya.sh",
    "providerconfigusages.provider.asya.sh",
];

/// Waits until all of these kinds are served. Without the right to read definitions, as in clusters
/// without safe start, it returns at once.
pub async fn wait_until_served(client: &Client, kinds: &[&str]) {
    if !may_watch_definitions(client).await {
        tracing::info!("not allowed to watch CustomResourceDefinitions: starting at once");
        return;
    }
    future::join_all(
        kinds
            .iter()
            .map(|kind| wait_until_kind_is_served(client, kind)),
    )
    .await;
}

async fn wait_until_kind_is_served(client: &Client, kind: &str) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    // Only one definition: they are large, and a cluster may have a thousand.
    let only = watcher::Config::default().fields(&format!("metadata.name={kind}"));
    let mut definitions = pin!(watcher(api, only).default_backoff().applied_objects());
    let mut is_logged = false;
    while let Some(definition) = definitions.next().await {
        match definition {
            Ok(definition) if is_served(&definition) => return,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, kind, "cannot watch the CustomResourceDefinition"),
        }
        if !is_logged {
            tracing::info!(kind, "waiting until the kind is served");
            is_logged = true;
        }
    }
}

fn is_served(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let is_established = conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|condition| condition.type_ == "Established" && condition.status == "True")
    });
    let version = definition
        .spec
        .versions
        .iter()
        .find(|version| version.name == actor::VERSION);
    is_established
        && definition.metadata.deletion_timestamp.is_none()
        && version.is_some_and(|version| version.served)
}

async fn may_watch_definitions(client: &Client) -> bool {
    let (group, resource) = ("apiextensions.k8s.io", "customresourcedefinitions");
    for verb in ["list", "watch"] {
        match access::is_allowed(client, group, resource, verb).await {
            Ok(true) => {}
            Ok(false) => return false,
            Err(error) => {
                tracing::warn!(%error, "cannot create a SelfSubjectAccessReview");
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_served_when_its_definition_is_established() {
        let definition = |established: &str, served: bool, deleted: bool| {
            let mut definition = json!({
                "metadata": {"name": "queues.provider.asya.sh"},
                "spec": {
                    "group": "provider.asya.sh", "scope": "Namespaced",
                    "names": {"kind": "Queue", "plural": "queues"},
                    "versions": [{"name": "v1alpha1", "served": served, "storage": true}],
                },
                "status": {"conditions": [{"type": "Established", "status": established}]},
            });
            if deleted {
                definition["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            serde_json::from_value(definition).unwrap()
        };
        let cases = [
            ("served", definition("True", true, false), true),
            ("not yet", definition("False", true, false), false),
            (
                "another version is",
                definition("True", false, false),
                false,
            ),
            ("being deleted", definition("True", true, true), false),
        ];
        for (reason, definition, expected) in cases {
            assert_eq!(is_served(&definition), expected, "{reason}");
        }
    }
}
