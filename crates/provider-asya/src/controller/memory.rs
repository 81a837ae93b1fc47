//! What the provider remembers of an object between two passes. Losing it costs
//! a few calls, and nothing else: it is gone after each restart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::Life;
use crate::transport::Drift;

/// What is remembered of one object.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// Failures in a row.
    pub failures: u32,
    /// What was wanted when it was looked at whole with nothing to do, and when.
    pub whole_look: Option<(Wanted, Instant)>,
    /// Whether we have deleted the queue: then its absence is no matter of patience.
    pub is_queue_deleted: bool,
    /// When settings were written last.
    pub updated: Option<Instant>,
    /// How many dead letters there were when they were counted last, and when.
    pub letters: Option<(u64, Instant)>,
    /// When counters were written last.
    pub counted: Option<Instant>,
    /// Since when the queue has been seen empty.
    pub empty_since: Option<Instant>,
    /// What a glance shows and a whole look had no remedy for.
    pub accepted: Vec<Drift>,
    /// Whether the use of the ProviderConfig is on record.
    pub is_use_recorded: bool,
    /// What of its life was counted.
    pub life: Life,
}

impl Memory {
    /// Forgets what a status that could not be written would have told, so that the next
    /// pass says it all again. Counters were written last at `counted`.
    pub fn forget_what_was_said(&mut self, counted: Option<Instant>) {
        self.whole_look = None;
        self.counted = counted;
    }

    /// Whether dead letters are to be counted again.
    pub fn misses_letters(&self, interval: Duration) -> bool {
        self.letters
            .is_none_or(|(_, counted)| counted.elapsed() >= interval)
    }

    /// Whether the next look must be a whole one.
    pub fn needs_whole_look(&self, wanted: &Wanted, interval: Duration) -> bool {
        self.whole_look
            .as_ref()
            .is_none_or(|(seen, at)| seen != wanted || at.elapsed() >= interval)
    }
}

/// What a queue is to be like: the generation of its object, and the config's uid and
/// generation, which has a say in policies and marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Of the object.
    pub generation: i64,
    /// Of the config.
    pub config: (String, i64),
}

/// The memories of all objects, by their uid.
#[derive(Debug, Default)]
pub struct Memories(Mutex<BTreeMap<String, Memory>>);

impl Memories {
    /// What is remembered of an object.
    pub fn of(&self, uid: &str) -> Memory {
        self.lock().get(uid).cloned().unwrap_or_default()
    }

    /// Remembers this of an object.
    pub fn keep(&self, uid: &str, memory: Memory) {
        self.lock().insert(uid.to_owned(), memory);
    }

    /// Forgets an object.
    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// Forgets all but these objects: one that went without our finalizer is never told of.
    pub fn keep_only(&self, uids: &BTreeSet<String>) {
        self.lock().retain(|uid, _| uids.contains(uid));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
