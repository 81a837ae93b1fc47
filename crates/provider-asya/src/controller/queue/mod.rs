//! The controller of Queues: what triggers a reconcile, and state between reconciles.

mod connection_secret;
mod delete;
mod execute;
mod observe;
mod reconcile;
mod state;

use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

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
use super::connect::{ConfigChange, ConfigKey, SLOT_RETRY};
use super::managed::{self, Finished, HasStates, ReconcileError, StateCache, error_policy};
use crate::cluster;
use crate::external_create;
use crate::kinds::Queue;
use crate::requeue;
use crate::timings::Timings;

/// Name of the controller in metrics.
const CONTROLLER: &str = "queue";

/// What all reconciles of Queues share.
struct QueueContext {
    provider: Arc<Context>,
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
    provider.connector.slots.set_total(usize::from(concurrency));
    let config_changes = provider.connector.configs.changes();
    let context = Arc::new(QueueContext {
        provider,
        states: StateCache::default(),
    });
    let (store, prune_context) = (reader.clone(), context.clone());
    let controller = Controller::for_stream(changes, reader.clone())
        .reconcile_on(users(reader.clone(), config_changes))
        .with_config(Config::default().concurrency(concurrency))
        .graceful_shutdown_on(shutdown)
        .run(reconcile, error_policy, context)
        .for_each(|_| futures::future::ready(()));
    let both = async move {
        tokio::select! {
            () = controller => {}
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
            let configs = queues.iter().map(|queue| ConfigKey::of(queue)).collect();
            context.provider.connector.retain(&configs);
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
    let uid = queue.uid().unwrap_or_default();
    let provider = context.provider.as_ref();
    // Without a slot the reconcile must not wait here, where it would occupy one of all controllers'.
    let Some(slot) = provider
        .connector
        .slots
        .acquire(&ConfigKey::of(&queue), &uid)
    else {
        return Ok(Action::requeue(requeue::with_jitter(
            SLOT_RETRY,
            requeue::chance(),
            &provider.timings,
        )));
    };
    let started = Instant::now();
    let state = context.states.get(&uid);
    let mut reconciler = Reconciler::new(provider, queue.as_ref().clone(), state);
    let outcome = reconciler.run().await;
    if let Some(answers) = reconciler.answers() {
        slot.report(answers);
    }
    drop(slot);
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
