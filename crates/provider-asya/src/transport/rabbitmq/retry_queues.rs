//! Retry queues: `<queue>-retry-<seconds>` for each delay, whose messages expire after that time and are
//! dead-lettered back to the queue.
//!
//! Which ones exist is recorded in the Queue's status, so that those of former delays are found. A queue
//! that is no longer desired is deleted once it is empty; a foreign one is never changed.

use serde_json::{Value, json};

use super::RabbitMqExternal;
use super::api::Answer;
use super::definition::{OWNER_ARGUMENT, QueueDefinition, Repair, Version, owner};
use crate::transport::{Drift, TransportError};

/// One retry queue that is desired or recorded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RetryQueue {
    /// Delay in seconds.
    pub(super) delay: u32,
    /// The queue, where it exists.
    pub(super) found: Option<Value>,
}

impl QueueDefinition {
    /// Name of the retry queue of a delay in seconds.
    pub fn retry_queue(&self, delay: u32) -> String {
        format!("{}-retry-{delay}", self.name)
    }

    /// Body of the retry queue of a delay.
    ///
    /// A quorum queue dead-letters at least once, so that no message is lost on its way back; that
    /// requires `reject-publish`. Before RabbitMQ 3.10 messages of quorum queues do not expire, so the
    /// queue is a classic one.
    fn retry_body(&self, delay: u32, version: Version) -> Value {
        let mut arguments = json!({
            OWNER_ARGUMENT: self.owner_tag.as_str(),
            "x-queue-type": "classic",
            "x-message-ttl": u64::from(delay) * 1000,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": self.name,
        });
        if self.queue_type() == "quorum" && version.expires_in_quorum_queues() {
            arguments["x-queue-type"] = json!("quorum");
            arguments["x-dead-letter-strategy"] = json!("at-least-once");
            arguments["x-overflow"] = json!("reject-publish");
        }
        json!({"durable": true, "auto_delete": false, "arguments": arguments})
    }

    fn is_desired(&self, delay: u32) -> bool {
        self.queue.retry_delays_seconds.contains(&delay)
    }

    fn owns(&self, queue: &Value) -> bool {
        owner(queue) == Some(self.owner_tag.as_str())
    }

    /// Drift of the retry queues.
    pub(super) fn retry_drift(&self, queues: &[RetryQueue]) -> Vec<Drift> {
        let drift = queues.iter().filter_map(|queue| {
            let name = format!("queue {:?}", self.retry_queue(queue.delay));
            match (&queue.found, self.is_desired(queue.delay)) {
                (None, true) => Some(("missing", name)),
                (Some(found), true) if !self.owns(found) => Some(("of another owner", name)),
                (Some(found), false) if self.owns(found) && found["messages"] == 0 => {
                    Some(("no longer needed", format!("no {name}")))
                }
                _ => None,
            }
        });
        drift
            .map(|(have, want)| Drift::settable("retryDelaysSeconds", have, want))
            .collect()
    }

    /// Delays whose retry queues exist and are ours.
    pub(super) fn existing_delays(&self, queues: &[RetryQueue]) -> Vec<u32> {
        let ours = queues
            .iter()
            .filter(|queue| queue.found.as_ref().is_some_and(|found| self.owns(found)));
        ours.map(|queue| queue.delay).collect()
    }

    /// Messages in retry queues of ours; none while one is not counted.
    pub(super) fn held_for_retry(&self, queues: &[RetryQueue]) -> Option<u64> {
        let found = queues.iter().filter_map(|queue| queue.found.as_ref());
        let ours = found.filter(|found| self.owns(found));
        ours.map(|found| found["messages"].as_u64()).sum()
    }
}

impl RabbitMqExternal {
    /// Reads the retry queues that are desired or recorded.
    pub(super) async fn read_retry_queues(&self) -> Result<Vec<RetryQueue>, TransportError> {
        let mut delays = self.definition.recorded_delays.clone();
        delays.extend(&self.definition.queue.retry_delays_seconds);
        let mut queues = Vec::new();
        for delay in delays {
            let found = match self.read_queue(&self.definition.retry_queue(delay)).await? {
                Answer::Ok(found) => Some(found),
                Answer::Created | Answer::NotFound => None,
            };
            queues.push(RetryQueue { delay, found });
        }
        Ok(queues)
    }

