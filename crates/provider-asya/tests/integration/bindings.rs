//! WorkloadBinding objects on a real API server: what is injected into foreign workloads, and that it is
//! removed again. The provider has only the rights of `install/provider-asya`.

use crate::rig::binding_fixture::{
    BINDINGS, BindingFixture, OWNER, Site, containers, generation, has_condition, settled,
    template, timings, uid,
};
use crate::rig::{self, shared};
use actor::binding::TARGET_RESOLVED;
use actor::managed::{FINALIZER, READY, SYNCED};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use provider_asya::kinds::WorkloadBinding;
use serde_json::{Value, json};

#[test]
fn containers_are_injected_into_a_deployment_and_removed_with_the_binding() {
    BINDINGS.run(async |fixture| injected_and_removed(fixture, "Deployment").await);
}

#[test]
fn containers_are_injected_into_a_statefulset_and_removed_with_the_binding() {
    BINDINGS.run(async |fixture| injected_and_removed(fixture, "StatefulSet").await);
}

async fn injected_and_removed(fixture: &BindingFixture, kind: &str) {
    let site = fixture
        .site(&format!("bound-{}", kind.to_lowercase()))
        .await;
    let before = site.make(kind, "llm").await;
    site.bind("embedder", kind, "llm", Some(template("embedder", "a:1")))
        .await;
    let binding = site.until_ready("embedder").await;
    let bound = site.get(kind, "llm").await;
    let reference = json!({"apiVersion": "apps/v1", "kind": kind, "name": "llm"});
    assert_eq!(
        json!(binding.status.at_provider),
        json!({"targetRef": reference, "resolvedTarget": reference, "uid": uid(&bound),
            "podSelector": {"app": "llm"}, "scaleTarget": reference, "observedManager": OWNER,
            "conflictCount": 0})
    );
    assert_eq!(binding.finalizers(), [FINALIZER]);
    assert_eq!(
        containers(&bound),
        ["llm", "asya-runtime", "asya-sidecar"],
        "the model stays first"
    );
    assert_eq!(
        bound["metadata"]["labels"],
        json!({"app": "llm", "asya.sh/bound-to": "embedder"})
    );
    let marked =
        json!({"team": "models", "asya.sh/managed-by": format!("{}/embedder", site.namespace)});
    assert_eq!(bound["metadata"]["annotations"], marked);
    assert_eq!(bound["metadata"]["ownerReferences"], Value::Null);
    let labels = &bound["spec"]["template"]["metadata"]["labels"];
    assert_eq!(*labels, json!({"app": "llm", "asya.sh/actor": "embedder"}));

    for token in ["1", "2", "3", "4", "5"] {
        site.until_reconciled("embedder", token).await;
    }
    let after = site.get(kind, "llm").await;
    assert_eq!(
        after["metadata"]["resourceVersion"], bound["metadata"]["resourceVersion"],
        "reconciliations write nothing"
    );

    a_rollout_is_followed(&site, kind, &bound).await;
    let changed = json!({"spec": {"forProvider": {"template": template("embedder", "a:2")}}});
    site.change::<WorkloadBinding>("embedder", changed).await;
    let binding = site.until_ready("embedder").await;
    let changed = site.get(kind, "llm").await;
    assert_eq!(
        changed["spec"]["template"]["spec"]["containers"][1]["image"],
        "a:2"
    );
    assert_eq!(
        generation(&changed),
        generation(&bound).map(|old| old + 1),
        "one rollout"
    );
    assert_eq!(
        binding.status.at_provider.rolled_out_generation,
        Some(1),
        "pods of the former template are left"
    );

    let (workloads, parameters) = (site.workloads(kind), PatchParams::default());
    let scaled = Patch::Merge(json!({"spec": {"replicas": 5}}));
    workloads.patch("llm", &parameters, &scaled).await.unwrap();
    site.delete::<WorkloadBinding>("embedder").await;
    site.until_deleted::<WorkloadBinding>("embedder").await;
    let mut expected = settled(before);
    expected["spec"]["replicas"] = json!(5);
    assert_eq!(
        settled(site.get(kind, "llm").await),
        expected,
        "what was injected is removed, and nothing else"
    );
}

