//! ActorHealth objects on a real API server: they follow pods whose status the test writes, as no
//! kubelet runs there.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test that cannot go on panics, and a table of cases is as long as it is"
)]

mod rig;

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actor::health::{AtProvider, Patience};
use actor::managed::{READY, SYNCED};
use futures::{FutureExt as _, StreamExt as _};
use jiff::{Timestamp, ToSpan as _};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use provider_asya::controller::{Context, health};
use provider_asya::kinds::ActorHealth;
use provider_asya::metrics::Metrics;
use provider_asya::timings::Timings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";
/// Shortest time between two writes; longer than nothing, so that a test sees it kept.
const INTERVAL: Duration = Duration::from_millis(500);

/// A cluster with the controller at work on it.
struct Stage {
    client: Client,
    metrics: Arc<Metrics>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actor_health_follows_pods_workloads_and_scalers() {
    if rig::is_skipped("ActorHealth objects") {
        return;
    }
    let cluster = rig::cluster::Cluster::start().await;
    cluster.install_kinds().await;
    let stage = Stage {
        client: cluster.client().await,
        metrics: Arc::new(Metrics::new()),
    };
    let namespaces: Api<Namespace> = Api::all(stage.client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).unwrap();
    let made = namespaces.create(&PostParams::default(), &namespace).await;
    made.unwrap();
    let controller = stage.start_controller();
    an_actor_without_a_workload_says_so(&stage).await;
    pods_that_work_are_counted(&stage).await;
    every_fault_of_a_pod_has_its_word(&stage).await;
    nothing_is_written_while_nothing_changes(&stage).await;
    many_changes_make_few_writes_and_the_last_one_is_told(&stage).await;
    a_paused_object_stays_as_it_is(&stage).await;
    pods_of_a_former_revision_are_forgiven(&stage).await;
    scaling_is_history(&stage).await;
    a_volume_is_found_in_time_and_by_name(&stage).await;
    other_peoples_scalers_are_named(&stage).await;
    keda_is_noticed_when_it_comes(&stage, &cluster).await;
    other_peoples_workloads_are_looked_at(&stage).await;
    a_statefulset_tells_its_own_revision(&stage).await;
    controller.abort();
}

async fn an_actor_without_a_workload_says_so(stage: &Stage) {
    stage.make_health("echo", "Deployment", "echo").await;
    let health = stage
        .until("echo", "says that there is no workload", |health| {
            says(health, READY, "Deployment \"echo\" is not there")
        })
        .await;
    assert_eq!(
        json!(health.status.at_provider),
        json!({"ready": 0, "failing": 0, "total": 0, "everReady": false})
    );
}

async fn pods_that_work_are_counted(stage: &Stage) {
    stage.make_deployment("echo", 2).await;
    stage.make_revision("echo", 1, "aaa").await;
    for name in ["echo-a", "echo-b"] {
        stage.make_pod("echo", name, "aaa", json!([])).await;
        stage.write_status(name, running()).await;
    }
    let health = stage
        .until_seen("echo", "has two ready pods", |seen| seen.ready == Some(2))
        .await;
    assert_eq!(
        json!(health.status.at_provider),
        json!({"ready": 2, "failing": 0, "total": 2, "desired": 2, "everReady": true})
    );
    assert!(is_true(&health, READY) && is_true(&health, SYNCED));
}

async fn every_fault_of_a_pod_has_its_word(stage: &Stage) {
    let waiting = |container: &str, reason: &str, message: &str| {
        status(json!([state(
            container,
            &json!({"waiting": {"reason": reason, "message": message}}),
            None
        )]))
    };
    let crashing = |container: &str, code: i32| {
        let wait = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}});
        let end = json!({"exitCode": code, "reason": "Error"});
        status(json!([state(container, &wait, Some(end))]))
    };
    let unscheduled = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]});
    let cases = [
        (
            "ConfigError",
            Some("asya-runtime"),
            "secret \"keys\" not found",
            0,
            waiting(
                "asya-runtime",
                "CreateContainerConfigError",
                "secret \"keys\" not found",
            ),
        ),
        (
            "ImagePullError",
            Some("asya-runtime"),
            "image \"my-org/echo:1\": not found",
            2,
            waiting("asya-runtime", "ErrImagePull", "not found"),
        ),
        (
            "SidecarError",
            Some("asya-sidecar"),
            "exit code 2",
            2,
            crashing("asya-sidecar", 2),
        ),
        (
            "PendingResources",
            None,
            "0/3 nodes are available: 3 Insufficient cpu.",
            0,
            unscheduled,
        ),
        (
            "WorkloadError",
            Some("fluentbit"),
            "exit code 1",
            2,
            crashing("fluentbit", 1),
        ),
        (
            "RuntimeError",
            Some("asya-runtime"),
            "exit code 3",
            2,
            crashing("asya-runtime", 3),
        ),
    ];
    for (word, container, message, failing, status) in cases {
        for name in ["echo-a", "echo-b"] {
            stage.write_status(name, status.clone()).await;
        }
        let health = stage
            .until_seen("echo", word, |seen| {
                seen.signal
                    .as_ref()
                    .is_some_and(|signal| signal.word == word && signal.pods == Some(2))
            })
            .await;
        let seen = health.status.at_provider;
        let signal = seen.signal.unwrap();
        assert_eq!(signal.container.as_deref(), container, "{word}");
        assert_eq!(signal.message, message, "{word}");
        assert_eq!(
            (seen.ready, seen.failing, seen.total),
            (Some(0), Some(failing), Some(2)),
            "{word}"
        );
        assert!(seen.ever_ready, "{word}: it was ready before");
    }
}

