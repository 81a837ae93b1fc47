//! Messages a second, and memory: one hop through a handler that returns at once, on a quorum queue.

mod rig;

use std::fs;
use std::time::{Duration, Instant};

use rig::rabbit::Rabbit;
use rig::{Pod, envelope};
use serde_json::json;

const MESSAGES: u32 = 3000;

/// Prints a table. `cargo test --release -p asya-sidecar --test throughput -- --ignored --nocapture`
#[tokio::test]
#[ignore = "takes minutes and measures: its figures mean something on an idle machine only"]
async fn messages_a_second_and_memory() {
    let rabbit = Rabbit::start().await;
    println!(
        "| Prefetch | Messages | Messages a second | Publish, mean | Handler, mean | Resident |"
    );
    println!("|---|---|---|---|---|---|");
    for prefetch in [1, 8] {
        let actor = format!("a{prefetch}");
        rabbit.queue(&actor).await;
        for number in 0..MESSAGES {
            let message = envelope(&format!("m{number}"), &actor, &[], &json!({"x": number}));
            rabbit.send(&actor, &message).await;
        }
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
        let resident = resident_kib(pod.sidecar.id()) / 1024;
        println!(
            "| {prefetch} | {MESSAGES} | {rate:.0} | {publish:.1} ms | {handler:.1} ms | {resident} MiB |"
        );
        rabbit.take("x-sink").await;
    }
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

fn resident_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let line = line.expect("the resident size");
    let digits = line.split_whitespace().nth(1);
    digits.and_then(|digits| digits.parse().ok()).expect("kB")
}
