//! WorkloadBinding objects on a real API server: what is added to workloads of others, and that it
//! is taken away again. The provider has the rights of `install/provider-asya` alone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use actor::binding::TARGET_RESOLVED;
use actor::managed::{FINALIZER, READY, SYNCED};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams};
use provider_asya::kinds::WorkloadBinding;
use rig::binding_fixture::{
    BindingFixture, OWNER, Site, containers, generation, says, settled, template, timings, uid,
};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workloads_are_bound_and_left_as_they_were() {
    if rig::is_skipped("WorkloadBinding objects") {
        return;
    }
    let mut fixture = BindingFixture::start(timings()).await;
    fixture.grant("rbac-binding.yaml").await;
    fixture.provide().await;
    for kind in ["Deployment", "StatefulSet"] {
        what_is_added_stands_beside_what_was_there(&fixture, kind).await;
    }
    an_adapter_leaves_its_target_alone(&fixture).await;
    another_target_or_strategy_frees_the_former(&fixture).await;
    a_target_that_is_not_there_is_never_made(&fixture).await;
    a_target_that_is_made_anew_is_bound_anew(&fixture).await;
    a_kind_is_noticed_once_it_is_served(&fixture).await;
    policies_are_kept(&fixture).await;
    foreign_scalers_are_named(&fixture).await;
    what_went_while_the_provider_was_down_is_taken_away(&mut fixture).await;
}

async fn what_is_added_stands_beside_what_was_there(fixture: &BindingFixture, kind: &str) {
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
        site.until_looked_at("embedder", token).await;
    }
    let after = site.get(kind, "llm").await;
    assert_eq!(
        after["metadata"]["resourceVersion"], bound["metadata"]["resourceVersion"],
        "passes write nothing"
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
    site.until_gone::<WorkloadBinding>("embedder").await;
    let mut expected = settled(before);
    expected["spec"]["replicas"] = json!(5);
    assert_eq!(
        settled(site.get(kind, "llm").await),
        expected,
        "what was added is gone, and nothing else"
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
    let binding = site.until_looked_at("embedder", "rolling").await;
    assert_eq!(binding.status.at_provider.rolled_out_generation, None);
    write(status(2, 2)).await;
    site.until("embedder", "is rolled out", |binding| {
        binding.status.at_provider.rolled_out_generation == binding.metadata.generation
    })
    .await;
}

async fn an_adapter_leaves_its_target_alone(fixture: &BindingFixture) {
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
    site.until_gone::<WorkloadBinding>("embedder").await;
}

async fn another_target_or_strategy_frees_the_former(fixture: &BindingFixture) {
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
        .until_says("embedder", "TargetNotFound", "\"missing\"")
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
}

async fn a_target_that_is_not_there_is_never_made(fixture: &BindingFixture) {
    let site = fixture.site("absent").await;
    site.bind(
        "embedder",
        "Deployment",
        "llm",
        Some(template("embedder", "a:1")),
    )
    .await;
    let text = "there is no Deployment \"llm\"";
    let missing = site.until_says("embedder", "TargetNotFound", text).await;
    assert!(says(&missing, TARGET_RESOLVED, "TargetNotFound", text));
    for token in ["1", "2", "3"] {
        site.until_looked_at("embedder", token).await;
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
    site.until_gone::<Deployment>("llm").await;
    let gone = site.until_says("embedder", "TargetNotFound", text).await;
    assert!(
        gone.status.at_provider.resolved_target.is_some(),
        "the last answer stays"
    );
    site.delete::<WorkloadBinding>("embedder").await;
    site.until_gone::<WorkloadBinding>("embedder").await;
}

async fn a_target_that_is_made_anew_is_bound_anew(fixture: &BindingFixture) {
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
    site.until_gone::<Deployment>("llm").await;
    let another = site.make("Deployment", "llm").await;
    let binding = site
        .until("embedder", "knows the new one", |binding| {
            let known = &binding.status.at_provider;
            known.uid.as_deref() == uid(&another) && says(binding, READY, "Available", "")
        })
        .await;
    assert_eq!(
        binding.status.at_provider.conflict_count,
        Some(0),
        "nobody has removed anything"
    );
    assert_eq!(containers(&site.get("Deployment", "llm").await).len(), 3);
}

async fn a_kind_is_noticed_once_it_is_served(fixture: &BindingFixture) {
    let site = fixture.site("unserved").await;
    let target = json!({"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "name": "bert"});
    site.make_binding(
        "embedder",
        json!({"actor": "embedder", "strategy": "Adapter", "targetRef": target}),
    )
    .await;
    let text = "serves no InferenceService (serving.kserve.io): install its operator";
    let binding = site.until_says("embedder", "KindNotServed", text).await;
    assert!(
        says(&binding, SYNCED, "ReconcileSuccess", ""),
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
    site.until_says(
        "embedder",
        "TargetNotFound",
        "there is no InferenceService \"bert\"",
    )
    .await;
}

async fn policies_are_kept(fixture: &BindingFixture) {
    let site = fixture.site("policies").await;
    let before = site.make("Deployment", "llm").await;
    site.bind("embedder", "Deployment", "llm", None).await;
    let policies = |list: Value| json!({"spec": {"managementPolicies": list}});
    site.change::<WorkloadBinding>("embedder", policies(json!(["Observe"])))
        .await;
    let inject = json!({"spec": {"forProvider": {"strategy": "Inject", "template": template("embedder", "a:1")}}});
    site.change::<WorkloadBinding>("embedder", inject).await;
    site.until_says("embedder", "Creating", "has no \"Update\"")
        .await;
    assert_eq!(
        site.get("Deployment", "llm").await,
        before,
        "it is only looked at"
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
        says(binding, SYNCED, "ReconcilePaused", "")
    })
    .await;
    let image = json!({"spec": {"forProvider": {"template": template("embedder", "a:2")}}});
    site.change::<WorkloadBinding>("embedder", image).await;
    site.until("embedder", "is looked at, paused", |binding| {
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
    site.until_gone::<WorkloadBinding>("embedder").await;
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
}

async fn foreign_scalers_are_named(fixture: &BindingFixture) {
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
}

async fn what_went_while_the_provider_was_down_is_taken_away(fixture: &mut BindingFixture) {
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
    site.until_gone::<WorkloadBinding>("forced").await;
    fixture.provide().await;
    site.until_gone::<WorkloadBinding>("deleted").await;
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
}