/// More restarts of a crashing container start a pass each, and say nothing new.
async fn nothing_is_written_while_nothing_changes(stage: &Stage) {
    let before = stage.get("echo").await;
    for restarts in 10..30 {
        let passes = stage.passes();
        stage.restart("echo-a", restarts).await;
        rig::until("a pass is made", || async {
            (stage.passes() > passes).then_some(())
        })
        .await;
    }
    let after = stage.get("echo").await;
    assert_eq!(before.resource_version(), after.resource_version());
}

async fn many_changes_make_few_writes_and_the_last_one_is_told(stage: &Stage) {
    let versions = Arc::new(Mutex::new(Vec::new()));
    let (seen, api) = (versions.clone(), stage.api::<ActorHealth>());
    let before = stage.get("echo").await.resource_version();
    let watch = tokio::spawn(async move {
        let mut changes =
            std::pin::pin!(watcher(api, watcher::Config::default()).applied_objects());
        while let Some(Ok(health)) = changes.next().await {
            let version = health.resource_version();
            let mut seen = seen.lock().unwrap();
            if version != before && seen.last() != Some(&version) {
                seen.push(version);
            }
        }
    });
    let start = Instant::now();
    for code in 100..120 {
        let passes = stage.passes();
        for name in ["echo-a", "echo-b"] {
            let end = json!({"exitCode": code, "reason": "Error"});
            let wait = json!({"waiting": {"reason": "CrashLoopBackOff"}});
            let status = status(json!([state("asya-runtime", &wait, Some(end))]));
            stage.write_status(name, status).await;
        }
        rig::until("a pass is made", || async {
            (stage.passes() > passes).then_some(())
        })
        .await;
    }
    stage
        .until_seen("echo", "tells the last exit code", |seen| {
            let signal = seen.signal.as_ref();
            signal.is_some_and(|signal| signal.message == "exit code 119")
        })
        .await;
    let most = start.elapsed().as_millis() / INTERVAL.as_millis() + 2;
    let written = versions.lock().unwrap().len();
    assert!(written as u128 <= most, "{written} writes, at most {most}");
    watch.abort();
}

