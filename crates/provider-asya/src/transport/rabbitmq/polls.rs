//! Polls of many queues by one list of their virtual host.
//!
//! A list costs the broker a third of what reading each queue by itself does (docs/performance.md), and a call
//! for each [`PAGE`](super::api) of queues in place of one for each queue. It contains every queue of the
//! virtual host, so it is read only where enough of them are ours.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::api::{Answer, Search};
use super::limited_object::Row;
use super::{RabbitMqExternal, observe};
use crate::transport::TransportError;

/// Columns of a queue that an observation reads.
pub const COLUMNS: &str = "name,type,durable,auto_delete,state,online,arguments,policy,operator_policy,\
    effective_policy_definition,consumers,messages,messages_ready,messages_unacknowledged";

/// Fewest queues for which a list is read.
const QUEUES_MIN: usize = 20;

/// A list of this many queues for each of ours costs the broker as much as two reads of ours by themselves:
/// within one interval two lists are read.
const QUEUES_EACH: usize = 3;

/// Time after which a list is tried again that has failed, or has too many queues of others.
const RETRY: Duration = Duration::from_mins(10);

/// Most virtual hosts whose lists are kept.
const VHOSTS_MAX: usize = 64;

/// Longest row that is kept, in bytes. A queue whose row is longer is read by itself.
const ROW_MAX: usize = 4 << 10;

/// Longest time for which a queue that is not polled any more is remembered, in intervals.
const FORGET: u32 = 20;

/// Lists of the virtual hosts of a broker. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct QueueLists(Arc<Mutex<BTreeMap<String, Arc<VirtualHost>>>>);

#[derive(Debug, Default)]
struct VirtualHost {
    queues: Mutex<Queues>,
    /// Held while a list is read: others wait for it.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Queues {
    /// Polled queues.
    polled: BTreeMap<String, Polled>,
    /// The last list: its time, and the rows of polled queues as JSON.
    list: Option<(Instant, BTreeMap<String, Box<str>>)>,
    /// Time before which no list is read.
    blocked_until: Option<Instant>,
    /// Time at which queues were forgotten last.
    pruned: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Polled {
    at: Instant,
    /// Time of the last write: older lists do not show it.
    written: Option<Instant>,
}

/// Source of a polled queue.
#[derive(Debug, PartialEq)]
enum Source {
    /// The row of a list.
    Row(Box<str>),
    /// A list is worth reading.
    List,
    /// The queue by itself.
    Queue,
}

impl Queues {
    /// Notes that a queue is polled each `interval`, and returns where it is read from.
    fn poll(&mut self, name: &str, interval: Duration, now: Instant) -> Source {
        self.forget(interval, now);
        let written = self.polled.get(name).and_then(|polled| polled.written);
        self.polled
            .insert(name.to_owned(), Polled { at: now, written });
        if let Some((read, rows)) = &self.list
            && now.duration_since(*read) <= interval / 2
            && written.is_none_or(|written| written < *read)
        {
            return rows
                .get(name)
                .map_or(Source::Queue, |row| Source::Row(row.clone()));
        }
        let is_blocked = self.blocked_until.is_some_and(|until| now < until);
        if is_blocked || self.recent(interval, now) < QUEUES_MIN {
            return Source::Queue;
        }
        Source::List
    }

    /// Returns the number of queues that were polled in one interval, with its jitter.
    fn recent(&self, interval: Duration, now: Instant) -> usize {
        let window = interval.mul_f64(1.2);
        let polled = self.polled.values();
        polled
            .filter(|polled| now.duration_since(polled.at) <= window)
            .count()
    }

    /// Forgets queues that are not polled any more, once in an interval.
    fn forget(&mut self, interval: Duration, now: Instant) {
        if self
            .pruned
            .is_some_and(|at| now.duration_since(at) < interval)
        {
            return;
        }
        self.pruned = Some(now);
        self.polled
            .retain(|_, polled| now.duration_since(polled.at) <= interval * FORGET);
    }

