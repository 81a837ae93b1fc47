//! Live actors on a real API server and a real Crossplane core, with our functions over mTLS and
//! our provider.
//!
//! No pods and queues run here: the tests write the statuses that the controllers around an actor
//! would write, and read what its user sees. `tests/live/` holds the cases.

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

const TEST: &str = "live_actors_report_states_mistakes_and_pods_to_their_users";

/// Actors that have mistakes at the same time.
const MISTAKEN: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_actors_report_states_mistakes_and_pods_to_their_users() {
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

    // From here on the provider observes its health. The status of its queue is still written by the test.
    live.pause_queue().await;
    stack.start_provider();
    let live = Live::of(&stack, "live").await;
    for state in data::cases("pods.yaml") {
        states::check(&live, &state).await;
    }
    quiet::check(&live).await;
}