async fn a_paused_object_stays_as_it_is(stage: &Stage) {
    let pause =
        |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
    stage
        .change::<ActorHealth>("echo", pause(json!("true")))
        .await;
    stage
        .until("echo", "is paused", |health| {
            says(health, SYNCED, "reconciliation is paused")
        })
        .await;
    for name in ["echo-a", "echo-b"] {
        let passes = stage.passes();
        stage.write_status(name, running()).await;
        rig::until("the pod is noticed", || async {
            (stage.passes() > passes).then_some(())
        })
        .await;
    }
    assert_eq!(stage.get("echo").await.status.at_provider.ready, Some(0));
    stage
        .change::<ActorHealth>("echo", pause(Value::Null))
        .await;
    let health = stage
        .until_seen("echo", "is followed again", |seen| seen.ready == Some(2))
        .await;
    assert!(is_true(&health, SYNCED));
    assert_eq!(health.status.at_provider.signal, None);
}

async fn pods_of_a_former_revision_are_forgiven(stage: &Stage) {
    let end = json!({"exitCode": 1, "reason": "Error"});
    let wait = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    let crash = status(json!([state("asya-runtime", &wait, Some(end))]));
    stage.write_status("echo-b", crash).await;
    stage
        .until_seen("echo", "has a crash", |seen| seen.signal.is_some())
        .await;
    stage.make_revision("echo", 2, "bbb").await;
    let health = stage
        .until_seen("echo", "forgives it", |seen| seen.signal.is_none())
        .await;
    let seen = health.status.at_provider;
    assert_eq!(
        (seen.ready, seen.failing, seen.total),
        (Some(1), Some(1), Some(2))
    );
    stage.delete::<Pod>("echo-b").await;
    stage
        .until_seen("echo", "has one pod", |seen| seen.total == Some(1))
        .await;
}

async fn scaling_is_history(stage: &Stage) {
    for (from, to, direction) in [(2, 0, "Down"), (0, 1, "Up"), (1, 3, "Up"), (3, 5, "Up")] {
        let replicas = json!({"spec": {"replicas": to}});
        stage.change::<Deployment>("echo", replicas).await;
        let health = stage
            .until_seen("echo", "is scaled", |seen| seen.desired == Some(to))
            .await;
        let scale = health.status.at_provider.last_scale.unwrap();
        assert_eq!((scale.from, scale.to), (from, to));
        assert_eq!(scale.direction, direction);
        scale.time.parse::<Timestamp>().unwrap();
    }
}

