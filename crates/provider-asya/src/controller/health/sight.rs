//! All that is seen of the cluster on behalf of ActorHealth objects, and who has to know
//! when it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actor::binding::ObjectReference;
use actor::health::{ForProvider, Pod, Revision, Scaler, Workload};
use futures::channel::mpsc::{self, UnboundedReceiver, UnboundedSender};
use kube::ResourceExt as _;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;

use super::views::workload_name;
use crate::controller::grouped::{Grouped, Kept, Key};
use crate::kinds::ActorHealth;

/// The kinds without which nothing can be said.
const NEEDED: [&str; 4] = ["pods", "deployments", "statefulsets", "replicasets"];

/// What the groups of a kind are named after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The actor.
    Actor,
    /// The workload.
    Workload,
}

/// All that is seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) pods: Grouped<Arc<Pod>>,
    pub(super) deployments: Grouped<Workload>,
    pub(super) stateful_sets: Grouped<Workload>,
    pub(super) revisions: Grouped<Revision>,
    pub(super) hpas: Grouped<Scaler>,
    pub(super) scaled_objects: Grouped<Scaler>,
    /// The ActorHealth objects of an actor and of a workload.
    by_actor: Grouped<()>,
    by_workload: Grouped<()>,
    /// Why a kind cannot be watched, by its plural.
    problems: BTreeMap<&'static str, String>,
    /// Who is told of the ActorHealth objects that a change concerns.
    health: Option<UnboundedSender<ObjectRef<ActorHealth>>>,
    /// Who is told of workloads and what scales them.
    workloads: Option<UnboundedSender<Key>>,
}

/// What is seen of one actor.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) pods: Vec<Arc<Pod>>,
    /// None where no workload with the actor's label has the name.
    pub(super) workload: Option<Workload>,
    pub(super) revisions: Vec<Revision>,
    /// None while they are not known.
    pub(super) scalers: Option<Vec<Scaler>>,
}

/// Why nothing can be said yet: what keeps the provider from watching, if it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotYet(pub(super) Option<String>);

/// All that is seen, shared by those who look and those who are told.
#[derive(Debug, Default)]
pub(in crate::controller) struct Sight {
    seen: Mutex<Seen>,
}

impl Sight {
    /// The ActorHealth objects that a change concerns, from now on.
    pub(super) fn listen(&self) -> UnboundedReceiver<ObjectRef<ActorHealth>> {
        let (triggers, triggered) = mpsc::unbounded();
        self.lock().health = Some(triggers);
        triggered
    }

    /// The workloads of which something changes, or what scales them, from now on.
    pub(in crate::controller) fn listen_to_workloads(&self) -> UnboundedReceiver<Key> {
        let (triggers, triggered) = mpsc::unbounded();
        self.lock().workloads = Some(triggers);
        triggered
    }

    /// What scales these workloads of a namespace; none while that is not known.
    pub(in crate::controller) fn scalers(
        &self,
        namespace: &str,
        workloads: &[&ObjectReference],
    ) -> Option<Vec<Scaler>> {
        let seen = self.lock();
        if !seen.hpas.is_complete() || !seen.scaled_objects.is_complete() {
            return None;
        }
        let keys = workloads.iter().map(|workload| Key {
            namespace: namespace.to_owned(),
            name: workload_name(&workload.kind, &workload.name),
        });
        let scalers = keys.flat_map(|key| {
            let hpas: Vec<_> = seen.hpas.of(&key).cloned().collect();
            let scaled_objects = seen.scaled_objects.of(&key).cloned();
            hpas.into_iter().chain(scaled_objects).collect::<Vec<_>>()
        });
        Some(scalers.collect())
    }

    /// Takes in an event of a watched kind.
    pub(super) fn take<V: PartialEq>(
        &self,
        kind: &'static str,
        event: Event<Kept<V>>,
        slot: fn(&mut Seen) -> &mut Grouped<V>,
        by: By,
    ) {
        let mut seen = self.lock();
        seen.problems.remove(kind);
        let changed = slot(&mut seen).take(event);
        Self::tell(&seen, &changed, by);
    }

