//! Size and requests of the provider with thousands of queues, or with bindings beside thousands of
//! other workloads. Measurements of minutes, run by hand on the optimised program:
//!
//! ```sh
//! cargo build --profile dist -p provider-asya
//! cargo test -p provider-asya --test size -- --ignored --nocapture --test-threads 1
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement that cannot go on panics, and prints what it finds"
)]

mod announcements;
mod bindings;
mod broker;
mod program;
mod queues;
#[path = "../integration/rig/mod.rs"]
mod rig;

use rig::moto::{Moto, REGION};
use rig::provider_fixture;
use rig::rabbitmq::RabbitMq;
use serde_json::json;

use queues::{Kind, Plan};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn a_thousand_queues_of_rabbitmq() {
    queues_of_rabbitmq(Plan {
        queues: 1000,
        pods: 0,
    })
    .await;
}

/// RabbitMQ's own cost of a queue grows with the square of their number, which is visible in comparison
/// with the thousand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn three_hundred_queues_of_rabbitmq() {
    queues_of_rabbitmq(Plan {
        queues: 300,
        pods: 0,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn a_thousand_queues_of_sqs() {
    queues_of_sqs(Plan {
        queues: 1000,
        pods: 0,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes many minutes, and needs the optimised program"]
async fn five_thousand_sqs_queues_beside_ten_thousand_foreign_pods_stay_within_limits() {
    queues_of_sqs(Plan {
        queues: 5000,
        pods: 10_000,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn fifty_bindings_beside_five_thousand_workloads() {
    bindings::measure().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes, and needs the optimised program"]
async fn a_flavor_of_five_thousand_actors() {
    announcements::measure().await;
}

/// Classic queues: a quorum queue of one node is a Raft log of its own, whose cost is the broker's and
/// reports nothing about the provider, which asks the same of both.
async fn queues_of_rabbitmq(plan: Plan) {
    let cluster = rig::cluster::Cluster::start().await;
    let (rabbitmq, ()) = tokio::join!(RabbitMq::start(), cluster.install_kinds());
    let kind = Kind {
        title: "RabbitMQ 3.10, classic queues",
        broker: "beam.smp",
        config: json!({"rabbitmq": provider_fixture::rabbitmq_connection(&rabbitmq.endpoint, None)}),
        // A change is one more way into the queue.
        queue: |name, change| {
            let keys = [
                name.to_owned(),
                format!("asya-{name}"),
                format!("{name}-{change}"),
            ];
            json!({"rabbitmq": {"host": "rabbitmq", "queueType": "classic", "deadLetter": {"enabled": true},
                "routingKeys": keys[..2 + change.min(1)]}})
        },
    };
    queues::measure(&cluster, &kind, &plan).await;
}

async fn queues_of_sqs(plan: Plan) {
    let cluster = rig::cluster::Cluster::start().await;
    let (moto, ()) = tokio::join!(Moto::start(), cluster.install_kinds());
    let kind = Kind {
        title: "SQS (moto)",
        broker: "moto_server",
        config: json!({"sqs": provider_fixture::sqs_connection(&moto.endpoint, None)}),
        queue: |_, change| json!({"sqs": {"region": REGION, "visibilityTimeoutSeconds": 600 + change}}),
    };
    queues::measure(&cluster, &kind, &plan).await;
}
