//! A thousand actors on real parts: what they cost core, the API server and us.
//!
//! Real are the API server with etcd, the controllers of Deployments, the scheduler, Crossplane core, our
//! functions over mTLS, our provider and moto for SQS. kwok reports the pods as running, and [`keda`]
//! reports each ScaledObject as active. Queues are of SQS, since moto makes one in milliseconds
//! and holds a thousand without any work, while RabbitMQ has processes for each.
//!
//! Core has no flags but those named in [`CORE`]: 100 reconciliations at the same time and a resync of everything
//! each minute, which is what its users have. The provider has none at all.
//!
//! `cargo xtask scale` measures; `docs/performance.md` has the figures. Nothing here is compared with a
//! time: whether all actors get ready, and all Deployments are rolled out, is all that can fail.

mod keda;
mod phase;
mod sample;
mod table;
mod tally;
mod world;

use std::time::Duration;

use serde_json::{Value, json};
use test_cluster::components;
use test_cluster::namespace;
use tests::stack::Pipeline;

use phase::Phase;
use world::World;

/// Flags of core.
const CORE: [&str; 0] = [];

/// Number of actors, by default.
const ACTORS: usize = 1000;

/// Time without changes before the quiet time: longer than core's resync interval, so that each actor was
/// reconciled while nothing changed.
const SETTLING: Duration = Duration::from_secs(75);

/// Duration of the quiet time: each actor is reconciled once.
const QUIET: Duration = Duration::from_mins(1);

/// Prints the tables of `docs/performance.md` for the Composition of six steps. `ASYA_SCALE_ACTORS` is
/// how many actors there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes up to an hour: cargo xtask scale"]
async fn actors_of_six_steps_get_ready_and_follow_their_flavor() {
    let name = "actors_of_six_steps_get_ready_and_follow_their_flavor";
    measure(name, Pipeline::SixSteps).await;
}

/// The same for the Composition of one step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes up to an hour: cargo xtask scale"]
async fn actors_of_one_step_get_ready_and_follow_their_flavor() {
    let name = "actors_of_one_step_get_ready_and_follow_their_flavor";
    measure(name, Pipeline::OneStep).await;
}

async fn measure(test: &str, pipeline: Pipeline) {
    if components::is_skipped("many actors") || !namespace::is_inside(test) {
        return;
    }
    let actors = std::env::var("ASYA_SCALE_ACTORS").ok();
    let actors = actors.map_or(ACTORS, |text| text.parse().expect("a number of actors"));
    let world = World::start(pipeline, actors).await;
    world.set_release(1).await;
    println!("\n{actors} actors, Composition {}\n", pipeline.name());

    let mut phases = Vec::new();
    let phase = Phase::begin("apply → all ready", &world).await;
    world.apply_actors().await;
    let are_ready = world.actors().await;
    tally::until_all(are_ready, "are ready", is_ready, &world).await;
    phases.push(phase.end(&world).await);

    tokio::time::sleep(SETTLING).await;
    let phase = Phase::begin("a quiet minute", &world).await;
    tokio::time::sleep(QUIET).await;
    phases.push(phase.end(&world).await);

    let phase = Phase::begin("one flavor changes → all rolled out", &world).await;
    world.set_release(2).await;
    let deployments = world.deployments().await;
    let is_done = |deployment: &Value| is_rolled_out(deployment, 2);
    tally::until_all(deployments, "are rolled out", is_done, &world).await;
    phases.push(phase.end(&world).await);

    let are_ready = world.actors().await;
    tally::until_all(are_ready, "are ready again", is_ready, &world).await;
    println!("All in one:\n\n{}", table::all(&phases, actors));
}

/// Returns whether an actor reports to its users and to Crossplane that it works.
fn is_ready(actor: &Value) -> bool {
    ["ActorReady", "Ready", "Synced"].iter().all(|kind| {
        test_cluster::crossplane::condition(actor, kind)
            .is_some_and(|condition| condition["status"] == "True")
    })
}

/// Returns whether all pods of a Deployment are those of that release, and ready.
fn is_rolled_out(deployment: &Value, release: u32) -> bool {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array();
    let mut variables = containers
        .into_iter()
        .flatten()
        .flat_map(|container| container["env"].as_array().into_iter().flatten());
    let wanted = json!({"name": world::RELEASE, "value": release.to_string()});
    let status = &deployment["status"];
    variables.any(|variable| *variable == wanted)
        && status["observedGeneration"] == deployment["metadata"]["generation"]
        && ["replicas", "updatedReplicas", "readyReplicas"]
            .iter()
            .all(|count| status[count] == deployment["spec"]["replicas"])
}
