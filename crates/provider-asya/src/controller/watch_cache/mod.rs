//! Watch caches of pods, workloads and scalers, and triggers for the objects that a change concerns.
//!
//! - `index` groups objects of one kind by actor or workload;
//! - `views` has the kinds, with only the fields that are read;
//! - `watch_stream` lists and watches, and reports whether the API server accepts a watch;
//! - `watch` keeps the caches up to date.

pub(super) mod index;
pub(super) mod views;
pub(super) mod watch;
pub(super) mod watch_stream;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actor::binding::ObjectReference;
use actor::health::{ForProvider, Pod, Revision, Scaler, Workload};
use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use kube::ResourceExt as _;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;

use self::index::{Entry, Index, IndexKey};
use self::views::workload_name;
use crate::kinds::ActorHealth;

/// Kinds without which the health of an actor is unknown.
const REQUIRED: [&str; 4] = ["pods", "deployments", "statefulsets", "replicasets"];

/// Property by which a kind is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::controller) enum IndexBy {
    /// The actor.
    Actor,
    /// The workload.
    Workload,
}

/// The indexes of all kinds.
#[derive(Debug, Default)]
pub(in crate::controller) struct Indexes {
    pub(in crate::controller) pods: Index<Arc<Pod>>,
    pub(in crate::controller) deployments: Index<Workload>,
    pub(in crate::controller) stateful_sets: Index<Workload>,
    pub(in crate::controller) revisions: Index<Revision>,
    pub(in crate::controller) hpas: Index<Scaler>,
    pub(in crate::controller) scaled_objects: Index<Scaler>,
    /// The ActorHealth objects of an actor and of a workload.
    by_actor: Index<()>,
    by_workload: Index<()>,
    /// Problems of kinds that cannot be watched, by their plural.
    problems: BTreeMap<&'static str, WatchProblem>,
    /// Receiver of the ActorHealth objects that a change concerns.
    health: Option<UnboundedSender<ObjectRef<ActorHealth>>>,
    /// Receiver of workloads whose objects or scalers have changed.
    workloads: Option<UnboundedSender<IndexKey>>,
}

/// Problem of a kind that cannot be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controller) struct WatchProblem {
    /// One line: what failed.
    pub(in crate::controller) message: String,
    /// True if the provider has no right to: nothing but a grant ends this.
    pub(in crate::controller) is_denied: bool,
}

impl WatchProblem {
    /// Message for the status of an object that was observed before the right was removed.
    pub(in crate::controller) fn outdated(&self) -> String {
        // The remedy first: long messages are cut.
        format!(
            "this status is out of date: apply `install/provider-asya/rbac.yaml`; {}",
            self.message
        )
    }
}

/// Cached objects of one actor.
#[derive(Debug)]
pub(in crate::controller) struct ActorSnapshot {
    pub(in crate::controller) pods: Vec<Arc<Pod>>,
    /// None where no workload with this name has the actor's label.
    pub(in crate::controller) workload: Option<Workload>,
    pub(in crate::controller) revisions: Vec<Revision>,
    /// None while the cache is not synced.
    pub(in crate::controller) scalers: Option<Vec<Scaler>>,
    /// Message if the cache is out of date: a right to watch was removed.
    pub(in crate::controller) outdated: Option<String>,
}

/// The caches are not synced; the problem of the watch, where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controller) struct NotSynced(pub(in crate::controller) Option<WatchProblem>);

/// Watch caches of the cluster.
#[derive(Debug, Default)]
pub(in crate::controller) struct WatchCache {
    indexes: Mutex<Indexes>,
}

impl WatchCache {
    /// A stream of the ActorHealth objects that changes concern, from now on.
    pub(in crate::controller) fn subscribe_health(
        &self,
    ) -> UnboundedReceiver<ObjectRef<ActorHealth>> {
        let (triggers, triggered) = mpsc::unbounded();
        self.lock().health = Some(triggers);
        triggered
    }