async fn a_rollout_is_followed(site: &Site, kind: &str, bound: &Value) {
    let status = |updated: u32, total: u32| {
        json!({"status": {"observedGeneration": generation(bound), "replicas": total,
            "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": updated}})
    };
    let write = |status: Value| async move {
        let (workloads, parameters) = (site.workloads(kind), PatchParams::default());
        let status = Patch::Merge(status);
        let written = workloads.patch_status("llm", &parameters, &status).await;
        written.unwrap();
    };
    write(status(1, 3)).await;
    let binding = site.until_reconciled("embedder", "rolling").await;
    assert_eq!(binding.status.at_provider.rolled_out_generation, None);
    write(status(2, 2)).await;
    site.until("embedder", "is rolled out", |binding| {
        binding.status.at_provider.rolled_out_generation == binding.metadata.generation
    })
    .await;
}

#[test]
fn an_adapter_changes_nothing_of_its_target() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("adapter").await;
        let before = site.make("Deployment", "llm").await;
        site.bind("embedder", "Deployment", "llm", None).await;
        let binding = site.until_ready("embedder").await;
        let known = &binding.status.at_provider;
        assert_eq!(
            (known.conflict_count, known.uid.as_deref()),
            (None, uid(&before))
        );
        assert_eq!(
            binding.finalizers().len(),
            0,
            "there is nothing to take away"
        );
        assert_eq!(site.get("Deployment", "llm").await, before);
        site.delete::<WorkloadBinding>("embedder").await;
        site.until_deleted::<WorkloadBinding>("embedder").await;
    });
}

#[test]
fn another_target_or_strategy_restores_the_former_target() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("moves").await;
        let first = site.make("Deployment", "first").await;
        let second = site.make("Deployment", "second").await;
        site.bind(
            "embedder",
            "Deployment",
            "first",
            Some(template("embedder", "a:1")),
        )
        .await;
        site.until_ready("embedder").await;
        let target = |name: &str| json!({"spec": {"forProvider": {"targetRef": {"name": name}}}});
        site.change::<WorkloadBinding>("embedder", target("missing"))
            .await;
        let lost = site
            .until_condition("embedder", "TargetNotFound", "\"missing\"")
            .await;
        assert!(
            lost.status.at_provider.is_unknown(),
            "nothing of the former target is reported"
        );
        assert_eq!(
            settled(site.get("Deployment", "first").await),
            settled(first.clone())
        );
        site.change::<WorkloadBinding>("embedder", target("second"))
            .await;
        site.until_ready("embedder").await;
        assert_eq!(containers(&site.get("Deployment", "second").await).len(), 3);
        let adapter = json!({"spec": {"forProvider": {"strategy": "Adapter", "template": null}}});
        site.change::<WorkloadBinding>("embedder", adapter).await;
        site.until_ready("embedder").await;
        assert_eq!(
            settled(site.get("Deployment", "second").await),
            settled(second)
        );
    });
}

#[test]
fn a_missing_target_is_reported_and_never_created() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("absent").await;
        site.bind(
            "embedder",
            "Deployment",
            "llm",
            Some(template("embedder", "a:1")),
        )
        .await;
        let text = "there is no Deployment \"llm\"";
        let missing = site
            .until_condition("embedder", "TargetNotFound", text)
            .await;
        assert!(has_condition(
            &missing,
            TARGET_RESOLVED,
            "TargetNotFound",
            text
        ));
        for token in ["1", "2", "3"] {
            site.until_reconciled("embedder", token).await;
        }
        let all = site
            .api::<Deployment>()
            .list(&ListParams::default())
            .await
            .unwrap();
        assert!(all.items.is_empty(), "nothing was made");
        site.make("Deployment", "llm").await;
        site.until_ready("embedder").await;
        site.delete::<Deployment>("llm").await;
        site.until_deleted::<Deployment>("llm").await;
        let missing_again = site
            .until_condition("embedder", "TargetNotFound", text)
            .await;
        assert!(
            missing_again.status.at_provider.resolved_target.is_some(),
            "the last answer stays"
        );
        site.delete::<WorkloadBinding>("embedder").await;
        site.until_deleted::<WorkloadBinding>("embedder").await;
    });
}

#[test]
fn a_recreated_target_is_bound_again() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("anew").await;
        site.make("Deployment", "llm").await;
        site.bind(
            "embedder",
            "Deployment",
            "llm",
            Some(template("embedder", "a:1")),
        )
        .await;
        site.until_ready("embedder").await;
        site.delete::<Deployment>("llm").await;
        site.until_deleted::<Deployment>("llm").await;
        let another = site.make("Deployment", "llm").await;
        let binding = site
            .until("embedder", "knows the new one", |binding| {
                let known = &binding.status.at_provider;
                known.uid.as_deref() == uid(&another)
                    && has_condition(binding, READY, "Available", "")
            })
            .await;
        assert_eq!(
            binding.status.at_provider.conflict_count,
            Some(0),
            "nobody has removed anything"
        );
        assert_eq!(containers(&site.get("Deployment", "llm").await).len(), 3);
    });
}

