//! Workloads that actors are bound to, by their label; only metadata is cached.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use actor::binding::{ObjectReference, field_manager};
use actor::labels::{BOUND_TO, MANAGED_BY};
use futures::channel::mpsc::UnboundedSender;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};
use serde_json::json;

use crate::binding::field_ownership;
use crate::binding::intent;
use crate::controller::watch_cache::index::{Entry, Index, IndexKey};
use crate::controller::watch_cache::views::workload_name;

/// Kinds that containers are injected into, all of `apps/v1`.
pub(super) const KINDS: [&str; 2] = ["Deployment", "StatefulSet"];

/// Object that a change concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trigger {
    /// Bindings of this actor.
    Actor(IndexKey),
    /// Bindings to this workload.
    Workload(IndexKey),
}

/// A workload that an actor is or was bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoundWorkload {
    /// The workload.
    pub(super) workload: ObjectReference,
    /// Its uid.
    pub(super) uid: String,
    /// True if the actor's field manager still owns fields there.
    pub(super) is_applied: bool,
    /// True if the annotation names the same actor as the label.
    pub(super) is_managed: bool,
    /// Hash of the fields that the actor's field manager owns: it does not change with replicas or
    /// status.
    digest: u64,
}

impl BoundWorkload {
    /// Reads a labelled object of one of [`KINDS`]; none without the label.
    pub(super) fn read<K: Resource>(kind: &str, object: &K) -> Option<Self> {
        let actor = object.labels().get(BOUND_TO)?;
        Self::read_for(actor, kind, object)
    }

    /// Reads an object of one of [`KINDS`] for an actor, labelled or not.
    pub(super) fn read_for<K: Resource>(actor: &str, kind: &str, object: &K) -> Option<Self> {
        let manager = field_manager(&actor.parse().ok()?);
        let namespace = object.namespace()?;
        let managed_by = object.annotations().get(MANAGED_BY);
        let mut digest = DefaultHasher::new();
        object.meta().deletion_timestamp.is_some().hash(&mut digest);
        for entry in object.managed_fields() {
            if entry.manager.as_ref() == Some(&manager) {
                json!(entry.fields_v1).to_string().hash(&mut digest);
            }
        }
        Some(Self {
            workload: ObjectReference {
                api_version: "apps/v1".to_owned(),
                kind: kind.to_owned(),
                name: object.name_any(),
            },
            uid: object.uid()?,
            is_applied: field_ownership::has_applied(&json!(object.managed_fields()), &manager),
            is_managed: managed_by == Some(&intent::managed_by(&namespace, actor)),
            digest: digest.finish(),
        })
    }
}

/// All workloads with the label.
#[derive(Debug)]
pub(super) struct BoundWorkloads {
    indexes: Mutex<Indexes>,
    triggers: UnboundedSender<Trigger>,
}

/// Workloads by kind and actor, and the kinds that cannot be watched at present.
#[derive(Debug, Default)]
struct Indexes {
    by_kind: BTreeMap<&'static str, Index<BoundWorkload>>,
    problems: BTreeSet<&'static str>,
}

impl BoundWorkloads {
    /// An empty cache; `triggers` receives what changes concern.
    pub(super) fn new(triggers: UnboundedSender<Trigger>) -> Self {
        Self {
            indexes: Mutex::default(),
            triggers,
        }
    }

    /// Applies an event of a kind. A list that is answered does not prove that the kind can be watched.
    pub(super) fn apply(&self, kind: &'static str, event: Event<Entry<BoundWorkload>>) {
        let workload = match &event {
            Event::Apply(entry) | Event::InitApply(entry) | Event::Delete(entry) => {
                Some(IndexKey {
                    namespace: entry.key.namespace.clone(),
                    name: workload_name(kind, &entry.object.1),
                })
            }
            Event::Init | Event::InitDone => None,
        };
        let mut indexes = self.lock();
        let changed = indexes.by_kind.entry(kind).or_default().apply(event);
        drop(indexes);
        if !changed.is_empty()
            && let Some(workload) = workload
        {
            self.trigger(Trigger::Workload(workload));
        }
        for actor in changed {
            self.trigger(Trigger::Actor(actor));
        }
    }

    /// Records that the API server has accepted a watch of a kind.
    pub(super) fn accept(&self, kind: &'static str) {
        self.lock().problems.remove(kind);
    }

    /// Records that a kind cannot be watched at present.
    pub(super) fn fail(&self, kind: &'static str) {
        self.lock().problems.insert(kind);
    }

    /// Workloads with the label of an actor.
    pub(super) fn get(&self, namespace: &str, actor: &str) -> Vec<BoundWorkload> {
        let key = IndexKey {
            namespace: namespace.to_owned(),
            name: actor.to_owned(),
        };
        let indexes = self.lock();
        let all = indexes.by_kind.values().flat_map(|index| index.get(&key));
        all.cloned().collect()
    }

    /// Returns whether changes of this workload trigger a reconcile.
    pub(super) fn is_watched(&self, namespace: &str, actor: &str, uid: &str) -> bool {
        let can_watch = self.lock().problems.is_empty();
        let workloads = self.get(namespace, actor);
        can_watch && workloads.iter().any(|workload| workload.uid == uid)
    }

    /// All workloads with namespace and actor; none while the cache is not synced.
    pub(super) fn all(&self) -> Option<Vec<(IndexKey, BoundWorkload)>> {
        let indexes = self.lock();
        let is_complete = |kind| indexes.by_kind.get(kind).is_some_and(Index::is_complete);
        if !KINDS.into_iter().all(is_complete) {
            return None;
        }
        let all = indexes.by_kind.values().flat_map(Index::all);
        Some(
            all.map(|(key, workload)| (key.clone(), workload.clone()))
                .collect(),
        )
    }

    fn trigger(&self, trigger: Trigger) {
        if self.triggers.unbounded_send(trigger).is_err() {
            tracing::debug!("the controller of a trigger has ended");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Indexes> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::channel::mpsc;

    fn bound() -> Entry<BoundWorkload> {
        Entry {
            key: IndexKey {
                namespace: "shop".to_owned(),
                name: "cart".to_owned(),
            },
            object: ("shop".to_owned(), "llm".to_owned()),
            value: BoundWorkload {
                workload: ObjectReference {
                    api_version: "apps/v1".to_owned(),
                    kind: "Deployment".to_owned(),
                    name: "llm".to_owned(),
                },
                uid: "1".to_owned(),
                is_applied: true,
                is_managed: true,
                digest: 0,
            },
        }
    }

    #[test]
    fn a_workload_counts_as_watched_only_after_the_watch_was_accepted() {
        let (triggers, _triggered) = mpsc::unbounded();
        let cache = BoundWorkloads::new(triggers);
        let [kind, other] = KINDS;
        let is_watched = || cache.is_watched("shop", "cart", "1");
        let list = || {
            cache.apply(kind, Event::Init);
            cache.apply(kind, Event::InitApply(bound()));
            cache.apply(kind, Event::InitDone);
        };
        list();
        cache.accept(kind);
        assert!(is_watched(), "listed, and the watch was accepted");
        cache.fail(kind);
        assert!(!is_watched(), "the watch was refused");
        list();
        assert!(!is_watched(), "a list is answered, the watch is not");
        cache.accept(other);
        assert!(!is_watched(), "a watch of another kind was accepted");
        cache.accept(kind);
        assert!(is_watched(), "the watch was accepted again");
    }
}
