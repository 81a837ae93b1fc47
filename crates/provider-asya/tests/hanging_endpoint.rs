//! One tenant's endpoint hangs: queues of other tenants are reconciled nevertheless.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::time::Duration;

use provider_asya::kinds::ProviderConfig;
use rig::provider_fixture::{ProviderFixture, apply, rabbitmq_connection, timings};
use rig::rabbitmq::RabbitMq;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Queues on the endpoint that hangs.
const HANGING: usize = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_of_other_tenants_are_ready_within_30_seconds() {
    if rig::is_skipped("a hanging endpoint beside healthy tenants") {
        return;
    }
    let rabbitmq = RabbitMq::start().await;
    let fixture = ProviderFixture::start(timings()).await;
    // It accepts connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hanging = format!("http://{}", listener.local_addr().unwrap());
    let accepting = tokio::spawn(async move {
        let mut connections = Vec::new();
        loop {
            connections.push(listener.accept().await);
        }
    });
    for (namespace, endpoint) in [
        ("hanging", hanging.as_str()),
        ("healthy", &rabbitmq.endpoint),
    ] {
        fixture.make_namespace(namespace).await;
        let configs = fixture.namespaced::<ProviderConfig>(namespace);
        let connection = rabbitmq_connection(endpoint, None);
        let config = json!({"metadata": {"name": "broker"}, "spec": {"rabbitmq": connection}});
        apply(&configs, config).await;
    }
    let queues = fixture.queues("hanging");
    for index in 0..HANGING {
        let name = format!("queue-{index}");
        queues.make_classic(&name, "hanging", &name).await;
    }
    queues
        .until_says("queue-0", "Synced", "False", "no answer within")
        .await;
    let healthy = fixture.queues("healthy");
    for index in 0..3 {
        let name = format!("queue-{index}");
        healthy.make_classic(&name, "healthy", &name).await;
        timeout(Duration::from_secs(30), healthy.until_ready(&name))
            .await
            .unwrap_or_else(|_| panic!("{name} waits for another tenant's endpoint"));
    }
    accepting.abort();
}