#[test]
fn a_kind_is_observed_once_it_is_served() {
    BINDINGS.run(async |fixture| {
    let site = fixture.site("unserved").await;
    let target = json!({"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "name": "bert"});
    site.make_binding(
        "embedder",
        json!({"actor": "embedder", "strategy": "Adapter", "targetRef": target}),
    )
    .await;
    let text = "serves no InferenceService (serving.kserve.io): install its operator";
    let binding = site.until_condition("embedder", "KindNotServed", text).await;
    assert!(
        has_condition(&binding, SYNCED, "ReconcileSuccess", ""),
        "that is no failure"
    );
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "inferenceservices.serving.kserve.io"}, "spec": {
        "group": "serving.kserve.io", "scope": "Namespaced",
        "names": {"kind": "InferenceService", "plural": "inferenceservices"},
        "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    test_cluster::objects::apply(&fixture.client, &definition)
        .await
        .unwrap();
    site.until_condition(
        "embedder",
        "TargetNotFound",
        "there is no InferenceService \"bert\"",
    )
    .await;
    });
}

#[test]
fn management_policies_and_pause_are_respected() {
    BINDINGS.run(async |fixture| {
    let site = fixture.site("policies").await;
    let before = site.make("Deployment", "llm").await;
    site.bind("embedder", "Deployment", "llm", None).await;
    let policies = |list: Value| json!({"spec": {"managementPolicies": list}});
    site.change::<WorkloadBinding>("embedder", policies(json!(["Observe"])))
        .await;
    let inject = json!({"spec": {"forProvider": {"strategy": "Inject", "template": template("embedder", "a:1")}}});
    site.change::<WorkloadBinding>("embedder", inject).await;
    site.until_condition("embedder", "Creating", "has no \"Update\"")
        .await;
    assert_eq!(
        site.get("Deployment", "llm").await,
        before,
        "it is only observed"
    );

    let keeping = ["Observe", "Create", "Update", "LateInitialize"];
    site.change::<WorkloadBinding>("embedder", policies(json!(keeping)))
        .await;
    site.until_ready("embedder").await;
    let bound = site.get("Deployment", "llm").await;
    let pause =
        |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
    site.change::<WorkloadBinding>("embedder", pause(json!("true")))
        .await;
    site.until("embedder", "is paused", |binding| {
        has_condition(binding, SYNCED, "ReconcilePaused", "")
    })
    .await;
    let image = json!({"spec": {"forProvider": {"template": template("embedder", "a:2")}}});
    site.change::<WorkloadBinding>("embedder", image).await;
    site.until("embedder", "is reconciled, paused", |binding| {
        binding.status.conditions.iter().any(|condition| {
            condition.reason == "ReconcilePaused"
                && condition.observed_generation == binding.metadata.generation
        })
    })
    .await;
    let version = |workload: &Value| workload["metadata"]["resourceVersion"].clone();
    assert_eq!(
        version(&site.get("Deployment", "llm").await),
        version(&bound),
        "a paused object does nothing"
    );
    site.change::<WorkloadBinding>("embedder", pause(Value::Null))
        .await;
    site.until_ready("embedder").await;

    let unpaused = site.get("Deployment", "llm").await;
    site.delete::<WorkloadBinding>("embedder").await;
    site.until_deleted::<WorkloadBinding>("embedder").await;
    let left = site.get("Deployment", "llm").await;
    assert_eq!(containers(&left).len(), 3, "what was added stays");
    assert_eq!(
        left["metadata"]["labels"],
        json!({"app": "llm"}),
        "and is the owner's"
    );
    assert_eq!(
        unpaused["spec"]["template"]["spec"]["containers"][1]["image"],
        "a:2"
    );
    assert_eq!(left["spec"], unpaused["spec"], "no pod is restarted for it");
    });
}

#[test]
fn a_foreign_scaler_of_the_target_is_reported() {
    BINDINGS.run(async |fixture| {
    let site = fixture.site("scaled").await;
    site.make("Deployment", "llm").await;
    let scaler = |name: &str, labels: Value| {
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name, "namespace": "scaled", "labels": labels},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"}}})
    };
    let own = scaler("own", json!({"asya.sh/actor": "embedder"}));
    test_cluster::objects::apply(&fixture.client, &own)
        .await
        .unwrap();
    site.bind(
        "embedder",
        "Deployment",
        "llm",
        Some(template("embedder", "a:1")),
    )
    .await;
    let binding = site.until_ready("embedder").await;
    assert_eq!(
        binding.status.at_provider.foreign_scaler, None,
        "the actor's own is none"
    );
    test_cluster::objects::apply(&fixture.client, &scaler("theirs", json!({})))
        .await
        .unwrap();
    let binding = site
        .until("embedder", "names a scaler", |binding| {
            binding.status.at_provider.foreign_scaler.is_some()
        })
        .await;
    let named = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "name": "theirs"});
    assert_eq!(json!(binding.status.at_provider.foreign_scaler), named);
    site.delete::<HorizontalPodAutoscaler>("theirs").await;
    site.until("embedder", "names none", |binding| {
        binding.status.at_provider.foreign_scaler.is_none()
    })
    .await;
    });
}