    /// Triggers a reconcile of an ActorHealth.
    pub(in crate::controller) fn trigger_health(&self, health: ObjectRef<ActorHealth>) {
        send(self.lock().health.as_ref(), health);
    }

    /// A stream of the workloads whose objects or scalers change, from now on.
    pub(in crate::controller) fn subscribe_workloads(&self) -> UnboundedReceiver<IndexKey> {
        let (triggers, triggered) = mpsc::unbounded();
        self.lock().workloads = Some(triggers);
        triggered
    }

    /// The scalers of these workloads; none while the cache is not synced.
    pub(in crate::controller) fn scalers(
        &self,
        namespace: &str,
        workloads: &[&ObjectReference],
    ) -> Option<Vec<Scaler>> {
        let indexes = self.lock();
        if !indexes.hpas.is_complete() || !indexes.scaled_objects.is_complete() {
            return None;
        }
        let keys = workloads.iter().map(|workload| IndexKey {
            namespace: namespace.to_owned(),
            name: workload_name(&workload.kind, &workload.name),
        });
        let scalers = keys.flat_map(|key| {
            let hpas: Vec<_> = indexes.hpas.get(&key).cloned().collect();
            let scaled_objects = indexes.scaled_objects.get(&key).cloned();
            hpas.into_iter().chain(scaled_objects).collect::<Vec<_>>()
        });
        Some(scalers.collect())
    }

    /// Number of ready pods of an actor; 0 while the cache is not synced.
    pub(in crate::controller) fn ready_pods(&self, namespace: &str, actor: &str) -> usize {
        let key = IndexKey {
            namespace: namespace.to_owned(),
            name: actor.to_owned(),
        };
        let indexes = self.lock();
        indexes.pods.get(&key).filter(|pod| pod.is_ready()).count()
    }

    /// Applies an event of a watched kind. A list that is answered solves no [`WatchProblem`]: the right
    /// to list may remain without the right to watch.
    pub(in crate::controller) fn apply<V: PartialEq>(
        &self,
        event: Event<Entry<V>>,
        slot: fn(&mut Indexes) -> &mut Index<V>,
        by: IndexBy,
    ) {
        let mut indexes = self.lock();
        let changed = slot(&mut indexes).apply(event);
        Self::trigger(&indexes, &changed, by);
    }

    /// Records that the API server has accepted a watch of a kind.
    pub(in crate::controller) fn accept(&self, kind: &'static str) {
        let mut indexes = self.lock();
        let solved = indexes.problems.remove(kind);
        if solved.is_some_and(|problem| problem.is_denied) {
            Self::trigger_all(&indexes);
        }
    }

    /// Removes the objects of a kind that is not served.
    pub(in crate::controller) fn clear<V: PartialEq>(
        &self,
        kind: &'static str,
        slot: fn(&mut Indexes) -> &mut Index<V>,
        by: IndexBy,
    ) {
        self.accept(kind);
        let mut indexes = self.lock();
        let changed = slot(&mut indexes).clear();
        Self::trigger(&indexes, &changed, by);
    }

    /// Records that a kind cannot be watched at present. A missing right remains the problem until a
    /// watch is accepted: an interruption in between does not replace it.
    pub(in crate::controller) fn fail(&self, kind: &'static str, problem: WatchProblem) {
        let mut indexes = self.lock();
        let before = indexes.problems.get(kind);
        let was_denied = before.is_some_and(|before| before.is_denied);
        let is_denied = problem.is_denied;
        if was_denied && !is_denied {
            return;
        }
        indexes.problems.insert(kind, problem);
        if is_denied && !was_denied {
            Self::trigger_all(&indexes);
        }
    }

