//! Polls of many queues by one list, in a virtual host of its own.

use std::time::Duration;

use super::shared_policies::{create, make_vhost, sharing};
use super::{BROKER, COUNTING, found};
use crate::rig;
use futures::future::join_all;
use prometheus_client::metrics::counter::Counter;
use provider_asya::transport::rabbitmq::{Broker, RabbitMqExternal};
use provider_asya::transport::{Depth, ExternalQueue as _, Observation};
use serde_json::json;

const VHOST: &str = "lists";
const QUEUES: usize = 25;
const INTERVAL: Duration = Duration::from_mins(1);

#[test]
fn queues_are_polled_by_one_list_that_tells_the_same_as_each_queue() {
    BROKER.run(async |broker| {
        make_vhost(broker, VHOST).await;
        let calls = Counter::default();
        let listing = Broker::new(broker.api.clone().counted_by(calls.clone()), COUNTING);
        let definitions: Vec<_> = (0..QUEUES)
            .map(|index| sharing(VHOST, &format!("asya-{index}"), "east"))
            .collect();
        let single = Broker::new(broker.api.clone(), COUNTING);
        for definition in &definitions {
            create(broker, definition).await;
        }
        let queues = || {
            let definitions = definitions.iter().cloned();
            let of = |broker: &Broker, definition| broker.queue(definition).unwrap();
            let listed = definitions.clone();
            let listed =
                listed.map(move |definition| of(&listing, definition).polled_each(INTERVAL));
            let single = definitions.map(|definition| of(&single, definition));
            (listed.collect::<Vec<_>>(), single.collect::<Vec<_>>())
        };
        let (listed, single) = queues();

        // The broker shows policies and counters with its next statistics.
        rig::until("every queue is in sync by itself", || async {
            let found = observe(&single).await;
            found.iter().all(is_settled).then_some(())
        })
        .await;
        // The version is read once.
        found(&listed[0], Depth::Full).await;
        let before = calls.get();
        observe(&listed).await;
        let first = calls.get() - before;
        let polled = observe(&listed).await;
        let second = calls.get() - before - first;
        // 19 queues before a list is worth it, the list, and the five that were not polled yet when it was read.
        assert!(first <= 25, "{first} calls for the first polls");
        assert!(second <= 5, "{second} calls for the second polls");
        assert_eq!(polled, observe(&single).await);

        // What was written since is read by itself.
        listed[0].delete().await.unwrap();
        let gone = listed[0].observe(Depth::Quick).await.unwrap();
        assert_eq!(gone, Observation::Missing);
        let body = json!({"durable": true, "arguments": {"x-queue-type": "quorum"}});
        let path = ["queues", VHOST, "asya-1"];
        broker.api.delete(&path).await.unwrap();
        broker.api.put(&path, &body).await.unwrap();
        let full = found(&listed[1], Depth::Full).await;
        assert!(
            !full.drift.is_empty(),
            "a full observation reads the queue by itself"
        );
    });
}

async fn observe(queues: &[RabbitMqExternal]) -> Vec<Observation> {
    let observed = queues.iter().map(|queue| queue.observe(Depth::Quick));
    let observed = join_all(observed).await;
    observed.into_iter().map(Result::unwrap).collect()
}

fn is_settled(observation: &Observation) -> bool {
    let Observation::Present(found) = observation else {
        return false;
    };
    found.drift.is_empty() && found.counters.is_some()
}
