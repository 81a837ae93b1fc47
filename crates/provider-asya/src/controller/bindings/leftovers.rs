//! What bindings have left that are gone.
//!
//! The finalizer keeps a binding until everything is taken away, but somebody may remove
//! the finalizer by force. Then the label and the annotation on the workload still name
//! the actor, and the API server knows what its field manager has applied; so what was
//! added is taken away when no WorkloadBinding of the namespace names that actor. A
//! binding that goes by its management policies takes the marks off the workload first,
//! so that what it leaves on purpose stays.

use std::collections::BTreeSet;
use std::sync::Arc;

use actor::binding::field_manager;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use super::Context;
use super::apply::{Applier, Failure};
use super::marks::Mark;
use crate::controller::grouped::Key;
use crate::kinds::WorkloadBinding;

/// Looks for what is left now and then; ends never.
pub(super) async fn take_away(context: Arc<Context>) {
    if context.bindings.wait_until_ready().await.is_err() {
        // The controller has ended.
        return std::future::pending().await;
    }
    loop {
        let wait = match context.marks.all() {
            Some(marks) => {
                for (of, mark) in marks {
                    take_away_if_left(&context, &of, &mark).await;
                }
                context.provider.timings.leftovers
            }
            None => context.provider.timings.sight_retry,
        };
        forget_the_gone(&context);
        tokio::time::sleep(wait).await;
    }
}

async fn take_away_if_left(context: &Context, of: &Key, mark: &Mark) {
    if !mark.is_applied || !mark.is_managed || is_bound(context, of) {
        return;
    }
    let Ok(actor) = of.name.parse() else {
        return;
    };
    // The store may be behind.
    match is_bound_now(context, of).await {
        Ok(false) => {}
        Ok(true) => return,
        Err(error) => {
            tracing::warn!(%error, namespace = of.namespace, "cannot list bindings");
            return;
        }
    }
    let applier = Applier {
        client: &context.provider.client,
        namespace: &of.namespace,
        manager: &field_manager(&actor),
    };
    let (namespace, workload) = (&of.namespace, &mark.workload);
    match applier.take_away(mark).await {
        Ok(()) => tracing::info!(%actor, namespace, %workload, "took away what a binding left"),
        Err(Failure::Answer(answer)) => {
            tracing::warn!(?answer, %actor, namespace, %workload, "cannot take away what a binding left");
        }
        Err(Failure::Kube(error)) => {
            tracing::warn!(%error, %actor, namespace, %workload, "cannot take away what a binding left");
        }
    }
}

fn is_bound(context: &Context, of: &Key) -> bool {
    let is_of = |binding: &WorkloadBinding| {
        binding.namespace().as_ref() == Some(&of.namespace)
            && binding.spec.for_provider.actor == of.name
    };
    context.bindings.find(is_of).is_some()
}

async fn is_bound_now(context: &Context, of: &Key) -> kube::Result<bool> {
    let client = context.provider.client.clone();
    let api: Api<WorkloadBinding> = Api::namespaced(client, &of.namespace);
    let list = api.list(&ListParams::default()).await?;
    let mut bindings = list.items.iter();
    Ok(bindings.any(|binding| binding.spec.for_provider.actor == of.name))
}

/// Forgets what is remembered of objects that went without a last pass.
fn forget_the_gone(context: &Context) {
    let bindings = context.bindings.state();
    let known: BTreeSet<String> = bindings
        .iter()
        .filter_map(|binding| binding.uid())
        .collect();
    let mut memories = context.memories.lock();
    memories.retain(|uid, _| known.contains(uid));
}
