//! Watches of workloads with an actor's label: only metadata, filtered by the API server.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;

use actor::labels::BOUND_TO;
use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use super::BindingContext;
use super::bound_workloads::{BoundWorkload, KINDS};
use crate::cluster;
use crate::controller::watch_cache::index::{Entry, IndexKey};

/// Watches bound workloads; never returns.
pub(super) async fn run(context: Arc<BindingContext>) {
    let [deployment, stateful_set] = KINDS;
    futures::join!(
        follow::<Deployment>(&context, deployment),
        follow::<StatefulSet>(&context, stateful_set),
    );
}

async fn follow<K>(context: &BindingContext, kind: &'static str)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let api: Api<PartialObjectMeta<K>> = Api::all(context.provider.client.clone());
    let labelled = cluster::watch().labels(BOUND_TO);
    let mut events = pin!(watcher(api, labelled).default_backoff());
    while let Some(event) = events.next().await {
        match event.map(|event| entry(kind, event)) {
            Ok(Some(event)) => context.bound_workloads.apply(kind, event),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, kind, "cannot watch bound workloads");
                context.bound_workloads.fail(kind, error.to_string());
            }
        }
    }
}

fn entry<O: Resource>(kind: &str, event: Event<O>) -> Option<Event<Entry<BoundWorkload>>> {
    let read = |object: &O| {
        let workload = BoundWorkload::read(kind, object)?;
        let namespace = object.namespace()?;
        Some(Entry {
            key: IndexKey {
                namespace: namespace.clone(),
                name: object.labels().get(BOUND_TO)?.clone(),
            },
            object: (namespace, object.name_any()),
            value: workload,
        })
    };
    Some(match event {
        Event::Apply(object) => Event::Apply(read(&object)?),
        Event::Delete(object) => Event::Delete(read(&object)?),
        Event::InitApply(object) => Event::InitApply(read(&object)?),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}
