//! WorkloadBinding objects that are refused: without the right, for a second actor, for a taken name, or
//! with a template that the API server refuses.

use crate::rig::binding_fixture::{
    BINDINGS, BindingFixture, containers, has_condition, settled, template, timings, workload,
};
use crate::rig::shared;
use actor::binding::{ObjectReference, TARGET_RESOLVED};
use actor::managed::{READY, SYNCED};
use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use provider_asya::binding::intent::{self, Addition};
use provider_asya::binding::refusal::{self, Rejection};
use provider_asya::kinds::WorkloadBinding;
use serde_json::json;

#[test]
fn nothing_is_injected_before_the_right_is_granted() {
    shared::run("WorkloadBinding objects without rights", async {
        let mut fixture = BindingFixture::start(timings()).await;
        fixture.provide().await;
        let site = fixture.site("forbidden").await;
        let before = site.make("Deployment", "llm").await;
        site.bind(
            "embedder",
            "Deployment",
            "llm",
            Some(template("embedder", "a:1")),
        )
        .await;
        let text = "is not allowed to patch Deployment (apps) in namespace \"forbidden\": grant it";
        let refused = site.until_condition("embedder", "Forbidden", text).await;
        assert!(has_condition(&refused, SYNCED, "Forbidden", text));
        assert!(
            has_condition(&refused, TARGET_RESOLVED, "Resolved", ""),
            "it can be read"
        );
        let version = refused.resource_version();
        let again = site.until_reconciled("embedder", "1").await;
        assert_ne!(version, again.resource_version(), "the token is written");
        assert_eq!(
            settled(site.get("Deployment", "llm").await),
            settled(before.clone())
        );
        let knative = json!({"actor": "other", "strategy": "Adapter",
        "targetRef": {"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "name": "phi"}});
        site.make_binding("other", knative).await;
        site.until_condition("other", "KindNotServed", "serves no Workspace (kaito.sh)")
            .await;
        site.bind("idle", "Deployment", "llm", Some(template("idle", "a:1")))
            .await;
        site.until_condition("idle", "Forbidden", text).await;
        site.delete::<WorkloadBinding>("idle").await;
        site.until_deleted::<WorkloadBinding>("idle").await;
        fixture.grant("rbac-binding.yaml").await;
        site.until_ready("embedder").await;
        site.delete::<WorkloadBinding>("embedder").await;
        site.until_deleted::<WorkloadBinding>("embedder").await;
        assert_eq!(
            settled(site.get("Deployment", "llm").await),
            settled(before)
        );
    });
}

/// Between observation and apply a workload may be deleted, or another may take its name.
#[test]
fn an_apply_for_a_replaced_or_missing_workload_changes_nothing() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("between").await;
        let there = site.make("Deployment", "there").await;
        let template = template("embedder", "a:1");
        let addition = Addition {
            namespace: "between",
            actor: "embedder",
            template: template.as_object().unwrap(),
        };
        let manager = PatchParams::apply("provider.asya.sh/embedder");
        for name in ["there", "missing"] {
            let workload = ObjectReference {
                api_version: "apps/v1".to_owned(),
                kind: "Deployment".to_owned(),
                name: name.to_owned(),
            };
            let uid = "2f0e5c5a-0000-4000-8000-000000000000";
            for intent in [
                addition.intent(&workload, uid),
                intent::empty(&workload, uid),
            ] {
                let (workloads, intent) = (site.workloads("Deployment"), Patch::Apply(intent));
                let applied = workloads.patch(name, &manager, &intent).await;
                let Err(kube::Error::Api(status)) = applied else {
                    panic!("{name}: {applied:?}");
                };
                let answer = refusal::read(&status, &workload, "between");
                assert_eq!(answer, Some(Rejection::Replaced), "{name}: {status:?}");
            }
        }
        let all = site
            .api::<Deployment>()
            .list(&ListParams::default())
            .await
            .unwrap();
        assert_eq!(all.items.len(), 1, "nothing was made");
        assert_eq!(site.get("Deployment", "there").await, there);
    });
}

#[test]
fn a_second_actor_waits_for_the_first() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("rivals").await;
        site.make("Deployment", "llm").await;
        site.bind("first", "Deployment", "llm", Some(template("first", "a:1")))
            .await;
        site.until_ready("first").await;
        site.bind(
            "second",
            "Deployment",
            "llm",
            Some(template("second", "b:1")),
        )
        .await;
        let text = "actor \"first\" is already bound to Deployment \"llm\"";
        let refused = site.until_condition("second", "AlreadyBound", text).await;
        assert!(has_condition(&refused, TARGET_RESOLVED, "Resolved", ""));
        site.delete::<WorkloadBinding>("first").await;
        site.until_deleted::<WorkloadBinding>("first").await;
        site.until_ready("second").await;
        let bound = site.get("Deployment", "llm").await;
        assert_eq!(bound["metadata"]["labels"]["asya.sh/bound-to"], "second");
        assert_eq!(
            bound["spec"]["template"]["spec"]["containers"][1]["image"],
            "b:1"
        );
    });
}

