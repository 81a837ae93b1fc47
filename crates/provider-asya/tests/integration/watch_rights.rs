//! Rights of the provider that are removed while it runs, or missing when it starts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actor::health::{ENVIRONMENT_WATCHED, UsedEnvironmentConfig};
use actor::managed::SYNCED;
use futures::StreamExt as _;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use provider_asya::kinds::ActorHealth;
use provider_asya::timings::Timings;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::rig::binding_fixture::{BindingFixture, timings};
use crate::rig::{self, shared};

/// Every kind that the controllers of ActorHealth and WorkloadBinding watch because of its content, with
/// the condition that reports a missing right, and its reason.
const WATCHED: [(&str, &str, &str); 7] = [
    ("pods", SYNCED, "WatchForbidden"),
    ("deployments", SYNCED, "WatchForbidden"),
    ("statefulsets", SYNCED, "WatchForbidden"),
    ("replicasets", SYNCED, "WatchForbidden"),
    ("horizontalpodautoscalers", SYNCED, "WatchForbidden"),
    ("scaledobjects", SYNCED, "WatchForbidden"),
    ("environmentconfigs", ENVIRONMENT_WATCHED, "Forbidden"),
];

/// Verbs that are removed.
const REMOVED: [&[&str]; 2] = [&["watch"], &["list", "watch"]];

/// Refused requests to wait for: each retry of a watch is one.
const RETRIES: u64 = 4;

const ROLE: &str = "asya:provider";

/// A provider that observes one actor, and every value of its conditions.
struct RightsFixture {
    fixture: BindingFixture,
    roles: Api<ClusterRole>,
    /// Status and reason of each condition, by type, in the order in which they were written.
    history: Arc<Mutex<Vec<(String, String, String)>>>,
    recorder: JoinHandle<()>,
}

impl Drop for RightsFixture {
    fn drop(&mut self) {
        self.recorder.abort();
    }
}

impl RightsFixture {
    async fn start() -> Self {
        let timings = Timings {
            watch_renewal: Duration::from_secs(1),
            health_interval: Duration::from_millis(50),
            health_grace: Duration::ZERO,
            ..timings()
        };
        let mut fixture = BindingFixture::start(timings).await;
        fixture.cluster.install_keda().await;
        let kinds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crds/environment.yaml");
        fixture.cluster.install(kinds.as_ref()).await;
        fixture.provide().await;
        fixture.make_namespace("shop").await;
        make_actor(&fixture).await;
        let healths: Api<ActorHealth> = Api::namespaced(fixture.client.clone(), "shop");
        let history = Arc::default();
        let recorder = tokio::spawn(record(healths, Arc::clone(&history)));
        Self {
            roles: Api::all(fixture.client.clone()),
            fixture,
            history,
            recorder,
        }
    }

    /// Waits until the last value of a condition is this.
    async fn until(&self, type_: &str, status: &str, reason: &str) {
        rig::until(&format!("{type_} is {status} {reason}"), || async {
            let history = self.history.lock().unwrap();
            let mut of_type = history.iter().filter(|(found, ..)| found == type_);
            let last = of_type.next_back()?;
            (last.1 == status && last.2 == reason).then_some(())
        })
        .await;
    }

    /// Removes verbs of a resource from the provider's role; the former rules.
    async fn remove(&self, resource: &str, verbs: &[&str]) -> Value {
        let role = self.roles.get(ROLE).await.unwrap();
        let former = json!(role.rules);
        let rules: Vec<PolicyRule> = role.rules.into_iter().flatten().collect();
        let rules = rules
            .into_iter()
            .flat_map(|rule| without(rule, resource, verbs));
        self.replace_rules(json!(rules.collect::<Vec<_>>())).await;
        former
    }

    async fn replace_rules(&self, rules: Value) {
        let patch = Patch::Merge(json!({"rules": rules}));
        let patched = self
            .roles
            .patch(ROLE, &PatchParams::default(), &patch)
            .await;
        patched.unwrap();
    }

    /// Requests of the provider that the API server has refused.
    fn refused(&self) -> u64 {
        let text = self.fixture.metrics.text();
        let of_reads = text.lines().filter(|line| {
            line.starts_with("rest_client_requests_total{")
                && line.contains("code=\"403\"")
                && line.contains("method=\"GET\"")
        });
        let counts = of_reads.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
        counts.sum()
    }

    /// Waits until some more requests were refused.
    async fn until_retried(&self) {
        let before = self.refused();
        rig::until("the provider has retried", || async {
            (self.refused() >= before + RETRIES).then_some(())
        })
        .await;
    }

    /// Asserts that a condition has not been True since this many values were written.
    fn assert_stable(&self, type_: &str, since: usize, case: &str) {
        let history = self.history.lock().unwrap();
        let wrong = history[since..].iter();
        let wrong: Vec<_> = wrong
            .filter(|(found, status, _)| found == type_ && status == "True")
            .collect();
        assert!(wrong.is_empty(), "{case}: {history:?}");
    }

