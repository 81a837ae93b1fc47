//! ActorHealth objects on a real API server. The tests write the status of pods, since no kubelet runs.

use crate::rig::{self, Shared};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::rig::health_fixture::{
    HealthFixture, INTERVAL, NAMESPACE, is_false_with, is_true, running, state, status,
};
use actor::health::AtProvider;
use actor::managed::{READY, SYNCED};
use futures::StreamExt as _;
use jiff::{Timestamp, ToSpan as _};
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use provider_asya::kinds::ActorHealth;
use serde_json::{Value, json};

static FIXTURE: Shared<HealthFixture> =
    Shared::new("ActorHealth objects", || Box::pin(HealthFixture::start()));

/// Makes an actor with a Deployment and two ready pods, `<actor>-a` and `<actor>-b`.
async fn make_ready(fixture: &HealthFixture, actor: &str) -> ActorHealth {
    fixture.make_health(actor, "Deployment", actor).await;
    fixture.make_deployment(actor, 2).await;
    fixture.make_revision(actor, 1, "aaa").await;
    for pod in pods(actor) {
        fixture.make_pod(actor, &pod, "aaa", json!([])).await;
        fixture.write_status(&pod, running()).await;
    }
    fixture
        .until_observed(actor, "has two ready pods", |seen| seen.ready == Some(2))
        .await
}

fn pods(actor: &str) -> [String; 2] {
    ["a", "b"].map(|pod| format!("{actor}-{pod}"))
}

/// The status of a pod whose runtime ends with an exit code, again and again.
fn crashing(code: i32) -> Value {
    let end = json!({"exitCode": code, "reason": "Error"});
    let wait = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    status(&json!([state("asya-runtime", &wait, Some(end))]))
}

#[test]
fn a_missing_workload_is_reported() {
    FIXTURE.run(async |fixture| {
        fixture.make_health("absent", "Deployment", "absent").await;
        let health = fixture
            .until("absent", "reports that there is no workload", |health| {
                is_false_with(health, READY, "Deployment \"absent\" does not exist")
            })
            .await;
        assert_eq!(
            json!(health.status.at_provider),
            json!({"ready": 0, "failing": 0, "total": 0, "everReady": false})
        );
    });
}

#[test]
fn ready_pods_are_counted() {
    FIXTURE.run(async |fixture| {
        let health = make_ready(fixture, "counted").await;
        assert_eq!(
            json!(health.status.at_provider),
            json!({"ready": 2, "failing": 0, "total": 2, "desired": 2, "everReady": true})
        );
        assert!(is_true(&health, READY) && is_true(&health, SYNCED));
    });
}

#[test]
fn each_failure_of_pods_has_its_status() {
    FIXTURE.run(async |fixture| {
        make_ready(fixture, "failing").await;
    let waiting = |container: &str, reason: &str, message: &str| {
        status(&json!([state(
            container,
            &json!({"waiting": {"reason": reason, "message": message}}),
            None
        )]))
    };
    let crashing = |container: &str, code: i32| {
        let wait = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}});
        let end = json!({"exitCode": code, "reason": "Error"});
        status(&json!([state(container, &wait, Some(end))]))
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
    for (reason, container, message, failing, status) in cases {
        for name in &pods("failing") {
            fixture.write_status(name, status.clone()).await;
        }
        let health = fixture
            .until_observed("failing", reason, |seen| {
                seen.signal
                    .as_ref()
                    .is_some_and(|signal| signal.reason == reason && signal.pods == Some(2))
            })
            .await;
        let seen = health.status.at_provider;
        let signal = seen.signal.unwrap();
        assert_eq!(signal.container.as_deref(), container, "{reason}");
        assert_eq!(signal.message, message, "{reason}");
        assert_eq!(
            (seen.ready, seen.failing, seen.total),
            (Some(0), Some(failing), Some(2)),
            "{reason}"
        );
        assert!(seen.ever_ready, "{reason}: it was ready before");
    }
    });
}

