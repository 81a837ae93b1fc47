//! All that an actor lives on.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_cluster::crossplane::condition;
use test_cluster::keda::{self, Keda};
use test_cluster::moto::Moto;
use test_cluster::rabbitmq::RabbitMq;
use test_cluster::rights::Rights;
use tests::live_actor::Live;
use tests::program::repository;
use tests::stack::Stack;

use crate::fail;
use crate::kubelet::Kubelet;

/// Timeout of everything: core reads flavors once a minute, and later after errors.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

/// A cluster with everything, and brokers.
pub(crate) struct World {
    // What needs the API server ends before it does.
    pub(crate) kubelet: Kubelet,
    keda: Option<Keda>,
    pub(crate) stack: Stack,
    broker: RabbitMq,
    moto: Moto,
    /// Requests that were refused before the story began, while rights were still being granted.
    refused: Vec<String>,
}

impl World {
    /// Starts all of it with a Configuration of ours, and applies what a platform team does.
    pub(crate) async fn start(configuration: &str, rights: Rights) -> Self {
        let start = Instant::now();
        let stack = Stack::install(configuration, rights);
        let (mut stack, broker, moto) = tokio::join!(stack, RabbitMq::start(), Moto::start());
        print_time(start, "all packages are healthy, from nothing");
        let has_keda = !keda::is_skipped("what needs KEDA's operator");
        let keda = if has_keda {
            Some(Keda::start(&stack.cluster).await)
        } else {
            None
        };
        stack.start_provider_with(&["--poll", "5s"]);
        let mut world = Self {
            kubelet: Kubelet::of(&stack.client).await,
            keda,
            stack,
            broker,
            moto,
            refused: Vec::new(),
        };
        for object in world.platform() {
            world.stack.apply(&object).await;
        }
        let flavors = repository().join("tests/story/flavors.yaml");
        world.stack.apply_file(&flavors).await;
        world.refused = world.stack.refusals().await;
        print_time(start, "everything is started, from nothing");
        world
    }

    /// The objects of a platform that leads to the brokers here. The last is the platform's settings.
    pub(crate) fn platform(&self) -> Vec<Value> {
        let file = repository().join("tests/story/platform.yaml");
        let text = fs::read_to_string(file).expect("the platform can be read");
        let text = text
            .replace("{amqp}", &self.broker.amqp.to_string())
            .replace("{management}", &self.broker.management.to_string())
            .replace("{sqs}", &self.moto.endpoint);
        actor::yaml::documents(&text).expect("YAML")
    }

    /// Returns whether KEDA runs; records what is skipped if it does not.
    pub(crate) fn has_keda(&self, what: &str) -> bool {
        if self.keda.is_none() {
            println!("skipped without KEDA's operator: {what}");
        }
        self.keda.is_some()
    }

    /// Publishes a message as a sidecar does; whether it is in a queue now.
    pub(crate) async fn publish(&self, actor: &str) -> bool {
        let message = json!({"properties": {"delivery_mode": 2}, "routing_key": actor,
            "payload": "{}", "payload_encoding": "string"});
        let path = "exchanges/%2F/asya/publish";
        let (_, answer) = self.broker.ask("POST", path, Some(&message)).await;
        answer["routed"] == true
    }

    /// Returns the number of messages that wait in an actor's queue, which stay there.
    pub(crate) async fn waiting(&self, actor: &str) -> usize {
        let request = json!({"count": 10, "ackmode": "ack_requeue_true", "encoding": "auto"});
        let path = format!("queues/%2F/asya-{actor}/get");
        let (_, messages) = self.broker.ask("POST", &path, Some(&request)).await;
        messages.as_array().map_or(0, Vec::len)
    }

    /// Takes all messages out of an actor's queue.
    pub(crate) async fn purge(&self, actor: &str) {
        let path = format!("queues/%2F/asya-{actor}/contents");
        let (status, _) = self.broker.ask("DELETE", &path, None).await;
        assert_eq!(status, 204, "the queue of {actor} is emptied");
    }

