//! The controller of Queues: what starts a pass, and what follows from its end.

use std::convert::Infallible;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt as _};
use jiff::Timestamp;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::utils::WatchStreamExt as _;
use kube::runtime::{PredicateConfig, predicates, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;

use super::connect::{Changed, ConfigKey, Connector};
use super::health::Sight;
use super::memory::Memories;
use super::pass::Pass;
use crate::cluster;
use crate::creation;
use crate::kinds::Queue;
use crate::metrics::{Metrics, Outcome};
use crate::requeue::{self, Next};
use crate::timings::Timings;

/// Name of the controller in metrics.
const CONTROLLER: &str = "queue";

/// What every pass needs.
pub struct Context {
    /// The cluster.
    pub client: Client,
    /// What is seen of pods, workloads and scalers.
    pub(super) sight: Arc<Sight>,
    /// The ways to brokers.
    pub connector: Connector,
    /// Every duration.
    pub timings: Timings,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What is remembered.
    pub memories: Memories,
}

impl Context {
    /// A context without any memories. `own_namespace` is the provider's.
    pub fn new(
        client: Client,
        own_namespace: &str,
        timings: Timings,
        metrics: Arc<Metrics>,
    ) -> Self {
        let connector = Connector::new(
            client.clone(),
            own_namespace.to_owned(),
            timings.clone(),
            metrics.clone(),
        );
        Self {
            client,
            sight: Arc::default(),
            connector,
            timings,
            metrics,
            memories: Memories::default(),
        }
    }

    /// Forgets what is about none of these queues: one that goes before it has our finalizer
    /// goes without a pass.
    pub fn forget_all_but(&self, queues: &[Arc<Queue>]) {
        let uids = queues.iter().filter_map(|queue| queue.uid()).collect();
        self.memories.keep_only(&uids);
        let configs = queues.iter().map(|queue| ConfigKey::of(queue)).collect();
        self.connector.keep_only(&configs);
    }
}

/// Keeps all Queues true until `shutdown`, then ends the running passes. The
/// store has every Queue there is, for the gauges.
pub fn run(
    context: Arc<Context>,
    concurrency: u16,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) -> (Store<Queue>, impl Future<Output = ()>) {
    let api: Api<Queue> = Api::all(context.client.clone());
    let (reader, writer) = reflector::store();
    let changes = watcher(api, cluster::watch())
        .default_backoff()
        .modify(|queue| {
            // A third of an object's size, and of no use here.
            queue.managed_fields_mut().clear();
        })
        .reflect(writer)
        .applied_objects()
        .predicate_filter(
            |queue: &Queue| Some(wishes(queue)),
            PredicateConfig::default(),
        );
    let of_changed_configs = users(reader.clone(), context.connector.known.changes());
    let controller = Controller::for_stream(changes, reader.clone())
        .reconcile_on(of_changed_configs)
        .with_config(kube::runtime::controller::Config::default().concurrency(concurrency))
        .graceful_shutdown_on(shutdown)
        .run(reconcile, |_, error, _| match *error {}, context)
        .for_each(|_| futures::future::ready(()));
    (reader, controller)
}

/// The queues of each config that changes.
fn users(
    queues: Store<Queue>,
    news: broadcast::Receiver<Changed>,
) -> impl Stream<Item = ObjectRef<Queue>> + Send {
    let batches = stream::unfold((queues, news), |(queues, mut news)| async {
        let changed = match news.recv().await {
            Ok(changed) => Some(changed),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => return None,
        };
        let is_concerned = |queue: &Queue| {
            // After more changes than could be kept, it may be any queue.
            changed
                .as_ref()
                .is_none_or(|changed| changed.concerns(queue))
        };
        let concerned: Vec<_> = queues
            .state()
            .iter()
            .filter(|queue| is_concerned(queue))
            .map(|queue| ObjectRef::from_obj(queue.as_ref()))
            .collect();
        Some((stream::iter(concerned), (queues, news)))
    });
    batches.flatten()
}

/// A digest of what starts a pass when it changes: not the status, and not the notes that a
/// creation is begun or has failed, which would end every back-off.
fn wishes(queue: &Queue) -> u64 {
    let mut hasher = DefaultHasher::new();
    predicates::generation(queue).hash(&mut hasher);
    queue.labels().hash(&mut hasher);
    let notes = [creation::PENDING, creation::FAILED];
    for (key, value) in queue.annotations() {
        if !notes.contains(&key.as_str()) {
            (key, value).hash(&mut hasher);
        }
    }
    hasher.finish()
}

async fn reconcile(queue: Arc<Queue>, context: Arc<Context>) -> Result<Action, Infallible> {
    let uid = queue.uid().unwrap_or_default();
    let start = Instant::now();
    let before = context.memories.of(&uid);
    let updated = before.updated;
    let mut pass = Pass::new(&context, queue.as_ref().clone(), before);
    let end = pass.run().await;
    let is_ready = pass.is_ready();
    let mut memory = pass.memory;
    memory.failures = if end.next == Next::Backoff {
        memory.failures + 1
    } else {
        0
    };
    context
        .metrics
        .pass(CONTROLLER, end.is_failure, start.elapsed());
    let outcome = match end.next {
        _ if end.is_over => Outcome::Gone,
        _ if memory.updated != updated => Outcome::Changed,
        Next::Poll if !end.is_failure => Outcome::InSync,
        _ => Outcome::Other,
    };
    let metrics = &context.metrics;
    metrics.follow(
        &mut memory.life,
        queue.as_ref(),
        is_ready,
        outcome,
        Timestamp::now(),
    );
    let wait = match end.next {
        Next::OnChange => None,
        Next::After(wait) => Some(wait),
        Next::Backoff => Some(requeue::backoff(memory.failures, &context.timings)),
        Next::Poll => {
            let interval =
                requeue::poll_interval(queue.annotations(), end.counters, &context.timings);
            Some(requeue::with_jitter(interval, chance(), &context.timings))
        }
    };
    if end.is_over {
        context.memories.forget(&uid);
    } else {
        context.memories.keep(&uid, memory);
    }
    Ok(wait.map_or_else(Action::await_change, |wait| {
        Action::requeue(wait.max(Duration::from_millis(1)))
    }))
}

/// A random number from 0 to 1. Nothing depends on its quality.
pub(super) fn chance() -> f64 {
    use std::hash::BuildHasher as _;
    let random = std::collections::hash_map::RandomState::new().hash_one(0_u8);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a chance needs no more than 32 bits"
    )]
    let chance = (random >> 32) as f64 / f64::from(u32::MAX);
    chance
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
    fn a_pass_starts_with_what_somebody_wants() {
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
                |queue| queue["metadata"]["annotations"][creation::PENDING] = json!("now"),
                false,
            ),
            (
                "a creation done",
                |queue| queue["metadata"]["annotations"][creation::SUCCEEDED] = json!("now"),
                true,
            ),
        ];
        let before = wishes(&queue(|_| {}));
        for (reason, change, expected) in cases {
            assert_eq!(wishes(&queue(change)) != before, expected, "{reason}");
        }
    }

    #[test]
    fn chances_are_between_nothing_and_certainty() {
        assert!((0..100).all(|_| (0.0..=1.0).contains(&chance())));
    }
}
