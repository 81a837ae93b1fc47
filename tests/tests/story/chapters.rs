//! Chapters in the life of an actor.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use actor::{KEDA_API_VERSION, PROVIDER_API_VERSION};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use test_cluster::crossplane::condition;
use tests::live_actor::Live;

use crate::ends;
use crate::world::{TIMEOUT, World, is_true, status};

/// An actor is applied: all its objects are created, and its statuses come in order.
pub(crate) async fn create<'a>(world: &'a World, name: &str, spec: &Value) -> Live<'a> {
    let mut live = Live::apply(&world.stack, name, spec).await;
    live.patience = TIMEOUT;
    let statuses = Mutex::new(Vec::new());
    let listen = async {
        loop {
            record(&statuses, status(&live.read().await));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let settle = async {
        world
            .until(&live, "from apply to all objects", async || {
                live.has_all_objects().await
            })
            .await;
        world
            .until_settled(&live, "and until it has nothing to do")
            .await;
    };
    tokio::select! {
        () = settle => {}
        () = listen => {}
    }
    record(&statuses, status(&live.read().await));
    let statuses = statuses.into_inner().expect("nobody panics with it");
    println!("           its statuses: {}", statuses.join(", "));
    check_statuses(world, &statuses);
    live
}

/// A new actor is first Creating and at last Napping; in between it may be Running and Updating.
fn check_statuses(world: &World, statuses: &[String]) {
    // KEDA may poll the queue before it exists, and reports that until it polls again.
    let is_problem = |status: &&String| {
        let is_error = status.ends_with("Error") && *status != "ScalingError";
        is_error || *status == "Degraded"
    };
    let problem = statuses.iter().find(is_problem);
    assert_eq!(problem, None, "a new actor has no problem: {statuses:?}");
    let first = statuses.first().map(String::as_str);
    assert_eq!(first, Some("Creating"), "{statuses:?}");
    if world.has_keda("scaling to zero of a new actor") {
        let last = statuses.last().map(String::as_str);
        assert_eq!(last, Some("Napping"), "{statuses:?}");
    }
}

/// Appends a status that differs from the last one.
fn record(statuses: &Mutex<Vec<String>>, now: &str) {
    let mut statuses = statuses.lock().expect("nobody panics with it");
    if !now.is_empty() && statuses.last().is_none_or(|last| last != now) {
        statuses.push(now.to_owned());
    }
}

/// A message comes, and KEDA wakes the workload; without KEDA it was never put to sleep.
pub(crate) async fn scale_from_zero(world: &World, live: &Live<'_>) {
    assert!(world.publish(&live.name).await, "a queue is bound");
    if !world.has_keda("a pod for a message") {
        return;
    }
    world
        .until(live, "from message to replica 1", async || {
            replicas(live).await == 1
        })
        .await;
    world
        .until(live, "and until it runs", async || {
            status(&live.read().await) == "Running"
        })
        .await;
}

/// The handler crashes, and the actor reports it.
pub(crate) async fn crash(world: &World, live: &Live<'_>) {
    world.kubelet.report(&live.name, "crashing").await;
    world
        .until(
            live,
            "from the crash of its pod to the status",
            async || status(&live.read().await) == "RuntimeError",
        )
        .await;
    world.kubelet.report(&live.name, "running").await;
    world
        .until(live, "from its end to the status", async || {
            let found = live.read().await;
            is_true(&found, "WorkloadReady") && status(&found) != "RuntimeError"
        })
        .await;
}

/// The image is changed: the workload follows; queue and message stay.
pub(crate) async fn update(world: &World, live: &Live<'_>, spec: &mut Value) {
    let queue = queue_object(live).await;
    spec["image"] = json!("my-org/echo:2");
    change(live, spec, "image").await;
    world
        .until(live, "from a new image to the Deployment", async || {
            runtime(live).await["image"] == "my-org/echo:2"
        })
        .await;
    assert_eq!(queue_object(live).await, queue, "the queue is not touched");
    assert_eq!(world.waiting(&live.name).await, 1, "the message waits");
}

/// A flavor is changed while the actor has no pods: it follows at its next reconciliation.
pub(crate) async fn change_a_flavor(world: &World, live: &Live<'_>) {
    let flavors = world
        .stack
        .api("apiextensions.crossplane.io/v1beta1", "EnvironmentConfig")
        .await;
    let data = json!({"data": {"env": [{"name": "GREETING", "value": "good morning"}]}});
    let patched = flavors
        .patch(
            "greeting",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(&data),
        )
        .await;
    patched.expect("the flavor is changed");
    world
        .until(
            live,
            "from a changed flavor to the Deployment",
            async || {
                let env = runtime(live).await["env"].take();
                let env = env.as_array().expect("variables").clone();
                env.contains(&json!({"name": "GREETING", "value": "good morning"}))
            },
        )
        .await;
}

/// A flavor is named that nobody has published: nothing changes until it comes.
pub(crate) async fn wait_for_a_flavor(world: &World, live: &Live<'_>, spec: &mut Value) {
    let before = runtime(live).await;
    spec["flavors"] = json!(["quick", "greeting", "later"]);
    change(live, spec, "flavors").await;
    world
        .until(live, "from a missing flavor to the status", async || {
            status(&live.read().await) == "Waiting"
        })
        .await;
    assert_eq!(runtime(live).await, before, "what runs stays as it is");
    let later = json!({
        "apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": {"name": "later"}, "data": {"podLabels": {"tier": "later"}}});
    world.stack.apply(&later).await;
    world
        .until(live, "from its coming to the Deployment", async || {
            let found = deployment(live).await;
            found["spec"]["template"]["metadata"]["labels"]["tier"] == "later"
        })
        .await;
}

/// Somebody deletes the Deployment, and it comes back.
pub(crate) async fn lose_the_workload(world: &World, live: &Live<'_>) {
    let before = deployment(live).await["metadata"]["uid"].take();
    let deployments = world.stack.api("apps/v1", "Deployment").await;
    let deleted = deployments
        .delete(&live.name, &DeleteParams::default())
        .await;
    deleted.expect("the Deployment is deleted");
    world
        .until(live, "from a deleted Deployment to a new one", async || {
            let found = deployments.get_opt(&live.name).await.expect("an answer");
            found.is_some_and(|found| json!(found.metadata.uid) != before)
        })
        .await;
    world
        .until(live, "and until its pod runs", async || {
            is_true(&live.read().await, "WorkloadReady")
        })
        .await;
}

/// The last message is done, and KEDA puts the workload to sleep.
pub(crate) async fn scale_to_zero(world: &World, live: &Live<'_>) {
    world.purge(&live.name).await;
    if world.has_keda("scaling to zero") {
        world
            .until(live, "from the last message to replica 0", async || {
                replicas(live).await == 0
            })
            .await;
    }
    world
        .until_settled(live, "and until it has nothing to do")
        .await;
}

/// Somebody deletes the queue at the broker: it comes back, and messages reach it again.
pub(crate) async fn lose_the_queue(world: &World, live: &Live<'_>) {
    world.delete_queue(&live.name).await;
    world
        .until(live, "from a deleted queue to a new one", async || {
            world.has_queue(&live.name).await
        })
        .await;
    world
        .until(live, "and until messages reach it", async || {
            world.publish(&live.name).await
        })
        .await;
    world.purge(&live.name).await;
    world
        .until_settled(live, "and until it has nothing to do")
        .await;
}

/// A mistake in the spec: the actor reports it and nothing changes; then it is repaired.
pub(crate) async fn make_a_mistake(world: &World, live: &Live<'_>, spec: &Value) {
    let before = live.objects().await;
    let bad = json!({"spec": {"scaling": {"advanced": {"formula": "queue"}}}});
    live.patch(&bad).await.expect("the API server sees nothing");
    world
        .until(live, "from a mistake to the status", async || {
            status(&live.read().await) == "ConfigError"
        })
        .await;
    assert_eq!(live.objects().await, before, "what runs stays as it is");
    change(live, spec, "scaling").await;
    world
        .until_settled(live, "from its repair to the status")
        .await;
    assert_eq!(live.objects().await, before, "and afterwards too");
}

/// The platform's default transport is changed: it holds for new actors, and for them alone.
pub(crate) async fn change_the_platform(world: &World, live: &Live<'_>, spec: &Value) {
    let before = without_versions(live.objects().await);
    let mut settings = world.platform().pop().expect("the platform's settings");
    settings["data"]["defaultTransport"] = json!("sqs");
    world.stack.apply(&settings).await;
    world
        .until(live, "from a changed platform to the message", async || {
            let found = live.read().await;
            let message = condition(&found, "TransportReady").map(|found| &found["message"]);
            let message = message.and_then(Value::as_str).unwrap_or_default();
            message.contains(r#"transport "rabbitmq" (settings: "sqs")"#)
        })
        .await;
    let newer = create(world, "newer", spec).await;
    let queue = queue_object(&newer).await;
    assert_eq!(queue["spec"]["providerConfigRef"]["name"], "sqs");
    wake_by_sqs(world, &newer).await;
    ends::delete_from_sqs(world, &newer).await;
    let after = without_versions(live.objects().await);
    assert_eq!(after, before, "live actors are not touched");
}

/// The objects of an actor without the versions of its EnvironmentConfigs, which its ActorHealth
/// records.
fn without_versions(mut objects: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    for (name, object) in &mut objects {
        if name.starts_with("ActorHealth ") {
            object["generation"].take();
            object["spec"]["forProvider"]["environmentConfigs"].take();
        }
    }
    objects
}

/// A message comes to an actor whose queue is at SQS.
async fn wake_by_sqs(world: &World, live: &Live<'_>) {
    world.send_by_sqs(&live.name).await;
    world
        .until(live, "from message at SQS to its count", async || {
            live.read().await["status"]["queue"]["queued"] == 1
        })
        .await;
    if world.has_keda("a pod for a message at SQS") {
        world
            .until(live, "and until a pod runs", async || {
                replicas(live).await == 1 && status(&live.read().await) == "Running"
            })
            .await;
    }
}

/// Gives a field of the live spec the value that it has here, or takes it out.
async fn change(live: &Live<'_>, spec: &Value, field: &str) {
    let patched = live.patch(&json!({"spec": {field: spec[field]}})).await;
    patched.expect("the API server takes it");
    live.check_that_the_spec_is_as_the_user_wrote_it(spec).await;
}

async fn deployment(live: &Live<'_>) -> Value {
    let deployments = live.stack.api("apps/v1", "Deployment").await;
    json!(deployments.get(&live.name).await.expect("a Deployment"))
}

/// Returns the number of pods that the Deployment asks for.
async fn replicas(live: &Live<'_>) -> u64 {
    let found = deployment(live).await;
    found["spec"]["replicas"].as_u64().expect("a number")
}

/// The container `asya-runtime` of the Deployment.
async fn runtime(live: &Live<'_>) -> Value {
    let mut found = deployment(live).await;
    let containers = found["spec"]["template"]["spec"]["containers"].take();
    let containers = containers.as_array().cloned().unwrap_or_default();
    let mut runtimes = containers
        .into_iter()
        .filter(|container| container["name"] == "asya-runtime");
    runtimes.next().expect("a runtime")
}

/// The Queue, less its status.
async fn queue_object(live: &Live<'_>) -> Value {
    let queues = live.stack.api(PROVIDER_API_VERSION, "Queue").await;
    let found = json!(queues.get(&live.name).await.expect("a Queue"));
    json!({"uid": found["metadata"]["uid"], "spec": found["spec"]})
}

/// Returns whether anything of an actor that scales is left.
pub(crate) async fn has_scalers(live: &Live<'_>) -> bool {
    for kind in ["ScaledObject", "TriggerAuthentication"] {
        let of_actor = format!("asya.sh/actor={}", live.name);
        let api = live.stack.api(KEDA_API_VERSION, kind).await;
        let listed = api
            .list(&kube::api::ListParams::default().labels(&of_actor))
            .await;
        if !listed.expect("a list").items.is_empty() {
            return true;
        }
    }
    false
}
