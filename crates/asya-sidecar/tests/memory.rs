//! The worker as a library: on queues in memory, beside the real runtime script.

mod rig;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use asya_sidecar::config::{PublishFrames, WorkerConfig};
use asya_sidecar::gateway::Gateway;
use asya_sidecar::metrics::Metrics;
use asya_sidecar::retry::{Delays, Growth, Policy, Retries};
use asya_sidecar::runtime::Runtime;
use asya_sidecar::stop::{self, StopSender};
use asya_sidecar::transport::memory::Broker;
use asya_sidecar::worker::Worker;
use rig::receiver::Receiver;
use rig::{Script, envelope, until};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A worker of actor `a` with its runtime.
struct Running {
    broker: Broker,
    script: Script,
    stop: StopSender,
    worker: JoinHandle<()>,
}

impl Running {
    fn start(gateway_url: Option<String>, is_end_actor: bool) -> Self {
        let script = Script::start(&BTreeMap::new());
        let broker = Broker::default();
        for actor in ["b", "x-sink", "x-sump"] {
            drop(broker.connect(actor));
        }
        let (stop, stopped) = stop::channel();
        let config = WorkerConfig {
            actor: "a".to_owned(),
            namespace: "default".to_owned(),
            sink: "x-sink".to_owned(),
            sump: "x-sump".to_owned(),
            is_end_actor,
            timeout: Duration::from_secs(30),
            prefetch: 1,
            publish: PublishFrames::Complete,
            retries: Retries {
                fallback: Some(Policy {
                    max_attempts: 2,
                    delays: Delays {
                        growth: Growth::Constant,
                        initial: Duration::from_millis(50),
                        ..Delays::default()
                    },
                    ..Policy::default()
                }),
                ..Retries::default()
            },
            unroutable_grace: Duration::ZERO,
        };
        let worker = Worker::new(
            config,
            Arc::new(broker.connect("a")),
            Runtime::new(script.folder()),
            Arc::new(Metrics::new("a", "memory")),
            Gateway::start(gateway_url, "a"),
            stopped,
        );
        Self {
            broker,
            script,
            stop,
            worker: tokio::spawn(Arc::new(worker).run()),
        }
    }

    fn send(&self, envelope: &Value) {
        let body = envelope.to_string().into();
        self.broker.send("a", body).expect("the queue is there");
    }

    /// The first message for an actor, as soon as there is one.
    async fn first(&self, actor: &str) -> Value {
        until(&format!("a message is at {actor}"), || async {
            let waiting = self.broker.waiting(actor);
            serde_json::from_slice(waiting.first()?).ok()
        })
        .await
    }

    async fn end(self) -> Broker {
        self.stop.stop();
        self.worker.await.expect("the worker ends in order");
        self.broker
    }
}

#[tokio::test]
async fn a_worker_in_memory_routes_retries_and_ends_when_asked() {
    let running = Running::start(None, false);
    running.send(&envelope("m", "a", &["b"], &json!({"x": 1})));
    let next = running.first("b").await;
    assert_eq!(
        (&next["id"], &next["payload"]),
        (&json!("m"), &json!({"x": 1}))
    );
    running.send(&envelope("f", "a", &[], &json!({"do": "raise"})));
    let failed = running.first("x-sump").await;
    assert_eq!(failed["status"]["attempt"], 2);
    running.send(&envelope("u", "a", &["nobody"], &json!({})));
    until("the unroutable message is in the sump", || async {
        (running.broker.waiting("x-sump").len() == 2).then_some(())
    })
    .await;
    assert_eq!(running.script.calls().len(), 4);
    let broker = running.end().await;
    assert!(broker.waiting("a").is_empty() && broker.dead("a").is_empty());
}

#[tokio::test]
async fn an_end_actor_in_memory_rejects_what_its_handler_fails_on() {
    let running = Running::start(None, true);
    running.send(&envelope("m", "a", &["b"], &json!({"do": "raise"})));
    until("the message is rejected", || async {
        (running.broker.dead("a").len() == 1).then_some(())
    })
    .await;
    let broker = running.end().await;
    assert!(broker.waiting("b").is_empty() && broker.waiting("x-sump").is_empty());
}

#[tokio::test]
async fn a_gateway_gets_progress_stream_and_failure_in_the_form_that_it_knows() {
    for (form, is_newer) in [("newer", true), ("older", false)] {
        let gateway = Receiver::start(if is_newer {
            |path| path.starts_with("/api/v1/mesh/")
        } else {
            |path| path.starts_with("/mesh/")
        })
        .await;
        let running = Running::start(Some(gateway.url.clone()), false);
        running.send(&envelope("m", "a", &["b"], &json!({"do": "fly"})));
        running.first("b").await;
        running.send(&envelope("f", "a", &["b"], &json!({"do": "raise"})));
        running.first("x-sump").await;
        let kinds = if is_newer {
            ["/api/v1/mesh/m/events", "/api/v1/mesh/f/events"]
        } else {
            ["/mesh/m/fly", "/mesh/f/progress"]
        };
        until(&format!("the {form} form has arrived"), || async {
            let posted = gateway.posted();
            let has = |wanted: &str, text: &str| {
                posted.iter().any(|(path, body)| {
                    path == wanted && String::from_utf8_lossy(body).contains(text)
                })
            };
            (has(kinds[0], "token") && has(kinds[1], "\"failed\"")).then_some(())
        })
        .await;
        let bodies: Vec<Value> = gateway
            .posted()
            .iter()
            .map(|(_, body)| serde_json::from_slice(body).expect("JSON"))
            .collect();
        let has_type = bodies.iter().all(|body| body["type"].is_string());
        assert_eq!(has_type, is_newer, "{bodies:?}");
        running.end().await;
    }
}

#[tokio::test]
async fn a_gateway_that_is_down_or_silent_delays_no_message() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    for url in ["http://127.0.0.1:1".to_owned(), silent] {
        let running = Running::start(Some(url), false);
        for number in 0..20 {
            running.send(&envelope(&format!("m{number}"), "a", &["b"], &json!({})));
        }
        until("all messages have reached the next actor", || async {
            (running.broker.waiting("b").len() == 20).then_some(())
        })
        .await;
        running.end().await;
    }
}

#[tokio::test]
async fn the_header_of_a_message_names_its_gateway_or_turns_reports_off() {
    let other = Receiver::start(|_| true).await;
    let own = Receiver::start(|_| true).await;
    let running = Running::start(Some(own.url.clone()), false);
    let mut named = envelope("named", "a", &["b"], &json!({}));
    named["headers"] = json!({"x-asya-gateway-url": other.url});
    let mut off = envelope("off", "a", &["b"], &json!({}));
    off["headers"] = json!({"x-asya-mesh-status": "off"});
    running.send(&named);
    running.send(&off);
    running.send(&envelope("last", "a", &["b"], &json!({})));
    until("the last message is reported", || async {
        let is_last = |(path, _): &(String, _)| path.contains("last");
        own.posted().iter().any(is_last).then_some(())
    })
    .await;
    assert!(own.posted().iter().all(|(path, _)| path.contains("last")));
    assert!(!other.posted().is_empty());
    assert!(
        other
            .posted()
            .iter()
            .all(|(path, _)| path.contains("named"))
    );
    running.end().await;
}
