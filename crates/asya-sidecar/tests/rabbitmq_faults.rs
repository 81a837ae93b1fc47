//! Message handling on RabbitMQ under failures. No message may be lost, and none may loop.

mod rig;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rig::rabbit::{EXCHANGE, Rabbit};
use rig::{Pod, envelope, until};
use serde_json::{Value, json};
use test_cluster::rabbitmq::RabbitMq;

/// Time after a broker's return in which messages must be received again.
const RECONNECT: Duration = Duration::from_secs(10);

/// Time after a queue's creation in which messages must be received.
const LATE_QUEUE: Duration = Duration::from_secs(5);

/// Time that the sidecar waits for the broker's deliveries, and then for its answer.
const ANSWER: Duration = Duration::from_secs(3);

#[tokio::test]
async fn sigterm_lets_the_running_call_finish_and_takes_nothing_new() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    rabbit.send("a", &envelope("held", "a", &[], &held)).await;
    rabbit
        .send("a", &envelope("next", "a", &[], &json!({})))
        .await;
    called(&pod, 1).await;
    pod.sidecar.signal("TERM");
    let ended = tokio::time::timeout(Duration::from_millis(500), pod.sidecar.ended()).await;
    assert!(ended.is_err(), "it waits for the call");
    std::fs::write(release, "").unwrap();
    assert!(pod.sidecar.ended().await.success());
    let at_sink = rabbit.take("x-sink").await;
    assert_eq!(ids(&at_sink), ["held"]);
    rabbit.until_count("asya-a", 1).await;
    assert_eq!(pod.calls().len(), 1);
    assert!(rabbit.take("x-sump").await.is_empty());
}

#[tokio::test]
async fn sigterm_ends_an_idle_sidecar_at_once() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let start = Instant::now();
    assert!(pod.terminate().await.success());
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_dead_runtime_gets_no_message_and_costs_none() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    rabbit.send("a", &envelope("held", "a", &[], &held)).await;
    called(&pod, 1).await;
    for number in 0..20 {
        let id = format!("m{number}");
        rabbit.send("a", &envelope(&id, "a", &[], &json!({}))).await;
    }
    pod.kill_runtime();
    until("the sidecar is not ready", || async {
        let (status, _) = pod.ask("/readyz").await?;
        (status == 503).then_some(())
    })
    .await;
    rabbit.until_count("asya-a", 21).await;
    assert!(rabbit.take("x-sump").await.is_empty());
    std::fs::write(release, "").unwrap();
    pod.start_runtime();
    assert_eq!(rabbit.take_when("x-sink", 21).await.len(), 21);
    assert!(pod.terminate().await.success());
    assert!(rabbit.take("x-sump").await.is_empty());
    rabbit.until_count("asya-a", 0).await;
}

#[tokio::test]
async fn a_dead_runtime_holds_none_of_several_messages() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut environment = rabbit.environment("a");
    environment.insert("ASYA_PREFETCH".to_owned(), "8".to_owned());
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    for number in 0..8 {
        let id = format!("m{number}");
        rabbit.send("a", &envelope(&id, "a", &[], &held)).await;
    }
    until("eight messages are processed at a time", || async {
        let in_flight = pod.metric("messages_in_flight").await;
        (in_flight > 7.9).then_some(())
    })
    .await;
    pod.kill_runtime();
    rabbit.until_count("asya-a", 8).await;
    std::fs::write(release, "").unwrap();
    pod.start_runtime();
    assert_eq!(rabbit.take_when("x-sink", 8).await.len(), 8);
    assert!(rabbit.take("x-sump").await.is_empty());
}

