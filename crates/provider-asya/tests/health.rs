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

use std::sync::{Arc, Mutex};
use std::time::Instant;

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
use rig::health_fixture::{
    HealthFixture, INTERVAL, NAMESPACE, is_true, running, says, state, status,
};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actor_health_follows_pods_workloads_and_scalers() {
    if rig::is_skipped("ActorHealth objects") {
        return;
    }
    let fixture = HealthFixture::start().await;
    an_actor_without_a_workload_says_so(&fixture).await;
    pods_that_work_are_counted(&fixture).await;
    every_fault_of_a_pod_has_its_word(&fixture).await;
    nothing_is_written_while_nothing_changes(&fixture).await;
    many_changes_make_few_writes_and_the_last_one_is_told(&fixture).await;
    a_paused_object_stays_as_it_is(&fixture).await;
    pods_of_a_former_revision_are_forgiven(&fixture).await;
    scaling_is_history(&fixture).await;
    a_volume_is_found_in_time_and_by_name(&fixture).await;
    other_peoples_scalers_are_named(&fixture).await;
    keda_is_noticed_when_it_comes(&fixture).await;
    other_peoples_workloads_are_looked_at(&fixture).await;
    a_statefulset_tells_its_own_revision(&fixture).await;
}

async fn an_actor_without_a_workload_says_so(fixture: &HealthFixture) {
    fixture.make_health("echo", "Deployment", "echo").await;
    let health = fixture
        .until("echo", "says that there is no workload", |health| {
            says(health, READY, "Deployment \"echo\" does not exist")
        })
        .await;
    assert_eq!(
        json!(health.status.at_provider),
        json!({"ready": 0, "failing": 0, "total": 0, "everReady": false})
    );
}

async fn pods_that_work_are_counted(fixture: &HealthFixture) {
    fixture.make_deployment("echo", 2).await;
    fixture.make_revision("echo", 1, "aaa").await;
    for name in ["echo-a", "echo-b"] {
        fixture.make_pod("echo", name, "aaa", json!([])).await;
        fixture.write_status(name, running()).await;
    }
    let health = fixture
        .until_seen("echo", "has two ready pods", |seen| seen.ready == Some(2))
        .await;
    assert_eq!(
        json!(health.status.at_provider),
        json!({"ready": 2, "failing": 0, "total": 2, "desired": 2, "everReady": true})
    );
    assert!(is_true(&health, READY) && is_true(&health, SYNCED));
}

