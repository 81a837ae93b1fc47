//! Queues in which messages wait that are tried again.

use provider_asya::transport::rabbitmq::definition::QueueDefinition;
use provider_asya::transport::{Depth, ExternalQueue as _, TransportError};
use serde_json::json;

use super::{BROKER, external, found, messages, wanted};
use crate::rig;

fn with_retries(name: &str, delays: &[u32], recorded: &[u32]) -> QueueDefinition {
    let mut definition = wanted(name, "east");
    definition.queue.retry_delays_seconds = delays.to_vec();
    definition.recorded_delays = recorded.iter().copied().collect();
    definition
}

#[test]
fn messages_return_from_retry_queues_which_are_deleted_with_the_queue() {
    BROKER.run(async |broker| {
        let queue = external(broker, with_retries("asya-again", &[1, 3600], &[]));
        queue.create().await.unwrap();
        rig::until("creation succeeds again, as after a crash", || async {
            queue.create().await.ok()
        })
        .await;
        let observed = found(&queue, Depth::Full).await;
        assert_eq!(observed.retry_delays, Some(vec![1, 3600]));
        for retry in ["asya-again-retry-1", "asya-again-retry-3600"] {
            assert!(broker.publish("amq.default", retry).await, "{retry}");
        }
        rig::until("the message of the short delay is back", || async {
            (messages(broker, "asya-again").await == 1).then_some(())
        })
        .await;
        rig::until("messages that wait count as held", || async {
            let held = found(&queue, Depth::Full).await.held;
            (held == Some(2)).then_some(())
        })
        .await;
        queue.delete().await.unwrap();
        for name in ["asya-again", "asya-again-retry-1", "asya-again-retry-3600"] {
            assert!(!broker.has(&["queues", "/", name]).await, "{name}");
        }
    });
}

#[test]
fn former_retry_queues_are_deleted_once_empty() {
    BROKER.run(async |broker| {
        let (empty, full) = ("asya-former-retry-60", "asya-former-retry-3600");
        let before = external(broker, with_retries("asya-former", &[60, 3600], &[]));
        before.create().await.unwrap();
        assert!(broker.publish("amq.default", full).await);
        rig::until("the message is counted", || async {
            (messages(broker, full).await == 1).then_some(())
        })
        .await;
        let after = external(broker, with_retries("asya-former", &[], &[60, 3600]));
        rig::until("the empty one is counted", || async {
            let observed = found(&after, Depth::Full).await;
            assert!(observed.has_former_retry_queues);
            let mut drift = observed.drift.iter();
            drift
                .any(|drift| drift.what == "retryDelaysSeconds")
                .then_some(())
        })
        .await;
        after.update().await.unwrap();
        assert!(!broker.has(&["queues", "/", empty]).await);
        assert!(broker.has(&["queues", "/", full]).await, "it has a message");
    });
}

#[test]
fn a_foreign_retry_queue_is_neither_taken_nor_deleted() {
    BROKER.run(async |broker| {
        let path = ["queues", "/", "asya-clash-retry-7"];
        let foreign = json!({"durable": true, "arguments": {}});
        broker.api.put(&path, &foreign).await.unwrap();
        let queue = external(broker, with_retries("asya-clash", &[7], &[]));
        let error = queue.create().await.unwrap_err();
        assert!(matches!(error, TransportError::Foreign { .. }), "{error}");
        assert!(!broker.has(&["queues", "/", "asya-clash"]).await);
        queue.delete().await.unwrap();
        assert!(broker.has(&path).await);
    });
}