/// Each triggers a reconciliation.
#[test]
fn more_restarts_of_a_crashing_container_write_nothing() {
    FIXTURE.run_alone(async |fixture| {
        make_ready(fixture, "unchanged").await;
        fixture.write_status("unchanged-a", crashing(3)).await;
        fixture
            .until_observed("unchanged", "has a signal", |seen| seen.signal.is_some())
            .await;
        let before = fixture.get("unchanged").await;
        for restarts in 10..30 {
            let reconciliations = fixture.reconciliations();
            fixture.restart("unchanged-a", restarts).await;
            rig::until("the object is reconciled", || async {
                (fixture.reconciliations() > reconciliations).then_some(())
            })
            .await;
        }
        let after = fixture.get("unchanged").await;
        assert_eq!(before.resource_version(), after.resource_version());
    });
}

#[test]
fn many_changes_make_few_writes_and_the_last_one_is_reported() {
    FIXTURE.run_alone(async |fixture| {
        make_ready(fixture, "busy").await;
        let versions = Arc::new(Mutex::new(Vec::new()));
        let (seen, api) = (versions.clone(), fixture.api::<ActorHealth>());
        let before = fixture.get("busy").await.resource_version();
        let watch = tokio::spawn(async move {
            let mut changes = std::pin::pin!(
                watcher(api, watcher::Config::default().fields("metadata.name=busy"))
                    .applied_objects()
            );
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
            let reconciliations = fixture.reconciliations();
            for name in &pods("busy") {
                fixture.write_status(name, crashing(code)).await;
            }
            rig::until("the object is reconciled", || async {
                (fixture.reconciliations() > reconciliations).then_some(())
            })
            .await;
        }
        fixture
            .until_observed("busy", "reports the last exit code", |seen| {
                let signal = seen.signal.as_ref();
                signal.is_some_and(|signal| signal.message == "exit code 119")
            })
            .await;
        let most = start.elapsed().as_millis() / INTERVAL.as_millis() + 2;
        let written = versions.lock().unwrap().len();
        assert!(written as u128 <= most, "{written} writes, at most {most}");
        watch.abort();
    });
}

#[test]
fn a_paused_object_keeps_its_status_until_it_is_resumed() {
    FIXTURE.run_alone(async |fixture| {
        make_ready(fixture, "paused").await;
        for name in &pods("paused") {
            fixture.write_status(name, crashing(3)).await;
        }
        fixture
            .until_observed("paused", "has no ready pod", |seen| seen.ready == Some(0))
            .await;
        let pause =
            |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
        fixture
            .change::<ActorHealth>("paused", pause(json!("true")))
            .await;
        fixture
            .until("paused", "is paused", |health| {
                is_false_with(health, SYNCED, "reconciliation is paused")
            })
            .await;
        for name in &pods("paused") {
            let reconciliations = fixture.reconciliations();
            fixture.write_status(name, running()).await;
            rig::until("the pod is noticed", || async {
                (fixture.reconciliations() > reconciliations).then_some(())
            })
            .await;
        }
        assert_eq!(
            fixture.get("paused").await.status.at_provider.ready,
            Some(0)
        );
        fixture
            .change::<ActorHealth>("paused", pause(Value::Null))
            .await;
        let health = fixture
            .until_observed("paused", "is followed again", |seen| seen.ready == Some(2))
            .await;
        assert!(is_true(&health, SYNCED));
        assert_eq!(health.status.at_provider.signal, None);
    });
}

#[test]
fn a_failing_pod_of_a_former_revision_sets_no_signal() {
    FIXTURE.run(async |fixture| {
        make_ready(fixture, "revised").await;
        fixture.write_status("revised-b", crashing(1)).await;
        fixture
            .until_observed("revised", "has a crash", |seen| seen.signal.is_some())
            .await;
        fixture.make_revision("revised", 2, "bbb").await;
        let health = fixture
            .until_observed("revised", "has no signal", |seen| seen.signal.is_none())
            .await;
        let seen = health.status.at_provider;
        assert_eq!(
            (seen.ready, seen.failing, seen.total),
            (Some(1), Some(1), Some(2))
        );
        fixture.delete::<Pod>("revised-b").await;
        fixture
            .until_observed("revised", "has one pod", |seen| seen.total == Some(1))
            .await;
    });
}

#[test]
fn the_last_scaling_is_recorded() {
    FIXTURE.run(async |fixture| {
        make_ready(fixture, "scaled").await;
        for (from, to, direction) in [(2, 0, "Down"), (0, 1, "Up"), (1, 3, "Up"), (3, 5, "Up")] {
            let replicas = json!({"spec": {"replicas": to}});
            fixture.change::<Deployment>("scaled", replicas).await;
            let health = fixture
                .until_observed("scaled", "is scaled", |seen| seen.desired == Some(to))
                .await;
            let scale = health.status.at_provider.last_scale.unwrap();
            assert_eq!((scale.from, scale.to), (from, to));
            assert_eq!(scale.direction, direction);
            scale.time.parse::<Timestamp>().unwrap();
        }
    });
}

#[test]
fn a_volume_that_blocks_a_pod_is_named() {
    FIXTURE.run(async |fixture| {
        make_ready(fixture, "blocked").await;
        let volumes = json!([{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}]);
        fixture
            .make_pod("blocked", "blocked-stuck", "aaa", volumes)
            .await;
        let creating = json!({"waiting": {"reason": "ContainerCreating"}});
        let mut stuck = status(&json!([state("asya-runtime", &creating, None)]));
        let now = |ago: i64| format!("{:.0}", Timestamp::now() - ago.seconds());
        stuck["conditions"] = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": now(0)},
        {"type": "PodReadyToStartContainers", "status": "False", "lastTransitionTime": now(0)}]);
        fixture.write_status("blocked-stuck", stuck).await;
        let message = |text: &'static str| {
            move |seen: &AtProvider| {
                let signal = seen.signal.as_ref();
                signal.is_some_and(|signal| {
                    signal.reason == "VolumeError" && signal.message.contains(text)
                })
            }
        };
        // Nothing changes any more: the object is reconciled by time.
        let missing = message("PersistentVolumeClaim \"models\" is not there");
        fixture
            .until_observed("blocked", "misses the claim", missing)
            .await;
        let claim = json!({"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
        fixture
            .make::<PersistentVolumeClaim>("models", &json!({}), claim)
            .await;
        let unbound =
            message("PersistentVolumeClaim \"models\" is Pending (storage class \"fast\")");
        fixture
            .until_observed("blocked", "sees it wait", unbound)
            .await;
        let claims = fixture.api::<PersistentVolumeClaim>();
        let bound = Patch::Merge(json!({"status": {"phase": "Bound"}}));
        let written = claims
            .patch_status("models", &PatchParams::default(), &bound)
            .await;
        written.unwrap();
        let unknown = message("no container could be started");
        fixture
            .until_observed("blocked", "knows no culprit", unknown)
            .await;
        fixture.delete::<Pod>("blocked-stuck").await;
        fixture
            .until_observed("blocked", "is well", |seen| seen.signal.is_none())
            .await;
    });
}

