//! State of a Queue between two reconciles. It is lost on restart, which costs a few calls.

use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::Lifecycle;
use crate::transport::Drift;

/// State of one Queue.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectState {
    /// Spec for which the last full observation found nothing to do, and the time of that observation.
    pub(super) last_resync: Option<(SpecVersion, Instant)>,
    /// True if this provider has deleted the queue: then its absence is not a matter of visibility.
    pub(super) is_queue_deleted: bool,
    /// Time of the last write of settings.
    pub(super) updated: Option<Instant>,
    /// True if the broker counted the queue's messages when it was observed last.
    pub(super) is_counted: bool,
    /// Dead letters at their last count, and when that was.
    pub(super) dead_letters: Option<(u64, Instant)>,
    /// Time of the last write of counters.
    pub(super) counted: Option<Instant>,
    /// Time since which messages are observed to wait without a consumer, though pods are ready.
    pub(super) unconsumed_since: Option<Instant>,
    /// Time since which the queue is observed empty.
    pub(super) empty_since: Option<Instant>,
    /// Drift that a quick observation shows and a full one had no remedy for.
    pub(super) accepted: Vec<Drift>,
    /// Generation for which the ProviderConfigUsage was written or found, and when that was.
    pub(super) use_recorded: Option<(i64, Instant)>,
    /// Lifecycle metrics that were counted for it.
    pub(super) lifecycle: Lifecycle,
}

impl ObjectState {
    /// Undoes what a status that could not be written would have reported, so that the next
    /// reconcile reports it again. Counters were written last at `counted`.
    pub(super) fn forget_reported(&mut self, counted: Option<Instant>) {
        self.last_resync = None;
        self.counted = counted;
    }

    /// Returns whether dead letters are due to be counted.
    pub(super) fn needs_dead_letters(&self, interval: Duration) -> bool {
        self.dead_letters
            .is_none_or(|(_, counted)| counted.elapsed() >= interval)
    }

    /// Returns whether the ProviderConfigUsage is to be written: for another generation, and from time to
    /// time, in case it was deleted.
    pub(super) fn needs_use(&self, generation: i64, interval: Duration) -> bool {
        self.use_recorded
            .is_none_or(|(recorded, at)| recorded != generation || at.elapsed() >= interval)
    }

    /// Returns whether the next observation must be a full one.
    pub(super) fn needs_resync(&self, desired: &SpecVersion, interval: Duration) -> bool {
        self.last_resync
            .as_ref()
            .is_none_or(|(version, at)| version != desired || at.elapsed() >= interval)
    }
}

/// Version of everything that decides what a queue should be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpecVersion {
    /// Generation of the Queue.
    pub(super) generation: i64,
    /// Uid and generation of its ProviderConfig, which decides on policies and owner tags.
    pub(super) config: (String, i64),
}