    /// Applies an event of the ActorHealth objects themselves.
    pub(in crate::controller) fn register(&self, event: &Event<ActorHealth>) {
        let mut indexes = self.lock();
        let entry = |health: &ActorHealth, name| registered(health, name);
        let (actor, workload) = match event {
            Event::Apply(health) => (
                Event::Apply(entry(health, actor_of(health))),
                Event::Apply(entry(health, workload_of(health))),
            ),
            Event::InitApply(health) => (
                Event::InitApply(entry(health, actor_of(health))),
                Event::InitApply(entry(health, workload_of(health))),
            ),
            Event::Delete(health) => (
                Event::Delete(entry(health, actor_of(health))),
                Event::Delete(entry(health, workload_of(health))),
            ),
            Event::Init => (Event::Init, Event::Init),
            Event::InitDone => (Event::InitDone, Event::InitDone),
        };
        indexes.by_actor.apply(actor);
        indexes.by_workload.apply(workload);
    }

    /// The cached objects of an actor.
    ///
    /// # Errors
    /// A cache is not synced.
    pub(in crate::controller) fn snapshot(
        &self,
        namespace: &str,
        target: &ForProvider,
    ) -> Result<ActorSnapshot, NotSynced> {
        let indexes = self.lock();
        let is_complete = indexes.pods.is_complete()
            && indexes.deployments.is_complete()
            && indexes.stateful_sets.is_complete()
            && indexes.revisions.is_complete();
        if !is_complete {
            let problem = REQUIRED.iter().find_map(|kind| indexes.problems.get(kind));
            return Err(NotSynced(problem.cloned()));
        }
        let mut problems = indexes.problems.values();
        let denied = problems.find(|problem| problem.is_denied);
        let key = |name: String| IndexKey {
            namespace: namespace.to_owned(),
            name,
        };
        let actor = key(target.actor.clone());
        let workload = key(workload_name(&target.workload.kind, &target.workload.name));
        let scalers_known = indexes.hpas.is_complete() && indexes.scaled_objects.is_complete();
        let scalers = indexes
            .hpas
            .get(&workload)
            .chain(indexes.scaled_objects.get(&workload));
        let mut workloads = indexes
            .deployments
            .get(&workload)
            .chain(indexes.stateful_sets.get(&workload));
        Ok(ActorSnapshot {
            pods: indexes.pods.get(&actor).cloned().collect(),
            workload: workloads.next().cloned(),
            revisions: indexes.revisions.get(&workload).cloned().collect(),
            scalers: scalers_known.then(|| scalers.cloned().collect()),
            outdated: denied.map(WatchProblem::outdated),
        })
    }

    fn trigger(indexes: &Indexes, changed: &BTreeSet<IndexKey>, by: IndexBy) {
        let register = match by {
            IndexBy::Actor => &indexes.by_actor,
            IndexBy::Workload => &indexes.by_workload,
        };
        for key in changed {
            for name in register.names(key) {
                let health = ObjectRef::new(name).within(&key.namespace);
                send(indexes.health.as_ref(), health);
            }
            if by == IndexBy::Workload {
                send(indexes.workloads.as_ref(), key.clone());
            }
        }
    }

    /// Triggers every ActorHealth.
    fn trigger_all(indexes: &Indexes) {
        for (namespace, name) in indexes.by_actor.objects() {
            let health = ObjectRef::new(name).within(namespace);
            send(indexes.health.as_ref(), health);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Indexes> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send<T>(receiver: Option<&UnboundedSender<T>>, trigger: T) {
    if receiver.is_some_and(|receiver| receiver.unbounded_send(trigger).is_err()) {
        tracing::debug!("the controller of a trigger has ended");
    }
}

fn actor_of(health: &ActorHealth) -> String {
    health.spec.for_provider.actor.clone()
}

fn workload_of(health: &ActorHealth) -> String {
    let workload = &health.spec.for_provider.workload;
    workload_name(&workload.kind, &workload.name)
}

fn registered(health: &ActorHealth, group: String) -> Entry<()> {
    let namespace = health.namespace().unwrap_or_default();
    Entry {
        key: IndexKey {
            namespace: namespace.clone(),
            name: group,
        },
        object: (namespace, health.name_any()),
        value: (),
    }
}
