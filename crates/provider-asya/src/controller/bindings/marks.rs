//! The workloads that carry an actor's label, as far as their metadata tells.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use actor::binding::{ObjectReference, field_manager};
use actor::labels::{BOUND_TO, MANAGED_BY};
use futures::channel::mpsc::UnboundedSender;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};
use serde_json::json;

use crate::binding::intent;
use crate::binding::standing;
use crate::controller::grouped::{Grouped, Kept, Key};
use crate::controller::health::workload_name;

/// Kinds that containers are added to, all of `apps/v1`.
pub(super) const KINDS: [&str; 2] = ["Deployment", "StatefulSet"];

/// Somebody whom a change concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// Whoever binds this actor.
    Actor(Key),
    /// Whoever is bound to this workload.
    Workload(Key),
}

/// A workload that carries an actor's label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The workload.
    pub(super) workload: ObjectReference,
    /// Its uid.
    pub(super) uid: String,
    /// Whether the actor's field manager has applied something that still stands there.
    pub(super) is_applied: bool,
    /// Whether the annotation beside the label says the same.
    pub(super) is_managed: bool,
    /// Changes with what stands of what was applied, and with nothing else: neither
    /// replicas nor status.
    digest: u64,
}

impl Mark {
    /// The mark on an object of one of [`KINDS`]; none without the label.
    pub(super) fn read<K: Resource>(kind: &str, object: &K) -> Option<Self> {
        let actor = object.labels().get(BOUND_TO)?;
        Self::of(actor, kind, object)
    }

    /// What an actor has left on an object of one of [`KINDS`], labelled or not.
    pub(super) fn of<K: Resource>(actor: &str, kind: &str, object: &K) -> Option<Self> {
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
            is_applied: standing::has_applied(&json!(object.managed_fields()), &manager),
            is_managed: managed_by == Some(&intent::managed_by(&namespace, actor)),
            digest: digest.finish(),
        })
    }
}

/// All workloads that carry an actor's label.
#[derive(Debug)]
pub(super) struct Marks {
    seen: Mutex<Seen>,
    news: UnboundedSender<News>,
}

/// Workloads by kind, in groups by actor, and why a kind cannot be watched.
#[derive(Debug, Default)]
struct Seen {
    by_kind: BTreeMap<&'static str, Grouped<Mark>>,
    problems: BTreeMap<&'static str, String>,
}

impl Marks {
    /// None are known yet; tells through `news` whom a change concerns.
    pub(super) fn new(news: UnboundedSender<News>) -> Self {
        Self {
            seen: Mutex::default(),
            news,
        }
    }

    /// Takes in an event of a kind.
    pub(super) fn take(&self, kind: &'static str, event: Event<Kept<Mark>>) {
        let workload = match &event {
            Event::Apply(kept) | Event::InitApply(kept) | Event::Delete(kept) => Some(Key {
                namespace: kept.key.namespace.clone(),
                name: workload_name(kind, &kept.itself.1),
            }),
            Event::Init | Event::InitDone => None,
        };
        let mut seen = self.lock();
        seen.problems.remove(kind);
        let changed = seen.by_kind.entry(kind).or_default().take(event);
        drop(seen);
        if !changed.is_empty()
            && let Some(workload) = workload
        {
            self.tell(News::Workload(workload));
        }
        for actor in changed {
            self.tell(News::Actor(actor));
        }
    }

    /// Takes in that a kind cannot be watched at present.
    pub(super) fn fail(&self, kind: &'static str, problem: String) {
        self.lock().problems.insert(kind, problem);
    }

    /// The workloads that carry the label of an actor.
    pub(super) fn of(&self, namespace: &str, actor: &str) -> Vec<Mark> {
        let key = Key {
            namespace: namespace.to_owned(),
            name: actor.to_owned(),
        };
        let seen = self.lock();
        let of_all = seen.by_kind.values().flat_map(|grouped| grouped.of(&key));
        of_all.cloned().collect()
    }

    /// Whether a change of this workload would be noticed.
    pub(super) fn follows(&self, namespace: &str, actor: &str, uid: &str) -> bool {
        let can_watch = self.lock().problems.is_empty();
        let marks = self.of(namespace, actor);
        can_watch && marks.iter().any(|mark| mark.uid == uid)
    }

    /// Every workload, with namespace and actor, once all are known.
    pub(super) fn all(&self) -> Option<Vec<(Key, Mark)>> {
        let seen = self.lock();
        let is_complete = |kind| seen.by_kind.get(kind).is_some_and(Grouped::is_complete);
        if !KINDS.into_iter().all(is_complete) {
            return None;
        }
        let all = seen.by_kind.values().flat_map(Grouped::all);
        Some(all.map(|(key, mark)| (key.clone(), mark.clone())).collect())
    }

    fn tell(&self, news: News) {
        if self.news.unbounded_send(news).is_err() {
            tracing::debug!("nobody listens any more: the controller has ended");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
