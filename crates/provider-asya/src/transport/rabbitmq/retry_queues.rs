//! Retry queues: `<queue>-retry-<seconds>` for each delay, whose messages expire after that time and are
//! dead-lettered back to the queue.
//!
//! Which ones exist is recorded in the Queue's status, so that those of former delays are found. A queue
//! that is no longer desired is deleted once it is empty; a foreign one is never changed.

use serde_json::{Value, json};

use super::RabbitMqExternal;
use super::definition::{OWNER_ARGUMENT, QueueDefinition, Repair, Version, owner};
use crate::transport::{Drift, TransportError, owner_in_message};

/// One retry queue that is desired or recorded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RetryQueue {
    /// Delay in seconds.
    pub(super) delay: u32,
    /// The queue, where it exists.
    pub(super) found: Option<FoundQueue>,
}

/// What is kept of a retry queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundQueue {
    /// Owner tag.
    owner: Option<String>,
    /// Messages, where they are counted.
    messages: Option<u64>,
}

impl FoundQueue {
    fn read(queue: &Value, our_owner: &str) -> Self {
        let owner = owner(queue).map(str::to_owned);
        Self {
            owner: owner.map(|owner| owner_in_message(owner, our_owner)),
            messages: queue["messages"].as_u64(),
        }
    }
}

/// Most delays whose retry queues are observed. What else is recorded is observed once some of them are deleted.
const DELAYS_MAX: usize = 16;

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

    fn owns(&self, queue: &FoundQueue) -> bool {
        queue.owner.as_deref() == Some(self.owner_tag.as_str())
    }

    /// Desired and recorded delays, the desired ones first.
    fn delays(&self) -> Vec<u32> {
        let desired = &self.queue.retry_delays_seconds;
        let former = self.recorded_delays.iter();
        let former = former.filter(|delay| !desired.contains(delay));
        desired.iter().chain(former).copied().collect()
    }

    /// Drift of the retry queues.
    pub(super) fn retry_drift(&self, queues: &[RetryQueue]) -> Vec<Drift> {
        let drift = queues.iter().filter_map(|queue| {
            let name = format!("queue {:?}", self.retry_queue(queue.delay));
            match (&queue.found, self.is_desired(queue.delay)) {
                (None, true) => Some(("missing", name)),
                (Some(found), true) if !self.owns(found) => Some(("of another owner", name)),
                (Some(found), false) if self.owns(found) && found.messages == Some(0) => {
                    Some(("no longer needed", format!("no {name}")))
                }
                _ => None,
            }
        });
        drift
            .map(|(have, want)| Drift::settable("retryDelaysSeconds", have, want))
            .collect()
    }

    /// Delays whose retry queues exist and are ours, and recorded ones that were not observed.
    pub(super) fn existing_delays(&self, queues: &[RetryQueue]) -> Vec<u32> {
        let ours = queues
            .iter()
            .filter(|queue| queue.found.as_ref().is_some_and(|found| self.owns(found)));
        let unobserved = self.delays().into_iter().skip(DELAYS_MAX);
        let mut delays: Vec<u32> = ours.map(|queue| queue.delay).chain(unobserved).collect();
        delays.sort_unstable();
        delays
    }

    /// Messages in retry queues of ours; none while one is not counted or not observed.
    pub(super) fn held_for_retry(&self, queues: &[RetryQueue]) -> Option<u64> {
        if self.delays().len() > DELAYS_MAX {
            return None;
        }
        let found = queues.iter().filter_map(|queue| queue.found.as_ref());
        let ours = found.filter(|found| self.owns(found));
        ours.map(|found| found.messages).sum()
    }
}

impl RabbitMqExternal {
    /// Reads the retry queues that are desired or recorded, as many as are observed at a time.
    pub(super) async fn read_retry_queues(&self) -> Result<Vec<RetryQueue>, TransportError> {
        let mut queues = Vec::new();
        for delay in self.definition.delays().into_iter().take(DELAYS_MAX) {
            queues.push(self.read_retry_queue(delay).await?);
        }
        Ok(queues)
    }

    async fn read_retry_queue(&self, delay: u32) -> Result<RetryQueue, TransportError> {
        let answer = self.read_queue(&self.definition.retry_queue(delay)).await?;
        let our_owner = self.definition.owner_tag.as_str();
        let found = super::found(answer).map(|found| FoundQueue::read(&found, our_owner));
        Ok(RetryQueue { delay, found })
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
                (Some(found), true) => self.check_owner_tag(&name, found.owner.as_deref())?,
                (Some(found), false)
                    if self.definition.owns(found) && found.messages == Some(0) =>
                {
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
        for delay in self.definition.delays() {
            let found = self.read_retry_queue(delay).await?.found;
            if found.is_some_and(|found| self.definition.owns(&found)) {
                let name = self.definition.retry_queue(delay);
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
            found: Some(FoundQueue::read(
                &json!({"arguments": {OWNER_ARGUMENT: owner}, "messages": messages}),
                "east/shop/cart",
            )),
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

    #[test]
    fn a_forged_record_of_delays_costs_few_calls_and_is_kept() {
        let mut definition = definition("quorum");
        definition.recorded_delays = (1000..1064).collect();
        let delays = definition.delays();
        assert_eq!(delays[..3], [5, 60, 1000], "desired ones are observed");
        assert_eq!(delays.len(), 66);
        let observed: Vec<RetryQueue> = delays[..DELAYS_MAX]
            .iter()
            .map(|delay| RetryQueue {
                delay: *delay,
                found: None,
            })
            .collect();
        let existing = definition.existing_delays(&observed);
        assert_eq!(existing.len(), 66 - DELAYS_MAX, "they may exist");
        assert_eq!(definition.held_for_retry(&observed), None);
    }
}
