//! Rights of the provider that are removed while it runs.

use actor::managed::SYNCED;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ActorHealth;
use provider_asya::timings::Timings;
use serde_json::json;
use std::time::Duration;

use crate::rig::binding_fixture::{BindingFixture, timings};
use crate::rig::{self, shared};

/// Replaces the rules of the provider's role; the former ones.
async fn replace_rules(roles: &Api<ClusterRole>, rules: &serde_json::Value) -> serde_json::Value {
    let role = roles.get("asya:provider").await.unwrap();
    let patch = Patch::Merge(json!({"rules": rules}));
    let parameters = PatchParams::default();
    roles
        .patch("asya:provider", &parameters, &patch)
        .await
        .unwrap();
    json!(role.rules)
}

#[test]
fn a_watch_right_that_is_removed_is_reported_until_it_is_granted_again() {
    shared::run("rights that are removed", async {
        let timings = Timings {
            watch_renewal: Duration::from_secs(1),
            ..timings()
        };
        let mut fixture = BindingFixture::start(timings).await;
        fixture.provide().await;
        fixture.make_namespace("shop").await;
        let healths: Api<ActorHealth> = Api::namespaced(fixture.client.clone(), "shop");
        let health = json!({"apiVersion": "provider.asya.sh/v1alpha1", "kind": "ActorHealth",
            "metadata": {"name": "cart", "namespace": "shop"},
            "spec": {"forProvider": {"actor": "cart",
                "workload": {"kind": "Deployment", "name": "cart"},
                "podSelector": {"asya.sh/actor": "cart"}}}});
        let made = test_cluster::objects::apply(&fixture.client, &health).await;
        made.unwrap();
        let synced = async |status: &str, text: &str| {
            rig::until(&format!("Synced={status} {text:?}"), || async {
                let health = healths.get("cart").await.unwrap();
                let mut conditions = health.status.conditions.into_iter();
                let synced = conditions.find(|condition| condition.type_ == SYNCED)?;
                let message = synced.message.unwrap_or_default();
                let is_it = synced.status == status
                    && (synced.reason.contains(text) || message.contains(text));
                is_it.then_some(())
            })
            .await;
        };
        synced("True", "ReconcileSuccess").await;
        let roles: Api<ClusterRole> = Api::all(fixture.client.clone());
        let rules = roles.get("asya:provider").await.unwrap().rules;
        let others: Vec<_> = rules
            .unwrap()
            .into_iter()
            .filter(|rule| !rule.resources.iter().flatten().any(|name| name == "pods"))
            .collect();
        let former = replace_rules(&roles, &json!(others)).await;
        synced("False", "WatchForbidden").await;
        synced("False", "cannot watch pods").await;
        replace_rules(&roles, &former).await;
        synced("True", "ReconcileSuccess").await;
    });
}