    fn written(&self) -> usize {
        self.history.lock().unwrap().len()
    }
}

/// A rule without some verbs of a resource.
fn without(rule: PolicyRule, resource: &str, verbs: &[&str]) -> Vec<PolicyRule> {
    let resources = rule.resources.clone().unwrap_or_default();
    if !resources.iter().any(|found| found == resource) {
        return vec![rule];
    }
    let others: Vec<String> = resources.into_iter().filter(|it| it != resource).collect();
    let kept = rule
        .verbs
        .iter()
        .filter(|verb| !verbs.contains(&verb.as_str()));
    let reduced = PolicyRule {
        resources: Some(vec![resource.to_owned()]),
        verbs: kept.cloned().collect(),
        ..rule.clone()
    };
    let others = PolicyRule {
        resources: Some(others),
        ..rule
    };
    let rules = [others, reduced].into_iter();
    rules
        .filter(|rule| !rule.verbs.is_empty() && !rule.resources.iter().flatten().count().eq(&0))
        .collect()
}

/// An AsyncActor, and its ActorHealth as it is rendered.
async fn make_actor(fixture: &BindingFixture) {
    let kind = GroupVersionKind::gvk("asya.sh", "v1alpha1", "AsyncActor");
    let actors: Api<DynamicObject> = Api::namespaced_with(
        fixture.client.clone(),
        "shop",
        &ApiResource::from_gvk(&kind),
    );
    let actor = json!({"apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
        "metadata": {"name": "cart", "namespace": "shop"}, "spec": {}});
    // Definitions are served a moment after they were installed.
    let owner = rig::until("AsyncActor is served", || async {
        let manager = PatchParams::apply("tests");
        actors
            .patch("cart", &manager, &Patch::Apply(&actor))
            .await
            .ok()
    })
    .await;
    let used = UsedEnvironmentConfig::new("gpu", Some("0"), Some(1));
    let health = json!({"apiVersion": "provider.asya.sh/v1alpha1", "kind": "ActorHealth",
        "metadata": {"name": "cart", "namespace": "shop", "ownerReferences": [{
            "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor", "name": "cart",
            "uid": owner.uid(), "controller": true}]},
        "spec": {"forProvider": {"actor": "cart",
            "workload": {"kind": "Deployment", "name": "cart"},
            "podSelector": {"asya.sh/actor": "cart"}, "environmentConfigs": [used]}}});
    let made = test_cluster::objects::apply(&fixture.client, &health).await;
    made.unwrap();
}

/// Records each value of each condition of the ActorHealth objects.
async fn record(healths: Api<ActorHealth>, history: Arc<Mutex<Vec<(String, String, String)>>>) {
    let changes = watcher(healths, watcher::Config::default()).default_backoff();
    let mut changes = std::pin::pin!(changes.applied_objects());
    while let Some(change) = changes.next().await {
        for condition in change.unwrap().status.conditions {
            let value = (condition.type_, condition.status, condition.reason);
            let mut history = history.lock().unwrap();
            let last = history.iter().rfind(|(type_, ..)| *type_ == value.0);
            if last != Some(&value) {
                history.push(value);
            }
        }
    }
}

#[test]
fn a_removed_right_is_reported_without_interruption_until_it_is_granted_again() {
    shared::run("rights that are removed", async {
        let site = RightsFixture::start().await;
        site.until(SYNCED, "True", "ReconcileSuccess").await;
        site.until(ENVIRONMENT_WATCHED, "True", "Watching").await;
        for (resource, type_, reason) in WATCHED {
            for verbs in REMOVED {
                let case = format!("{verbs:?} of {resource}");
                println!("{case}");
                let former = site.remove(resource, verbs).await;
                site.until(type_, "False", reason).await;
                let since = site.written();
                site.until_retried().await;
                site.assert_stable(type_, since, &case);
                site.replace_rules(former).await;
                let granted = if type_ == SYNCED {
                    "ReconcileSuccess"
                } else {
                    "Watching"
                };
                site.until(type_, "True", granted).await;
            }
        }
    });
}

#[test]
fn a_right_that_is_missing_at_start_is_reported_without_interruption() {
    shared::run("rights that are missing at start", async {
        let mut site = RightsFixture::start().await;
        site.until(SYNCED, "True", "ReconcileSuccess").await;
        for verbs in REMOVED {
            let case = format!("{verbs:?} of pods");
            println!("{case}");
            let former = site.remove("pods", verbs).await;
            site.until(SYNCED, "False", "WatchForbidden").await;
            let since = site.written();
            site.fixture.stop();
            site.fixture.provide().await;
            site.until_retried().await;
            site.assert_stable(SYNCED, since, &case);
            site.until(SYNCED, "False", "WatchForbidden").await;
            site.replace_rules(former).await;
            site.until(SYNCED, "True", "ReconcileSuccess").await;
        }
    });
}