/// A broker with a resource alarm reads nothing from connections that publish, and so answers nothing on
/// them: that is no reason to give up the connection, and with it the calls that are under way.
#[tokio::test]
async fn a_broker_that_blocks_publishers_doubles_no_message() {
    let rabbit = Rabbit::on(Arc::new(RabbitMq::start().await)).await;
    rabbit.queue("a").await;
    let mut environment = rabbit.environment("a");
    environment.insert("ASYA_PREFETCH".to_owned(), "2".to_owned());
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    for number in 0..4 {
        let id = format!("m{number}");
        rabbit.send("a", &envelope(&id, "a", &[], &held)).await;
    }
    until("two messages are processed at a time", || async {
        let in_flight = pod.metric("messages_in_flight").await;
        (in_flight > 1.9).then_some(())
    })
    .await;
    rabbit.broker.set_memory_watermark(0.0);
    std::fs::write(release, "").unwrap();
    // Longer than the sidecar waits for an answer of a broker that is not blocked.
    let blocked = Instant::now();
    until("the alarm has lasted", || async {
        (blocked.elapsed() > 3 * ANSWER).then_some(())
    })
    .await;
    assert_eq!(pod.calls().len(), 2, "no call is repeated, none begins");
    rabbit.broker.set_memory_watermark(0.4);
    let at_sink = rabbit.take_when("x-sink", 4).await;
    assert_eq!(pod.calls().len(), 4);
    assert!(pod.terminate().await.success());
    rabbit.until_count("asya-a", 0).await;
    let late = rabbit.take("x-sink").await;
    assert_eq!(at_sink.len() + late.len(), 4, "{late:?}");
}

#[tokio::test]
async fn a_name_that_no_queue_can_have_is_in_the_sump_and_stops_nothing() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let long = "x".repeat(300);
    let secret = json!({"text": "planted"});
    for next in [long.as_str(), "nobody"] {
        rabbit
            .send("a", &envelope(next, "a", &[next], &secret))
            .await;
    }
    rabbit.send("a", &envelope("m", "a", &[], &json!({}))).await;
    let failed = rabbit.take_when("x-sump", 2).await;
    for failed in failed {
        assert_eq!(failed["status"]["error"]["type"], "asya.UnroutableError");
    }
    assert_eq!(ids(&rabbit.take_when("x-sink", 1).await), ["m"]);
    rabbit.until_count("asya-a", 0).await;
    // lapin would log the bytes as decimal numbers.
    let bytes: Vec<String> = "planted".bytes().map(|byte| byte.to_string()).collect();
    let log = pod.log();
    assert!(
        !log.contains("planted") && !log.contains(&bytes.join(", ")),
        "{log}"
    );
}

#[tokio::test]
async fn a_sidecar_without_a_runtime_ends_on_sigterm() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut pod = Pod::without_runtime(&rabbit.environment("a"));
    until("the sidecar serves its metrics", || pod.ask("/healthz")).await;
    assert!(pod.terminate().await.success());
}

#[tokio::test]
async fn a_connection_that_the_broker_closes_is_made_again() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let closed = until("the connection is listed", || async {
        let path = format!("vhosts/{}/connections", rabbit.vhost);
        let (_, connections) = rabbit.broker.ask("GET", &path, None).await;
        let name = connections.as_array()?.first()?["name"]
            .as_str()?
            .to_owned();
        let name = name.replace(' ', "%20").replace('>', "%3E");
        let path = format!("connections/{name}");
        let (status, _) = rabbit.broker.ask("DELETE", &path, None).await;
        (status == 204).then(Instant::now)
    })
    .await;
    rabbit.send("a", &envelope("m", "a", &[], &json!({}))).await;
    rabbit.take_when("x-sink", 1).await;
    assert!(closed.elapsed() < RECONNECT, "{:?}", closed.elapsed());
    assert!(pod.metric("reconnects_total").await >= 1.0);
}

#[tokio::test]
async fn messages_are_received_again_after_the_broker_was_killed() {
    let mut broker = RabbitMq::start().await;
    // The broker has to be ours alone, to be killed.
    let rabbit = Rabbit::on(Arc::new(broker)).await;
    rabbit.queue("a").await;
    let mut pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    rabbit.send("a", &envelope("held", "a", &[], &held)).await;
    called(&pod, 1).await;
    // A quorum queue that is younger than this does not always survive the broker's death.
    rabbit.until_count("asya-a", 1).await;
    let Rabbit {
        broker: shared,
        vhost,
    } = rabbit;
    broker = Arc::into_inner(shared).expect("nobody else has it");
    broker.kill_and_restart().await;
    let back = Instant::now();
    std::fs::write(release, "").unwrap();
    let rabbit = Rabbit {
        broker: Arc::new(broker),
        vhost,
    };
    let at_sink = rabbit.take_when("x-sink", 1).await;
    assert!(back.elapsed() < RECONNECT, "{:?}", back.elapsed());
    assert_eq!(
        ids(&at_sink),
        ["held"],
        "published once, by the delivery that was acknowledged"
    );
    assert!(pod.terminate().await.success());
    rabbit.until_count("asya-a", 0).await;
}

