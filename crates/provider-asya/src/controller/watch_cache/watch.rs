//! Watches of pods, workloads and scalers.
//!
//! The API server filters pods, workloads and `ReplicaSet`s by the actor's label. Foreign scalers do
//! not have it, so all scalers are watched.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actor::labels;
use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::index::{Entry, Index};
use super::views::{DeploymentView, HpaView, PodView, ScaledObjectView, StatefulSetView, View};
use super::{IndexBy, Indexes, WatchCache, WatchProblem};
use crate::cluster;
use crate::crd_gate;
use crate::timings::Timings;

/// CustomResourceDefinition of KEDA's kind.
const SCALED_OBJECTS: &str = "scaledobjects.keda.sh";

/// Longest time that kube's watcher leaves a watch open, in seconds.
const RENEWAL_MAX: u32 = 294;

/// Reason for which a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchEnd {
    /// The kind is not served.
    NotServed,
    /// The provider has no right to watch it. The next watch lists again, which shows when the right is
    /// granted.
    Denied,
}

/// Watches everything; never returns.
pub(in crate::controller) async fn run(client: Client, cache: Arc<WatchCache>, timings: Timings) {
    let retry = timings.missing_kind_retry;
    let renewal = u32::try_from(timings.watch_renewal.as_secs()).unwrap_or(u32::MAX);
    let all = || cluster::watch().timeout(renewal.clamp(1, RENEWAL_MAX));
    let of_actors = || all().labels(labels::ACTOR);
    let (client, cache) = (&client, cache.as_ref());
    futures::join!(
        watch_served::<PodView>(
            client,
            of_actors(),
            cache,
            |indexes| &mut indexes.pods,
            IndexBy::Actor,
            retry
        ),
        watch_served::<DeploymentView>(
            client,
            of_actors(),
            cache,
            |indexes| &mut indexes.deployments,
            IndexBy::Workload,
            retry
        ),
        watch_served::<StatefulSetView>(
            client,
            of_actors(),
            cache,
            |indexes| &mut indexes.stateful_sets,
            IndexBy::Workload,
            retry
        ),
        watch_served::<PartialObjectMeta<ReplicaSet>>(
            client,
            of_actors(),
            cache,
            |indexes| &mut indexes.revisions,
            IndexBy::Workload,
            retry
        ),
        watch_served::<HpaView>(
            client,
            all(),
            cache,
            |indexes| &mut indexes.hpas,
            IndexBy::Workload,
            retry
        ),
        scaled_objects(client, all(), cache, retry),
    );
}

/// Watches a kind that every cluster serves.
async fn watch_served<K>(
    client: &Client,
    config: watcher::Config,
    cache: &WatchCache,
    slot: fn(&mut Indexes) -> &mut Index<K::Value>,
    by: IndexBy,
    retry: Duration,
) where
    K: View + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
    K::Value: PartialEq,
{
    loop {
        if follow::<K>(client, &config, cache, slot, by).await == WatchEnd::NotServed {
            tracing::warn!(kind = %K::kind(&()), "the API server does not serve a required kind");
        }
        tokio::time::sleep(retry).await;
    }
}

/// Watches `ScaledObject`s while they are served.
async fn scaled_objects(
    client: &Client,
    config: watcher::Config,
    cache: &WatchCache,
    retry: Duration,
) {
    loop {
        let slot: fn(&mut Indexes) -> &mut Index<_> = |indexes| &mut indexes.scaled_objects;
        let end = follow::<ScaledObjectView>(client, &config, cache, slot, IndexBy::Workload).await;
        if end == WatchEnd::NotServed {
            cache.clear(slot, IndexBy::Workload);
        }
        tokio::time::sleep(retry).await;
        crd_gate::wait_until_served(client, &[SCALED_OBJECTS]).await;
    }
}

async fn follow<K>(
    client: &Client,
    config: &watcher::Config,
    cache: &WatchCache,
    slot: fn(&mut Indexes) -> &mut Index<K::Value>,
    by: IndexBy,
) -> WatchEnd
where
    K: View + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
    K::Value: PartialEq,
{
    let api: Api<K> = Api::all(client.clone());
    let kind = plural::<K>();
    let mut events = pin!(watch(api, config.clone()).default_backoff());
    while let Some(event) = events.next().await {
        match event.map(entry) {
            Ok(Some(event)) => cache.apply(kind, event, slot, by),
            Ok(None) => {}
            Err(error) if code(&error) == Some(404) => return WatchEnd::NotServed,
            Err(error) => {
                tracing::warn!(%error, kind, "cannot watch");
                let is_denied = matches!(code(&error), Some(401 | 403));
                let message = format!("cannot watch {kind}: {}", cause(&error));
                cache.fail(kind, WatchProblem { message, is_denied });
                if is_denied {
                    return WatchEnd::Denied;
                }
            }
        }
    }
    WatchEnd::NotServed
}

fn plural<K: Resource<DynamicType = ()>>() -> &'static str {
    match K::plural(&()) {
        std::borrow::Cow::Borrowed(plural) => plural,
        std::borrow::Cow::Owned(_) => "objects",
    }
}

fn entry<K: View>(event: Event<K>) -> Option<Event<Entry<K::Value>>> {
    Some(match event {
        Event::Apply(object) => Event::Apply(object.into_entry()?),
        Event::Delete(object) => Event::Delete(object.into_entry()?),
        Event::InitApply(object) => Event::InitApply(object.into_entry()?),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}

/// Message of the API server; the rest of the chain repeats it.
fn cause(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Status code of a refused list or watch. For a group that the API server does not know it answers in
/// plain text, which has no reason.
fn code(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}
