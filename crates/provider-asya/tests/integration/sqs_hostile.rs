//! Services that answer as SQS does, with what SQS seldom or never answers.

use std::sync::{Arc, Mutex};

use http::request::Parts;
use provider_asya::kinds::ProviderConfig;
use serde_json::{Value, json};

use crate::rig::fake::{Answer, Server};
use crate::rig::fake_broker::answer;
use crate::rig::provider_fixture::{ProviderFixture, apply, sqs_connection, timings};
use crate::rig::shared;

const NAMESPACE: &str = "hostile";
const ARN: &str = "arn:aws:sqs:us-east-1:123456789012:queue";

/// A service with this queue.
async fn service(url: String, arn: String) -> Server {
    Server::start(move |_, request: &Parts, _| -> Answer {
        let target = request.headers.get("x-amz-target");
        let call = target.and_then(|target| target.to_str().ok());
        let body: Value = match call.unwrap_or_default() {
            "AmazonSQS.GetQueueUrl" => json!({"QueueUrl": url}),
            "AmazonSQS.GetQueueAttributes" => json!({"Attributes": {"QueueArn": arn,
                "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0"}}),
            _ => json!({}),
        };
        answer(200, body.to_string())
    })
    .await
}

#[test]
fn urls_and_arns_that_are_long_or_not_printable_are_refused() {
    shared::run("a hostile SQS", async {
        let provider = ProviderFixture::start(timings()).await;
        provider.make_namespace(NAMESPACE).await;
        let url = "https://sqs/123456789012/queue";
        let long = "x".repeat(200_000);
        let cases = [
            (
                "long-url",
                format!("{url}{long}"),
                ARN.to_owned(),
                "the URL in the answer",
            ),
            (
                "escaped-url",
                format!("{url}\u{1b}[31m"),
                ARN.to_owned(),
                "the URL in the answer",
            ),
            (
                "long-arn",
                url.to_owned(),
                format!("{ARN}{long}"),
                "the ARN in the answer",
            ),
            (
                "escaped-arn",
                url.to_owned(),
                format!("{ARN}\u{202e}"),
                "the ARN in the answer",
            ),
        ];
        for (name, url, arn, text) in cases {
            let server = service(url, arn).await;
            let configs = provider.namespaced::<ProviderConfig>(NAMESPACE);
            let spec = json!({"sqs": sqs_connection(&server.endpoint, None)});
            apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
            let queues = provider.queues(NAMESPACE);
            let queue = json!({"metadata": {"name": name}, "spec": {
                "forProvider": {"sqs": {"region": "us-east-1", "visibilityTimeoutSeconds": 30,
                    "messageRetentionSeconds": 3600, "receiveWaitTimeSeconds": 0,
                    "deadLetter": {"enabled": false, "maxReceiveCount": 3}}},
                "providerConfigRef": {"kind": "ProviderConfig", "name": name}}});
            apply(&queues.0, queue).await;
            let queue = queues.until_condition(name, "Synced", "False", text).await;
            let at_provider = queue.status.at_provider;
            assert_eq!(
                (&at_provider.url, &at_provider.arn),
                (&None, &None),
                "{name}"
            );
        }
    });
}

/// Another owner creates the queue just before the provider does, after its dead-letter queue.
#[derive(Default)]
struct Race {
    /// Tags of the dead-letter queue, while it exists.
    letters: Option<Value>,
    /// Messages in it.
    messages: u64,
    /// True once the other owner was faster.
    is_lost: bool,
    deletions: usize,
}

impl Race {
    fn answer(&mut self, call: &str, request: &Value) -> (u16, Value) {
        let missing = (
            400,
            json!({"__type": "com.amazonaws.sqs#QueueDoesNotExist"}),
        );
        let of = request["QueueName"]
            .as_str()
            .or_else(|| request["QueueUrl"].as_str());
        let is_letters = of.is_some_and(|of| of.ends_with("-dlq"));
        let exists = if is_letters {
            self.letters.is_some()
        } else {
            self.is_lost
        };
        let url = json!({"QueueUrl": format!("https://sqs/1/{}", of.unwrap_or_default())});
        match call {
            "AmazonSQS.CreateQueue" if is_letters => {
                self.letters = Some(request["tags"].clone());
                (200, url)
            }
            "AmazonSQS.CreateQueue" => {
                self.is_lost = true;
                (400, json!({"__type": "com.amazonaws.sqs#QueueNameExists"}))
            }
            _ if !exists => missing,
            "AmazonSQS.GetQueueUrl" => (200, url),
            "AmazonSQS.ListQueueTags" if is_letters => (200, json!({"Tags": self.letters})),
            "AmazonSQS.ListQueueTags" => (200, json!({"Tags": {"asya-owner": "west/shop/queue"}})),
            "AmazonSQS.GetQueueAttributes" => (
                200,
                json!({"Attributes": {"QueueArn": format!("{ARN}-dlq"),
                "ApproximateNumberOfMessages": self.messages.to_string(),
                "ApproximateNumberOfMessagesNotVisible": "0"}}),
            ),
            "AmazonSQS.DeleteQueue" => {
                self.deletions += 1;
                self.letters = None;
                (200, json!({}))
            }
            _ => (200, json!({})),
        }
    }
}

#[test]
fn a_creator_that_loses_leaves_no_dead_letter_queue_unless_it_has_messages() {
    shared::run("a race on SQS", async {
        let provider = ProviderFixture::start(timings()).await;
        provider.make_namespace(NAMESPACE).await;
        for (name, messages, deletions) in [("empty", 0, 1), ("used", 1, 0)] {
            let race = Arc::new(Mutex::new(Race {
                messages,
                ..Race::default()
            }));
            let of_server = race.clone();
            let server = Server::start(move |_, request: &Parts, body| -> Answer {
                let target = request.headers.get("x-amz-target");
                let call = target.and_then(|target| target.to_str().ok());
                let body = serde_json::from_slice(body).unwrap_or_default();
                let mut race = of_server.lock().expect("no holder panics");
                let (status, body) = race.answer(call.unwrap_or_default(), &body);
                answer(status, body.to_string())
            })
            .await;
            let configs = provider.namespaced::<ProviderConfig>(NAMESPACE);
            let spec = json!({"sqs": sqs_connection(&server.endpoint, None)});
            apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
            let queues = provider.queues(NAMESPACE);
            let queue = json!({"metadata": {"name": name}, "spec": {
                "forProvider": {"sqs": {"region": "us-east-1", "visibilityTimeoutSeconds": 30,
                    "messageRetentionSeconds": 3600, "receiveWaitTimeSeconds": 0,
                    "deadLetter": {"enabled": true, "maxReceiveCount": 3}}},
                "providerConfigRef": {"kind": "ProviderConfig", "name": name}}});
            apply(&queues.0, queue).await;
            queues
                .until_condition(name, "Synced", "False", "west/shop/queue")
                .await;
            for token in ["first", "second"] {
                queues.until_reconciled(name, token).await;
            }
            let race = race.lock().expect("no holder panics");
            assert_eq!(race.deletions, deletions, "{name}");
            assert_eq!(race.letters.is_none(), deletions > 0, "{name}");
        }
    });
}
