//! Message handling on RabbitMQ without failures, and with failing handlers.

mod rig;

use std::time::Duration;

use rig::rabbit::Rabbit;
use rig::{Pod, envelope, until};
use serde_json::{Value, json};

#[tokio::test]
async fn a_message_goes_its_way_with_every_key_and_header() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit.queue("b").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let body = r#"{"id":"m","route":{"prev":["z"],"curr":"a","next":["b","c"]},"headers":{"trace":"t","n":1.10},"status":{"deadline_at":"2999-01-01T00:00:00Z","own":[1]},"unknown":{"k":2},"payload":{"x":1}}"#;
    rabbit.send_text("a", body).await;
    let (text, envelope) = only(&rabbit, "b").await;
    assert_eq!(
        envelope["route"],
        json!({"prev": ["z", "a"], "curr": "b", "next": ["c"]})
    );
    assert_eq!(envelope["id"], "m");
    assert_eq!(envelope["unknown"], json!({"k": 2}));
    assert_eq!(envelope["headers"], json!({"trace": "t", "n": 1.10}));
    let status = &envelope["status"];
    assert_eq!(status["deadline_at"], "2999-01-01T00:00:00Z");
    assert_eq!(
        (&status["own"], &status["phase"]),
        (&json!([1]), &json!("pending"))
    );
    assert_eq!(
        (&status["actor"], &status["attempt"]),
        (&json!("b"), &json!(1))
    );
    assert!(status["created_at"].is_string(), "{text}");
    rabbit.until_count("asya-a", 0).await;
    assert!((pod.metric("messages_sent_total{kind=\"next\"").await - 1.0).abs() < 0.1);
    assert!((pod.metric("messages_received_total").await - 1.0).abs() < 0.1);
}

#[tokio::test]
async fn the_end_of_a_route_and_an_empty_answer_go_to_the_sink() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    rabbit
        .send("a", &envelope("end", "a", &[], &json!({})))
        .await;
    let nothing = json!({"do": "nothing"});
    rabbit
        .send("a", &envelope("none", "a", &["b"], &nothing))
        .await;
    let mut at_sink = rabbit.take_when("x-sink", 2).await;
    at_sink.sort_by_key(|envelope| envelope["id"].to_string());
    for (envelope, id) in at_sink.iter().zip(["end", "none"]) {
        assert_eq!(envelope["id"], id);
        assert_eq!(envelope["status"]["phase"], "succeeded", "{envelope}");
    }
    assert_eq!(at_sink[1]["payload"], nothing, "as it came");
}

#[tokio::test]
async fn a_failed_message_is_in_the_sump_once_with_its_error_and_its_headers() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let mut sent = envelope("m", "a", &["b"], &json!({"do": "raise"}));
    sent["headers"] = json!({"trace": "t"});
    sent["status"] = json!({"deadline_at": "2999-01-01T00:00:00Z"});
    rabbit.send("a", &sent).await;
    let (_, failed) = only(&rabbit, "x-sump").await;
    assert_eq!(failed["headers"], json!({"trace": "t"}));
    assert_eq!(failed["route"], sent["route"]);
    assert_eq!(failed["payload"]["original_payload"], sent["payload"]);
    assert_eq!(failed["payload"]["error"], "processing_error");
    let status = &failed["status"];
    assert_eq!(status["phase"], "failed");
    assert_eq!(status["deadline_at"], "2999-01-01T00:00:00Z");
    let r#type = status["error"]["type"].as_str().unwrap();
    assert!(r#type.ends_with("ValueError"), "{status}");
    assert_eq!(status["error"]["message"], "as asked");
    assert!(status["error"]["mro"].is_array() && status["error"]["traceback"].is_string());
    assert_eq!(
        pod.calls().len(),
        1,
        "without a policy the first failure counts"
    );
}