/// Otherwise the provider's write may collide with the one by which KEDA restores the replicas.
#[test]
fn a_target_is_restored_after_the_scalers_of_the_actor_are_deleted() {
    shared::run("WorkloadBinding objects", async {
        let fixture = BindingFixture::start_granted(timings()).await;
        fixture.cluster.install_keda().await;
        let site = fixture.site("kept").await;
        let before = site.make("Deployment", "llm").await;
        let scaler = json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": "embedder", "namespace": "kept",
                "labels": {"asya.sh/actor": "embedder"}, "finalizers": ["finalizer.keda.sh"]},
            "spec": {"scaleTargetRef": {"name": "llm"},
                "triggers": [{"type": "cpu", "metadata": {"value": "50"}}]}});
        test_cluster::objects::apply(&fixture.client, &scaler)
            .await
            .unwrap();
        let template = template("embedder", "a:1");
        site.bind("embedder", "Deployment", "llm", Some(template))
            .await;
        site.until_ready("embedder").await;
        site.delete::<WorkloadBinding>("embedder").await;
        let text = "waits until the actor's scalers are deleted";
        site.until_condition("embedder", "Deleting", text).await;
        let (scalers, _) = test_cluster::objects::api_of(&fixture.client, &scaler).await;
        let parameters = DeleteParams::default();
        scalers.delete("embedder", &parameters).await.unwrap();
        site.until_reconciled("embedder", "deleting").await;
        let bound = site.get("Deployment", "llm").await;
        assert_eq!(containers(&bound).len(), 3, "KEDA has not restored it yet");
        let restored = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let parameters = PatchParams::default();
        let restore = scalers.patch("embedder", &parameters, &restored);
        restore.await.unwrap();
        site.until_deleted::<WorkloadBinding>("embedder").await;
        assert_eq!(
            settled(site.get("Deployment", "llm").await),
            settled(before)
        );
    });
}

#[test]
fn workloads_are_restored_if_their_bindings_change_while_the_provider_is_down() {
    shared::run("WorkloadBinding objects", async {
        let mut fixture = BindingFixture::start_granted(timings()).await;
        let site = fixture.site("down").await;
        let mut before = Vec::new();
        for name in ["deleted", "moved", "forced", "elsewhere"] {
            before.push((name, settled(site.make("Deployment", name).await)));
            if name != "elsewhere" {
                site.bind(name, "Deployment", name, Some(template(name, "a:1")))
                    .await;
                site.until_ready(name).await;
            }
        }
        fixture.stop();
        site.delete::<WorkloadBinding>("deleted").await;
        let target = json!({"spec": {"forProvider": {"targetRef": {"name": "elsewhere"}}}});
        site.change::<WorkloadBinding>("moved", target).await;
        let forced = json!({"metadata": {"finalizers": null}});
        site.change::<WorkloadBinding>("forced", forced).await;
        site.delete::<WorkloadBinding>("forced").await;
        site.until_deleted::<WorkloadBinding>("forced").await;
        fixture.provide().await;
        site.until_deleted::<WorkloadBinding>("deleted").await;
        site.until_ready("moved").await;
        for (name, before) in before {
            if name == "elsewhere" {
                continue;
            }
            rig::until(&format!("{name} is as it was"), || async {
                let now = settled(site.get("Deployment", name).await);
                (now == before).then_some(())
            })
            .await;
        }
        assert_eq!(
            containers(&site.get("Deployment", "elsewhere").await).len(),
            3
        );
    });
}