#[test]
fn a_foreign_scaler_is_named_and_the_actor_s_own_sets_the_desired_replicas() {
    FIXTURE.run(async |fixture| {
        make_ready(fixture, "claimed").await;
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "claimed"});
    let spec = json!({"spec": {"scaleTargetRef": target, "maxReplicas": 4}});
    let own = json!({"asya.sh/actor": "claimed"});
    fixture
        .make::<HorizontalPodAutoscaler>("of-our-own", &own, spec.clone())
        .await;
    fixture
        .make::<HorizontalPodAutoscaler>("by-hand", &json!({}), spec)
        .await;
    let health = fixture
        .until_observed("claimed", "names a scaler", |seen| {
            seen.foreign_scaler.is_some()
        })
        .await;
    let foreign = json!(health.status.at_provider.foreign_scaler);
    let named = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "name": "by-hand"});
    assert_eq!(foreign, named);
    let seen = Patch::Merge(json!({"status": {"currentReplicas": 2, "desiredReplicas": 7}}));
    let api = fixture.api::<HorizontalPodAutoscaler>();
    let written = api
        .patch_status("of-our-own", &PatchParams::default(), &seen)
        .await;
    written.unwrap();
    fixture
        .until_observed("claimed", "asks for what its HPA wants", |seen| {
            seen.desired == Some(7)
        })
        .await;
    for name in ["of-our-own", "by-hand"] {
        fixture.delete::<HorizontalPodAutoscaler>(name).await;
    }
    fixture
        .until_observed("claimed", "names none", |seen| {
            seen.foreign_scaler.is_none() && seen.desired == Some(2)
        })
        .await;
    });
}