async fn a_volume_is_found_in_time_and_by_name(stage: &Stage) {
    let volumes = json!([{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}]);
    stage.make_pod("echo", "echo-stuck", "bbb", volumes).await;
    let creating = json!({"waiting": {"reason": "ContainerCreating"}});
    let mut stuck = status(json!([state("asya-runtime", &creating, None)]));
    let now = |ago: i64| format!("{:.0}", Timestamp::now() - ago.seconds());
    stuck["conditions"] = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": now(0)},
        {"type": "PodReadyToStartContainers", "status": "False", "lastTransitionTime": now(0)}]);
    stage.write_status("echo-stuck", stuck).await;
    let message = |text: &'static str| {
        move |seen: &AtProvider| {
            let signal = seen.signal.as_ref();
            signal
                .is_some_and(|signal| signal.word == "VolumeError" && signal.message.contains(text))
        }
    };
    // Nothing changes any more: the passes come by themselves.
    let missing = message("PersistentVolumeClaim \"models\" is not there");
    stage.until_seen("echo", "misses the claim", missing).await;
    let claim = json!({"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    stage
        .make::<PersistentVolumeClaim>("models", &json!({}), claim)
        .await;
    let unbound = message("PersistentVolumeClaim \"models\" is Pending (storage class \"fast\")");
    stage.until_seen("echo", "sees it wait", unbound).await;
    let claims = stage.api::<PersistentVolumeClaim>();
    let bound = Patch::Merge(json!({"status": {"phase": "Bound"}}));
    let written = claims
        .patch_status("models", &PatchParams::default(), &bound)
        .await;
    written.unwrap();
    let unknown = message("no container could be started");
    stage.until_seen("echo", "knows no culprit", unknown).await;
    stage.delete::<Pod>("echo-stuck").await;
    stage
        .until_seen("echo", "is well", |seen| seen.signal.is_none())
        .await;
}

async fn other_peoples_scalers_are_named(stage: &Stage) {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "echo"});
    let spec = json!({"spec": {"scaleTargetRef": target, "maxReplicas": 4}});
    let own = json!({"asya.sh/actor": "echo"});
    stage
        .make::<HorizontalPodAutoscaler>("of-our-own", &own, spec.clone())
        .await;
    stage
        .make::<HorizontalPodAutoscaler>("by-hand", &json!({}), spec)
        .await;
    let health = stage
        .until_seen("echo", "names a scaler", |seen| {
            seen.foreign_scaler.is_some()
        })
        .await;
    let foreign = json!(health.status.at_provider.foreign_scaler);
    let named = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "name": "by-hand"});
    assert_eq!(foreign, named);
    let seen = Patch::Merge(json!({"status": {"currentReplicas": 5, "desiredReplicas": 7}}));
    let api = stage.api::<HorizontalPodAutoscaler>();
    let written = api
        .patch_status("of-our-own", &PatchParams::default(), &seen)
        .await;
    written.unwrap();
    stage
        .until_seen("echo", "asks for what its HPA wants", |seen| {
            seen.desired == Some(7)
        })
        .await;
    for name in ["of-our-own", "by-hand"] {
        stage.delete::<HorizontalPodAutoscaler>(name).await;
    }
    stage
        .until_seen("echo", "names none", |seen| {
            seen.foreign_scaler.is_none() && seen.desired == Some(5)
        })
        .await;
}

async fn keda_is_noticed_when_it_comes(stage: &Stage, cluster: &rig::cluster::Cluster) {
    cluster.install_keda().await;
    let kind = GroupVersionKind::gvk("keda.sh", "v1alpha1", "ScaledObject");
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::namespaced_with(stage.client.clone(), NAMESPACE, &resource);
    let object = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "theirs", "labels": {"asya.sh/actor": "another"}},
        "spec": {"scaleTargetRef": {"name": "echo"}, "triggers": [{"type": "cron", "metadata": {}}]}});
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    stage
        .until_seen("echo", "names the ScaledObject", |seen| {
            let scaler = seen.foreign_scaler.as_ref();
            scaler.is_some_and(|scaler| scaler.kind == "ScaledObject" && scaler.name == "theirs")
        })
        .await;
}

async fn other_peoples_workloads_are_looked_at(stage: &Stage) {
    let template = json!({"metadata": {"labels": {"app": "llm"}}, "spec": {"containers": [{"name": "llm", "image": "llm:1"}]}});
    let spec = json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "llm"}}, "template": template}});
    stage
        .make::<Deployment>("llm", &json!({"app": "llm"}), spec)
        .await;
    stage.make_health("bound", "Deployment", "llm").await;
    let health = stage
        .until_seen("bound", "knows the replicas", |seen| {
            seen.desired == Some(2)
        })
        .await;
    assert!(is_true(&health, READY));
    stage
        .change::<Deployment>("llm", json!({"spec": {"replicas": 3}}))
        .await;
    stage
        .until_seen("bound", "looks again", |seen| seen.desired == Some(3))
        .await;
}

