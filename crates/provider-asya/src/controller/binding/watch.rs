//! Watches of workloads with an actor's label: only metadata, filtered by the API server.

use std::fmt::Debug;
use std::sync::Arc;

use actor::labels::BOUND_TO;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use super::BindingContext;
use super::bound_workloads::{BoundWorkload, KINDS};
use crate::controller::watch_cache::index::{Entry, IndexKey};
use crate::controller::watch_cache::watch_stream::{self, WatchStream, WatchUpdate};

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
    let timings = &context.provider.timings;
    let cache = &context.bound_workloads;
    loop {
        let labelled = watch_stream::config(timings).labels(BOUND_TO);
        let mut updates =
            WatchStream::<PartialObjectMeta<K>>::new(&context.provider.client, Api::all, labelled);
        while let Some(update) = updates.next().await {
            match update {
                WatchUpdate::Event(event) => {
                    if let Some(event) = entry(kind, event) {
                        cache.apply(kind, event);
                    }
                }
                WatchUpdate::Accepted => cache.accept(kind),
                WatchUpdate::Failed(error) => {
                    tracing::warn!(%error, kind, "cannot watch bound workloads");
                    cache.fail(kind);
                }
            }
        }
        tokio::time::sleep(timings.missing_kind_retry).await;
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
