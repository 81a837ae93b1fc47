//! The controller of Queues: what triggers a reconcile, and state between reconciles.

mod calls;
mod connection_secret;
mod delete;
mod execute;
mod observe;
mod reconcile;
mod state;

use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use actor::managed::SYNCED;
use futures::stream::{self, Stream, StreamExt as _};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::utils::WatchStreamExt as _;
use kube::runtime::{PredicateConfig, predicates, watcher};
use kube::{Api, ResourceExt as _};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;

use self::reconcile::Reconciler;
use self::state::ObjectState;
use super::Context;
use super::connect::{ConfigChange, ConfigKey, Priority, client_key};
use super::managed::{self, Finished, HasStates, ReconcileError, StateCache, error_policy};
use crate::cluster;
use crate::external_create;
use crate::kinds::Queue;
use crate::timings::Timings;

/// Name of the controller in metrics.
const CONTROLLER: &str = "queue";

/// State that all reconciles of Queues share.
struct QueueContext {
    provider: Arc<Context>,
    queues: Store<Queue>,
    states: StateCache<ObjectState>,
}

impl HasStates for QueueContext {
    type State = ObjectState;

    fn states(&self) -> &StateCache<ObjectState> {
        &self.states
    }

    fn timings(&self) -> &Timings {
        &self.provider.timings
    }
}

