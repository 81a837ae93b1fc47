//! The controller of WorkloadBinding objects: it injects actors into workloads of other owners, and
//! removes what it injected.
//!
//! - `bound_workloads` caches the workloads that carry an actor's label, `watch` keeps it up to date: the
//!   API server filters by the label and sends only metadata, so workloads of others cost nothing;
//! - `targets` reads targets and what is behind them;
//! - `reconcile` runs one reconcile, by what [`binding`](crate::binding) decides;
//! - `apply` changes workloads;
//! - `garbage_collect` removes what deleted bindings have left.

mod apply;
mod bound_workloads;
mod delete;
mod execute;
mod garbage_collect;
mod observe;
mod reconcile;
pub mod targets;
mod watch;

use std::future::Future;
use std::sync::Arc;

use actor::binding::ObjectReference;
use futures::channel::mpsc;
use futures::future::Shared;
use futures::stream::{self, Stream, StreamExt as _};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::predicates::{annotations, generation};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Predicate as _, PredicateConfig, WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use tokio::time::Instant;

use self::bound_workloads::{BoundWorkloads, Trigger};
use self::reconcile::Reconciler;
use self::targets::Targets;
use super::Context;
use super::managed::{self, Finished, HasStates, ReconcileError, StateCache, error_policy};
use super::watch_cache::views::workload_name;
use crate::cluster;
use crate::crd_gate;
use crate::kinds::WorkloadBinding;
use crate::metrics::Lifecycle;
use crate::timings::Timings;

/// Name of the controller in metrics.
const CONTROLLER: &str = "workloadbinding";
/// CustomResourceDefinition that the controller waits for.
const KIND: &str = "workloadbindings.provider.asya.sh";

/// State that all reconciles of WorkloadBindings share.
struct BindingContext {
    provider: Arc<Context>,
    /// Reads targets and what is behind them.
    targets: Targets,
    /// Workloads that carry an actor's label.
    bound_workloads: BoundWorkloads,
    /// All bindings.
    bindings: Store<WorkloadBinding>,
    states: StateCache<ObjectState>,
}

/// State of a WorkloadBinding between two reconciles: only metrics, since object and target record what
/// was done.
#[derive(Debug, Clone, Default)]
struct ObjectState {
    lifecycle: Lifecycle,
}

impl HasStates for BindingContext {
    type State = ObjectState;

    fn states(&self) -> &StateCache<ObjectState> {
        &self.states
    }

    fn timings(&self) -> &Timings {
        &self.provider.timings
    }
}

/// Reconciles all WorkloadBindings until `shutdown`, once their kind is served. The store contains
/// every one, for the gauges.
///
/// The ActorHealth controller runs the watches of scalers.
pub fn run(
    provider: Arc<Context>,
    concurrency: u16,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) -> (Store<WorkloadBinding>, impl Future<Output = ()>) {
    let (reader, writer) = reflector::store();
    let store = reader.clone();
    let controller = async move {
        let client = provider.client.clone();
        tokio::select! {
            () = crd_gate::wait_until_served(&client, &[KIND]) => {}
            () = shutdown.clone() => return,
        }
        let changes = watcher(
            Api::<WorkloadBinding>::all(client.clone()),
            cluster::watch(),
        )
        .default_backoff()
        .modify(|binding| binding.managed_fields_mut().clear())
        .reflect(writer)
        .applied_objects()
        .predicate_filter(generation.combine(annotations), PredicateConfig::default());
        let (triggers, of_workloads) = mpsc::unbounded();
        let of_scalers = provider
            .watch_cache
            .subscribe_workloads()
            .map(Trigger::Workload);
        let triggered = concerned(reader.clone(), stream::select(of_workloads, of_scalers));
        let interval = provider.timings.state_metrics;
        let context = Arc::new(BindingContext {
            targets: Targets::new(client),
            bound_workloads: BoundWorkloads::new(triggers),
            bindings: reader.clone(),
            states: StateCache::default(),
            provider,
        });
        let (prune_context, bindings) = (context.clone(), reader.clone());
        let heartbeat = context.provider.heartbeat.clone();
        let watches = watch::run(context.clone());
        let garbage_collection = garbage_collect::run(context.clone());
        let controller = Controller::for_stream(changes, reader)
            .with_config(Config::default().concurrency(concurrency))
            .reconcile_on(triggered)
            .graceful_shutdown_on(shutdown)
            .run(reconcile, error_policy, context)
            .for_each(|_| futures::future::ready(()));
        tokio::select! {
            () = heartbeat.watch(CONTROLLER, controller) => {}
            () = watches => {}
            () = garbage_collection => {}
            () = managed::prune(&prune_context.states, &bindings, interval) => {}
        }
    };
    (store, controller)
}

/// The bindings that triggers concern.
fn concerned(
    bindings: Store<WorkloadBinding>,
    triggers: impl Stream<Item = Trigger> + Send,
) -> impl Stream<Item = ObjectRef<WorkloadBinding>> + Send {
    triggers.flat_map(move |trigger| {
        let concerned: Vec<_> = bindings
            .state()
            .iter()
            .filter(|binding| concerns(&trigger, binding))
            .map(|binding| ObjectRef::from_obj(binding.as_ref()))
            .collect();
        stream::iter(concerned)
    })
}

fn concerns(trigger: &Trigger, binding: &WorkloadBinding) -> bool {
    let namespace = binding.namespace();
    match trigger {
        Trigger::Actor(key) => {
            namespace.as_ref() == Some(&key.namespace)
                && binding.spec.for_provider.actor == key.name
        }
        Trigger::Workload(key) => {
            let status = &binding.status.at_provider;
            let mut objects = status.resolved_target.iter().chain(&status.scale_target);
            let is_it =
                |object: &ObjectReference| workload_name(&object.kind, &object.name) == key.name;
            namespace.as_ref() == Some(&key.namespace) && objects.any(is_it)
        }
    }
}

async fn reconcile(
    binding: Arc<WorkloadBinding>,
    context: Arc<BindingContext>,
) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let _running = context.provider.heartbeat.begin(CONTROLLER);
    let state = context.states.get(&binding.uid().unwrap_or_default());
    let mut reconciler = Reconciler::new(&context, binding.as_ref().clone());
    let outcome = reconciler.run().await;
    let finished = Finished {
        controller: CONTROLLER,
        object: binding.as_ref(),
        is_ready: reconciler.managed.is_ready(),
        started,
        counters: None,
        outcome,
    };
    managed::finish(
        finished,
        state,
        |state| &mut state.lifecycle,
        &context.provider,
        context.as_ref(),
    )
}