#[test]
fn a_foreign_scaled_object_is_named_once_keda_is_installed() {
    FIXTURE.run(async |fixture| {
        make_ready(fixture, "kedaless").await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"metadata": {"name": "scaledobjects.keda.sh"}, "spec": {
        "group": "keda.sh", "scope": "Namespaced",
        "names": {"kind": "ScaledObject", "plural": "scaledobjects"},
        "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
    let definitions = Api::all(fixture.client.clone());
    let made = definitions
        .create(&PostParams::default(), &definition)
        .await;
    made.unwrap();
    let kind = GroupVersionKind::gvk("keda.sh", "v1alpha1", "ScaledObject");
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> =
        Api::namespaced_with(fixture.client.clone(), NAMESPACE, &resource);
    let object = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "theirs", "labels": {"asya.sh/actor": "another"}},
        "spec": {"scaleTargetRef": {"name": "kedaless"}, "triggers": [{"type": "cron", "metadata": {}}]}});
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    rig::until("a ScaledObject is made", || async {
        api.create(&PostParams::default(), &object).await.ok()
    })
    .await;
    fixture
        .until_observed("kedaless", "names the ScaledObject", |seen| {
            let scaler = seen.foreign_scaler.as_ref();
            scaler.is_some_and(|scaler| scaler.kind == "ScaledObject" && scaler.name == "theirs")
        })
        .await;
    });
}

#[test]
fn a_bound_foreign_workload_is_observed() {
    FIXTURE.run(async |fixture| {
    let template = json!({"metadata": {"labels": {"app": "llm"}}, "spec": {"containers": [{"name": "llm", "image": "llm:1"}]}});
    let spec = json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "llm"}}, "template": template}});
    fixture
        .make::<Deployment>("llm", &json!({"app": "llm"}), spec)
        .await;
    fixture.make_health("bound", "Deployment", "llm").await;
    let health = fixture
        .until_observed("bound", "knows the replicas", |seen| {
            seen.desired == Some(2)
        })
        .await;
    assert!(is_true(&health, READY));
    fixture
        .change::<Deployment>("llm", json!({"spec": {"replicas": 3}}))
        .await;
    fixture
        .until_observed("bound", "has the new replicas", |seen| seen.desired == Some(3))
        .await;
    });
}

#[test]
fn only_pods_of_the_update_revision_of_a_statefulset_set_a_signal() {
    FIXTURE.run(async |fixture| {
    let labels = json!({"app.kubernetes.io/name": "kept", "asya.sh/actor": "kept"});
    let spec = json!({"spec": {"replicas": 2, "serviceName": "kept", "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "asya-runtime", "image": "my-org/kept:1"}]}}}});
    fixture.make::<StatefulSet>("kept", &labels, spec).await;
    let present = Patch::Merge(json!({"status": {"replicas": 2, "updateRevision": "kept-bbb"}}));
    let api = fixture.api::<StatefulSet>();
    let written = api
        .patch_status("kept", &PatchParams::default(), &present)
        .await;
    written.unwrap();
    for (name, revision) in [("kept-0", "kept-aaa"), ("kept-1", "kept-bbb")] {
        let key = "controller-revision-hash";
        fixture.make_pod("kept", name, "", json!([])).await;
        let label = json!({"metadata": {"labels": {key: revision, "pod-template-hash": null}}});
        fixture.change::<Pod>(name, label).await;
        let wait = json!({"waiting": {"reason": "CreateContainerConfigError", "message": name}});
        let status = status(&json!([state("asya-runtime", &wait, None)]));
        fixture.write_status(name, status).await;
    }
    fixture.make_health("kept", "StatefulSet", "kept").await;
    fixture
        .until_observed("kept", "reports the update revision", |seen| {
            let signal = seen.signal.as_ref();
            signal.is_some_and(|signal| signal.message == "kept-1" && signal.pods == Some(1))
        })
        .await;
    });
}