    /// Takes in that a kind is not served.
    pub(super) fn clear<V: PartialEq>(&self, slot: fn(&mut Seen) -> &mut Grouped<V>, by: By) {
        let mut seen = self.lock();
        let changed = slot(&mut seen).clear();
        Self::tell(&seen, &changed, by);
    }

    /// Takes in that a kind cannot be watched at present.
    pub(super) fn fail(&self, kind: &'static str, problem: String) {
        self.lock().problems.insert(kind, problem);
    }

    /// Takes in an event of the ActorHealth objects themselves.
    pub(super) fn register(&self, event: &Event<ActorHealth>) {
        let mut seen = self.lock();
        let of = |health: &ActorHealth, name| registered(health, name);
        let (actor, workload) = match event {
            Event::Apply(health) => (
                Event::Apply(of(health, actor_of(health))),
                Event::Apply(of(health, workload_of(health))),
            ),
            Event::InitApply(health) => (
                Event::InitApply(of(health, actor_of(health))),
                Event::InitApply(of(health, workload_of(health))),
            ),
            Event::Delete(health) => (
                Event::Delete(of(health, actor_of(health))),
                Event::Delete(of(health, workload_of(health))),
            ),
            Event::Init => (Event::Init, Event::Init),
            Event::InitDone => (Event::InitDone, Event::InitDone),
        };
        seen.by_actor.take(actor);
        seen.by_workload.take(workload);
    }

    /// What is seen of an actor of a namespace.
    pub(super) fn of(&self, namespace: &str, target: &ForProvider) -> Result<Found, NotYet> {
        let seen = self.lock();
        let is_complete = seen.pods.is_complete()
            && seen.deployments.is_complete()
            && seen.stateful_sets.is_complete()
            && seen.revisions.is_complete();
        if !is_complete {
            let problem = NEEDED.iter().find_map(|kind| seen.problems.get(kind));
            return Err(NotYet(problem.cloned()));
        }
        let key = |name: String| Key {
            namespace: namespace.to_owned(),
            name,
        };
        let actor = key(target.actor.clone());
        let workload = key(workload_name(&target.workload.kind, &target.workload.name));
        let scalers_known = seen.hpas.is_complete() && seen.scaled_objects.is_complete();
        let scalers = seen
            .hpas
            .of(&workload)
            .chain(seen.scaled_objects.of(&workload));
        let mut workloads = seen
            .deployments
            .of(&workload)
            .chain(seen.stateful_sets.of(&workload));
        Ok(Found {
            pods: seen.pods.of(&actor).cloned().collect(),
            workload: workloads.next().cloned(),
            revisions: seen.revisions.of(&workload).cloned().collect(),
            scalers: scalers_known.then(|| scalers.cloned().collect()),
        })
    }

    fn tell(seen: &Seen, changed: &BTreeSet<Key>, by: By) {
        let register = match by {
            By::Actor => &seen.by_actor,
            By::Workload => &seen.by_workload,
        };
        for key in changed {
            for name in register.names(key) {
                let health = ObjectRef::new(name).within(&key.namespace);
                send(seen.health.as_ref(), health);
            }
            if by == By::Workload {
                send(seen.workloads.as_ref(), key.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send<T>(listener: Option<&UnboundedSender<T>>, news: T) {
    if listener.is_some_and(|listener| listener.unbounded_send(news).is_err()) {
        tracing::debug!("nobody listens any more: the controller has ended");
    }
}

fn actor_of(health: &ActorHealth) -> String {
    health.spec.for_provider.actor.clone()
}

fn workload_of(health: &ActorHealth) -> String {
    let workload = &health.spec.for_provider.workload;
    workload_name(&workload.kind, &workload.name)
}

fn registered(health: &ActorHealth, group: String) -> Kept<()> {
    let namespace = health.namespace().unwrap_or_default();
    Kept {
        key: Key {
            namespace: namespace.clone(),
            name: group,
        },
        itself: (namespace, health.name_any()),
        view: (),
    }
}