#[tokio::test]
async fn retries_wait_in_the_brokers_retry_queues() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit.retry_queue("a", 1).await;
    let mut environment = rabbit.environment("a");
    let policies = r#"{"default": {"maxAttempts": 3, "backoff": "constant", "initialDelay": "1s"},
        "never": {"maxAttempts": 1, "onExhausted": ["repair"]}}"#;
    let rules = r#"[{"errors": ["KeyError"], "policy": "never"}]"#;
    for (name, value) in [
        ("ASYA_RESILIENCY_POLICIES", policies),
        ("ASYA_RESILIENCY_RULES", rules),
        ("ASYA_RABBITMQ_RETRY_DELAYS", "1"),
    ] {
        environment.insert(name.to_owned(), value.to_owned());
    }
    rabbit.queue("repair").await;
    let pod = Pod::start(&environment);
    pod.ready().await;
    let start = std::time::Instant::now();
    rabbit
        .send("a", &envelope("m", "a", &["b"], &json!({"do": "raise"})))
        .await;
    rabbit
        .send(
            "a",
            &envelope("k", "a", &["b"], &json!({"do": "raise-key"})),
        )
        .await;
    let (_, failed) = only(&rabbit, "x-sump").await;
    assert!(
        start.elapsed() >= Duration::from_secs(2),
        "two delays of a second"
    );
    assert_eq!(failed["id"], "m");
    let status = &failed["status"];
    assert_eq!(
        (&status["attempt"], &status["max_attempts"]),
        (&json!(3), &json!(3))
    );
    assert!(
        failed["headers"]["x-asya-first-attempt"].is_string(),
        "{failed}"
    );
    assert!((pod.metric("messages_sent_total{kind=\"retry\"").await - 2.0).abs() < 0.1);
    let (_, routed) = only(&rabbit, "repair").await;
    assert_eq!(
        routed["route"],
        json!({"prev": ["a"], "curr": "repair", "next": []})
    );
    assert_eq!(routed["status"]["reason"], "PolicyRouted");
    assert_eq!(routed["payload"], json!({"do": "raise-key"}));
    assert_eq!(pod.calls().len(), 4);
}

#[tokio::test]
async fn without_retry_queues_a_retry_waits_unacknowledged_and_attempts_still_count() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut environment = rabbit.environment("a");
    for (name, value) in [
        ("ASYA_RESILIENCY_RETRY_POLICY", "constant"),
        ("ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS", "2"),
        ("ASYA_RESILIENCY_RETRY_INITIAL_INTERVAL", "2s"),
        ("ASYA_RESILIENCY_RETRY_JITTER", "false"),
    ] {
        environment.insert(name.to_owned(), value.to_owned());
    }
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    rabbit
        .send("a", &envelope("m", "a", &[], &json!({"do": "raise"})))
        .await;
    let (_, failed) = only(&rabbit, "x-sump").await;
    assert_eq!(failed["status"]["attempt"], 2);
    assert_eq!(pod.calls().len(), 2);
    // The second message is killed with the sidecar while it waits, and is not lost.
    rabbit
        .send("a", &envelope("n", "a", &[], &json!({"do": "raise"})))
        .await;
    until("the first attempt of the second message", || async {
        (pod.calls().len() == 3).then_some(())
    })
    .await;
    pod.sidecar.signal("KILL");
    pod.sidecar.ended().await;
    rabbit.until_count("asya-a", 1).await;
}

#[tokio::test]
async fn results_of_a_generator_have_the_same_ids_at_each_delivery() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit.queue("b").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let sent = envelope("m", "a", &["b"], &json!({"do": "fan", "count": 3}));
    let mut deliveries = Vec::new();
    for _ in 0..2 {
        rabbit.send("a", &sent).await;
        let mut results = rabbit.take_when("b", 3).await;
        results.sort_by_key(|envelope| envelope["payload"]["number"].as_u64());
        assert_eq!(results[0]["id"], "m", "the first keeps the id");
        assert_eq!(results[0].get("parent_id"), None);
        assert_eq!(results[1]["parent_id"], "m");
        let ids: Vec<String> = results.iter().map(|one| one["id"].to_string()).collect();
        deliveries.push(ids);
    }
    assert_eq!(deliveries[0], deliveries[1]);
    assert_ne!(deliveries[0][1], deliveries[0][2]);
}

