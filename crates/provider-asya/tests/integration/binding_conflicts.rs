//! WorkloadBinding objects on workloads whose controllers undo or change what is injected.

use crate::rig::{self, Shared, shared};
use std::time::Duration;

use crate::rig::binding_fixture::{
    BindingFixture, OWNER, Site, containers, generation, has_condition, template, timings, workload,
};
use crate::rig::reverter::{Habit, Reverter};
use actor::binding::CONFLICTS_MAX;
use actor::managed::READY;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use provider_asya::kinds::WorkloadBinding;
use provider_asya::timings::Timings;
use serde_json::{Value, json};

/// Time without conflicts after which they are forgotten, in this test: longer than all waits between
/// them, and short enough to wait for.
const QUIET: Duration = Duration::from_secs(8);

static FIXTURE: Shared<BindingFixture> = Shared::new("conflicts of bindings", || {
    Box::pin(BindingFixture::start_granted(conflict_timings()))
});

fn conflict_timings() -> Timings {
    Timings {
        conflict_quiet: QUIET,
        ..timings()
    }
}

/// A workload with a controller, and an actor bound to it.
async fn fight(fixture: &BindingFixture, namespace: &str, habit: Habit) -> (Site, Reverter) {
    let site = fixture.site(namespace).await;
    site.make("Deployment", "llm").await;
    let reverter = Reverter::start(&site, "llm", habit);
    let template = template("embedder", "a:1");
    site.bind("embedder", "Deployment", "llm", Some(template))
        .await;
    (site, reverter)
}

fn image(image: &str) -> Value {
    json!({"spec": {"forProvider": {"template": template("embedder", image)}}})
}

