//! Queues of SQS, by moto.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use test_cluster::moto::Moto;

use super::{environment, until};

/// A service with the queues of the sink and the sump.
pub struct Sqs {
    moto: Moto,
}

impl Sqs {
    pub async fn start() -> Self {
        let sqs = Self {
            moto: Moto::start().await,
        };
        sqs.queue("x-sink").await;
        sqs.queue("x-sump").await;
        sqs
    }

    async fn ask(&self, action: &str, body: &Value) -> Value {
        let (status, answer) = self.moto.ask(action, body).await;
        assert_eq!(status, 200, "{action}: {answer}");
        answer
    }

    pub async fn queue(&self, actor: &str) {
        let body = json!({"QueueName": format!("asya-{actor}")});
        self.ask("CreateQueue", &body).await;
    }

    /// A queue with other settings than the default ones.
    pub async fn queue_with(&self, actor: &str, attributes: &Value) {
        let body = json!({"QueueName": format!("asya-{actor}"), "Attributes": attributes});
        self.ask("CreateQueue", &body).await;
    }

    pub async fn delete_queue(&self, actor: &str) {
        self.ask("DeleteQueue", &json!({"QueueUrl": self.url(actor)}))
            .await;
    }

    fn url(&self, actor: &str) -> String {
        format!("{}/123456789012/asya-{actor}", self.moto.endpoint)
    }

    pub async fn send(&self, actor: &str, envelope: &Value) {
        self.send_text(actor, &envelope.to_string()).await;
    }

    pub async fn send_text(&self, actor: &str, text: &str) {
        let body = json!({"QueueUrl": self.url(actor), "MessageBody": text});
        self.ask("SendMessage", &body).await;
    }

    /// Takes the messages that are visible: their bodies and attributes.
    pub async fn take_whole(&self, actor: &str) -> Vec<(String, Value)> {
        let mut taken = Vec::new();
        loop {
            let receive = json!({"QueueUrl": self.url(actor), "MaxNumberOfMessages": 10,
                "MessageAttributeNames": ["All"], "WaitTimeSeconds": 0});
            let answer = self.ask("ReceiveMessage", &receive).await;
            let Some(messages) = answer["Messages"].as_array().filter(|all| !all.is_empty()) else {
                return taken;
            };
            for message in messages {
                let delete = json!({"QueueUrl": self.url(actor),
                    "ReceiptHandle": message["ReceiptHandle"]});
                self.ask("DeleteMessage", &delete).await;
                let body = message["Body"].as_str().expect("a body").to_owned();
                taken.push((body, message["MessageAttributes"].clone()));
            }
        }
    }

    /// Waits until this many messages have arrived, and takes them.
    pub async fn take_when(&self, actor: &str, count: usize) -> Vec<Value> {
        let taken = tokio::sync::Mutex::new(Vec::new());
        until(&format!("{count} messages are at {actor}"), || async {
            let mut taken = taken.lock().await;
            let messages = self.take_whole(actor).await.into_iter();
            taken.extend(
                messages
                    .map(|(body, _)| serde_json::from_str::<Value>(&body).expect("an envelope")),
            );
            (taken.len() >= count).then_some(())
        })
        .await;
        taken.into_inner()
    }

    /// Messages that are visible, hidden, and delayed.
    pub async fn counts(&self, actor: &str) -> [u64; 3] {
        let body = json!({"QueueUrl": self.url(actor), "AttributeNames": ["All"]});
        let answer = self.ask("GetQueueAttributes", &body).await;
        ["", "NotVisible", "Delayed"].map(|kind| {
            let name = format!("ApproximateNumberOfMessages{kind}");
            let count = answer["Attributes"][&name].as_str();
            count.and_then(|count| count.parse().ok()).expect("a count")
        })
    }

    /// Waits until the queue has these counts.
    pub async fn until_counts(&self, actor: &str, counts: [u64; 3]) {
        until(&format!("{actor} has {counts:?} messages"), || async {
            (self.counts(actor).await == counts).then_some(())
        })
        .await;
    }

    /// Address on which the service listens.
    pub fn address(&self) -> std::net::SocketAddr {
        let address = self.moto.endpoint.strip_prefix("http://");
        address
            .and_then(|address| address.parse().ok())
            .expect("an address")
    }

    /// The environment of a sidecar of this actor.
    pub fn environment(&self, actor: &str) -> BTreeMap<String, String> {
        let mut environment = environment(actor);
        environment.extend(
            [
                ("ASYA_TRANSPORT", "sqs"),
                ("ASYA_AWS_REGION", "us-east-1"),
                ("ASYA_SQS_ENDPOINT", &self.moto.endpoint),
                ("ASYA_SQS_VISIBILITY_TIMEOUT", "60"),
                ("ASYA_SQS_WAIT_TIME_SECONDS", "1"),
                ("AWS_ACCESS_KEY_ID", "key"),
                ("AWS_SECRET_ACCESS_KEY", "secret"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        environment
    }
}
