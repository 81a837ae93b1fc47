//! The watches that keep sight of the cluster.
//!
//! Pods, workloads and `ReplicaSet`s are filtered by the API server, by the actor's label;
//! scalers of other people's have none, so all are watched.

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

use super::sight::{By, Seen, Sight};
use super::views::{DeploymentView, HpaView, PodView, ScaledObjectView, StatefulSetView, View};
use crate::cluster;
use crate::controller::grouped::{Grouped, Kept};
use crate::gate;

/// The definition of KEDA's kind.
const SCALED_OBJECTS: &str = "scaledobjects.keda.sh";

/// Why a watch ended: the kind is not served.
struct NotServed;

/// Keeps sight of everything; ends never. `retry` is the shortest time between two looks
/// whether a kind is served that was not, such as KEDA's.
pub(super) async fn all(client: Client, sight: Arc<Sight>, retry: Duration) {
    let of_actors = || cluster::watch().labels(labels::ACTOR);
    let (client, sight) = (&client, sight.as_ref());
    futures::join!(
        lasting::<PodView>(
            client,
            of_actors(),
            sight,
            |seen| &mut seen.pods,
            By::Actor,
            retry
        ),
        lasting::<DeploymentView>(
            client,
            of_actors(),
            sight,
            |seen| &mut seen.deployments,
            By::Workload,
            retry
        ),
        lasting::<StatefulSetView>(
            client,
            of_actors(),
            sight,
            |seen| &mut seen.stateful_sets,
            By::Workload,
            retry
        ),
        lasting::<PartialObjectMeta<ReplicaSet>>(
            client,
            of_actors(),
            sight,
            |seen| &mut seen.revisions,
            By::Workload,
            retry
        ),
        lasting::<HpaView>(
            client,
            cluster::watch(),
            sight,
            |seen| &mut seen.hpas,
            By::Workload,
            retry
        ),
        scaled_objects(client, sight, retry),
    );
}

/// Follows a kind that every cluster serves.
async fn lasting<K>(
    client: &Client,
    config: watcher::Config,
    sight: &Sight,
    slot: fn(&mut Seen) -> &mut Grouped<K::Kept>,
    by: By,
    retry: Duration,
) where
    K: View + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
    K::Kept: PartialEq,
{
    loop {
        let NotServed = follow::<K>(client, &config, sight, slot, by).await;
        tracing::warn!(kind = %K::kind(&()), "the API server does not serve a kind that it should");
        tokio::time::sleep(retry).await;
    }
}

/// Follows `ScaledObject`s while there are any.
async fn scaled_objects(client: &Client, sight: &Sight, retry: Duration) {
    let config = cluster::watch();
    loop {
        let slot: fn(&mut Seen) -> &mut Grouped<_> = |seen| &mut seen.scaled_objects;
        let NotServed =
            follow::<ScaledObjectView>(client, &config, sight, slot, By::Workload).await;
        sight.clear(slot, By::Workload);
        tokio::time::sleep(retry).await;
        gate::served(client, &[SCALED_OBJECTS]).await;
    }
}

async fn follow<K>(
    client: &Client,
    config: &watcher::Config,
    sight: &Sight,
    slot: fn(&mut Seen) -> &mut Grouped<K::Kept>,
    by: By,
) -> NotServed
where
    K: View + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
    K::Kept: PartialEq,
{
    let api: Api<K> = Api::all(client.clone());
    let kind = plural::<K>();
    let mut events = pin!(watch(api, config.clone()).default_backoff());
    while let Some(event) = events.next().await {
        match event.map(kept) {
            Ok(Some(event)) => sight.take(kind, event, slot, by),
            Ok(None) => {}
            Err(error) if is_not_served(&error) => return NotServed,
            Err(error) => {
                tracing::warn!(%error, kind, "cannot watch");
                sight.fail(kind, format!("cannot watch {kind}: {}", cause(&error)));
            }
        }
    }
    NotServed
}

fn plural<K: Resource<DynamicType = ()>>() -> &'static str {
    match K::plural(&()) {
        std::borrow::Cow::Borrowed(plural) => plural,
        std::borrow::Cow::Owned(_) => "objects",
    }
}

fn kept<K: View>(event: Event<K>) -> Option<Event<Kept<K::Kept>>> {
    Some(match event {
        Event::Apply(object) => Event::Apply(object.keep()?),
        Event::Delete(object) => Event::Delete(object.keep()?),
        Event::InitApply(object) => Event::InitApply(object.keep()?),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}

/// The API server's own words; the rest of the chain repeats them.
fn cause(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.message.clone(),
        other => other.to_string(),
    }
}

/// By the code: for a group that it does not know, the API server answers in plain text,
/// which has no reason.
fn is_not_served(error: &watcher::Error) -> bool {
    matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 404
    )
}