async fn a_statefulset_tells_its_own_revision(stage: &Stage) {
    let labels = json!({"app.kubernetes.io/name": "kept", "asya.sh/actor": "kept"});
    let spec = json!({"spec": {"replicas": 2, "serviceName": "kept", "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "asya-runtime", "image": "my-org/kept:1"}]}}}});
    stage.make::<StatefulSet>("kept", &labels, spec).await;
    let present = Patch::Merge(json!({"status": {"replicas": 2, "updateRevision": "kept-bbb"}}));
    let api = stage.api::<StatefulSet>();
    let written = api
        .patch_status("kept", &PatchParams::default(), &present)
        .await;
    written.unwrap();
    for (name, revision) in [("kept-0", "kept-aaa"), ("kept-1", "kept-bbb")] {
        let key = "controller-revision-hash";
        stage.make_pod("kept", name, "", json!([])).await;
        let label = json!({"metadata": {"labels": {key: revision, "pod-template-hash": null}}});
        stage.change::<Pod>(name, label).await;
        let wait = json!({"waiting": {"reason": "CreateContainerConfigError", "message": name}});
        let status = status(json!([state("asya-runtime", &wait, None)]));
        stage.write_status(name, status).await;
    }
    stage.make_health("kept", "StatefulSet", "kept").await;
    stage
        .until_seen("kept", "tells of the present revision", |seen| {
            let signal = seen.signal.as_ref();
            signal.is_some_and(|signal| signal.message == "kept-1" && signal.pods == Some(1))
        })
        .await;
}

impl Stage {
    fn start_controller(&self) -> tokio::task::JoinHandle<()> {
        let timings = Timings {
            health_interval: INTERVAL,
            patience: Patience {
                look: Duration::from_secs(1),
                mount: Duration::from_secs(3),
                settle: Duration::from_secs(3),
            },
            sight_retry: Duration::from_millis(100),
            bound_look: Duration::from_millis(300),
            absent_retry: Duration::from_millis(300),
            ..Timings::default()
        };
        let context = Arc::new(Context::new(
            self.client.clone(),
            "crossplane-system",
            timings,
            self.metrics.clone(),
        ));
        let never = futures::future::pending::<()>().shared();
        tokio::spawn(health::run(context, 4, never))
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn make<K>(&self, name: &str, labels: &Value, mut object: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        let metadata = object["metadata"].as_object().cloned().unwrap_or_default();
        object["metadata"] = json!(metadata);
        object["metadata"]["name"] = json!(name);
        object["metadata"]["labels"] = labels.clone();
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        let object: K = serde_json::from_value(object).unwrap();
        // A namespace that is new has no ServiceAccount yet, and takes no pods.
        rig::until(&format!("{name} is made"), || async {
            let made = self
                .api::<K>()
                .create(&PostParams::default(), &object)
                .await;
            match made {
                Err(kube::Error::Api(status)) if status.is_forbidden() => None,
                made => Some(made.unwrap_or_else(|error| panic!("{name}: {error}"))),
            }
        })
        .await
    }

    async fn change<K>(&self, name: &str, patch: Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let patch = Patch::Merge(patch);
        let changed = self
            .api::<K>()
            .patch(name, &PatchParams::default(), &patch)
            .await;
        changed.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    async fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let now = DeleteParams::default().grace_period(0);
        let deleted = self.api::<K>().delete(name, &now).await;
        deleted.unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    async fn make_health(&self, actor: &str, kind: &str, workload: &str) {
        let spec = json!({"spec": {"forProvider": {"actor": actor,
            "workload": {"kind": kind, "name": workload}, "podSelector": {"asya.sh/actor": actor}}}});
        self.make::<ActorHealth>(actor, &json!({"asya.sh/actor": actor}), spec)
            .await;
    }

    async fn make_deployment(&self, actor: &str, replicas: u32) {
        let labels = json!({"app.kubernetes.io/name": actor, "asya.sh/actor": actor});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": containers()}});
        let spec = json!({"spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}});
        self.make::<Deployment>(actor, &labels, spec).await;
    }

    /// A ReplicaSet as the Deployment's controller makes it.
    async fn make_revision(&self, actor: &str, number: u32, hash: &str) {
        let owner = self.api::<Deployment>().get(actor).await.unwrap();
        let labels = json!({"asya.sh/actor": actor, "pod-template-hash": hash});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": containers()}});
        let object = json!({
            "metadata": {
                "annotations": {"deployment.kubernetes.io/revision": number.to_string()},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": actor,
                    "uid": owner.uid(), "controller": true}]},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}});
        self.make::<ReplicaSet>(&format!("{actor}-{hash}"), &labels, object)
            .await;
    }

    async fn make_pod(&self, actor: &str, name: &str, hash: &str, volumes: Value) {
        let labels = json!({"asya.sh/actor": actor, "pod-template-hash": hash});
        let spec = json!({"spec": {"containers": containers(), "volumes": volumes,
            "automountServiceAccountToken": false}});
        self.make::<Pod>(name, &labels, spec).await;
    }

    async fn write_status(&self, pod: &str, status: Value) {
        let mut object = json!(self.api::<Pod>().get(pod).await.unwrap());
        object["status"] = status;
        let object: Pod = serde_json::from_value(object).unwrap();
        let api = self.api::<Pod>();
        let written = api
            .replace_status(pod, &PostParams::default(), &object)
            .await;
        written.unwrap_or_else(|error| panic!("{pod}: {error}"));
    }

    /// Counts one more restart of the first container that a pod's status names.
    async fn restart(&self, pod: &str, restarts: i32) {
        let found = self.api::<Pod>().get(pod).await.unwrap();
        let mut status = json!(found.status);
        status["containerStatuses"][0]["restartCount"] = json!(restarts);
        self.write_status(pod, status).await;
    }

    async fn get(&self, name: &str) -> ActorHealth {
        self.api::<ActorHealth>().get(name).await.unwrap()
    }

    async fn until(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&ActorHealth) -> bool,
    ) -> ActorHealth {
        let last = Mutex::new(String::new());
        let what = format!("{name} {what}");
        rig::until(&what, || async {
            let health = self.get(name).await;
            let now = json!(health.status).to_string();
            let mut last = last.lock().unwrap();
            if *last != now {
                println!("{name}: {now}");
                *last = now;
            }
            is_so(&health).then_some(health)
        })
        .await
    }

    async fn until_seen(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&AtProvider) -> bool,
    ) -> ActorHealth {
        self.until(name, what, |health| is_so(&health.status.at_provider))
            .await
    }

    /// Passes that were made so far.
    fn passes(&self) -> u64 {
        let text = self.metrics.text();
        let line =
            "controller_runtime_reconcile_total{controller=\"actorhealth\",result=\"success\"} ";
        let mut lines = text.lines();
        let count = lines.find_map(|found| found.strip_prefix(line)?.parse().ok());
        count.unwrap_or_default()
    }
}

fn containers() -> Value {
    json!([{"name": "asya-runtime", "image": "my-org/echo:1"},
        {"name": "asya-sidecar", "image": "asya/sidecar:1"},
        {"name": "fluentbit", "image": "fluent/fluent-bit:3"}])
}

fn state(container: &str, state: &Value, last_end: Option<Value>) -> Value {
    let last = last_end.map_or_else(|| json!({}), |end| json!({"terminated": end}));
    json!({"name": container, "image": "", "imageID": "", "ready": false, "restartCount": 3,
        "state": state, "lastState": last})
}

fn status(containers: Value) -> Value {
    json!({"phase": "Pending", "containerStatuses": containers, "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "PodReadyToStartContainers", "status": "True"},
        {"type": "Ready", "status": "False"}]})
}

fn running() -> Value {
    let started = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let mut status = status(json!([state("asya-runtime", &started, None)]));
    status["phase"] = json!("Running");
    status["conditions"][2]["status"] = json!("True");
    status
}

fn is_true(health: &ActorHealth, type_: &str) -> bool {
    provider_asya::conditions::is_true(&health.status.conditions, type_)
}

fn says(health: &ActorHealth, type_: &str, text: &str) -> bool {
    health.status.conditions.iter().any(|condition| {
        let message = condition.message.as_deref().unwrap_or_default();
        condition.type_ == type_ && condition.status == "False" && message.contains(text)
    })
}
