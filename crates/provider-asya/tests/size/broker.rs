//! Processor time of a broker for new queues: with shared policies, and with a policy for each queue.
//!
//! The queues are created by the provider's transport, without the API server and the program around it:
//! what is measured is the broker.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actor::provider_config::PolicyOrigin;
use futures::stream::{self, StreamExt as _};
use provider_asya::owner::OwnerTag;
use provider_asya::transport::rabbitmq::Broker;
use provider_asya::transport::rabbitmq::api::{Answer, Search};
use provider_asya::transport::rabbitmq::definition::{PolicyRecord, QueueDefinition};
use provider_asya::transport::rabbitmq::polls::COLUMNS;
use provider_asya::transport::rabbitmq::shared_policy::SharedPolicy;
use provider_asya::transport::{Depth, ExternalQueue as _};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::rabbitmq::RabbitMq;

/// Queues that are created at the same time.
const AT_ONCE: usize = 8;
/// Lists of which the mean is taken.
const LISTS: u32 = 5;
/// Variable with the numbers of queues; default: 300.
const SIZES: &str = "ASYA_SIZE_QUEUES";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn broker_time_of_new_queues() {
    let sizes = std::env::var(SIZES).unwrap_or_else(|_| "300".to_owned());
    println!(
        "| Queues | Policies | Create: wall, broker (s) | Policies at the broker | Poll of each: broker (s) | One list of all: broker (s) | Delete: broker (s) |"
    );
    println!("|---|---|---|---|---|---|---|");
    for size in sizes.split(',') {
        let size: usize = size.trim().parse().unwrap();
        for is_shared in [true, false] {
            measure(size, is_shared).await;
        }
    }
}

async fn measure(size: usize, is_shared: bool) {
    let rabbitmq = RabbitMq::start().await;
    let broker = Broker::new(rabbitmq.api.clone(), Duration::from_secs(20));
    let node = rabbitmq.node();
    let queues = || {
        let queues = (0..size).map(|index| broker.queue(definition(index, is_shared)).unwrap());
        stream::iter(queues)
    };
    let (start, before) = (Instant::now(), processor_seconds(node));
    queues()
        .for_each_concurrent(
            AT_ONCE,
            |queue| async move { queue.create().await.unwrap() },
        )
        .await;
    let (wall, created) = (start.elapsed(), processor_seconds(node));
    let policies = match rabbitmq.api.get(&["policies", "/"]).await.unwrap() {
        Answer::Ok(list) => list.as_array().map_or(0, Vec::len),
        _ => 0,
    };
    queues()
        .for_each_concurrent(AT_ONCE, |queue| async move {
            queue.observe(Depth::Quick).await.unwrap();
        })
        .await;
    let polled = processor_seconds(node);
    for _ in 0..LISTS {
        let listed = AtomicUsize::new(0);
        let count = |_: &Value| {
            listed.fetch_add(1, Ordering::Relaxed);
            false
        };
        let found = rabbitmq.api.find_queue("/", COLUMNS, count).await;
        assert_eq!(found, Ok(Search::NotFound));
        assert!(listed.into_inner() >= size, "all queues are listed");
    }
    let listed = processor_seconds(node);
    queues()
        .for_each_concurrent(
            AT_ONCE,
            |queue| async move { queue.delete().await.unwrap() },
        )
        .await;
    let deleted = processor_seconds(node);
    println!(
        "| {size} | {} | {:.0}, {:.0} | {policies} | {:.2} | {:.2} | {:.0} |",
        if is_shared { "shared" } else { "one for each" },
        wall.as_secs_f64(),
        created - before,
        polled - created,
        (listed - polled) / f64::from(LISTS),
        deleted - listed,
    );
}

fn definition(index: usize, is_shared: bool) -> QueueDefinition {
    let name = format!("asya-{index}");
    let queue = json!({
        "host": "rabbitmq", "vhost": "/", "exchange": "asya", "routingKeys": [index.to_string(), name],
        "queueType": "quorum", "deadLetter": {"enabled": true, "maxReceiveCount": 20},
    });
    QueueDefinition {
        queue: serde_json::from_value(queue).unwrap(),
        owner_tag: OwnerTag::new("east", "shop", &name).unwrap(),
        name,
        priority: 0,
        shared: is_shared.then(|| SharedPolicy {
            owner_id: "east".to_owned(),
            queue_names: "asya-*".to_owned(),
            max_receive_count: 20,
            records: [("asya:east:queues".to_owned(), PolicyOrigin::Provider)].into(),
            may_predate_records: false,
        }),
        policies: PolicyRecord::New,
        recorded_delays: BTreeSet::new(),
    }
}

/// Processor time that a process has used, in seconds.
fn processor_seconds(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    // The name, in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u32 = fields[11].parse::<u32>().unwrap() + fields[12].parse::<u32>().unwrap();
    f64::from(ticks) / 100.0
}