#[tokio::test]
async fn a_queue_that_is_made_late_or_anew_is_received_from_soon() {
    let rabbit = Rabbit::start().await;
    let pod = Pod::start(&rabbit.environment("a"));
    until("it waits for its queue", || async {
        pod.log().contains("cannot receive messages").then_some(())
    })
    .await;
    for id in ["late", "anew"] {
        rabbit.queue("a").await;
        let made = Instant::now();
        rabbit.send("a", &envelope(id, "a", &[], &json!({}))).await;
        rabbit.take_when("x-sink", 1).await;
        assert!(made.elapsed() < LATE_QUEUE, "{id}: {:?}", made.elapsed());
        rabbit.delete_queue("a").await;
        until("the sidecar is not ready", || async {
            let (status, _) = pod.ask("/readyz").await?;
            (status == 503).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn messages_for_an_actor_without_a_queue_are_in_the_sump_with_the_reason() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    for number in 0..5 {
        let id = format!("m{number}");
        rabbit
            .send("a", &envelope(&id, "a", &["nobody"], &json!({})))
            .await;
    }
    let failed = rabbit.take_when("x-sump", 5).await;
    assert_eq!(failed.len(), 5);
    assert_eq!(failed[0]["status"]["error"]["type"], "asya.UnroutableError");
    assert!(
        pod.metric("publish_errors_total{reason=\"unroutable\"")
            .await
            >= 5.0
    );
    rabbit.until_count("asya-a", 0).await;
}

#[tokio::test]
async fn a_queue_that_appears_soon_after_gets_the_message() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    rabbit
        .send("a", &envelope("m", "a", &["b"], &json!({})))
        .await;
    until("it was returned as unroutable", || async {
        (pod.metric("publish_errors_total{reason=\"unroutable\"")
            .await
            >= 1.0)
            .then_some(())
    })
    .await;
    rabbit.queue("b").await;
    assert_eq!(ids(&rabbit.take_when("b", 1).await), ["m"]);
}

#[tokio::test]
async fn without_a_sump_a_failed_message_stays_in_its_queue() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    rabbit.delete_queue("x-sump").await;
    let mut pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    rabbit
        .send("a", &envelope("m", "a", &[], &json!({"do": "raise"})))
        .await;
    until("it was returned as unroutable", || async {
        (pod.metric("publish_errors_total{reason=\"unroutable\"")
            .await
            >= 2.0)
            .then_some(())
    })
    .await;
    rabbit.until_count("asya-a", 1).await;
    assert_eq!(pod.calls().len(), 1, "and it does not loop");
    // The next pod finishes it when the sump is there.
    assert!(pod.terminate().await.success());
    rabbit.queue("x-sump").await;
    pod.restart_sidecar();
    assert_eq!(ids(&rabbit.take_when("x-sump", 1).await), ["m"]);
}

#[tokio::test]
async fn a_missing_exchange_loses_nothing() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let path = format!("exchanges/{}/{EXCHANGE}", rabbit.vhost);
    // The message is in the queue before the exchange is deleted: the handler holds it.
    let release = pod.release_file("go");
    let held = json!({"do": "hold", "release": release});
    rabbit.send("a", &envelope("m", "a", &[], &held)).await;
    called(&pod, 1).await;
    assert_eq!(rabbit.broker.ask("DELETE", &path, None).await.0, 204);
    std::fs::write(release, "").unwrap();
    until("it was refused", || async {
        (pod.metric("publish_errors_total{reason=\"unroutable\"")
            .await
            >= 1.0)
            .then_some(())
    })
    .await;
    let topic = json!({"type": "topic", "durable": true});
    assert_eq!(rabbit.broker.ask("PUT", &path, Some(&topic)).await.0, 201);
    rabbit.bind("x-sink").await;
    rabbit.bind("x-sump").await;
    // To the one or the other: it is published as soon as somebody takes it.
    until("it has arrived", || async {
        let arrived = [rabbit.take("x-sink").await, rabbit.take("x-sump").await].concat();
        (ids(&arrived) == ["m"]).then_some(())
    })
    .await;
    assert_eq!(pod.calls().len(), 1);
}

