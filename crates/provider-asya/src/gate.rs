//! Safe start: controllers start when their kinds are served, and not before.
//!
//! Crossplane installs a kind when somebody activates it, which may be long
//! after the provider is up.

use std::pin::pin;

use futures::{StreamExt as _, future};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};

/// The kinds that the controllers of queues and configs need.
pub const KINDS: [&str; 4] = [
    "queues.provider.asya.sh",
    "providerconfigs.provider.asya.sh",
    "clusterproviderconfigs.provider.asya.sh",
    "providerconfigusages.provider.asya.sh",
];

/// Waits until all of these kinds are served. Where the provider may not read
/// definitions, as in clusters that do not know safe start, they are.
pub async fn served(client: &Client, kinds: &[&str]) {
    if !may_watch(client).await {
        tracing::info!("not allowed to watch definitions of kinds: starting at once");
        return;
    }
    future::join_all(kinds.iter().map(|kind| one_served(client, kind))).await;
}

async fn one_served(client: &Client, kind: &str) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    // One definition, not all there are: they are large, and there may be a thousand.
    let only = watcher::Config::default().fields(&format!("metadata.name={kind}"));
    let mut definitions = pin!(watcher(api, only).default_backoff().applied_objects());
    let mut has_told = false;
    while let Some(definition) = definitions.next().await {
        match definition {
            Ok(definition) if is_served(&definition) => return,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, kind, "cannot watch the definition"),
        }
        if !has_told {
            tracing::info!(kind, "waiting until the kind is served");
            has_told = true;
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

async fn may_watch(client: &Client) -> bool {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    for verb in ["list", "watch"] {
        let attributes = ResourceAttributes {
            group: Some("apiextensions.k8s.io".to_owned()),
            resource: Some("customresourcedefinitions".to_owned()),
            verb: Some(verb.to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let review = SelfSubjectAccessReview {
            spec,
            ..SelfSubjectAccessReview::default()
        };
        match reviews.create(&PostParams::default(), &review).await {
            Ok(review) if review.status.as_ref().is_some_and(|status| status.allowed) => {}
            Ok(_) => return false,
            Err(error) => {
                tracing::warn!(%error, "cannot ask what is allowed");
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
    fn a_kind_is_served_when_it_is_established_and_stays() {
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
            ("going", definition("True", true, true), false),
        ];
        for (reason, definition, expected) in cases {
            assert_eq!(is_served(&definition), expected, "{reason}");
        }
    }
}