#[tokio::test]
async fn a_generator_that_fails_half_way_publishes_nothing() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit.queue("b").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let payload = json!({"do": "fan", "count": 3, "fail_at": 2});
    rabbit
        .send("a", &envelope("m", "a", &["b"], &payload))
        .await;
    let (_, failed) = only(&rabbit, "x-sump").await;
    assert_eq!(failed["status"]["error"]["message"], "half-way");
    assert_eq!(rabbit.take("b").await, Vec::<Value>::new());
}

#[tokio::test]
async fn prefetch_makes_messages_wait_at_the_runtime_and_loses_none() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut environment = rabbit.environment("a");
    environment.insert("ASYA_PREFETCH".to_owned(), "5".to_owned());
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let release = pod.release_file("go");
    let payload = json!({"do": "hold", "release": release});
    for number in 0..12 {
        let id = format!("m{number}");
        rabbit.send("a", &envelope(&id, "a", &[], &payload)).await;
    }
    until("five messages are processed at a time", || async {
        let in_flight = pod.metric("messages_in_flight").await;
        ((in_flight - 5.0).abs() < 0.1).then_some(())
    })
    .await;
    std::fs::write(release, "").unwrap();
    assert_eq!(rabbit.take_when("x-sink", 12).await.len(), 12);
    assert!(pod.terminate().await.success());
    rabbit.until_count("asya-a", 0).await;
}

/// The only message that comes to an actor: its text, and its envelope.
async fn only(rabbit: &Rabbit, actor: &str) -> (String, Value) {
    let mut taken = rabbit.take_when(actor, 1).await;
    assert_eq!(taken.len(), 1, "{taken:?}");
    let envelope = taken.remove(0);
    (envelope.to_string(), envelope)
}

#[tokio::test]
async fn an_expired_message_is_not_processed() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let mut late = envelope("late", "a", &["b"], &json!({}));
    late["status"] = json!({"deadline_at": "2020-01-01T00:00:00Z"});
    rabbit.send("a", &late).await;
    let failed = rabbit.take_when("x-sump", 1).await;
    assert_eq!(failed[0]["status"]["error"]["type"], "asya.DeadlineError");
    assert_eq!(failed[0]["status"]["deadline_at"], "2020-01-01T00:00:00Z");
    assert!(pod.calls().is_empty());
}

#[tokio::test]
async fn no_attempt_is_planned_for_later_than_the_deadline() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut environment = rabbit.environment("a");
    let policies = r#"{"default": {"maxAttempts": 9, "backoff": "constant", "initialDelay": "1h",
        "maxInterval": "1h"}}"#;
    environment.insert("ASYA_RESILIENCY_POLICIES".to_owned(), policies.to_owned());
    let pod = Pod::start(&environment);
    pod.ready().await;
    let mut sent = envelope("m", "a", &[], &json!({"do": "raise"}));
    let deadline = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(10);
    sent["status"] = json!({"deadline_at": deadline.to_string()});
    rabbit.send("a", &sent).await;
    let failed = rabbit.take_when("x-sump", 1).await;
    assert_eq!(failed[0]["status"]["reason"], "Timeout");
    assert_eq!(failed[0]["status"]["error"]["message"], "as asked");
    rabbit.until_count("asya-a", 0).await;
}

#[tokio::test]
async fn a_message_at_the_wrong_actor_is_in_the_sump() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    rabbit.send("a", &envelope("m", "b", &[], &json!({}))).await;
    let failed = rabbit.take_when("x-sump", 1).await;
    assert_eq!(failed[0]["payload"]["error"], "route_mismatch");
    assert!(pod.calls().is_empty());
}
