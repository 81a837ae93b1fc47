//! The watches of workloads that carry an actor's label: metadata alone, filtered by the
//! API server.

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

use super::Context;
use super::marks::{KINDS, Mark};
use crate::cluster;
use crate::controller::grouped::{Kept, Key};

/// Keeps the marks current; ends never.
pub(super) async fn all(context: Arc<Context>) {
    let [deployment, stateful_set] = KINDS;
    futures::join!(
        follow::<Deployment>(&context, deployment),
        follow::<StatefulSet>(&context, stateful_set),
    );
}

async fn follow<K>(context: &Context, kind: &'static str)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug + Send + 'static,
{
    let api: Api<PartialObjectMeta<K>> = Api::all(context.provider.client.clone());
    let labelled = cluster::watch().labels(BOUND_TO);
    let mut events = pin!(watcher(api, labelled).default_backoff());
    while let Some(event) = events.next().await {
        match event.map(|event| kept(kind, event)) {
            Ok(Some(event)) => context.marks.take(kind, event),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, kind, "cannot watch workloads that actors are bound to");
                context.marks.fail(kind, error.to_string());
            }
        }
    }
}

fn kept<O: Resource>(kind: &str, event: Event<O>) -> Option<Event<Kept<Mark>>> {
    let keep = |object: &O| {
        let mark = Mark::read(kind, object)?;
        let namespace = object.namespace()?;
        Some(Kept {
            key: Key {
                namespace: namespace.clone(),
                name: object.labels().get(BOUND_TO)?.clone(),
            },
            itself: (namespace, object.name_any()),
            view: mark,
        })
    };
    Some(match event {
        Event::Apply(object) => Event::Apply(keep(&object)?),
        Event::Delete(object) => Event::Delete(keep(&object)?),
        Event::InitApply(object) => Event::InitApply(keep(&object)?),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}
