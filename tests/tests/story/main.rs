//! The life of one actor on real parts: API server, controllers of Deployments, Crossplane core, our
//! functions over mTLS, our provider, RabbitMQ, moto for SQS, and KEDA's operator where it is built.
//!
//! Nobody runs pods: a stand-in for the kubelet says that they run. Functions and provider are
//! processes of the test's own, so that their packages are not installed here.
//! `cargo xtask e2e` builds all of it and plays the story, whose times are printed.

mod bound;
mod chapters;
mod ends;
mod kubelet;
mod world;

use real::{components, namespace};
use tests::live_actor::Live;
use tests::program::repository;

use crate::world::World;

const TEST: &str = "an_actor_lives_as_its_documents_tell";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_actor_lives_as_its_documents_tell() {
    if components::is_skipped("the life of an actor") || !namespace::is_inside(TEST) {
        return;
    }
    let world = World::start().await;
    let file = repository().join("tests/story/actor.yaml");
    let mut spec = tests::examples::documents(&file).remove(0);

    let echo = chapters::create(&world, "echo", &spec).await;
    echo.check_that_the_spec_is_as_the_user_wrote_it(&spec)
        .await;
    if world.has_keda("a message, trouble of a pod, and a nap") {
        chapters::wake(&world, &echo).await;
        chapters::trouble(&world, &echo).await;
    } else {
        assert!(world.publish("echo").await, "a queue is bound");
    }
    chapters::update(&world, &echo, &mut spec).await;
    chapters::wait_for_a_flavor(&world, &echo, &mut spec).await;
    chapters::lose_the_workload(&world, &echo).await;
    chapters::nap(&world, &echo).await;
    chapters::lose_the_queue(&world, &echo).await;
    chapters::change_a_flavor(&world, &echo).await;
    chapters::make_a_mistake(&world, &echo, &spec).await;
    chapters::change_the_platform(&world, &echo, &spec).await;
    echo.check_that_the_spec_is_as_the_user_wrote_it(&spec)
        .await;
    ends::delete(&world, &echo).await;
    drop(echo);
    ends::leave_the_queue_and_come_back(&world, &spec).await;
    bound::borrow_a_workload(&world).await;
}

/// Fails with the logs.
fn fail(world: &World, actor: &Live<'_>, error: &str) -> ! {
    panic!("{}: {error}\n{}", actor.name, world.log())
}
