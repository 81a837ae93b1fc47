//! Removes what deleted bindings have left in workloads.
//!
//! The finalizer keeps a binding until everything that it injected is removed, but somebody may remove
//! the finalizer by force. Label and annotation of the workload still name the actor then, and the API
//! server knows which fields its field manager owns. So what was injected is removed when no
//! WorkloadBinding of the namespace names the actor. A binding whose management policies keep what it
//! injected removes label and annotation first.

use std::sync::Arc;

use actor::binding::field_manager;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use super::BindingContext;
use super::apply::{Applier, ApplyError};
use super::bound_workloads::BoundWorkload;
use crate::controller::watch_cache::index::IndexKey;
use crate::kinds::WorkloadBinding;

/// Collects garbage each [`Timings::garbage_collect_interval`]; never returns.
///
/// [`Timings::garbage_collect_interval`]: crate::timings::Timings::garbage_collect_interval
pub(super) async fn run(context: Arc<BindingContext>) {
    if context.bindings.wait_until_ready().await.is_err() {
        // The controller has ended.
        return std::future::pending().await;
    }
    loop {
        let wait = match context.bound_workloads.all() {
            Some(bound_workloads) => {
                for (actor_key, bound) in bound_workloads {
                    remove_if_unbound(&context, &actor_key, &bound).await;
                }
                context.provider.timings.garbage_collect_interval
            }
            None => context.provider.timings.cache_sync_retry,
        };
        tokio::time::sleep(wait).await;
    }
}

async fn remove_if_unbound(context: &BindingContext, actor_key: &IndexKey, bound: &BoundWorkload) {
    if !bound.is_applied || !bound.is_managed || is_bound(context, actor_key) {
        return;
    }
    let Ok(actor) = actor_key.name.parse() else {
        return;
    };
    // The store may be outdated.
    match is_bound_now(context, actor_key).await {
        Ok(false) => {}
        Ok(true) => return,
        Err(error) => {
            tracing::warn!(%error, namespace = actor_key.namespace, "cannot list bindings");
            return;
        }
    }
    let applier = Applier {
        client: &context.provider.client,
        namespace: &actor_key.namespace,
        manager: &field_manager(&actor),
    };
    let (namespace, workload) = (&actor_key.namespace, &bound.workload);
    match applier.remove_injected(bound).await {
        Ok(()) => {
            tracing::info!(%actor, namespace, %workload, "removed injected containers of a deleted binding");
        }
        Err(ApplyError::Rejected(rejection)) => {
            tracing::warn!(?rejection, %actor, namespace, %workload, "cannot remove injected containers of a deleted binding");
        }
        Err(ApplyError::Kube(error)) => {
            tracing::warn!(%error, %actor, namespace, %workload, "cannot remove injected containers of a deleted binding");
        }
    }
}

fn is_bound(context: &BindingContext, actor_key: &IndexKey) -> bool {
    let is_same = |binding: &WorkloadBinding| {
        binding.namespace().as_ref() == Some(&actor_key.namespace)
            && binding.spec.for_provider.actor == actor_key.name
    };
    context.bindings.find(is_same).is_some()
}

async fn is_bound_now(context: &BindingContext, actor_key: &IndexKey) -> kube::Result<bool> {
    let client = context.provider.client.clone();
    let api: Api<WorkloadBinding> = Api::namespaced(client, &actor_key.namespace);
    let list = api.list(&ListParams::default()).await?;
    let mut bindings = list.items.iter();
    Ok(bindings.any(|binding| binding.spec.for_provider.actor == actor_key.name))
}
