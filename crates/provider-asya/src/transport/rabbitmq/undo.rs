//! Creations that the broker denies in the middle: what they have made is deleted again.
//!
//! An earlier attempt may have made a part, and its answer may have been lost. So queues are found by their owner
//! tag, and what an attempt has noted decides only where nothing else does.

use serde_json::Value;

use super::RabbitMqExternal;
use super::api::Answer;
use super::definition::{Version, owner};
use super::policies::PolicySlot;
use crate::transport::TransportError;

/// An object that this creation made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    /// A queue.
    Queue(String),
    /// An exchange.
    Exchange(String),
}

/// Whether the broker counts messages, as far as it matters.
#[derive(Debug, Clone, Copy)]
struct Counts {
    /// True if this creation made the queue, so that nothing is bound to it.
    is_made: bool,
    /// True if the broker counts messages.
    has_statistics: bool,
}

impl RabbitMqExternal {
    /// Records an object that did not exist before.
    pub(super) fn record_made(&self, made: Made) {
        self.lock_made().push(made);
    }

    /// Deletes what a creation has made, where the broker denied or refused the rest of it. Other errors may
    /// pass, and the creation continues then.
    pub(super) async fn undo(&self, error: &TransportError) {
        let made = std::mem::take(&mut *self.lock_made());
        if error.is_final()
            && let Err(error) = self.undo_creation(&made).await
        {
            self.log_failure(&error);
        }
    }

    fn log_failure(&self, error: &TransportError) {
        let queue = self.definition.name.as_str();
        tracing::info!(queue, %error, "cannot delete what a denied creation has made");
    }

    async fn undo_creation(&self, made: &[Made]) -> Result<(), TransportError> {
        let (vhost, name) = (self.vhost(), self.definition.name.as_str());
        // Bindings are written last, so a queue with one of ours was complete, and may be in use.
        let path = ["queues", vhost, name, "bindings"];
        let is_complete = self.read_bindings(&path, &[]).await?.has_ours;
        let version = self.broker.version().await?;
        let has_statistics = self.broker.counts_messages().await?;
        let delays = self.definition.queue.retry_delays_seconds.iter();
        let mut queues: Vec<String> = delays
            .map(|delay| self.definition.retry_queue(*delay))
            .collect();
        if self.definition.queue.dead_letter.enabled {
            queues.push(self.definition.dead_letter_queue());
        }
        queues.push(name.to_owned());
        for queue in queues {
            let is_made = made.contains(&Made::Queue(queue.clone()));
            if is_made || !is_complete {
                let counts = Counts {
                    is_made,
                    has_statistics,
                };
                if let Err(error) = self.undo_queue(&queue, version, counts).await {
                    self.log_failure(&error);
                }
            }
        }
        for made in made.iter().rev() {
            if let Made::Exchange(exchange) = made {
                let path = ["exchanges", vhost, exchange.as_str()];
                if let Err(error) = self.api().delete_unused(&path).await {
                    self.log_failure(&error);
                }
            }
        }
        Ok(())
    }

    /// Deletes a queue of ours that is empty, with its policy.
    async fn undo_queue(
        &self,
        name: &str,
        version: Version,
        counts: Counts,
    ) -> Result<(), TransportError> {
        let Answer::Ok(found) = self.read_queue(name).await? else {
            return Ok(());
        };
        let is_ours = owner(&found) == Some(self.definition.owner_tag.as_str());
        if !is_ours || !is_unused(&found, counts) {
            return Ok(());
        }
        let slot = if name == self.definition.name {
            let policy = self.definition.policy_definition(version, &found);
            self.policy_slot(name, &policy).await
        } else if name == self.definition.dead_letter_queue() {
            let policy = self.definition.dead_letter_policy_definition(version);
            self.policy_slot(name, &policy).await
        } else {
            Ok(PolicySlot::default())
        };
        // A user who may not read policies has written none.
        let slot = slot.unwrap_or_default();
        self.api().delete(&["queues", self.vhost(), name]).await?;
        self.delete_policy(slot).await
    }
}

/// Returns whether a queue is known to have neither messages nor consumers. The counters of a new queue appear
/// within seconds, and those of a broker without statistics never.
fn is_unused(queue: &Value, counts: Counts) -> bool {
    let is_new = counts.is_made && counts.has_statistics;
    ["messages", "consumers"]
        .into_iter()
        .all(|key| match queue[key].as_u64() {
            Some(count) => count == 0,
            None => is_new,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_queues_that_are_known_to_be_empty_are_deleted() {
        let cases = [
            (
                "empty",
                json!({"messages": 0, "consumers": 0}),
                false,
                true,
                true,
            ),
            (
                "a message",
                json!({"messages": 1, "consumers": 0}),
                true,
                true,
                false,
            ),
            (
                "a consumer",
                json!({"messages": 0, "consumers": 1}),
                true,
                true,
                false,
            ),
            ("new", json!({}), true, true, true),
            ("new, without statistics", json!({}), true, false, false),
            ("made before, not counted", json!({}), false, true, false),
        ];
        for (reason, queue, is_made, has_statistics, expected) in cases {
            let counts = Counts {
                is_made,
                has_statistics,
            };
            assert_eq!(is_unused(&queue, counts), expected, "{reason}");
        }
    }
}
