//! Message handling on SQS, with moto in its place.

mod rig;

use std::time::{Duration, Instant};

use rig::sqs::Sqs;
use rig::{Pod, envelope, until};
use serde_json::{Value, json};

#[tokio::test]
async fn a_message_goes_its_way_and_failures_go_to_the_sump() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    sqs.queue("b").await;
    let mut pod = Pod::start(&sqs.environment("a"));
    pod.ready().await;
    let mut sent = envelope("m", "a", &["b"], &json!({"x": 1}));
    sent["headers"] = json!({"trace": "t"});
    sent["status"] = json!({"deadline_at": "2999-01-01T00:00:00Z"});
    sqs.send("a", &sent).await;
    sqs.send("a", &envelope("f", "a", &[], &json!({"do": "raise"})))
        .await;
    let next = sqs.take_when("b", 1).await.remove(0);
    assert_eq!(
        (&next["id"], &next["headers"]),
        (&json!("m"), &json!({"trace": "t"}))
    );
    assert_eq!(next["status"]["deadline_at"], "2999-01-01T00:00:00Z");
    let failed = sqs.take_when("x-sump", 1).await.remove(0);
    assert_eq!(failed["status"]["error"]["message"], "as asked");
    sqs.until_counts("a", [0, 0, 0]).await;
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn a_handler_that_outlasts_the_visibility_timeout_processes_its_message_once() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let mut environment = sqs.environment("a");
    environment.insert("ASYA_SQS_VISIBILITY_TIMEOUT".to_owned(), "2".to_owned());
    let [mut pod, other] = [Pod::start(&environment), Pod::start(&environment)];
    pod.ready().await;
    other.ready().await;
    let sleeps = json!({"do": "sleep", "seconds": 6});
    sqs.send("a", &envelope("m", "a", &[], &sleeps)).await;
    sqs.take_when("x-sink", 1).await;
    sqs.until_counts("a", [0, 0, 0]).await;
    assert_eq!(pod.calls().len() + other.calls().len(), 1);
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn sigterm_lets_the_running_call_finish_and_a_dead_runtime_costs_no_message() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let mut pod = Pod::start(&sqs.environment("a"));
    pod.ready().await;
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    sqs.send("a", &envelope("held", "a", &[], &held)).await;
    called(&pod, 1).await;
    pod.kill_runtime();
    // It is visible again at once, and not only after the visibility timeout of a minute.
    sqs.until_counts("a", [1, 0, 0]).await;
    pod.start_runtime();
    called(&pod, 2).await;
    sqs.send("a", &envelope("next", "a", &[], &json!({}))).await;
    pod.sidecar.signal("TERM");
    let ended = tokio::time::timeout(Duration::from_millis(500), pod.sidecar.ended()).await;
    assert!(ended.is_err(), "it waits for the call");
    std::fs::write(release, "").unwrap();
    assert!(pod.sidecar.ended().await.success());
    let at_sink = sqs.take_when("x-sink", 1).await;
    assert_eq!(at_sink[0]["id"], "held");
    sqs.until_counts("a", [1, 0, 0]).await;
    assert!(sqs.take_whole("x-sump").await.is_empty());
}

#[tokio::test]
async fn a_missing_queue_blocks_neither_the_end_nor_the_beginning() {
    let sqs = Sqs::start().await;
    let mut pod = Pod::start(&sqs.environment("a"));
    until("it looks for its queue", || async {
        pod.log().contains("cannot receive messages").then_some(())
    })
    .await;
    let start = Instant::now();
    assert!(pod.terminate().await.success());
    assert!(start.elapsed() < Duration::from_secs(5));
    pod.restart_sidecar();
    until("it looks again", || async {
        (pod.log().matches("cannot receive messages").count() == 2).then_some(())
    })
    .await;
    sqs.queue("a").await;
    let made = Instant::now();
    sqs.send("a", &envelope("m", "a", &[], &json!({}))).await;
    sqs.take_when("x-sink", 1).await;
    assert!(made.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn without_a_sump_a_failed_message_stays_and_is_finished_later() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    sqs.delete_queue("x-sump").await;
    let mut pod = Pod::start(&sqs.environment("a"));
    pod.ready().await;
    sqs.send("a", &envelope("m", "a", &[], &json!({"do": "raise"})))
        .await;
    until("the sump was looked for", || async {
        (pod.metric("publish_errors_total{reason=\"unroutable\"")
            .await
            >= 2.0)
            .then_some(())
    })
    .await;
    assert_eq!(sqs.counts("a").await, [0, 1, 0]);
    assert!(pod.terminate().await.success());
    sqs.until_counts("a", [1, 0, 0]).await;
    sqs.queue("x-sump").await;
    pod.restart_sidecar();
    assert_eq!(sqs.take_when("x-sump", 1).await[0]["id"], "m");
}

#[tokio::test]
async fn retries_are_delayed_by_the_queue() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let mut environment = sqs.environment("a");
    let policies =
        r#"{"default": {"maxAttempts": 2, "backoff": "constant", "initialDelay": "2s"}}"#;
    environment.insert("ASYA_RESILIENCY_POLICIES".to_owned(), policies.to_owned());
    let pod = Pod::start(&environment);
    pod.ready().await;
    sqs.send("a", &envelope("m", "a", &[], &json!({"do": "raise"})))
        .await;
    sqs.until_counts("a", [0, 0, 1]).await;
    let failed = sqs.take_when("x-sump", 1).await.remove(0);
    assert_eq!(failed["status"]["attempt"], 2);
    assert_eq!(pod.calls().len(), 2);
    sqs.until_counts("a", [0, 0, 0]).await;
}

