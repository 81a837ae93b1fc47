//! Messages a second, and memory: one hop through a handler that returns at once, on a quorum queue.

mod rig;

use std::time::{Duration, Instant};

use asya_sidecar::config::RabbitMqConfig;
use asya_sidecar::transport::Transport as _;
use asya_sidecar::transport::rabbitmq::RabbitMq;
use rig::rabbit::{EXCHANGE, Rabbit};
use rig::{Pod, envelope, resident_kib, until};
use serde_json::json;

const MESSAGES: u32 = 3000;

/// Prints a table; docs/performance.md has the command.
#[tokio::test]
#[ignore = "takes minutes and measures: its figures mean something on an idle machine only"]
async fn messages_a_second_and_memory() {
    let rabbit = Rabbit::start().await;
    println!(
        "| Prefetch | Messages a second | Publish, mean | Handler, mean | Resident, maximum (MiB) | Threads |"
    );
    println!("|---|---|---|---|---|---|");
    let alone = broker_alone(&rabbit).await;
    println!("| 1, without sidecar and runtime | {alone:.0} | | | | |");
    for prefetch in [1, 8, 32] {
        let actor = format!("a{prefetch}");
        rabbit.queue(&actor).await;
        fill(&rabbit, &actor).await;
        let mut environment = rabbit.environment(&actor);
        environment.insert("ASYA_PREFETCH".to_owned(), prefetch.to_string());
        environment.insert("ASYA_LOG_LEVEL".to_owned(), "info".to_owned());
        let pod = Pod::start(&environment);
        pod.ready().await;
        let (first, start) = (processed(&pod).await, Instant::now());
        let deadline = start + Duration::from_mins(10);
        let mut done = first;
        while done < f64::from(MESSAGES) {
            assert!(Instant::now() < deadline, "{done} messages in ten minutes");
            tokio::time::sleep(Duration::from_millis(50)).await;
            done = processed(&pod).await;
        }
        let rate = (done - first) / start.elapsed().as_secs_f64();
        let publish = mean(&pod, "publish_duration_seconds").await;
        let handler = mean(&pod, "runtime_duration_seconds").await;
        let [resident, highest] = resident_kib(pod.sidecar.id()).map(in_mib);
        let threads = std::fs::read_dir(format!("/proc/{}/task", pod.sidecar.id()));
        let threads = threads.map_or(0, Iterator::count);
        println!(
            "| {prefetch} | {rate:.0} | {publish:.1} ms | {handler:.1} ms | {resident:.1}, {highest:.1} | {threads} |"
        );
        drain(&rabbit).await;
    }
}

/// The limit that the broker gives: each message is received, published and confirmed, and
/// acknowledged, by the same client.
async fn broker_alone(rabbit: &Rabbit) -> f64 {
    rabbit.queue("alone").await;
    fill(rabbit, "alone").await;
    let config = RabbitMqConfig {
        url: rabbit.environment("alone")["ASYA_RABBITMQ_URL"].clone(),
        ca_file: None,
        exchange: EXCHANGE.to_owned(),
        retry_delays: Vec::new(),
    };
    let broker = RabbitMq::new(&config, "asya-alone", 1).expect("a URL");
    let start = Instant::now();
    for _ in 0..MESSAGES {
        let delivery = broker.receive().await;
        let sent = broker.send("x-sink", delivery.body.clone(), &[]).await;
        sent.expect("the queue is there");
        assert!(delivery.settle.acknowledge().await);
    }
    let rate = f64::from(MESSAGES) / start.elapsed().as_secs_f64();
    broker.close().await;
    drain(rabbit).await;
    rate
}

async fn fill(rabbit: &Rabbit, actor: &str) {
    for number in 0..MESSAGES {
        let message = envelope(&format!("m{number}"), actor, &[], &json!({"x": number}));
        rabbit.send(actor, &message).await;
    }
}

async fn drain(rabbit: &Rabbit) {
    until("the sink is empty", || async {
        rabbit.take("x-sink").await.is_empty().then_some(())
    })
    .await;
}

async fn processed(pod: &Pod) -> f64 {
    pod.metric("messages_processed_total{outcome=\"succeeded\"")
        .await
}

/// Mean of a histogram, in milliseconds.
async fn mean(pod: &Pod, name: &str) -> f64 {
    let sum = pod.metric(&format!("{name}_sum")).await;
    let count = pod.metric(&format!("{name}_count")).await;
    sum / count * 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand KiB")]
fn in_mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
