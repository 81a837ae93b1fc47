//! The controller of ActorHealth objects: it watches and tells, and changes nothing.
//!
//! - `views` says what is kept of the kinds that are watched, `watch` watches them;
//! - `sight` holds what is seen, in groups, and tells whom a change concerns;
//! - `round` says of one object what [`actor::health`] makes of it.

mod round;
mod sight;
mod views;
mod watch;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::Shared;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::predicates::{annotations, generation};
use kube::runtime::reflector;
use kube::runtime::{Predicate as _, PredicateConfig, WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use tokio::time::Instant;

use self::round::{Memories, Round};
pub(in crate::controller) use self::sight::Sight;
pub(in crate::controller) use self::views::workload_name;
use crate::cluster;
use crate::gate;
use crate::kinds::ActorHealth;
use crate::requeue;

/// Name of the controller in metrics.
const CONTROLLER: &str = "actorhealth";
/// The definition that the controller waits for.
const KIND: &str = "actorhealths.provider.asya.sh";

/// What every round needs.
struct Context {
    provider: Arc<super::Context>,
    sight: Arc<Sight>,
    memories: Memories,
}

/// Keeps all ActorHealth objects current until `shutdown`, once their kind is served.
pub async fn run(
    provider: Arc<super::Context>,
    concurrency: u16,
    shutdown: Shared<impl Future<Output = ()> + Send + Sync + 'static>,
) {
    let (client, timings) = (provider.client.clone(), provider.timings.clone());
    tokio::select! {
        () = gate::served(&client, &[KIND]) => {}
        () = shutdown.clone() => return,
    }
    let sight = provider.sight.clone();
    let triggered = sight.listen();
    let watches = watch::all(client.clone(), sight.clone(), timings.absent_retry);
    let (reader, writer) = reflector::store();
    let register = sight.clone();
    let changes = watcher(Api::<ActorHealth>::all(client), cluster::watch())
        .default_backoff()
        .modify(|health| health.managed_fields_mut().clear())
        .inspect_ok(move |event| register.register(event))
        .reflect(writer)
        .applied_objects()
        .predicate_filter(generation.combine(annotations), PredicateConfig::default());
    let context = Arc::new(Context {
        provider,
        sight,
        memories: Memories::default(),
    });
    let (of_round, all, interval) = (context.clone(), reader.clone(), timings.state_metrics);
    let survey = async move {
        loop {
            tokio::time::sleep(interval).await;
            let all = all.state();
            let uids = all.iter().filter_map(|health| health.uid()).collect();
            of_round.memories.keep_only(&uids);
        }
    };
    let controller = Controller::for_stream(changes, reader)
        .with_config(Config::default().concurrency(concurrency))
        .reconcile_on(triggered)
        .graceful_shutdown_on(shutdown)
        .run(reconcile, |_, error, _| match *error {}, context)
        .for_each(|_| futures::future::ready(()));
    tokio::select! {
        () = controller => {}
        () = watches => {}
        () = survey => {}
    }
}

async fn reconcile(health: Arc<ActorHealth>, context: Arc<Context>) -> Result<Action, Infallible> {
    let uid = health.uid().unwrap_or_default();
    if health.metadata.deletion_timestamp.is_some() {
        context.memories.forget(&uid);
        return Ok(Action::await_change());
    }
    let start = Instant::now();
    let mut round = Round::new(&context, &health, context.memories.of(&uid));
    let end = round.run().await;
    let mut memory = round.memory;
    let (is_failure, wait) = match end {
        Ok(wait) => {
            memory.failures = 0;
            (false, wait)
        }
        Err(error) => {
            memory.failures += 1;
            tracing::warn!(health = health.name_any(), namespace = health.namespace(), %error,
                "the API server did not do as asked");
            (
                true,
                Some(requeue::backoff(memory.failures, &context.provider.timings)),
            )
        }
    };
    context.memories.keep(&uid, memory);
    context
        .provider
        .metrics
        .pass(CONTROLLER, is_failure, start.elapsed());
    Ok(wait.map_or_else(Action::await_change, |wait| {
        Action::requeue(wait.max(Duration::from_millis(1)))
    }))
}
