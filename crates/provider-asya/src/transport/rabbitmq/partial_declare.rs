//! Partially declared quorum queues: how they are detected and repaired.
//!
//! A broker declares a quorum queue in steps, and drops the remaining ones when the client disconnects,
//! as a killed provider does. The queue then exists for ever without a process, or with one that never
//! becomes the leader. It accepts no message, its messages are never counted, and declaring it again
//! changes nothing (observed on RabbitMQ 3.10.8). No request distinguishes such a queue from a new one;
//! time does, since the messages of every queue with a leader are counted within seconds.
//!
//! So bindings are written last, and only to a completely declared queue: a binding of ours is the record
//! of it, and a queue that has one is never deleted here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::RabbitMqExternal;
use super::api::Answer;
use super::definition::Repair;
use super::observe;
use super::undo::Made;
use crate::transport::TransportError;

/// Retry interval while the messages of a queue are not counted.
const RETRY: Duration = Duration::from_secs(2);

/// Queues that were observed without counters, by virtual host and name.
#[derive(Debug, Clone, Default)]
pub(super) struct UncountedQueues(Arc<Mutex<BTreeMap<(String, String), Uncounted>>>);

/// First and last observation without counters.
#[derive(Debug, Clone, Copy)]
struct Uncounted {
    first: Instant,
    last: Instant,
}

impl UncountedQueues {
    /// Returns the time for which the queue has been observed without counters. After a `gap` without
    /// observations it may have been counted in between, so the time starts again.
    fn uncounted_for(&self, vhost: &str, queue: &str, now: Instant, gap: Duration) -> Duration {
        let mut uncounted_queues = self.lock();
        uncounted_queues.retain(|_, uncounted| now.duration_since(uncounted.last) <= gap);
        let key = (vhost.to_owned(), queue.to_owned());
        let uncounted = uncounted_queues.entry(key).or_insert(Uncounted {
            first: now,
            last: now,
        });
        uncounted.last = now;
        now.duration_since(uncounted.first)
    }

    fn clear(&self, vhost: &str, queue: &str) {
        self.lock().remove(&(vhost.to_owned(), queue.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Uncounted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RabbitMqExternal {
    /// Declares the queue, and returns once it is known to be completely declared.
    ///
    /// The owner tag is read back: the broker answers a second owner as if the queue had been created
    /// for it.
    pub(super) async fn declare(
        &self,
        name: &str,
        body: &Value,
        repair: Repair,
    ) -> Result<(), TransportError> {
        let is_new = self.put_queue(name, body).await?;
        let Answer::Ok(found) = self.read_queue(name).await? else {
            // It was deleted a moment ago: the next observation finds out.
            return Ok(());
        };
        if is_new {
            // The answer came after the queue had its leader.
            self.check_owner(name, &found)?;
            self.record_made(Made::Queue(name.to_owned()));
            self.broker.uncounted_queues.clear(self.vhost(), name);
            return Ok(());
        }
        let path = ["queues", self.vhost(), name, "bindings"];
        let bindings = self.read_bindings(&path, &[]).await?;
        let is_bound_by_us = bindings.has_ours;
        if !is_bound_by_us {
            self.check_owner(name, &found)?;
        }
        if is_bound_by_us || found["type"] != json!("quorum") || observe::counters(&found).is_some()
        {
            self.broker.uncounted_queues.clear(self.vhost(), name);
            return Ok(());
        }
        self.repair(name, body, bindings.is_bound, repair).await
    }

    /// Handles a queue whose messages are not counted.
    async fn repair(
        &self,
        name: &str,
        body: &Value,
        is_bound: bool,
        repair: Repair,
    ) -> Result<(), TransportError> {
        if is_bound || repair == Repair::Forbidden || !self.broker.counts_messages().await? {
            return Err(TransportError::NeverCounted {
                name: name.to_owned(),
            });
        }
        let counting = self.broker.counting;
        let uncounted_queues = &self.broker.uncounted_queues;
        let uncounted =
            uncounted_queues.uncounted_for(self.vhost(), name, Instant::now(), counting / 2);
        if uncounted < counting {
            return Err(TransportError::NotCountedYet {
                name: name.to_owned(),
                after: RETRY,
            });
        }
        tracing::warn!(
            queue = name,
            vhost = self.vhost(),
            "the queue was declared partially and never bound: declaring it again"
        );
        self.api().delete(&["queues", self.vhost(), name]).await?;
        uncounted_queues.clear(self.vhost(), name);
        if self.put_queue(name, body).await? {
            return Ok(());
        }
        Err(TransportError::NotCountedYet {
            name: name.to_owned(),
            after: RETRY,
        })
    }

    /// Declares the queue; whether it did not exist before.
    async fn put_queue(&self, name: &str, body: &Value) -> Result<bool, TransportError> {
        let path = ["queues", self.vhost(), name];
        let answer = self.api().declare(&path, body).await?;
        self.written(answer != Answer::NotFound)?;
        Ok(answer == Answer::Created)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_counters_restarts_after_a_gap() {
        let uncounted_queues = UncountedQueues::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let uncounted = |queue, seconds| {
            uncounted_queues
                .uncounted_for("/", queue, at(seconds), Duration::from_secs(10))
                .as_secs()
        };
        for (reason, queue, second, expected) in [
            ("first observation", "cart", 0, 0),
            ("observed again", "cart", 9, 9),
            ("and again", "cart", 19, 19),
            ("another queue", "basket", 19, 0),
            ("after a gap", "cart", 30, 0),
        ] {
            assert_eq!(uncounted(queue, second), expected, "{reason}");
        }
        uncounted_queues.clear("/", "cart");
        assert_eq!(uncounted("cart", 31), 0, "it was counted in between");
    }
}