#[tokio::test]
async fn an_invalid_envelope_reaches_the_sump_once_with_its_bytes() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let pod = Pod::start(&rabbit.environment("a"));
    pod.ready().await;
    let bodies = ["no JSON", "[1]", r#"{"payload": 1}"#];
    for body in bodies {
        rabbit.send_text("a", body).await;
        let mut found = Vec::new();
        while found.is_empty() {
            found = rabbit.take_whole("x-sump").await;
        }
        let [(text, headers)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(text, body);
        assert!(headers["x-asya-error"].is_string(), "{headers}");
    }
    assert!(pod.calls().is_empty());
}

#[tokio::test]
async fn an_end_actor_receives_all_messages_and_forwards_none() {
    let rabbit = Rabbit::start().await;
    let mut environment = rabbit.environment("x-sump");
    environment.insert("ASYA_IS_END_ACTOR".to_owned(), "true".to_owned());
    environment.insert("ASYA_ENABLE_VALIDATION".to_owned(), "false".to_owned());
    let pod = Pod::start(&environment);
    pod.ready().await;
    rabbit.send_text("x-sump", "no JSON").await;
    rabbit.send_text("x-sump", r#"{"payload": {"n": 1}}"#).await;
    rabbit
        .send(
            "x-sump",
            &envelope("m", "elsewhere", &["b"], &json!({"n": 2})),
        )
        .await;
    called(&pod, 3).await;
    let calls = pod.calls();
    assert_eq!(calls[0]["original_payload"], "no JSON");
    assert_eq!((&calls[1], &calls[2]), (&json!({"n": 1}), &json!({"n": 2})));
    rabbit.until_count("asya-x-sump", 0).await;
    assert!(rabbit.take("x-sink").await.is_empty());
    assert_eq!(pod.calls().len(), 3, "nothing came back");
}

#[tokio::test]
async fn an_end_actor_whose_handler_fails_loses_no_message_without_a_dead_letter_queue() {
    let rabbit = Rabbit::start().await;
    let mut environment = rabbit.environment("x-sump");
    environment.insert("ASYA_IS_END_ACTOR".to_owned(), "true".to_owned());
    let pod = Pod::start(&environment);
    pod.ready().await;
    rabbit
        .send("x-sump", &envelope("m", "a", &[], &json!({"do": "raise"})))
        .await;
    called(&pod, 2).await;
    rabbit
        .declare("asya-x-sump-dlq", &json!({"x-queue-type": "quorum"}))
        .await;
    rabbit.until_count("asya-x-sump-dlq", 1).await;
    rabbit.until_count("asya-x-sump", 0).await;
}

#[tokio::test]
async fn a_call_that_hangs_gives_one_failure_and_spoils_no_other_message() {
    let rabbit = Rabbit::start().await;
    rabbit.queue("a").await;
    let mut environment = rabbit.environment("a");
    environment.insert("ASYA_RUNTIME_TIMEOUT".to_owned(), "1s".to_owned());
    let mut pod = Pod::start(&environment);
    pod.ready().await;
    let hangs = json!({"do": "sleep", "seconds": 4});
    rabbit.send("a", &envelope("hangs", "a", &[], &hangs)).await;
    called(&pod, 1).await;
    rabbit
        .send("a", &envelope("next", "a", &[], &json!({})))
        .await;
    let failed = rabbit.take_when("x-sump", 1).await;
    assert_eq!(ids(&failed), ["hangs"]);
    assert_eq!(
        failed[0]["status"]["error"]["type"],
        "asya.RuntimeTimeoutError"
    );
    assert_eq!(ids(&rabbit.take_when("x-sink", 1).await), ["next"]);
    assert!(pod.sidecar.exit_status().is_none(), "it goes on");
    assert!(rabbit.take("x-sump").await.is_empty());
    rabbit.until_count("asya-a", 0).await;
}

async fn called(pod: &Pod, times: usize) {
    until(&format!("the handler was called {times} times"), || async {
        (pod.calls().len() >= times).then_some(())
    })
    .await;
}

fn ids(envelopes: &[Value]) -> Vec<&str> {
    let ids = envelopes.iter();
    ids.map(|envelope| envelope["id"].as_str().expect("an id"))
        .collect()
}