#[test]
fn a_second_binding_of_an_actor_is_refused() {
    BINDINGS.run(async |fixture| {
    let site = fixture.site("twins").await;
    site.make("Deployment", "llm").await;
    site.make("Deployment", "other").await;
    site.bind(
        "embedder",
        "Deployment",
        "llm",
        Some(template("embedder", "a:1")),
    )
    .await;
    site.until_ready("embedder").await;
    let second = json!({"actor": "embedder", "strategy": "Inject", "template": template("embedder", "a:1"),
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}});
    site.make_binding("later", second).await;
    let text = "WorkloadBinding \"embedder\" already binds actor \"embedder\"";
    site.until_condition("later", "AlreadyBound", text).await;
    site.delete::<WorkloadBinding>("later").await;
    site.until_deleted::<WorkloadBinding>("later").await;
    let binding = site.until_reconciled("embedder", "1").await;
    assert!(
        has_condition(&binding, READY, "Available", ""),
        "the first is left in peace"
    );
    assert_eq!(containers(&site.get("Deployment", "llm").await).len(), 3);
    });
}

#[test]
fn a_workload_that_cannot_be_injected_into_is_refused_with_the_reason() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("closed").await;
        let containers = json!([{"name": "llm", "image": "llm:1"}]);
        let mut object = workload("Deployment", "llm", &containers);
        object["spec"]["selector"]["matchExpressions"] =
            json!([{"key": "tier", "operator": "DoesNotExist"}]);
        let object = serde_json::from_value(object).unwrap();
        let made = site
            .workloads("Deployment")
            .create(&PostParams::default(), &object)
            .await;
        let before = json!(made.unwrap());
        site.bind(
            "embedder",
            "Deployment",
            "llm",
            Some(template("embedder", "a:1")),
        )
        .await;
        let text = "nothing can be injected into the pods of Deployment \"llm\": ";
        let refused = site.until_condition("embedder", "Refused", text).await;
        assert!(has_condition(&refused, TARGET_RESOLVED, "Resolved", ""));
        assert!(has_condition(
            &refused,
            READY,
            "Refused",
            "use binding.strategy Adapter"
        ));
        assert_eq!(
            settled(site.get("Deployment", "llm").await),
            settled(before)
        );
    });
}

#[test]
fn a_taken_container_name_is_refused_with_its_field_manager() {
    BINDINGS.run(async |fixture| {
    let site = fixture.site("taken").await;
    let own =
        json!([{"name": "llm", "image": "llm:1"}, {"name": "asya-sidecar", "image": "theirs:1"}]);
    let before = site.make_with("Deployment", "llm", &own).await;
    site.bind(
        "embedder",
        "Deployment",
        "llm",
        Some(template("embedder", "a:1")),
    )
    .await;
    let text = "of Deployment \"llm\" belongs to field manager \"owner\"";
    let refused = site.until_condition("embedder", "FieldTaken", text).await;
    assert!(has_condition(
        &refused,
        READY,
        "FieldTaken",
        "containers[name=\"asya-sidecar\"].image"
    ));
    assert_eq!(
        settled(site.get("Deployment", "llm").await),
        settled(before),
        "nothing is added in part"
    );
    let freed = workload(
        "Deployment",
        "llm",
        &json!([{"name": "llm", "image": "llm:1"}]),
    );
    let freed = json!({"spec": {"template": {"spec": freed["spec"]["template"]["spec"]}}});
    site.change::<Deployment>("llm", freed).await;
    site.until_ready("embedder").await;
    });
}

#[test]
fn a_refusal_of_the_api_server_is_reported_once_with_its_message() {
    BINDINGS.run(async |fixture| {
        let site = fixture.site("refused").await;
        let before = site.make("Deployment", "llm").await;
        let mut wrong = template("embedder", "a:1");
        wrong["spec"]["containers"][1]["volumeMounts"][0]["name"] = json!("nowhere");
        site.bind("embedder", "Deployment", "llm", Some(wrong))
            .await;
        site.until_condition(
            "embedder",
            "Refused",
            "the API server refuses the template that is injected into Deployment \"llm\"",
        )
        .await;
        let refused = site
            .until_condition("embedder", "Refused", "\"nowhere\"")
            .await;
        let mut unknown = template("embedder", "a:1");
        unknown["spec"]["containers"][1]["colour"] = json!("red");
        site.bind("painter", "Deployment", "llm", Some(unknown))
            .await;
        site.until_condition("painter", "Refused", "colour").await;
        let events = site.warnings("embedder").await;
        assert_eq!(events.len(), 1, "reported once: {events:?}");
        assert!(refused.status.at_provider.resolved_target.is_some());
        assert_eq!(
            settled(site.get("Deployment", "llm").await),
            settled(before)
        );
    });
}
