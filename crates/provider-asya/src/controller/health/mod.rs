//! The controller of ActorHealth objects. It watches and reports, and changes nothing else.

mod reconcile;

use std::future::Future;
use std::sync::Arc;

use futures::future::Shared;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::predicates::{annotations, generation};
use kube::runtime::reflector;
use kube::runtime::{Predicate as _, PredicateConfig, WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use tokio::time::Instant;

use self::reconcile::{ObjectState, Reconciler};
use super::Context;
use super::environment;
use super::managed::{self, HasStates, ReconcileError, StateCache, error_policy};
use super::watch_cache::watch;
use crate::cluster;
use crate::crd_gate;
use crate::kinds::ActorHealth;
use crate::requeue::Requeue;
use crate::timings::Timings;

/// Name of the controller in metrics.
const CONTROLLER: &str = "actorhealth";
/// CustomResourceDefinition that the controller waits for.
const KIND: &str = "actorhealths.provider.asya.sh";

/// State that all reconciles of ActorHealth objects share.
struct HealthContext {
    provider: Arc<Context>,
    states: StateCache<ObjectState>,
}

impl HasStates for HealthContext {
    type State = ObjectState;

    fn states(&self) -> &StateCache<ObjectState> {
        &self.states
    }

    fn timings(&self) -> &Timings {
        &self.provider.timings
    }
}

/// Reconciles all ActorHealth objects until `shutdown`, once their kind is served.
pub async fn run(
    provider: Arc<Context>,
    concurrency: u16,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) {
    let (client, timings) = (provider.client.clone(), provider.timings.clone());
    tokio::select! {
        () = crd_gate::wait_until_served(&client, &[KIND]) => {}
        () = shutdown.clone() => return,
    }
    let cache = provider.watch_cache.clone();
    let triggers = cache.subscribe_health();
    let watches = watch::run(client.clone(), cache.clone(), timings.clone());
    let heartbeat = provider.heartbeat.clone();
    let (reader, writer) = reflector::store();
    let changes = watcher(Api::<ActorHealth>::all(client), cluster::watch())
        .default_backoff()
        .modify(|health| health.managed_fields_mut().clear())
        .inspect_ok(move |event| cache.register(event))
        .reflect(writer)
        .applied_objects()
        .predicate_filter(generation.combine(annotations), PredicateConfig::default());
    let context = Arc::new(HealthContext {
        provider,
        states: StateCache::default(),
    });
    let (prune_context, store) = (context.clone(), reader.clone());
    let environment = environment::run(&prune_context.provider, &store);
    let controller = Controller::for_stream(changes, reader)
        .with_config(Config::default().concurrency(concurrency))
        .reconcile_on(triggers)
        .graceful_shutdown_on(shutdown)
        .run(reconcile, error_policy, context)
        .for_each(|_| futures::future::ready(()));
    tokio::select! {
        () = heartbeat.watch(CONTROLLER, controller) => {}
        () = watches => {}
        () = environment => {}
        () = managed::prune(&prune_context.states, &store, timings.state_metrics) => {}
    }
}

async fn reconcile(
    health: Arc<ActorHealth>,
    context: Arc<HealthContext>,
) -> Result<Action, ReconcileError> {
    let uid = health.uid().unwrap_or_default();
    if health.metadata.deletion_timestamp.is_some() {
        context.states.remove(&uid);
        context.provider.environment.forget(&health);
        return Ok(Action::await_change());
    }
    let start = Instant::now();
    let provider = context.provider.as_ref();
    let _running = provider.heartbeat.begin(CONTROLLER);
    let mut reconciler = Reconciler::new(provider, &health, context.states.get(&uid));
    let reconciled = reconciler.run().await;
    context.states.put(&uid, reconciler.state);
    provider
        .metrics
        .reconciled(CONTROLLER, reconciled.is_err(), start.elapsed());
    match reconciled {
        Ok(wait) => {
            context.states.count_retries(&uid, Requeue::OnChange);
            Ok(wait.map_or_else(Action::await_change, Action::requeue))
        }
        Err(error) => {
            tracing::warn!(health = health.name_any(), namespace = health.namespace(), %error, "reconcile failed");
            Err(ReconcileError::retried(error.to_string()))
        }
    }
}