#[tokio::test]
async fn an_invalid_envelope_reaches_the_sump_once_with_its_bytes() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let pod = Pod::start(&sqs.environment("a"));
    pod.ready().await;
    sqs.send_text("a", "no JSON").await;
    sqs.until_counts("x-sump", [1, 0, 0]).await;
    let found = sqs.take_whole("x-sump").await;
    assert_eq!(found[0].0, "no JSON");
    assert!(
        found[0].1["x-asya-error"]["StringValue"].is_string(),
        "{found:?}"
    );
    assert!(pod.calls().is_empty());
}

#[tokio::test]
async fn a_result_that_no_queue_takes_is_a_failure_with_the_limit() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let small = json!({"MaximumMessageSize": "262144"});
    sqs.queue_with("b", &small).await;
    let pod = Pod::start(&sqs.environment("a"));
    pod.ready().await;
    for (id, bytes) in [("small-queue", 300_000), ("any-queue", 1_100_000)] {
        let payload = json!({"do": "fan", "count": 1, "bytes": bytes});
        sqs.send("a", &envelope(id, "a", &["b"], &payload)).await;
    }
    let failed = sqs.take_when("x-sump", 2).await;
    for failed in &failed {
        assert_eq!(
            failed["status"]["error"]["type"],
            "asya.MessageTooLargeError"
        );
        assert!(
            failed["payload"]["original_payload"]["bytes"].is_u64(),
            "what it was given"
        );
    }
    assert_eq!(sqs.take_whole("b").await, Vec::<(String, Value)>::new());
    sqs.until_counts("a", [0, 0, 0]).await;
    until("both count as failed", || async {
        (pod.metric("messages_processed_total{outcome=\"failed\"")
            .await
            > 1.5)
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_retry_that_its_error_makes_too_large_goes_to_the_sump_as_it_was_received() {
    let sqs = Sqs::start().await;
    let small = json!({"MaximumMessageSize": "2048"});
    sqs.queue_with("a", &small).await;
    sqs.delete_queue("x-sump").await;
    sqs.queue_with("x-sump", &small).await;
    let mut environment = sqs.environment("a");
    let policies = r#"{"default": {"maxAttempts": 3, "initialDelay": "1s"}}"#;
    environment.insert("ASYA_RESILIENCY_POLICIES".to_owned(), policies.to_owned());
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let payload = json!({"do": "raise", "filler": "x".repeat(1_850)});
    sqs.send("a", &envelope("m", "a", &[], &payload)).await;
    sqs.until_counts("x-sump", [1, 0, 0]).await;
    let (body, _) = sqs.take_whole("x-sump").await.remove(0);
    let found: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(found["payload"], payload);
    sqs.until_counts("a", [0, 0, 0]).await;
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn a_result_for_a_missing_queue_counts_as_failed() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let pod = Pod::start(&sqs.environment("a"));
    pod.ready().await;
    sqs.send("a", &envelope("m", "a", &["missing"], &json!({})))
        .await;
    let failed = sqs.take_when("x-sump", 1).await.remove(0);
    assert_eq!(failed["id"], "m");
    until("it counts as failed", || async {
        (pod.metric("messages_processed_total{outcome=\"failed\"")
            .await
            > 0.5)
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_message_for_a_fifo_queue_is_in_the_sump_and_stops_nothing() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let pod = Pod::start(&sqs.environment("a"));
    pod.ready().await;
    sqs.send("a", &envelope("m", "a", &["b.fifo"], &json!({})))
        .await;
    sqs.send("a", &envelope("n", "a", &[], &json!({}))).await;
    let failed = sqs.take_when("x-sump", 1).await.remove(0);
    assert_eq!(failed["status"]["error"]["type"], "asya.UnroutableError");
    assert_eq!(sqs.take_when("x-sink", 1).await[0]["id"], "n");
}

#[tokio::test]
async fn a_sidecar_that_ends_during_a_long_poll_hides_no_message() {
    let sqs = Sqs::start().await;
    sqs.queue("a").await;
    let mut environment = sqs.environment("a");
    environment.insert("ASYA_SQS_WAIT_TIME_SECONDS".to_owned(), "8".to_owned());
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    pod.sidecar.signal("TERM");
    sqs.send("a", &envelope("m", "a", &[], &json!({}))).await;
    assert!(pod.sidecar.ended().await.success());
    sqs.until_counts("a", [1, 0, 0]).await;
}

async fn called(pod: &Pod, times: usize) {
    until(&format!("the handler was called {times} times"), || async {
        (pod.calls().len() >= times).then_some(())
    })
    .await;
}