#[test]
fn other_changes_of_the_owner_are_no_conflict() {
    FIXTURE.run(async |fixture| {
        let (site, reverter) = fight(fixture, "peaceful", Habit::NeverTouches).await;
        site.until_ready("embedder").await;
        site.change::<Deployment>("llm", json!({"spec": {"replicas": 7}}))
            .await;
        let restarted =
            json!({"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}});
        site.change::<Deployment>("llm", restarted).await;
        let binding = site.until_reconciled("embedder", "1").await;
        assert!(has_condition(&binding, READY, "Available", ""));
        assert_eq!(binding.status.at_provider.conflict_count, Some(0));
        assert_eq!(binding.status.at_provider.last_conflict_time, None);
        assert_eq!(reverter.writes(), 0);
    });
}

#[test]
fn the_provider_gives_up_if_a_controller_reverts_again_and_again() {
    FIXTURE.run(async |fixture| {
        let start = Timestamp::now();
        let (site, reverter) = fight(fixture, "reverted", Habit::Reverts).await;
        stopped(&site, start).await;
        assert_eq!(reverter.writes(), CONFLICTS_MAX + 1, "one for each time");
        let given_up = site.get("Deployment", "llm").await;
        assert_eq!(containers(&given_up), ["llm"]);
        for token in ["1", "2", "3"] {
            site.until_reconciled("embedder", token).await;
        }
        let later = site.get("Deployment", "llm").await;
        assert_eq!(
            generation(&later),
            generation(&given_up),
            "nobody restarts pods any more"
        );
        assert_eq!(
            site.warnings_of("embedder", "GaveUp").await.len(),
            1,
            "reported once"
        );

        // A change of the spec is another try, with a count of its own.
        site.change::<WorkloadBinding>("embedder", image("a:2"))
            .await;
        site.until("embedder", "counts anew", |binding| {
            binding.status.at_provider.conflict_count < Some(CONFLICTS_MAX)
        })
        .await;
        stopped(&site, start).await;
        assert_eq!(reverter.writes(), 2 * (CONFLICTS_MAX + 1));

        drop(reverter);
        site.change::<WorkloadBinding>("embedder", image("a:3"))
            .await;
        let binding = site.until_ready("embedder").await;
        assert_eq!(binding.status.at_provider.conflict_count, Some(0));
        assert_eq!(containers(&site.get("Deployment", "llm").await).len(), 3);
    });
}

/// Waits until the provider has stopped, as it does after the sixth time.
async fn stopped(site: &Site, start: Timestamp) {
    let text = format!(
        "field manager {OWNER:?} removed what was injected into Deployment \"llm\" 6 times"
    );
    let binding = site.until_condition("embedder", "GaveUp", &text).await;
    let known = binding.status.at_provider;
    assert_eq!(known.conflict_count, Some(CONFLICTS_MAX + 1));
    assert_eq!(known.observed_manager.as_deref(), Some(OWNER));
    let last: Timestamp = known.last_conflict_time.unwrap().parse().unwrap();
    assert!(last.as_second() >= start.as_second());
}

#[test]
fn the_provider_gives_up_if_a_controller_replaces_the_workload_again_and_again() {
    FIXTURE.run(async |fixture| {
        let start = Timestamp::now();
        let (site, reverter) = fight(fixture, "replaced", Habit::Replaces).await;
        stopped(&site, start).await;
        let given_up = site.get("Deployment", "llm").await;
        assert_eq!(given_up["metadata"]["labels"], json!({"app": "llm"}));
        assert_eq!(reverter.writes(), CONFLICTS_MAX + 1);
        drop(reverter);
        // Nothing is left to remove.
        site.delete::<WorkloadBinding>("embedder").await;
        site.until_deleted::<WorkloadBinding>("embedder").await;
    });
}

#[test]
fn injected_containers_that_are_removed_once_are_restored_and_the_conflict_expires() {
    FIXTURE.run(async |fixture| {
        let site = fixture.site("once").await;
        site.make("Deployment", "llm").await;
        site.bind(
            "embedder",
            "Deployment",
            "llm",
            Some(template("embedder", "a:1")),
        )
        .await;
        site.until_ready("embedder").await;
        // As a helm upgrade or a change of base image does, once.
        let own = workload(
            "Deployment",
            "llm",
            &json!([{"name": "llm", "image": "llm:2"}]),
        );
        let own = json!({"spec": {"template": {"spec": own["spec"]["template"]["spec"]}}});
        site.change::<Deployment>("llm", own).await;
        let binding = site
            .until("embedder", "is back, with a conflict", |binding| {
                binding.status.at_provider.conflict_count == Some(1)
                    && has_condition(binding, READY, "Available", "")
            })
            .await;
        let last = binding.status.at_provider.last_conflict_time;
        let live = site.get("Deployment", "llm").await;
        assert_eq!(containers(&live).len(), 3);
        assert_eq!(
            live["spec"]["template"]["spec"]["containers"][0]["image"], "llm:2",
            "the owner's change stays"
        );
        // The label alone counts too: without it nobody would find what was added.
        let unlabelled = json!({"metadata": {"labels": {"asya.sh/bound-to": null}}});
        site.change::<Deployment>("llm", unlabelled).await;
        site.until("embedder", "is labelled again", |binding| {
            binding.status.at_provider.conflict_count == Some(2)
                && has_condition(binding, READY, "Available", "")
        })
        .await;
        let binding = site
            .until("embedder", "has a quiet time behind it", |binding| {
                binding.status.at_provider.conflict_count == Some(0)
            })
            .await;
        assert!(
            binding.status.at_provider.last_conflict_time >= last,
            "when it was stays known"
        );
    });
}

#[test]
fn a_workload_whose_label_was_removed_is_restored_with_its_binding() {
    FIXTURE.run(async |fixture| {
        let (site, reverter) = fight(fixture, "unlabelled", Habit::Unlabels).await;
        stopped(&site, Timestamp::now()).await;
        drop(reverter);
        assert_eq!(containers(&site.get("Deployment", "llm").await).len(), 3);
        site.delete::<WorkloadBinding>("embedder").await;
        site.until_deleted::<WorkloadBinding>("embedder").await;
        let freed = site.get("Deployment", "llm").await;
        assert_eq!(containers(&freed), ["llm"]);
        assert_eq!(freed["metadata"]["annotations"], json!({"team": "models"}));
    });
}

/// The reason why injection is refused on KAITO.
#[test]
fn a_controller_cannot_remove_volumes_that_injected_containers_mount() {
    FIXTURE.run(async |fixture| {
        let (site, reverter) = fight(fixture, "mounted", Habit::RewritesVolumes).await;
        site.until_ready("embedder").await;
        rig::until("the controller is refused", || async {
            (reverter.refusals() > 0).then_some(())
        })
        .await;
        assert_eq!(reverter.writes(), 0);
        let binding = site.until_reconciled("embedder", "1").await;
        assert_eq!(binding.status.at_provider.conflict_count, Some(0));
    });
}

#[test]
fn removed_volumes_that_nothing_mounts_are_a_conflict() {
    FIXTURE.run(async |fixture| {
        let site = fixture.site("unmounted").await;
        site.make("Deployment", "llm").await;
        let mut template = template("embedder", "a:1");
        for container in template["spec"]["containers"].as_array_mut().unwrap() {
            container["volumeMounts"] = json!([]);
        }
        let reverter = Reverter::start(&site, "llm", Habit::RewritesVolumes);
        site.bind("embedder", "Deployment", "llm", Some(template))
            .await;
        let start = Timestamp::now();
        stopped(&site, start).await;
        assert_eq!(reverter.refusals(), 0);
        let live = site.get("Deployment", "llm").await;
        assert_eq!(containers(&live).len(), 3, "what it leaves alone stays");
        drop(reverter);
        site.delete::<WorkloadBinding>("embedder").await;
        site.until_deleted::<WorkloadBinding>("embedder").await;
        assert_eq!(containers(&site.get("Deployment", "llm").await), ["llm"]);
    });
}

#[test]
fn a_field_that_another_manager_takes_over_is_reported_and_not_forced() {
    FIXTURE.run(async |fixture| {
    let site = fixture.site("overtaken").await;
    site.make("Deployment", "llm").await;
    site.bind(
        "embedder",
        "Deployment",
        "llm",
        Some(template("embedder", "a:1")),
    )
    .await;
    site.until_ready("embedder").await;
    let mut live = site.get("Deployment", "llm").await;
    live["spec"]["template"]["spec"]["containers"][2]["image"] = json!("theirs:1");
    let theirs = json!({"spec": {"template": {"spec": {"containers": live["spec"]["template"]["spec"]["containers"]}}}});
    site.change::<Deployment>("llm", theirs).await;
    let text = "containers[name=\"asya-sidecar\"].image";
    let refused = site.until_condition("embedder", "FieldTaken", text).await;
    assert!(has_condition(
        &refused,
        READY,
        "FieldTaken",
        "belongs to field manager \"owner\""
    ));
    let live = site.get("Deployment", "llm").await;
    assert_eq!(
        live["spec"]["template"]["spec"]["containers"][2]["image"], "theirs:1",
        "never by force"
    );
    });
}

#[test]
fn the_count_of_conflicts_survives_a_restart_of_the_provider() {
    shared::run("conflicts of bindings", async {
        let mut fixture = BindingFixture::start_granted(conflict_timings()).await;
        let start = Timestamp::now();
        let (site, reverter) = fight(&fixture, "restarted", Habit::Reverts).await;
        site.until("embedder", "has some conflicts", |binding| {
            binding.status.at_provider.conflict_count >= Some(2)
        })
        .await;
        fixture.stop();
        fixture.provide().await;
        stopped(&site, start).await;
        let writes = reverter.writes();
        assert!(
            (CONFLICTS_MAX + 1..=CONFLICTS_MAX + 2).contains(&writes),
            "a restart costs one uncounted time at most: {writes}"
        );
    });
}
