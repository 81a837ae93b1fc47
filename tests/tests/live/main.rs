//! Live actors on a real API server and a real Crossplane core, with our functions over mTLS and
//! our provider.
//!
//! Nobody runs pods or queues here: the tests write what the controllers around an
//! actor would say, and read what its user sees. `tests/live/` holds the cases.

mod data;
mod mistakes;
mod new_actors;
mod quiet;
mod states;

use serde_json::json;
use test_cluster::components;
use test_cluster::namespace;
use tests::stack::Stack;

use tests::live_actor::Live;

const TEST: &str = "live_actors_tell_their_users_what_is_going_on";

/// How many actors live through the mistakes at the same time.
const MISTAKEN: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_actors_tell_their_users_what_is_going_on() {
    if components::is_skipped("live actors") || !namespace::is_inside(TEST) {
        return;
    }
    let mut stack = Stack::start().await;
    for file in ["platform.yaml", "flavors.yaml"] {
        stack.apply_file(&data::folder().join(file)).await;
    }
    let spec = json!({"image": "my-org/live:1", "handler": "live.handle"});

    mistakes::check_all(&stack, &spec, MISTAKEN).await;

    let live = Live::create(&stack, "live", &spec).await;
    for state in data::cases("states.yaml") {
        states::check(&live, &state).await;
    }
    states::check_heads(&live).await;
    new_actors::check_all(&stack, &live).await;
    live.check_that_the_spec_is_as_the_user_wrote_it(&spec)
        .await;

    // From here on its health is what the provider finds out. Its queue is no more than told.
    live.pause_queue().await;
    stack.start_provider();
    let live = Live::of(&stack, "live").await;
    for state in data::cases("pods.yaml") {
        states::check(&live, &state).await;
    }
    quiet::check(&live).await;
}
