//! Reconciliations of an actor that does not change.

use actor::PROVIDER_API_VERSION;
use serde_json::{Value, json};

use tests::live_actor::Live;

/// Reconciliations in a row that must write nothing.
const RECONCILIATIONS: u64 = 20;

/// Core and the provider reconcile the actor again and again without a write to it and to its
/// ActorHealth. Metrics of the last step and of the provider count that: there must be no other actor.
pub(crate) async fn check(live: &Live<'_>) {
    let mut versions = versions(live).await;
    let mut quiet = 0;
    // The first ones may still follow what happened before.
    for touch in 0..2 * RECONCILIATIONS {
        reconcile(live, touch).await;
        let now = self::versions(live).await;
        quiet = if now == versions { quiet + 1 } else { 0 };
        versions = now;
        if quiet == RECONCILIATIONS {
            return;
        }
    }
    panic!("only {quiet} reconciliations in a row wrote nothing: {versions:?}");
}

/// Changes what core and the provider watch and do not use, and waits until both have reconciled.
async fn reconcile(live: &Live<'_>, touch: u64) {
    let stack = live.stack;
    let (by_core, by_provider) = (
        stack.core_reconciliations(),
        stack.provider_reconciliations(),
    );
    let note = ("example.org/touch", touch.to_string());
    let note = (note.0, note.1.as_str());
    stack
        .annotate(PROVIDER_API_VERSION, "Queue", &live.name, note)
        .await;
    // A container's restart that changes nothing that is reported.
    let pod = format!("{}-a", live.name);
    let pods = stack.api("v1", "Pod").await;
    let mut status = json!(pods.get(&pod).await.expect("a pod"))["status"].clone();
    status["containerStatuses"][0]["restartCount"] = json!(touch + 10);
    stack.write_status("v1", "Pod", &pod, &status).await;
    test_cluster::until("core and the provider reconcile", || async {
        (stack.core_reconciliations() > by_core && stack.provider_reconciliations() > by_provider)
            .then_some(())
    })
    .await;
}

async fn versions(live: &Live<'_>) -> [Value; 2] {
    let healths = live.stack.api(PROVIDER_API_VERSION, "ActorHealth").await;
    let health = json!(healths.get(&live.name).await.expect("an ActorHealth"));
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    [version(&live.read().await), version(&health)]
}