    /// Declares the desired retry queues, and deletes others that are empty.
    pub(super) async fn put_retry_queues(
        &self,
        version: Version,
        repair: Repair,
    ) -> Result<(), TransportError> {
        for queue in self.read_retry_queues().await? {
            let name = self.definition.retry_queue(queue.delay);
            match (&queue.found, self.definition.is_desired(queue.delay)) {
                (Some(found), true) => self.check_owner(&name, found)?,
                (Some(found), false) if self.definition.owns(found) && found["messages"] == 0 => {
                    self.api()
                        .delete(&["queues", self.vhost(), name.as_str()])
                        .await?;
                }
                _ => {}
            }
            let is_missing = queue.found.is_none() || repair == Repair::Allowed;
            if self.definition.is_desired(queue.delay) && is_missing {
                let body = self.definition.retry_body(queue.delay, version);
                self.declare(&name, &body, repair).await?;
            }
        }
        Ok(())
    }

    /// Deletes all retry queues of ours.
    pub(super) async fn delete_retry_queues(&self) -> Result<(), TransportError> {
        for queue in self.read_retry_queues().await? {
            if queue
                .found
                .is_some_and(|found| self.definition.owns(&found))
            {
                let name = self.definition.retry_queue(queue.delay);
                self.api()
                    .delete(&["queues", self.vhost(), name.as_str()])
                    .await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::owner::OwnerTag;
    use crate::transport::rabbitmq::definition::PolicyRecord;

    fn definition(kind: &str) -> QueueDefinition {
        let queue = json!({
            "host": "broker", "vhost": "/", "exchange": "asya", "routingKeys": ["cart"], "queueType": kind,
            "retryDelaysSeconds": [5, 60], "deadLetter": {"enabled": true, "maxReceiveCount": 5},
        });
        QueueDefinition {
            name: "asya-cart".to_owned(),
            queue: serde_json::from_value(queue).unwrap(),
            owner_tag: OwnerTag::new("east", "shop", "cart").unwrap(),
            priority: 0,
            shared: None,
            policies: PolicyRecord::New,
            recorded_delays: BTreeSet::from([30]),
        }
    }

    #[test]
    fn messages_return_to_the_queue_at_least_once() {
        let quorum = definition("quorum").retry_body(5, Version(3, 10));
        assert_eq!(
            quorum["arguments"],
            json!({"x-asya-owner": "east/shop/cart", "x-queue-type": "quorum", "x-message-ttl": 5000,
                "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "asya-cart",
                "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"})
        );
        for (kind, version) in [("classic", Version(4, 0)), ("quorum", Version(3, 9))] {
            let body = definition(kind).retry_body(5, version);
            assert_eq!(body["arguments"]["x-queue-type"], "classic");
            assert_eq!(body["arguments"]["x-dead-letter-strategy"], Value::Null);
        }
    }

    #[test]
    fn drift_of_retry_queues_is_found() {
        let queue = |delay, owner: &str, messages: u64| RetryQueue {
            delay,
            found: Some(json!({"arguments": {OWNER_ARGUMENT: owner}, "messages": messages})),
        };
        let missing = |delay| RetryQueue { delay, found: None };
        let ours = "east/shop/cart";
        let cases = [
            (
                "in sync",
                vec![queue(5, ours, 1), queue(60, ours, 0), missing(30)],
                0,
            ),
            ("missing", vec![missing(5), queue(60, ours, 0)], 1),
            (
                "foreign",
                vec![queue(5, "west/shop/cart", 0), queue(60, ours, 0)],
                1,
            ),
            ("former, empty", vec![queue(30, ours, 0)], 1),
            ("former, with messages", vec![queue(30, ours, 1)], 0),
            ("former, foreign", vec![queue(30, "west/shop/cart", 0)], 0),
        ];
        for (reason, queues, expected) in cases {
            let found = definition("quorum").retry_drift(&queues);
            assert_eq!(found.len(), expected, "{reason}: {found:?}");
        }
        let queues = [queue(5, ours, 2), queue(30, ours, 3), queue(60, "west", 9)];
        let definition = definition("quorum");
        assert_eq!(definition.held_for_retry(&queues), Some(5));
        assert_eq!(definition.existing_delays(&queues), [5, 30]);
    }
}
