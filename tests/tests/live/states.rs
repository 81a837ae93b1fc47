//! States of an actor: statuses that controllers around it write, and what its user sees then.

use std::collections::BTreeMap;
use std::time::Instant;

use actor::{KEDA_API_VERSION, PROVIDER_API_VERSION};
use serde_json::{Value, json};
use test_cluster::crossplane::condition;
use test_cluster::objects;

use crate::data::{reason, with_times};
use tests::live_actor::Live;

/// Objects whose status a state may set, and under what key.
const SOURCES: [(&str, &str, &str); 4] = [
    ("queue", PROVIDER_API_VERSION, "Queue"),
    ("deployment", "apps/v1", "Deployment"),
    ("scaledObject", KEDA_API_VERSION, "ScaledObject"),
    ("health", PROVIDER_API_VERSION, "ActorHealth"),
];

/// Columns of `kubectl get asya`. The first is the table's own.
const NARROW: [&str; 10] = [
    "NAME",
    "STATUS",
    "RUNNING",
    "FAILING",
    "TOTAL",
    "DESIRED",
    "MIN",
    "MAX",
    "LAST-SCALE",
    "DIRECTION",
];

/// Columns that `-o wide` adds.
const WIDE: [&str; 5] = ["WORKLOAD", "TRANSPORT", "SCALING", "QUEUED", "PROCESSING"];

/// Core's own, which come last and of which the one before the last is wide.
const OF_CORE: [&str; 5] = [
    "SYNCED",
    "READY",
    "COMPOSITION",
    "COMPOSITIONREVISION",
    "AGE",
];

/// Brings the state about, waits until the actor reports it, and prints how long that took.
pub(crate) async fn check(live: &Live<'_>, state: &Value) {
    let reason = reason(state);
    if let Some(replicas) = state["scale"].as_u64() {
        live.scale(replicas).await;
    }
    for (key, api_version, kind) in SOURCES {
        if state[key].is_object() {
            let mut status = with_times(&state[key]);
            if kind == "Deployment" {
                status["observedGeneration"] = live.generation_of_deployment().await;
            }
            live.stack
                .write_status(api_version, kind, &live.name, &status)
                .await;
        }
    }
    for (name, status) in state["pods"].as_object().into_iter().flatten() {
        write_pod(live, name, &with_times(status)).await;
    }
    let start = Instant::now();
    let expected: BTreeMap<String, String> =
        serde_json::from_value(state["expected"].clone()).expect("columns");
    let part = state["message"].as_str().unwrap_or_default();
    let is_reported = |actor: &Value| {
        let status = condition(actor, "ActorReady").map(|ready| &ready["reason"]);
        let message = actor["status"]["message"].as_str().unwrap_or_default();
        status.is_some_and(|status| *status == expected["STATUS"]) && message.contains(part)
    };
    live.until(reason, is_reported).await;
    println!("reported after {:?}: {reason}", start.elapsed());
    check_columns(live, reason, expected).await;
}

/// Checks the columns and their order.
pub(crate) async fn check_heads(live: &Live<'_>) {
    let wide = [&NARROW[..], &WIDE, &OF_CORE].concat();
    let is_narrow = |name: &&str| !WIDE.contains(name) && *name != "COMPOSITIONREVISION";
    let narrow: Vec<&str> = wide.iter().copied().filter(is_narrow).collect();
    for (args, expected) in [(&["-o", "wide"][..], wide), (&[], narrow)] {
        let table = live.table(args).await;
        let heads: Vec<&str> = table
            .lines()
            .take(1)
            .flat_map(str::split_whitespace)
            .collect();
        assert_eq!(heads, expected);
    }
}

/// Returns whether a cell is as expected, where `an age` stands for any, such as `41d`.
fn is_as(cell: &str, expected: &str) -> bool {
    if expected == "an age" {
        cell.starts_with(|c: char| c.is_ascii_digit()) && cell.ends_with(['s', 'm', 'h', 'd', 'y'])
    } else {
        cell == expected
    }
}

/// Output of `kubectl`, with and without `-o wide`.
async fn check_columns(live: &Live<'_>, reason: &str, expected: BTreeMap<String, String>) {
    let (narrow, _): (BTreeMap<_, _>, BTreeMap<_, _>) = expected
        .clone()
        .into_iter()
        .partition(|(name, _)| NARROW.contains(&name.as_str()));
    for (args, expected) in [(&["-o", "wide"][..], &expected), (&[], &narrow)] {
        // The status may change before everything that was written is observed.
        let deadline = Instant::now() + test_cluster::TIMEOUT;
        loop {
            let shown = live.shown(args).await;
            let differs = |(name, expected): &(&String, &String)| {
                !shown.get(*name).is_some_and(|cell| is_as(cell, expected))
            };
            let wrong: BTreeMap<_, _> = expected.iter().filter(differs).collect();
            if wrong.is_empty() {
                break;
            }
            assert!(
                Instant::now() < deadline,
                "{reason}: expected {wrong:?} among {shown:?}"
            );
        }
    }
}

/// Makes a pod of the actor's workload, unless it is there, and writes its status as its
/// kubelet would.
async fn write_pod(live: &Live<'_>, name: &str, status: &Value) {
    let stack = live.stack;
    let deployments = stack.api("apps/v1", "Deployment").await;
    let deployment = json!(deployments.get(&live.name).await.expect("a Deployment"));
    let mut metadata = json!({
        "namespace": "default",
        "labels": deployment["spec"]["template"]["metadata"]["labels"].clone()});
    metadata["labels"]["pod-template-hash"] = json!("aaa");
    let labels = metadata["labels"].clone();

    let mut revision = metadata.clone();
    revision["name"] = json!(format!("{}-aaa", live.name));
    revision["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
    revision["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "Deployment", "name": live.name,
        "uid": deployment["metadata"]["uid"], "controller": true}]);
    let mut template = deployment["spec"]["template"].clone();
    template["metadata"]["labels"] = labels.clone();
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": revision,
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}});
    stack.apply(&revision).await;

    metadata["name"] = json!(name);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": deployment["spec"]["template"]["spec"]});
    // A namespace that is new has no ServiceAccount yet, and takes no pods.
    test_cluster::until(&format!("pod {name} is made"), || async {
        match objects::apply(&stack.client, &pod).await {
            Err(kube::Error::Api(status)) if status.is_forbidden() => None,
            made => Some(made.unwrap_or_else(|error| panic!("{name}: {error}"))),
        }
    })
    .await;
    stack.write_status("v1", "Pod", name, status).await;
}
