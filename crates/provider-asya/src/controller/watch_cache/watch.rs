//! Watches of pods, workloads and scalers.
//!
//! The API server filters pods, workloads and `ReplicaSet`s by the actor's label. Foreign scalers do
//! not have it, so all scalers are watched.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use actor::labels;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::index::{Entry, Index};
use super::views::{DeploymentView, HpaView, PodView, ScaledObjectView, StatefulSetView, View};
use super::watch_stream::{self, WatchStream, WatchUpdate};
use super::{IndexBy, Indexes, WatchCache, WatchProblem};
use crate::crd_gate;
use crate::timings::Timings;

/// CustomResourceDefinition of KEDA's kind.
const SCALED_OBJECTS: &str = "scaledobjects.keda.sh";

/// Reason for which a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchEnd {
    /// The kind is not served.
    NotServed,
    /// The provider has no right to list or watch it. The next watch lists again, since what is cached is
    /// out of date by then.
    Denied,
}

/// Watches everything; never returns.
pub(in crate::controller) async fn run(client: Client, cache: Arc<WatchCache>, timings: Timings) {
    let retry = timings.missing_kind_retry;
    let all = || watch_stream::config(&timings);
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
            cache.clear(plural::<ScaledObjectView>(), slot, IndexBy::Workload);
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
    let kind = plural::<K>();
    let mut updates = WatchStream::<K>::new(client, Api::all, config.clone());
    let mut end = WatchEnd::NotServed;
    while let Some(update) = updates.next().await {
        match update {
            WatchUpdate::Event(event) => {
                if let Some(event) = entry(event) {
                    cache.apply(event, slot, by);
                }
            }
            WatchUpdate::Accepted => cache.accept(kind),
            WatchUpdate::Failed(error) => {
                let code = watch_stream::refusal(&error);
                if code == Some(404) {
                    end = WatchEnd::NotServed;
                    continue;
                }
                tracing::warn!(%error, kind, "cannot watch");
                let is_denied = matches!(code, Some(401 | 403));
                if is_denied {
                    end = WatchEnd::Denied;
                }
                let message = format!("cannot watch {kind}: {}", watch_stream::cause(&error));
                cache.fail(kind, WatchProblem { message, is_denied });
            }
        }
    }
    end
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
