//! The lifecycle of actors on real components: API server, controllers of Deployments, scheduler and node,
//! Crossplane core and its RBAC manager, our packages from a registry, our functions over mTLS, our
//! provider, RabbitMQ, moto for SQS, and KEDA's operator where it is built.
//!
//! Packages are installed the normal way, and core, RBAC manager and provider have the rights that
//! users give them. No pods run: the node reports them as running, and the test runs our programs.
//! `cargo xtask e2e` builds all of it and runs the story, whose times are printed.
//!
//! The chapters of a story depend on their order: each continues with the actor and the settings that
//! the one before has left, as users' actors do. Starting everything takes longer than any chapter.

mod borrowed;
mod chapters;
mod ends;
mod kubelet;
mod world;

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use test_cluster::rights::Rights;
use test_cluster::{components, namespace};
use tests::live_actor::Live;
use tests::program::repository;

use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_actor_is_reconciled_from_its_creation_to_its_re_creation() {
    if is_skipped_or_run_elsewhere("an_actor_is_reconciled_from_its_creation_to_its_re_creation") {
        return;
    }
    let world = World::start("asya", Rights::Managed).await;
    let mut spec = actor();

    let echo = chapters::create(&world, "echo", &spec).await;
    echo.check_that_the_spec_is_as_the_user_wrote_it(&spec)
        .await;
    chapters::scale_from_zero(&world, &echo).await;
    chapters::crash(&world, &echo).await;
    chapters::update(&world, &echo, &mut spec).await;
    chapters::wait_for_a_flavor(&world, &echo, &mut spec).await;
    chapters::lose_the_workload(&world, &echo).await;
    chapters::scale_to_zero(&world, &echo).await;
    chapters::lose_the_queue(&world, &echo).await;
    chapters::change_a_flavor(&world, &echo).await;
    chapters::make_a_mistake(&world, &echo, &spec).await;
    chapters::change_the_platform(&world, &echo, &spec).await;
    echo.check_that_the_spec_is_as_the_user_wrote_it(&spec)
        .await;
    ends::delete(&world, &echo).await;
    drop(echo);
    ends::leave_the_queue_and_come_back(&world, &spec).await;
    world.check_that_all_had_their_rights().await;
    borrowed::borrow_a_workload(&world).await;
}

/// Shorter: what differs is how actors are defined, and where their conditions are. There is no RBAC
/// manager here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_is_reconciled_from_its_creation_to_its_deletion() {
    if is_skipped_or_run_elsewhere("a_claim_is_reconciled_from_its_creation_to_its_deletion") {
        return;
    }
    let world = World::start("asya-legacy", Rights::ByHand).await;
    let mut spec = actor();

    let echo = chapters::create(&world, "echo", &spec).await;
    chapters::scale_from_zero(&world, &echo).await;
    chapters::crash(&world, &echo).await;
    chapters::update(&world, &echo, &mut spec).await;
    ends::delete(&world, &echo).await;
    world.check_that_all_had_their_rights().await;
}

/// Returns whether a test has nothing to do, since real components are left out, or since it has been run in
/// a network of its own. One at a time: each fills a machine.
fn is_skipped_or_run_elsewhere(test: &str) -> bool {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    components::is_skipped("the lifecycle of an actor") || !namespace::is_inside(test)
}

/// Actor of the story.
fn actor() -> Value {
    let file = repository().join("tests/story/actor.yaml");
    tests::examples::documents(&file).remove(0)
}

/// Fails with the logs.
fn fail(world: &World, actor: &Live<'_>, error: &str) -> ! {
    panic!("{}: {error}\n{}", actor.name, world.log())
}
