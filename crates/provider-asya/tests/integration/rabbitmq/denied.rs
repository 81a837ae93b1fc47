//! Creations that the broker denies in the middle.

use super::{BROKER, COUNTING, wanted};
use crate::rig;
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

/// The answer to the first attempt was lost, so the second one finds the queue of the first one.
#[test]
fn a_second_attempt_that_is_denied_leaves_nothing_of_the_first_one() {
    BROKER.run(async |broker| {
        let limited = limited_user(broker, "second", "policymaker", "^asya-second").await;
        for (name, owner, messages, is_left) in [
            ("asya-second-empty", "east/shop/asya-second-empty", 0, false),
            ("asya-second-used", "east/shop/asya-second-used", 1, true),
            (
                "asya-second-foreign",
                "west/shop/asya-second-foreign",
                0,
                true,
            ),
        ] {
            let mut denied = wanted(name, "east");
            denied.queue.exchange = format!("exchange-of-{name}");
            let path = ["queues", "/", name];
            let arguments = json!({"x-queue-type": "quorum", "x-asya-owner": owner});
            let body = json!({"durable": true, "arguments": arguments});
            broker.api.put(&path, &body).await.unwrap();
            if messages > 0 {
                // By the default exchange, which needs no binding.
                assert!(broker.publish("amq.default", name).await);
            }
            rig::until("messages are counted", || async {
                let counted = broker.read(&path).await["messages"] == json!(messages);
                counted.then_some(())
            })
            .await;
            limited.queue(denied).unwrap().create().await.unwrap_err();
            assert_eq!(broker.has(&path).await, is_left, "{name}");
        }
    });
}