async fn every_fault_of_a_pod_has_its_word(fixture: &HealthFixture) {
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
    for (word, container, message, failing, status) in cases {
        for name in ["echo-a", "echo-b"] {
            fixture.write_status(name, status.clone()).await;
        }
        let health = fixture
            .until_seen("echo", word, |seen| {
                seen.signal
                    .as_ref()
                    .is_some_and(|signal| signal.reason == word && signal.pods == Some(2))
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
async fn nothing_is_written_while_nothing_changes(fixture: &HealthFixture) {
    let before = fixture.get("echo").await;
    for restarts in 10..30 {
        let passes = fixture.passes();
        fixture.restart("echo-a", restarts).await;
        rig::until("a pass is made", || async {
            (fixture.passes() > passes).then_some(())
        })
        .await;
    }
    let after = fixture.get("echo").await;
    assert_eq!(before.resource_version(), after.resource_version());
}

async fn many_changes_make_few_writes_and_the_last_one_is_told(fixture: &HealthFixture) {
    let versions = Arc::new(Mutex::new(Vec::new()));
    let (seen, api) = (versions.clone(), fixture.api::<ActorHealth>());
    let before = fixture.get("echo").await.resource_version();
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
        let passes = fixture.passes();
        for name in ["echo-a", "echo-b"] {
            let end = json!({"exitCode": code, "reason": "Error"});
            let wait = json!({"waiting": {"reason": "CrashLoopBackOff"}});
            let status = status(&json!([state("asya-runtime", &wait, Some(end))]));
            fixture.write_status(name, status).await;
        }
        rig::until("a pass is made", || async {
            (fixture.passes() > passes).then_some(())
        })
        .await;
    }
    fixture
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

async fn a_paused_object_stays_as_it_is(fixture: &HealthFixture) {
    let pause =
        |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
    fixture
        .change::<ActorHealth>("echo", pause(json!("true")))
        .await;
    fixture
        .until("echo", "is paused", |health| {
            says(health, SYNCED, "reconciliation is paused")
        })
        .await;
    for name in ["echo-a", "echo-b"] {
        let passes = fixture.passes();
        fixture.write_status(name, running()).await;
        rig::until("the pod is noticed", || async {
            (fixture.passes() > passes).then_some(())
        })
        .await;
    }
    assert_eq!(fixture.get("echo").await.status.at_provider.ready, Some(0));
    fixture
        .change::<ActorHealth>("echo", pause(Value::Null))
        .await;
    let health = fixture
        .until_seen("echo", "is followed again", |seen| seen.ready == Some(2))
        .await;
    assert!(is_true(&health, SYNCED));
    assert_eq!(health.status.at_provider.signal, None);
}

async fn pods_of_a_former_revision_are_forgiven(fixture: &HealthFixture) {
    let end = json!({"exitCode": 1, "reason": "Error"});
    let wait = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    let crash = status(&json!([state("asya-runtime", &wait, Some(end))]));
    fixture.write_status("echo-b", crash).await;
    fixture
        .until_seen("echo", "has a crash", |seen| seen.signal.is_some())
        .await;
    fixture.make_revision("echo", 2, "bbb").await;
    let health = fixture
        .until_seen("echo", "forgives it", |seen| seen.signal.is_none())
        .await;
    let seen = health.status.at_provider;
    assert_eq!(
        (seen.ready, seen.failing, seen.total),
        (Some(1), Some(1), Some(2))
    );
    fixture.delete::<Pod>("echo-b").await;
    fixture
        .until_seen("echo", "has one pod", |seen| seen.total == Some(1))
        .await;
}

async fn scaling_is_history(fixture: &HealthFixture) {
    for (from, to, direction) in [(2, 0, "Down"), (0, 1, "Up"), (1, 3, "Up"), (3, 5, "Up")] {
        let replicas = json!({"spec": {"replicas": to}});
        fixture.change::<Deployment>("echo", replicas).await;
        let health = fixture
            .until_seen("echo", "is scaled", |seen| seen.desired == Some(to))
            .await;
        let scale = health.status.at_provider.last_scale.unwrap();
        assert_eq!((scale.from, scale.to), (from, to));
        assert_eq!(scale.direction, direction);
        scale.time.parse::<Timestamp>().unwrap();
    }
}

async fn a_volume_is_found_in_time_and_by_name(fixture: &HealthFixture) {
    let volumes = json!([{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}]);
    fixture.make_pod("echo", "echo-stuck", "bbb", volumes).await;
    let creating = json!({"waiting": {"reason": "ContainerCreating"}});
    let mut stuck = status(&json!([state("asya-runtime", &creating, None)]));
    let now = |ago: i64| format!("{:.0}", Timestamp::now() - ago.seconds());
    stuck["conditions"] = json!([
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": now(0)},
        {"type": "PodReadyToStartContainers", "status": "False", "lastTransitionTime": now(0)}]);
    fixture.write_status("echo-stuck", stuck).await;
    let message = |text: &'static str| {
        move |seen: &AtProvider| {
            let signal = seen.signal.as_ref();
            signal.is_some_and(|signal| {
                signal.reason == "VolumeError" && signal.message.contains(text)
            })
        }
    };
    // Nothing changes any more: the passes come by themselves.
    let missing = message("PersistentVolumeClaim \"models\" is not there");
    fixture
        .until_seen("echo", "misses the claim", missing)
        .await;
    let claim = json!({"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    fixture
        .make::<PersistentVolumeClaim>("models", &json!({}), claim)
        .await;
    let unbound = message("PersistentVolumeClaim \"models\" is Pending (storage class \"fast\")");
    fixture.until_seen("echo", "sees it wait", unbound).await;
    let claims = fixture.api::<PersistentVolumeClaim>();
    let bound = Patch::Merge(json!({"status": {"phase": "Bound"}}));
    let written = claims
        .patch_status("models", &PatchParams::default(), &bound)
        .await;
    written.unwrap();
    let unknown = message("no container could be started");
    fixture
        .until_seen("echo", "knows no culprit", unknown)
        .await;
    fixture.delete::<Pod>("echo-stuck").await;
    fixture
        .until_seen("echo", "is well", |seen| seen.signal.is_none())
        .await;
}

async fn other_peoples_scalers_are_named(fixture: &HealthFixture) {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "echo"});
    let spec = json!({"spec": {"scaleTargetRef": target, "maxReplicas": 4}});
    let own = json!({"asya.sh/actor": "echo"});
    fixture
        .make::<HorizontalPodAutoscaler>("of-our-own", &own, spec.clone())
        .await;
    fixture
        .make::<HorizontalPodAutoscaler>("by-hand", &json!({}), spec)
        .await;
    let health = fixture
        .until_seen("echo", "names a scaler", |seen| {
            seen.foreign_scaler.is_some()
        })
        .await;
    let foreign = json!(health.status.at_provider.foreign_scaler);
    let named = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "name": "by-hand"});
    assert_eq!(foreign, named);
    let seen = Patch::Merge(json!({"status": {"currentReplicas": 5, "desiredReplicas": 7}}));
    let api = fixture.api::<HorizontalPodAutoscaler>();
    let written = api
        .patch_status("of-our-own", &PatchParams::default(), &seen)
        .await;
    written.unwrap();
    fixture
        .until_seen("echo", "asks for what its HPA wants", |seen| {
            seen.desired == Some(7)
        })
        .await;
    for name in ["of-our-own", "by-hand"] {
        fixture.delete::<HorizontalPodAutoscaler>(name).await;
    }
    fixture
        .until_seen("echo", "names none", |seen| {
            seen.foreign_scaler.is_none() && seen.desired == Some(5)
        })
        .await;
}

async fn keda_is_noticed_when_it_comes(fixture: &HealthFixture) {
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
        "spec": {"scaleTargetRef": {"name": "echo"}, "triggers": [{"type": "cron", "metadata": {}}]}});
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    rig::until("a ScaledObject is made", || async {
        api.create(&PostParams::default(), &object).await.ok()
    })
    .await;
    fixture
        .until_seen("echo", "names the ScaledObject", |seen| {
            let scaler = seen.foreign_scaler.as_ref();
            scaler.is_some_and(|scaler| scaler.kind == "ScaledObject" && scaler.name == "theirs")
        })
        .await;
}

async fn other_peoples_workloads_are_looked_at(fixture: &HealthFixture) {
    let template = json!({"metadata": {"labels": {"app": "llm"}}, "spec": {"containers": [{"name": "llm", "image": "llm:1"}]}});
    let spec = json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "llm"}}, "template": template}});
    fixture
        .make::<Deployment>("llm", &json!({"app": "llm"}), spec)
        .await;
    fixture.make_health("bound", "Deployment", "llm").await;
    let health = fixture
        .until_seen("bound", "knows the replicas", |seen| {
            seen.desired == Some(2)
        })
        .await;
    assert!(is_true(&health, READY));
    fixture
        .change::<Deployment>("llm", json!({"spec": {"replicas": 3}}))
        .await;
    fixture
        .until_seen("bound", "looks again", |seen| seen.desired == Some(3))
        .await;
}

async fn a_statefulset_tells_its_own_revision(fixture: &HealthFixture) {
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
        .until_seen("kept", "tells of the present revision", |seen| {
            let signal = seen.signal.as_ref();
            signal.is_some_and(|signal| signal.message == "kept-1" && signal.pods == Some(1))
        })
        .await;
}
