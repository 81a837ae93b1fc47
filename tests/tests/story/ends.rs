//! Deletion and re-creation of an actor.

use serde_json::{Value, json};
use tests::live_actor::Live;

use crate::chapters::{create, has_scalers};
use crate::world::{World, status};

/// An actor is deleted: its scalers are deleted before its queue, and nothing is left.
pub(crate) async fn delete(world: &World, live: &Live<'_>) {
    let queue_goes_last = async {
        world
            .until_after("from deletion to the end of its queue", async || {
                !world.has_queue(&live.name).await
            })
            .await;
        assert!(
            !has_scalers(live).await,
            "the queue is deleted after the scalers"
        );
    };
    tokio::join!(live.delete(), queue_goes_last);
    until_nothing_is_left(world, live).await;
}

/// An actor whose queue is at SQS is deleted, the message in it too.
pub(crate) async fn delete_from_sqs(world: &World, live: &Live<'_>) {
    assert!(world.has_queue_at_sqs(&live.name).await);
    live.delete().await;
    until_nothing_is_left(world, live).await;
    assert!(
        !world.has_queue_at_sqs(&live.name).await,
        "the queue is deleted"
    );
}

/// An actor whose queue shall stay is deleted: the message waits for the next one of its name.
pub(crate) async fn leave_the_queue_and_come_back(world: &World, spec: &Value) {
    let settings = world.platform().pop().expect("the platform's settings");
    world.stack.apply(&settings).await;
    let mut lasting = spec.clone();
    lasting["transport"] = json!("rabbitmq");
    lasting["queue"] = json!({"deletionPolicy": "Orphan"});
    let first = create(world, "lasting", &lasting).await;
    assert!(world.publish("lasting").await, "a queue is bound");
    first.delete().await;
    until_nothing_is_left(world, &first).await;
    assert_eq!(world.waiting("lasting").await, 1, "the message waits");

    let second = Live::apply(&world.stack, "lasting", &lasting).await;
    if world.has_keda("a message that was there before the actor") {
        world
            .until(
                &second,
                "from re-creation to a pod for the old message",
                async || status(&second.read().await) == "Running",
            )
            .await;
    } else {
        world
            .until_settled(&second, "from re-creation to its old queue")
            .await;
    }
    assert_eq!(world.waiting("lasting").await, 1, "it is still the same");
    second
        .check_that_the_spec_is_as_the_user_wrote_it(&lasting)
        .await;
}

pub(crate) async fn until_nothing_is_left(world: &World, live: &Live<'_>) {
    world
        .until_after("and until nothing is left of it", async || {
            live.objects().await.is_empty() && world.kubelet.count(&live.name).await == 0
        })
        .await;
}
