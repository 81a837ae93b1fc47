//! Generators: results as they come, and more of them than fit into memory.

mod rig;

use rig::rabbit::Rabbit;
use rig::{Pod, envelope, resident_kib, until};
use serde_json::json;

#[tokio::test]
async fn eager_results_are_sent_while_the_generator_runs() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit.queue("b").await;
    let mut environment = rabbit.environment("a");
    environment.insert("ASYA_PUBLISH_FRAMES".to_owned(), "eager".to_owned());
    let pod = Pod::start(&environment);
    pod.ready().await;
    let release = pod.release_file("go");
    let payload = json!({"do": "fan", "count": 3, "hold_at": 2, "release": release});
    rabbit
        .send("a", &envelope("m", "a", &["b"], &payload))
        .await;
    let mut results = rabbit.take_when("b", 2).await;
    std::fs::write(release, "").unwrap();
    results.extend(rabbit.take_when("b", 1).await);
    results.sort_by_key(|envelope| envelope["payload"]["number"].as_u64());
    assert_eq!(results[0]["id"], "m");
    assert_eq!(results[2]["parent_id"], "m");
    rabbit.until_count("asya-a", 0).await;
}

#[tokio::test]
async fn eager_results_of_a_failed_generator_come_again_with_the_same_ids() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit.queue("b").await;
    let mut environment = rabbit.environment("a");
    for (name, value) in [
        ("ASYA_PUBLISH_FRAMES", "eager"),
        ("ASYA_RESILIENCY_RETRY_POLICY", "constant"),
        ("ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS", "2"),
        ("ASYA_RESILIENCY_RETRY_INITIAL_INTERVAL", "100ms"),
    ] {
        environment.insert(name.to_owned(), value.to_owned());
    }
    let pod = Pod::start(&environment);
    pod.ready().await;
    let payload = json!({"do": "fan", "count": 3, "fail_at": 2});
    rabbit
        .send("a", &envelope("m", "a", &["b"], &payload))
        .await;
    let failed = rabbit.take_when("x-sump", 1).await;
    assert_eq!(failed[0]["status"]["attempt"], 2);
    let results = rabbit.take_when("b", 4).await;
    let mut ids: Vec<&str> = results
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    ids.sort_unstable();
    assert_eq!((ids.len(), ids[0], ids[2]), (4, ids[1], ids[3]));
    assert_ne!(ids[1], ids[2]);
}

#[tokio::test]
async fn two_hundred_megabytes_of_results_do_not_fill_the_memory() {
    const COUNT: u64 = 2000;
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    // What arrives is counted here, not kept.
    let few = json!({"x-max-length": 10});
    rabbit.declare("asya-b", &few).await;
    rabbit.bind("b").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let payload = json!({"do": "fan", "count": COUNT, "bytes": 100_000});
    rabbit
        .send("a", &envelope("m", "a", &["b"], &payload))
        .await;
    until("all results are confirmed", || async {
        let sent = pod.metric("messages_sent_total{kind=\"next\"").await;
        (sent >= 2000.0).then_some(())
    })
    .await;
    rabbit.until_count("asya-a", 0).await;
    let [_, highest] = resident_kib(pod.sidecar.id());
    assert!(highest < 64 << 10, "{highest} KiB");
}
