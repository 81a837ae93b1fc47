//! An actor on a foreign workload: bound, scaled to zero, and restored.

use kube::api::DeleteParams;
use serde_json::{Value, json};
use test_cluster::objects;
use tests::examples::documents;
use tests::live_actor::Live;
use tests::program::repository;

use crate::ends::until_nothing_is_left;
use crate::world::World;

/// The workload's name.
const MODEL: &str = "vllm";

/// An actor is bound to a Deployment of three replicas, which is scaled to zero without messages. It is
/// deleted then: the Deployment has its three replicas again, and nothing of the actor's.
pub(crate) async fn borrow_a_workload(world: &World) {
    let documents = documents(&repository().join("tests/story/borrowed.yaml"));
    let [deployment, spec] = documents.as_slice() else {
        panic!("a Deployment and a spec");
    };
    world.stack.apply(deployment).await;
    let before = desired_state(&model(world).await);

    let actor = world.stack.actor("llama-async", spec);
    world.stack.apply(&actor).await;
    let live = Live::of(&world.stack, "llama-async").await;
    grant_what_is_missing(world, &live).await;
    let names = ["vllm", "asya-runtime", "asya-sidecar"];
    world
        .until(
            &live,
            "from granting it to containers beside the model",
            async || containers(&model(world).await) == names,
        )
        .await;
    world
        .until_settled(&live, "and until it has nothing to do")
        .await;
    if world.has_keda("scaling of a bound workload") {
        assert_eq!(
            model(world).await["spec"]["replicas"],
            0,
            "the model is scaled to zero"
        );
        assert!(world.publish("llama-async").await, "a queue is bound");
        world
            .until(
                &live,
                "from message to a replica of the model",
                async || model(world).await["spec"]["replicas"] != 0,
            )
            .await;
        world.purge("llama-async").await;
        world
            .until(
                &live,
                "from the last message to the model's scaling to zero",
                async || model(world).await["spec"]["replicas"] == 0,
            )
            .await;
    }

    live.delete().await;
    world
        .until_after("from deletion to the model as it was", async || {
            desired_state(&model(world).await) == before
        })
        .await;
    until_nothing_is_left(world, &live).await;
    let (models, _) = objects::api_of(&world.stack.client, deployment).await;
    let deleted = models.delete(MODEL, &DeleteParams::default()).await;
    deleted.expect("the Deployment is its owner's again");
}

/// Rights to bind are not granted by default: the actor's conditions name the file that has them.
async fn grant_what_is_missing(world: &World, live: &Live<'_>) {
    let before = model(world).await["metadata"]["generation"].take();
    let file = "install/provider-asya/rbac-binding.yaml";
    world
        .until(
            live,
            "from apply to the report of missing rights",
            async || {
                let conditions = live.read().await["status"]["conditions"].take();
                conditions.to_string().contains(file)
            },
        )
        .await;
    let after = model(world).await["metadata"]["generation"].take();
    assert_eq!(after, before, "nothing is done without the right");
    world.stack.apply_file(&repository().join(file)).await;
}

async fn model(world: &World) -> Value {
    let deployments = world.stack.api("apps/v1", "Deployment").await;
    json!(deployments.get(MODEL).await.expect("a Deployment"))
}

/// The desired state of a workload, without what its controllers record.
fn desired_state(workload: &Value) -> Value {
    let metadata = &workload["metadata"];
    let mut annotations = metadata["annotations"].clone();
    if let Some(annotations) = annotations.as_object_mut() {
        // The controller of Deployments counts rollouts there.
        annotations.remove("deployment.kubernetes.io/revision");
    }
    json!({
        "uid": metadata["uid"], "labels": metadata["labels"], "annotations": annotations,
        "ownerReferences": metadata["ownerReferences"], "spec": workload["spec"]})
}

fn containers(workload: &Value) -> Vec<String> {
    let containers = workload["spec"]["template"]["spec"]["containers"].as_array();
    let names = containers.into_iter().flatten();
    names
        .filter_map(|container| Some(container["name"].as_str()?.to_owned()))
        .collect()
}
