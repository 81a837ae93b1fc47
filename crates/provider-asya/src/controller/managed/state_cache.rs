//! State of objects between two reconciles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::runtime::reflector::Store;
use kube::{Resource, ResourceExt as _};

use crate::requeue::Requeue;

/// State of each object, by its uid. It is lost on restart, which costs a few calls.
#[derive(Debug)]
pub(in crate::controller) struct StateCache<S>(Mutex<BTreeMap<String, Entry<S>>>);

#[derive(Debug, Default)]
struct Entry<S> {
    state: S,
    /// Consecutive reconciles that ended with [`Requeue::Backoff`].
    retries: u32,
}

impl<S> Default for StateCache<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Clone + Default> StateCache<S> {
    /// The state of an object; the default where there is none.
    pub(in crate::controller) fn get(&self, uid: &str) -> S {
        let entries = self.lock();
        entries
            .get(uid)
            .map_or_else(S::default, |entry| entry.state.clone())
    }

    /// Stores the state of an object.
    pub(in crate::controller) fn put(&self, uid: &str, state: S) {
        self.lock().entry(uid.to_owned()).or_default().state = state;
    }

    /// Removes the state of an object.
    pub(in crate::controller) fn remove(&self, uid: &str) {
        self.lock().remove(uid);
    }

    /// Removes the state of all but these objects. An object that is deleted before it has our
    /// finalizer gets no last reconcile.
    pub(in crate::controller) fn retain(&self, uids: &BTreeSet<String>) {
        self.lock().retain(|uid, _| uids.contains(uid));
    }

    /// Counts how often in a row an object was requeued with backoff, this time included.
    pub(in crate::controller) fn count_retries(&self, uid: &str, requeue: Requeue) -> u32 {
        let mut entries = self.lock();
        match (requeue, entries.get_mut(uid)) {
            (Requeue::Backoff, _) => {
                let entry = entries.entry(uid.to_owned()).or_default();
                entry.retries = entry.retries.saturating_add(1);
                entry.retries
            }
            (_, Some(entry)) => {
                entry.retries = 0;
                0
            }
            (_, None) => 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entry<S>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the state of objects that no longer exist, each `interval`; never returns.
pub(in crate::controller) async fn prune<K, S>(
    states: &StateCache<S>,
    store: &Store<K>,
    interval: Duration,
) where
    K: Resource<DynamicType = ()> + Clone + 'static,
    S: Clone + Default,
{
    loop {
        tokio::time::sleep(interval).await;
        let objects = store.state();
        states.retain(&objects.iter().filter_map(|object| object.uid()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_deleted_objects_is_removed() {
        let states: StateCache<u8> = StateCache::default();
        for uid in ["present", "deleted"] {
            states.put(uid, 3);
        }
        states.retain(&BTreeSet::from(["present".to_owned()]));
        assert_eq!(["present", "deleted"].map(|uid| states.get(uid)), [3, 0]);
    }

    #[test]
    fn retries_count_consecutive_backoffs() {
        let states: StateCache<u8> = StateCache::default();
        let counts = [
            (Requeue::Backoff, 1),
            (Requeue::Backoff, 2),
            (Requeue::Poll, 0),
            (Requeue::Backoff, 1),
        ];
        for (requeue, expected) in counts {
            assert_eq!(states.count_retries("a", requeue), expected, "{requeue:?}");
            states.put("a", 1);
        }
    }
}
