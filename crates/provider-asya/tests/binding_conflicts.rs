//! WorkloadBinding objects on a real API server, on workloads whose controllers do as they please.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Duration;

use actor::binding::CONFLICTS_MAX;
use actor::managed::READY;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use provider_asya::kinds::WorkloadBinding;
use provider_asya::timings::Timings;
use rig::binding_fixture::{
    BindingFixture, OWNER, Site, containers, generation, says, template, timings, workload,
};
use rig::reverter::{Habit, Reverter};
use serde_json::{Value, json};

/// How long it must be quiet, in this test, until conflicts are forgotten: longer than all
/// waits between them, and short enough to wait for.
const QUIET: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_owns_the_workload_wins_in_the_end() {
    if rig::is_skipped("conflicts of WorkloadBinding objects") {
        return;
    }
    let timings = Timings {
        conflict_quiet: QUIET,
        ..timings()
    };
    let mut fixture = BindingFixture::start(timings).await;
    fixture.grant("rbac-binding.yaml").await;
    fixture.provide().await;
    a_controller_that_never_touches_is_no_conflict(&fixture).await;
    a_controller_that_reverts_is_given_way_to(&fixture).await;
    a_controller_that_replaces_is_given_way_to(&fixture).await;
    what_is_removed_once_is_put_back_and_forgotten(&fixture).await;
    a_workload_without_its_label_is_freed_too(&fixture).await;
    volumes_that_are_mounted_stop_their_controller(&fixture).await;
    volumes_that_nothing_mounts_are_a_conflict(&fixture).await;
    a_field_that_is_taken_over_is_told(&fixture).await;
    a_fight_goes_on_after_a_restart(&mut fixture).await;
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

async fn a_controller_that_never_touches_is_no_conflict(fixture: &BindingFixture) {
    let (site, reverter) = fight(fixture, "peaceful", Habit::NeverTouches).await;
    site.until_ready("embedder").await;
    site.change::<Deployment>("llm", json!({"spec": {"replicas": 7}}))
        .await;
    let restarted =
        json!({"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}});
    site.change::<Deployment>("llm", restarted).await;
    let binding = site.until_looked_at("embedder", "1").await;
    assert!(says(&binding, READY, "Available", ""));
    assert_eq!(binding.status.at_provider.conflict_count, Some(0));
    assert_eq!(binding.status.at_provider.last_conflict_time, None);
    assert_eq!(reverter.writes(), 0);
}

async fn a_controller_that_reverts_is_given_way_to(fixture: &BindingFixture) {
    let start = Timestamp::now();
    let (site, reverter) = fight(fixture, "reverted", Habit::Reverts).await;
    stopped(&site, start).await;
    assert_eq!(reverter.writes(), CONFLICTS_MAX + 1, "one for each time");
    let given_up = site.get("Deployment", "llm").await;
    assert_eq!(containers(&given_up), ["llm"]);
    for token in ["1", "2", "3"] {
        site.until_looked_at("embedder", token).await;
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
        "told once"
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
}

/// Waits until the provider has stopped, as it does after the sixth time.
async fn stopped(site: &Site, start: Timestamp) {
    let text = format!(
        "field manager {OWNER:?} removed what was injected into Deployment \"llm\" 6 times"
    );
    let binding = site.until_says("embedder", "GaveUp", &text).await;
    let known = binding.status.at_provider;
    assert_eq!(known.conflict_count, Some(CONFLICTS_MAX + 1));
    assert_eq!(known.observed_manager.as_deref(), Some(OWNER));
    let last: Timestamp = known.last_conflict_time.unwrap().parse().unwrap();
    assert!(last.as_second() >= start.as_second());
}

async fn a_controller_that_replaces_is_given_way_to(fixture: &BindingFixture) {
    let start = Timestamp::now();
    let (site, reverter) = fight(fixture, "replaced", Habit::Replaces).await;
    stopped(&site, start).await;
    let given_up = site.get("Deployment", "llm").await;
    assert_eq!(given_up["metadata"]["labels"], json!({"app": "llm"}));
    assert_eq!(reverter.writes(), CONFLICTS_MAX + 1);
    drop(reverter);
    // What is not there any more need not be taken away.
    site.delete::<WorkloadBinding>("embedder").await;
    site.until_gone::<WorkloadBinding>("embedder").await;
}

async fn what_is_removed_once_is_put_back_and_forgotten(fixture: &BindingFixture) {
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
                && says(binding, READY, "Available", "")
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
            && says(binding, READY, "Available", "")
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
}

/// Whoever takes the label off a workload makes it no less ours to clean up.
async fn a_workload_without_its_label_is_freed_too(fixture: &BindingFixture) {
    let (site, reverter) = fight(fixture, "unlabelled", Habit::Unlabels).await;
    stopped(&site, Timestamp::now()).await;
    drop(reverter);
    assert_eq!(containers(&site.get("Deployment", "llm").await).len(), 3);
    site.delete::<WorkloadBinding>("embedder").await;
    site.until_gone::<WorkloadBinding>("embedder").await;
    let freed = site.get("Deployment", "llm").await;
    assert_eq!(containers(&freed), ["llm"]);
    assert_eq!(freed["metadata"]["annotations"], json!({"team": "models"}));
}

/// Why injecting is refused on KAITO.
async fn volumes_that_are_mounted_stop_their_controller(fixture: &BindingFixture) {
    let (site, reverter) = fight(fixture, "mounted", Habit::RewritesVolumes).await;
    site.until_ready("embedder").await;
    rig::until("the controller is refused", || async {
        (reverter.refusals() > 0).then_some(())
    })
    .await;
    assert_eq!(reverter.writes(), 0);
    let binding = site.until_looked_at("embedder", "1").await;
    assert_eq!(binding.status.at_provider.conflict_count, Some(0));
}

async fn volumes_that_nothing_mounts_are_a_conflict(fixture: &BindingFixture) {
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
    site.until_gone::<WorkloadBinding>("embedder").await;
    assert_eq!(containers(&site.get("Deployment", "llm").await), ["llm"]);
}

async fn a_field_that_is_taken_over_is_told(fixture: &BindingFixture) {
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
    let refused = site.until_says("embedder", "FieldTaken", text).await;
    assert!(says(
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
}

async fn a_fight_goes_on_after_a_restart(fixture: &mut BindingFixture) {
    let start = Timestamp::now();
    let (site, reverter) = fight(fixture, "restarted", Habit::Reverts).await;
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
}
