//! Whether a queue was declared whole.
//!
//! A broker declares a quorum queue in steps, and drops what is left of them when
//! the client hangs up, as a killed provider does: the queue is then listed for
//! good without a process, or with one that never becomes the leader. It takes no
//! message, is never counted, and declaring it again changes nothing (observed on
//! RabbitMQ 3.10.8). No request tells such a queue from a new one; time does, since
//! whatever has a leader is counted within seconds.
//!
//! That is why bindings are written last, and only to what is known to be whole:
//! a binding of ours is the record of it, and nothing that has one is ever deleted here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::RabbitMqExternal;
use super::api::Answer;
use super::seen;
use crate::transport::Fault;

/// When a queue that is not counted yet is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What may be done about a queue that was never whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mending {
    /// It is made again: it is part of a creation that never ended.
    Allowed,
    /// It is left alone: it belongs to a queue that may have been at work for long.
    Forbidden,
}

/// Queues of a broker that were seen without counters, each with its virtual host.
#[derive(Debug, Clone, Default)]
pub(super) struct Suspects(Arc<Mutex<BTreeMap<(String, String), Sights>>>);

/// Since when, and when last.
#[derive(Debug, Clone, Copy)]
struct Sights {
    first: Instant,
    last: Instant,
}

impl Suspects {
    /// For how long the queue has been seen without counters. What was not looked at for
    /// `gap` may have been counted meanwhile, and its time begins anew.
    fn seen_for(&self, vhost: &str, queue: &str, now: Instant, gap: Duration) -> Duration {
        let mut suspects = self.lock();
        let key = (vhost.to_owned(), queue.to_owned());
        let sights = suspects.entry(key).or_insert(Sights {
            first: now,
            last: now,
        });
        if now.duration_since(sights.last) > gap {
            sights.first = now;
        }
        sights.last = now;
        now.duration_since(sights.first)
    }

    fn clear(&self, vhost: &str, queue: &str) {
        self.lock().remove(&(vhost.to_owned(), queue.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Sights>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RabbitMqExternal {
    /// Makes the queue, or takes ours, and returns once it is known to be whole.
    ///
    /// The owner is read back: the broker answers to a second owner as if the
    /// queue had been made for them.
    pub(super) async fn declare(&self, name: &str, mending: Mending) -> Result<(), Fault> {
        let is_new = self.put_queue(name).await?;
        let Answer::Done(found) = self.read_queue(name).await? else {
            // Deleted by somebody in this moment: the next look finds out.
            return Ok(());
        };
        if is_new {
            // The answer came after the queue had its leader.
            self.check_owner(name, &found)?;
            self.broker.suspects.clear(self.vhost(), name);
            return Ok(());
        }
        let bindings = match self
            .api()
            .get(&["queues", self.vhost(), name, "bindings"])
            .await?
        {
            Answer::Done(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        let is_bound_by_us = bindings
            .iter()
            .any(|binding| seen::owner(binding) == Some(self.wanted.mark.as_str()));
        if !is_bound_by_us {
            self.check_owner(name, &found)?;
        }
        if is_bound_by_us || found["type"] != json!("quorum") || seen::counters(&found).is_some() {
            self.broker.suspects.clear(self.vhost(), name);
            return Ok(());
        }
        // The exchange without a name leads to every queue there is.
        let is_bound = bindings
            .iter()
            .any(|binding| binding["source"] != json!(""));
        self.mend(name, is_bound, mending).await
    }

    /// Deals with a queue that is not counted.
    async fn mend(&self, name: &str, is_bound: bool, mending: Mending) -> Result<(), Fault> {
        if is_bound || mending == Mending::Forbidden || !self.broker.counts_messages().await? {
            return Err(Fault::NeverWhole {
                name: name.to_owned(),
            });
        }
        let counting = self.broker.counting;
        let suspects = &self.broker.suspects;
        let uncounted = suspects.seen_for(self.vhost(), name, Instant::now(), counting / 2);
        if uncounted < counting {
            return Err(Fault::NotWholeYet {
                name: name.to_owned(),
                after: LOOK_AGAIN,
            });
        }
        tracing::warn!(
            queue = name,
            vhost = self.vhost(),
            "the declaration of the queue was cut off, so it is made again: it was never bound, and never worked"
        );
        self.api().delete(&["queues", self.vhost(), name]).await?;
        suspects.clear(self.vhost(), name);
        if self.put_queue(name).await? {
            return Ok(());
        }
        Err(Fault::NotWholeYet {
            name: name.to_owned(),
            after: LOOK_AGAIN,
        })
    }

    /// Declares the queue; whether it was not there before.
    async fn put_queue(&self, name: &str) -> Result<bool, Fault> {
        let path = ["queues", self.vhost(), name];
        let answer = self.api().declare(&path, &self.wanted.queue_body()).await?;
        self.written(answer != Answer::Absent)?;
        Ok(answer == Answer::Made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_without_counters_counts_while_it_is_watched() {
        let suspects = Suspects::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let seen = |queue, seconds| {
            suspects
                .seen_for("/", queue, at(seconds), Duration::from_secs(10))
                .as_secs()
        };
        for (reason, queue, second, expected) in [
            ("first sight", "cart", 0, 0),
            ("watched", "cart", 9, 9),
            ("watched on", "cart", 19, 19),
            ("another queue", "basket", 19, 0),
            ("nobody looked for a while", "cart", 30, 0),
        ] {
            assert_eq!(seen(queue, second), expected, "{reason}");
        }
        suspects.clear("/", "cart");
        assert_eq!(seen("cart", 31), 0, "it was whole in between");
    }
}