    fn store(&mut self, rows: BTreeMap<String, Box<str>>, interval: Duration, read: Instant) {
        self.forget(interval, read);
        self.list = Some((read, rows));
        self.blocked_until = None;
    }

    fn written(&mut self, names: &[&str], now: Instant) {
        for name in names {
            if let Some(polled) = self.polled.get_mut(*name) {
                polled.written = Some(now);
            }
        }
    }

    fn block(&mut self, now: Instant) {
        self.list = None;
        self.blocked_until = Some(now + RETRY);
    }
}

impl VirtualHost {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueLists {
    fn virtual_host(&self, name: &str) -> Arc<VirtualHost> {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= VHOSTS_MAX && !hosts.contains_key(name) {
            // Lists are a cache.
            hosts.clear();
        }
        hosts.entry(name.to_owned()).or_default().clone()
    }
}

impl RabbitMqExternal {
    /// This queue, with polls at this interval: where enough queues of its virtual host are polled, they are read
    /// from a list that is at most half an interval old.
    #[must_use]
    pub fn polled_each(self, interval: Duration) -> Self {
        Self {
            poll: Some(interval),
            ..self
        }
    }

    /// Reads a queue for a poll: from a list that is at most half an interval old, where lists are worth their
    /// cost, else by itself. What a list does not contain, and messages without a consumer, are read again.
    pub(super) async fn poll_queue(&self, name: &str) -> Result<Answer, TransportError> {
        let Some(interval) = self.poll else {
            return self.read_queue(name).await;
        };
        let host = self.broker.queue_lists.virtual_host(self.vhost());
        let mut source = host.lock().poll(name, interval, Instant::now());
        if source == Source::List {
            let _reading = host.reading.lock().await;
            // Another poll may have read it meanwhile.
            source = host.lock().poll(name, interval, Instant::now());
            if source == Source::List {
                self.read_list(&host, interval).await?;
                source = host.lock().poll(name, interval, Instant::now());
            }
        }
        if let Source::Row(row) = source
            && let Ok(row) = serde_json::from_str(&row)
            && self.is_conclusive(&row)
        {
            return Ok(Answer::Ok(row));
        }
        self.read_queue(name).await
    }

    /// Reads the list of the queue's virtual host. Without success, lists are not read for a while.
    async fn read_list(
        &self,
        host: &VirtualHost,
        interval: Duration,
    ) -> Result<(), TransportError> {
        let read = Instant::now();
        let (names, recent): (BTreeSet<String>, usize) = {
            let queues = host.lock();
            let names = queues.polled.keys().cloned().collect();
            (names, queues.recent(interval, read))
        };
        let rows = Mutex::new((0, BTreeMap::new()));
        let is_last = |Row(row): &Row| {
            let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
            rows.0 += 1;
            let name = row["name"].as_str().unwrap_or_default();
            if names.contains(name) {
                let text = row.to_string();
                if text.len() <= ROW_MAX {
                    rows.1.insert(name.to_owned(), text.into_boxed_str());
                }
            }
            rows.0 > recent * QUEUES_EACH
        };
        let found = self.api().find_queue(self.vhost(), COLUMNS, is_last).await;
        match found {
            Err(error @ TransportError::Unreachable { .. }) => return Err(error),
            Ok(Search::NotFound) => {
                let (_, rows) = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
                host.lock().store(rows, interval, read);
            }
            Ok(Search::Found(_) | Search::TooMany) | Err(_) => host.lock().block(read),
        }
        Ok(())
    }

    /// Returns whether a row is as good as the queue by itself. Waiting messages without a consumer may mean a
    /// problem, which no old answer may report.
    fn is_conclusive(&self, row: &Value) -> bool {
        let Some(counters) = observe::counters(row) else {
            return false;
        };
        let is_consumed = row["consumers"]
            .as_u64()
            .is_some_and(|consumers| consumers > 0);
        counters.queued == 0 || is_consumed || row["name"] != self.definition.name.as_str()
    }