    /// Deletes an actor's queue at the broker.
    pub(crate) async fn delete_queue(&self, actor: &str) {
        let path = format!("queues/%2F/asya-{actor}");
        let (status, _) = self.broker.ask("DELETE", &path, None).await;
        assert_eq!(status, 204, "the queue of {actor} is deleted");
    }

    /// Returns whether an actor's queue is at the broker.
    pub(crate) async fn has_queue(&self, actor: &str) -> bool {
        let path = format!("queues/%2F/asya-{actor}");
        let (status, _) = self.broker.ask("GET", &path, None).await;
        status == 200
    }

    /// Sends a message to an actor's queue at SQS.
    pub(crate) async fn send_by_sqs(&self, actor: &str) {
        let (_, queue) = self.ask_sqs_for_queue(actor).await;
        let message = json!({"QueueUrl": queue["QueueUrl"], "MessageBody": "{}"});
        let (status, answer) = self.moto.ask("SendMessage", &message).await;
        assert_eq!(status, 200, "a message is sent to {actor}: {answer}");
    }

    /// Returns whether an actor's queue is at SQS.
    pub(crate) async fn has_queue_at_sqs(&self, actor: &str) -> bool {
        self.ask_sqs_for_queue(actor).await.0 == 200
    }

    async fn ask_sqs_for_queue(&self, actor: &str) -> (u16, Value) {
        let name = json!({"QueueName": format!("asya-{actor}")});
        self.moto.ask("GetQueueUrl", &name).await
    }

    /// Waits until it is so, and prints how long that took.
    pub(crate) async fn until(
        &self,
        actor: &Live<'_>,
        what: &str,
        mut is_so: impl AsyncFnMut() -> bool,
    ) {
        let start = Instant::now();
        while !is_so().await {
            if start.elapsed() > TIMEOUT {
                let found = actor.read().await;
                let status = &found["status"];
                fail(
                    self,
                    actor,
                    &format!("waited without success until {what}: {status:#}"),
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        print_time(start, what);
    }

    /// Like [`until`](Self::until), for an actor that may be deleted.
    pub(crate) async fn until_after(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let start = Instant::now();
        while !is_so().await {
            assert!(
                start.elapsed() < TIMEOUT,
                "waited without success: {what}\n{}",
                self.log()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        print_time(start, what);
    }

    /// Waits until an actor has nothing to do but to wait for messages.
    pub(crate) async fn until_settled(&self, actor: &Live<'_>, what: &str) {
        let has_keda = self.keda.is_some();
        self.until(actor, what, async || {
            let found = actor.read().await;
            if has_keda {
                status(&found) == "Napping"
            } else {
                is_true(&found, "TransportReady") && is_true(&found, "WorkloadReady")
            }
        })
        .await;
    }

    /// Fails if something was refused for want of a right.
    pub(crate) async fn check_that_all_had_their_rights(&self) {
        let mut refusals = self.stack.refusals().await;
        refusals.retain(|line| !self.refused.contains(line));
        assert_eq!(refusals, Vec::<String>::new(), "all rights are granted");
    }

    /// The ends of the logs.
    pub(crate) fn log(&self) -> String {
        let keda = self.keda.as_ref().map(Keda::log);
        format!("{}\n{}", self.stack.log(), keda.unwrap_or_default())
    }
}

/// Prints how long something took.
pub(crate) fn print_time(start: Instant, what: &str) {
    println!("{:7.1} s  {what}", start.elapsed().as_secs_f64());
}

/// The status that an actor's users see; empty before the first one.
pub(crate) fn status(actor: &Value) -> &str {
    let ready = condition(actor, "ActorReady");
    ready
        .and_then(|ready| ready["reason"].as_str())
        .unwrap_or_default()
}

/// Returns whether a condition is True.
pub(crate) fn is_true(actor: &Value, kind: &str) -> bool {
    condition(actor, kind).is_some_and(|condition| condition["status"] == "True")
}
