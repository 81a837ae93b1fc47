//! Passes in which nothing has changed.

use actor::PROVIDER_API_VERSION;
use serde_json::{Value, json};

use tests::live_actor::Live;

/// How many passes in a row must go by without a write.
const PASSES: u64 = 20;

/// Core's passes over the actor and the provider's over its pods go by without a write to the
/// actor and to its ActorHealth. Both passes are counted, by the metrics of the last step and
/// of the provider: there must be no other actor.
pub(crate) async fn check(live: &Live<'_>) {
    let mut versions = versions(live).await;
    let mut quiet = 0;
    // The first passes may still answer what happened before.
    for touch in 0..2 * PASSES {
        make_passes(live, touch).await;
        let now = self::versions(live).await;
        quiet = if now == versions { quiet + 1 } else { 0 };
        versions = now;
        if quiet == PASSES {
            return;
        }
    }
    panic!("only {quiet} passes in a row left the actor as it was: {versions:?}");
}

/// Changes what core and the provider watch and nobody reads, and waits for the passes that
/// follow.
async fn make_passes(live: &Live<'_>, touch: u64) {
    let stack = live.stack;
    let (passes, looks) = (stack.passes(), stack.looks());
    let note = ("example.org/touch", touch.to_string());
    let note = (note.0, note.1.as_str());
    stack
        .annotate(PROVIDER_API_VERSION, "Queue", &live.name, note)
        .await;
    // A container's restart that changes nothing of what there is to say.
    let pod = format!("{}-a", live.name);
    let pods = stack.api("v1", "Pod").await;
    let mut status = json!(pods.get(&pod).await.expect("a pod"))["status"].clone();
    status["containerStatuses"][0]["restartCount"] = json!(touch + 10);
    stack.write_status("v1", "Pod", &pod, &status).await;
    test_cluster::until("core and the provider make a pass", || async {
        (stack.passes() > passes && stack.looks() > looks).then_some(())
    })
    .await;
}

async fn versions(live: &Live<'_>) -> [Value; 2] {
    let healths = live.stack.api(PROVIDER_API_VERSION, "ActorHealth").await;
    let health = json!(healths.get(&live.name).await.expect("an ActorHealth"));
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    [version(&live.read().await), version(&health)]
}
