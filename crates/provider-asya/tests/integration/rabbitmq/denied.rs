//! Creations that the broker denies in the middle.

use super::{BROKER, COUNTING, wanted};
use crate::rig::rabbitmq::{RabbitMq, login};
use provider_asya::transport::ExternalQueue as _;
use provider_asya::transport::rabbitmq::Broker;
use serde_json::json;

/// A broker as seen by a user with these tags who may configure what matches `configure`.
async fn limited_user(broker: &RabbitMq, user: &str, tags: &str, configure: &str) -> Broker {
    let api = &broker.api;
    let body = json!({"password": "limited", "tags": tags});
    api.put(&["users", user], &body).await.unwrap();
    let rights = json!({"configure": configure, "write": ".*", "read": ".*"});
    api.put(&["permissions", "/", user], &rights).await.unwrap();
    Broker::new(login(&broker.endpoint, user, "limited"), COUNTING)
}

async fn denied_creation_leaves_nothing(broker: &RabbitMq, limited: &Broker, name: &str) {
    let mut denied = wanted(name, "east");
    denied.queue.exchange = format!("exchange-of-{name}");
    denied.queue.retry_delays_seconds = vec![5];
    let exchange = denied.queue.exchange.clone();
    let error = limited.queue(denied).unwrap().create().await.unwrap_err();
    assert!(error.is_denied(), "{error}");
    let dead_letters = (format!("{name}-dlq"), format!("{exchange}-dlx"));
    for path in [
        ["queues", "/", name],
        ["queues", "/", &dead_letters.0],
        ["queues", "/", &format!("{name}-retry-5")],
        ["exchanges", "/", &exchange],
        ["exchanges", "/", &dead_letters.1],
        ["policies", "/", &format!("asya-{name}")],
    ] {
        assert!(!broker.has(&path).await, "{path:?}");
    }
}

#[test]
fn a_creation_whose_exchange_is_denied_leaves_nothing() {
    BROKER.run(async |broker| {
        let queues = "^asya-no-exchange";
        let limited = limited_user(broker, "no-exchange", "policymaker", queues).await;
        denied_creation_leaves_nothing(broker, &limited, "asya-no-exchange").await;
    });
}

#[test]
fn a_creation_whose_policy_is_denied_leaves_nothing() {
    BROKER.run(async |broker| {
        let limited = limited_user(broker, "no-policy", "management", ".*").await;
        denied_creation_leaves_nothing(broker, &limited, "asya-no-policy").await;
    });
}