/// Reconciles all Queues until `shutdown`, then ends running reconciles. The store contains every
/// Queue, for the gauges.
pub fn run(
    provider: Arc<Context>,
    concurrency: u16,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> (Store<Queue>, impl Future<Output = ()>) {
    let api: Api<Queue> = Api::all(provider.client.clone());
    let (reader, writer) = reflector::store();
    let changes = watcher(api, cluster::watch())
        .default_backoff()
        .modify(|queue| {
            // A third of the object's size, and not used here.
            queue.managed_fields_mut().clear();
        })
        .reflect(writer)
        .applied_objects()
        .predicate_filter(
            |queue: &Queue| Some(trigger_hash(queue)),
            PredicateConfig::default(),
        );
    let slots = provider.connector.slots.clone();
    slots.set_total(usize::from(concurrency));
    let heartbeat = provider.heartbeat.clone();
    let config_changes = provider.connector.configs.changes();
    // An error means that it is set: there is one controller of Queues.
    drop(provider.connector.queues.set(reader.clone()));
    let context = Arc::new(QueueContext {
        provider,
        queues: reader.clone(),
        states: StateCache::default(),
    });
    let (store, prune_context) = (reader.clone(), context.clone());
    let controller = Controller::for_stream(changes, reader.clone())
        .reconcile_on(users(reader.clone(), config_changes))
        // Slots limit them, so that reconciles that wait for one are in order of priority.
        .with_config(Config::default().concurrency(0))
        .graceful_shutdown_on(async move {
            shutdown.await;
            slots.close();
        })
        .run(reconcile, error_policy, context)
        .for_each(|_| futures::future::ready(()));
    let both = async move {
        tokio::select! {
            () = heartbeat.watch(CONTROLLER, controller) => {}
            () = prune(&prune_context, &store) => {}
        }
    };
    (reader, both)
}

/// Removes state of deleted Queues, and clients of ProviderConfigs that no Queue uses; never
/// returns.
async fn prune(context: &QueueContext, store: &Store<Queue>) {
    let interval = context.provider.timings.state_metrics;
    let clients = async {
        loop {
            tokio::time::sleep(interval).await;
            let queues = store.state();
            let clients = queues.iter().map(|queue| client_key(queue)).collect();
            context.provider.connector.retain(&clients);
        }
    };
    tokio::join!(managed::prune(&context.states, store, interval), clients);
}

/// The queues that use a changed config.
fn users(
    queues: Store<Queue>,
    changes: broadcast::Receiver<ConfigChange>,
) -> impl Stream<Item = ObjectRef<Queue>> + Send {
    let batches = stream::unfold((queues, changes), |(queues, mut changes)| async {
        let change = match changes.recv().await {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return None,
        };
        // After more changes than the channel holds, any queue may be concerned.
        let is_concerned =
            |queue: &Queue| change.as_ref().is_none_or(|change| change.concerns(queue));
        let concerned: Vec<_> = queues
            .state()
            .iter()
            .filter(|queue| is_concerned(queue))
            .map(|queue| ObjectRef::from_obj(queue.as_ref()))
            .collect();
        Some((stream::iter(concerned), (queues, changes)))
    });
    batches.flatten()
}

/// Hash of what triggers a reconcile when it changes: not the status, and not the annotations of a
/// creation. Pending and failed ones would end every backoff, and after a success the reconcile
/// itself says when the next one is due.
fn trigger_hash(queue: &Queue) -> u64 {
    let mut hasher = DefaultHasher::new();
    predicates::generation(queue).hash(&mut hasher);
    queue.labels().hash(&mut hasher);
    let ignored = [
        external_create::PENDING,
        external_create::FAILED,
        external_create::SUCCEEDED,
    ];
    for (key, value) in queue.annotations() {
        if !ignored.contains(&key.as_str()) {
            (key, value).hash(&mut hasher);
        }
    }
    hasher.finish()
}

async fn reconcile(
    queue: Arc<Queue>,
    context: Arc<QueueContext>,
) -> Result<Action, ReconcileError> {
    let provider = context.provider.as_ref();
    let slots = &provider.connector.slots;
    let namespace = queue.namespace().unwrap_or_default();
    let slot = slots
        .acquire(&ConfigKey::of(&queue), &namespace, priority(&queue))
        .await;
    // The object may have changed since; without a slot the provider ends.
    let newest = context.queues.get(&ObjectRef::from_obj(queue.as_ref()));
    let Some((slot, queue)) = slot.zip(newest) else {
        return Ok(Action::await_change());
    };
    let started = Instant::now();
    let _running = provider.heartbeat.begin(CONTROLLER);
    let state = context.states.get(&queue.uid().unwrap_or_default());
    let mut reconciler = Reconciler::new(provider, queue.as_ref().clone(), state, slot);
    // Boxed, so that a reconcile that waits for a slot is small.
    let outcome = Box::pin(reconciler.run()).await;
    reconciler.calls.end();
    let finished = Finished {
        controller: CONTROLLER,
        object: queue.as_ref(),
        is_ready: reconciler.managed.is_ready(),
        started,
        counters: reconciler.counters,
        outcome,
    };
    managed::finish(
        finished,
        reconciler.state,
        |state| &mut state.lifecycle,
        provider,
        context.as_ref(),
    )
}

/// Objects with a spec that was not handled yet come first, and those that are being deleted.
fn priority(queue: &Queue) -> Priority {
    let generation = queue.metadata.generation;
    let conditions = queue.status.conditions.iter();
    let mut synced = conditions.filter(|condition| condition.type_ == SYNCED);
    let is_handled = synced.any(|synced| synced.observed_generation == generation);
    if is_handled && queue.metadata.deletion_timestamp.is_none() {
        Priority::Poll
    } else {
        Priority::Changed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn queue(change: impl FnOnce(&mut Value)) -> Queue {
        let mut queue = json!({
            "metadata": {"name": "cart", "generation": 1, "labels": {"team": "red"}, "annotations": {}},
            "spec": {"forProvider": {"sqs": {
                "region": "us-east-1", "visibilityTimeoutSeconds": 30, "messageRetentionSeconds": 60,
                "receiveWaitTimeSeconds": 0, "deadLetter": {"enabled": false, "maxReceiveCount": 3}}},
                "providerConfigRef": {"name": "main"}},
        });
        change(&mut queue);
        serde_json::from_value(queue).unwrap()
    }

    #[test]
    fn objects_whose_spec_was_not_handled_come_before_polls() {
        type Change = fn(&mut Value);
        let handled = |generation: i64| {
            json!([{"type": "Synced", "status": "True", "reason": "R",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": generation}])
        };
        let cases: [(&str, i64, Change, Priority); 3] = [
            ("handled", 1, |_| {}, Priority::Poll),
            ("changed since", 0, |_| {}, Priority::Changed),
            (
                "being deleted",
                1,
                |queue| queue["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
                Priority::Changed,
            ),
        ];
        for (reason, generation, change, expected) in cases {
            let found = queue(|queue| {
                queue["status"] = json!({"conditions": handled(generation)});
                change(queue);
            });
            assert_eq!(priority(&found), expected, "{reason}");
        }
        assert_eq!(priority(&queue(|_| {})), Priority::Changed, "new");
    }

    #[test]
    fn changes_of_desired_state_trigger_a_reconcile() {
        type Change = fn(&mut Value);
        let cases: [(&str, Change, bool); 6] = [
            ("nothing", |_| {}, false),
            (
                "spec",
                |queue| queue["metadata"]["generation"] = json!(2),
                true,
            ),
            (
                "label",
                |queue| queue["metadata"]["labels"]["team"] = json!("blue"),
                true,
            ),
            (
                "status",
                |queue| queue["status"] = json!({"lastHandledReconcileAt": "1"}),
                false,
            ),
            (
                "a creation begun",
                |queue| queue["metadata"]["annotations"][external_create::PENDING] = json!("now"),
                false,
            ),
            (
                "a creation done",
                |queue| queue["metadata"]["annotations"][external_create::SUCCEEDED] = json!("now"),
                false,
            ),
        ];
        let before = trigger_hash(&queue(|_| {}));
        for (reason, change, expected) in cases {
            assert_eq!(trigger_hash(&queue(change)) != before, expected, "{reason}");
        }
    }
}
