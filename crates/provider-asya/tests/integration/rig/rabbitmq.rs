//! The broker, with the provider's own client.

use provider_asya::transport::rabbitmq::api::{Answer, Api, Login};
use serde_json::{Value, json};

/// A broker with the user `guest`.
pub struct RabbitMq {
    server: test_cluster::rabbitmq::RabbitMq,
    /// URL of the management API.
    pub endpoint: String,
    /// As `guest`.
    pub api: Api,
}

impl RabbitMq {
    /// Starts a broker and waits until its API answers.
    pub async fn start() -> Self {
        Self::start_with("").await
    }

    /// Starts a broker with these lines in its configuration beside the rig's own.
    pub async fn start_with(settings: &str) -> Self {
        let server = test_cluster::rabbitmq::RabbitMq::start_with(settings).await;
        let endpoint = server.endpoint();
        Self {
            api: login(&endpoint, "guest", "guest"),
            endpoint,
            server,
        }
    }

    /// Process id of its node.
    pub fn node(&self) -> u32 {
        self.server.node()
    }

    /// Lets its node end.
    pub async fn stop(&mut self) {
        self.server.stop().await;
    }

    /// Starts it again, with what it had on disk.
    pub async fn restart(&mut self) {
        self.server.restart().await;
    }

    /// Value at this path, which must exist.
    pub async fn read(&self, path: &[&str]) -> Value {
        match self.api.get(path).await {
            Ok(Answer::Ok(value)) => value,
            other => panic!("{path:?}: {other:?}"),
        }
    }

    /// Publishes an empty payload as a sidecar does, and returns whether any queue got it.
    pub async fn publish(&self, exchange: &str, key: &str) -> bool {
        self.publish_to("/", exchange, key, "{}").await
    }

    /// Publishes to an exchange; whether the message is in a queue now. The exchange routes it as it
    /// routes one that came by AMQP.
    pub async fn publish_to(&self, vhost: &str, exchange: &str, key: &str, payload: &str) -> bool {
        let body = json!({"properties": {"delivery_mode": 2}, "routing_key": key,
            "payload": payload, "payload_encoding": "string"});
        let path = ["exchanges", vhost, exchange, "publish"];
        self.ask(&path, &body).await["routed"] == json!(true)
    }

    /// Takes all messages out of a queue, as a consumer that acknowledges them does.
    pub async fn take(&self, vhost: &str, queue: &str) -> Vec<String> {
        let body = json!({"count": 100, "ackmode": "ack_requeue_false", "encoding": "auto"});
        let messages = self.ask(&["queues", vhost, queue, "get"], &body).await;
        let messages = messages.as_array().expect("a list of messages").iter();
        messages
            .map(|message| message["payload"].as_str().expect("text").to_owned())
            .collect()
    }

    /// A request whose answer matters.
    async fn ask(&self, path: &[&str], body: &Value) -> Value {
        match self.api.post(path, body).await {
            Ok(Answer::Ok(answer)) => answer,
            other => panic!("{path:?}: {other:?}"),
        }
    }

    /// Returns whether anything is at this path.
    pub async fn has(&self, path: &[&str]) -> bool {
        self.api.get(path).await.expect("the API answers") != Answer::NotFound
    }
}

/// The API for a user.
pub fn login(endpoint: &str, username: &str, password: &str) -> Api {
    let login = Login {
        endpoint,
        username,
        password,
        authorities: None,
    };
    Api::new(&login, super::TIMEOUT).expect("a usable endpoint")
}
