//! The controller of WorkloadBinding objects: it finds what is behind a target, adds to
//! it what is wanted, and takes that away again.
//!
//! - `marks` knows the workloads that carry an actor's label, and `watch` keeps it so:
//!   the API server filters by the label and sends metadata alone, so that workloads of
//!   others cost nothing;
//! - `pass` makes one pass over one object, by what [`binding`](crate::binding) decides;
//! - `apply` changes workloads;
//! - `leftovers` takes away what bindings have left that are gone.

mod apply;
mod leftovers;
mod marks;
mod pass;
mod watch;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actor::binding::ObjectReference;
use futures::channel::mpsc;
use futures::future::Shared;
use futures::stream::{self, Stream, StreamExt as _};
use jiff::Timestamp;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::predicates::{annotations, generation};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Predicate as _, PredicateConfig, WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use tokio::time::Instant;

use self::marks::{Marks, News};
use self::pass::Pass;
use super::health::workload_name;
use super::queues::chance;
use super::targets::Targets;
use crate::cluster;
use crate::gate;
use crate::kinds::WorkloadBinding;
use crate::metrics::{Life, Outcome};
use crate::requeue::{self, Next};

/// Name of the controller in metrics.
const CONTROLLER: &str = "workloadbinding";
/// The definition that the controller waits for.
const KIND: &str = "workloadbindings.provider.asya.sh";

/// What every pass needs.
struct Context {
    provider: Arc<super::Context>,
    /// Reads targets and what is behind them.
    targets: Targets,
    /// The workloads that carry an actor's label.
    marks: Marks,
    /// All bindings.
    bindings: Store<WorkloadBinding>,
    memories: Memories,
}

/// What is remembered of one object between two passes. Losing it costs nothing: what was
/// done stands in the object and in its target.
#[derive(Debug, Clone, Default)]
struct Memory {
    /// Failures in a row.
    failures: u32,
    /// What of its life was counted.
    life: Life,
}

/// The memories of all objects, by their uid.
#[derive(Debug, Default)]
struct Memories(Mutex<BTreeMap<String, Memory>>);

impl Memories {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps all WorkloadBinding objects true until `shutdown`, once their kind is served. The
/// store has every one there is, for the gauges.
///
/// What scales the targets is seen by the controller of ActorHealth objects.
pub fn run(
    provider: Arc<super::Context>,
    concurrency: u16,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) -> (Store<WorkloadBinding>, impl Future<Output = ()>) {
    let (reader, writer) = reflector::store();
    let store = reader.clone();
    let controller = async move {
        let client = provider.client.clone();
        tokio::select! {
            () = gate::served(&client, &[KIND]) => {}
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
        let (news, told) = mpsc::unbounded();
        let of_scalers = provider.sight.listen_to_workloads().map(News::Workload);
        let of_others = concerned(reader.clone(), stream::select(told, of_scalers));
        let context = Arc::new(Context {
            targets: Targets::new(client),
            marks: Marks::new(news),
            bindings: reader.clone(),
            memories: Memories::default(),
            provider,
        });
        let watches = watch::all(context.clone());
        let leftovers = leftovers::take_away(context.clone());
        let controller = Controller::for_stream(changes, reader)
            .with_config(Config::default().concurrency(concurrency))
            .reconcile_on(of_others)
            .graceful_shutdown_on(shutdown)
            .run(reconcile, |_, error, _| match *error {}, context)
            .for_each(|_| futures::future::ready(()));
        tokio::select! {
            () = controller => {}
            () = watches => {}
            () = leftovers => {}
        }
    };
    (store, controller)
}

/// The bindings that news concern.
fn concerned(
    bindings: Store<WorkloadBinding>,
    news: impl Stream<Item = News> + Send,
) -> impl Stream<Item = ObjectRef<WorkloadBinding>> + Send {
    news.flat_map(move |news| {
        let concerned: Vec<_> = bindings
            .state()
            .iter()
            .filter(|binding| is_about(&news, binding))
            .map(|binding| ObjectRef::from_obj(binding.as_ref()))
            .collect();
        stream::iter(concerned)
    })
}

fn is_about(news: &News, binding: &WorkloadBinding) -> bool {
    let namespace = binding.namespace();
    match news {
        News::Actor(key) => {
            namespace.as_ref() == Some(&key.namespace)
                && binding.spec.for_provider.actor == key.name
        }
        News::Workload(key) => {
            let known = &binding.status.at_provider;
            let mut objects = known.resolved_target.iter().chain(&known.scale_target);
            let is_it =
                |object: &ObjectReference| workload_name(&object.kind, &object.name) == key.name;
            namespace.as_ref() == Some(&key.namespace) && objects.any(is_it)
        }
    }
}

async fn reconcile(
    binding: Arc<WorkloadBinding>,
    context: Arc<Context>,
) -> Result<Action, Infallible> {
    let uid = binding.uid().unwrap_or_default();
    let start = Instant::now();
    let mut memory = context
        .memories
        .lock()
        .get(&uid)
        .cloned()
        .unwrap_or_default();
    let mut pass = Pass::new(&context, binding.as_ref().clone());
    let end = pass.run().await;
    let timings = &context.provider.timings;
    memory.failures = if end.next == Next::Backoff {
        memory.failures + 1
    } else {
        0
    };
    let metrics = &context.provider.metrics;
    metrics.pass(CONTROLLER, end.is_failure, start.elapsed());
    let outcome = match end.next {
        _ if end.is_over => Outcome::Gone,
        _ if end.has_changed => Outcome::Changed,
        Next::Poll if !end.is_failure => Outcome::InSync,
        _ => Outcome::Other,
    };
    let now = Timestamp::now();
    metrics.follow(
        &mut memory.life,
        binding.as_ref(),
        pass.is_ready(),
        outcome,
        now,
    );
    let wait = match end.next {
        Next::OnChange => None,
        Next::After(wait) => Some(wait),
        Next::Backoff => Some(requeue::backoff(memory.failures, timings)),
        Next::Poll => {
            let interval = requeue::poll_interval(binding.annotations(), None, timings);
            Some(requeue::with_jitter(interval, chance(), timings))
        }
    };
    let mut memories = context.memories.lock();
    if end.is_over {
        memories.remove(&uid);
    } else {
        memories.insert(uid, memory);
    }
    Ok(wait.map_or_else(Action::await_change, |wait| {
        Action::requeue(wait.max(Duration::from_millis(1)))
    }))
}