    /// Does a write, after which an older list is not used for the queue any more, with or without success.
    pub(super) async fn noting_the_write(
        &self,
        write: impl Future<Output = Result<(), TransportError>>,
    ) -> Result<(), TransportError> {
        let written = write.await;
        let host = self.broker.queue_lists.virtual_host(self.vhost());
        let dead_letters = self.definition.dead_letter_queue();
        host.lock()
            .written(&[&self.definition.name, &dead_letters], Instant::now());
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    /// Queues of which this many were polled a minute ago, and a time then.
    fn polled(count: usize) -> (Queues, Instant) {
        let (mut queues, start) = (Queues::default(), Instant::now());
        for index in 0..count {
            queues.poll(&format!("q{index}"), MINUTE, start);
        }
        (queues, start + MINUTE)
    }

    #[test]
    fn a_list_is_read_for_enough_queues_that_are_polled_now() {
        let later = |seconds| Duration::from_secs(seconds);
        for (reason, count, after, expected) in [
            ("enough", QUEUES_MIN, later(0), Source::List),
            ("too few", QUEUES_MIN - 1, later(0), Source::Queue),
            (
                "the others are not polled any more",
                QUEUES_MIN,
                later(30),
                Source::Queue,
            ),
        ] {
            let (mut queues, now) = polled(count);
            let found = queues.poll("q0", MINUTE, now + after);
            assert_eq!(found, expected, "{reason}");
        }
    }

    #[test]
    fn a_list_serves_polls_for_half_an_interval() {
        let row: Box<str> = "{}".into();
        let seconds = Duration::from_secs;
        for (reason, name, written, after, expected) in [
            ("just read", "q0", None, 0, Source::Row(row.clone())),
            ("still good", "q0", None, 30, Source::Row(row.clone())),
            ("too old", "q0", None, 31, Source::List),
            ("not in it", "q1", None, 0, Source::Queue),
            (
                "written before it",
                "q0",
                Some(-1),
                5,
                Source::Row(row.clone()),
            ),
            ("written since", "q0", Some(1), 5, Source::List),
        ] {
            let (mut queues, read) = polled(QUEUES_MIN);
            for index in 0..QUEUES_MIN {
                queues.poll(&format!("q{index}"), MINUTE, read);
            }
            queues.store(
                BTreeMap::from([("q0".to_owned(), row.clone())]),
                MINUTE,
                read,
            );
            if let Some(written) = written {
                let at = if written < 0 {
                    read - seconds(1)
                } else {
                    read + seconds(1)
                };
                queues.written(&["q0"], at);
            }
            let found = queues.poll(name, MINUTE, read + seconds(after));
            assert_eq!(found, expected, "{reason}");
        }
    }

    #[test]
    fn lists_that_are_not_worth_it_are_tried_again_later() {
        let (mut queues, now) = polled(QUEUES_MIN);
        queues.block(now);
        assert_eq!(queues.poll("q0", MINUTE, now), Source::Queue);
        for index in 0..QUEUES_MIN {
            queues.poll(&format!("q{index}"), MINUTE, now + RETRY);
        }
        assert_eq!(queues.poll("q0", MINUTE, now + RETRY), Source::List);
    }

    #[test]
    fn queues_that_are_not_polled_any_more_are_forgotten() {
        let (mut queues, now) = polled(3);
        queues.store(BTreeMap::new(), MINUTE, now + MINUTE * FORGET);
        assert!(queues.polled.is_empty());
        // Also where no list is read, since the queues are few.
        let (mut queues, now) = polled(3);
        queues.poll("another", MINUTE, now + MINUTE * FORGET);
        assert_eq!(queues.polled.keys().collect::<Vec<_>>(), ["another"]);
    }
}
