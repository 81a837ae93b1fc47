//! The last reconcile of a binding: remove what was injected, then the finalizer.

use actor::managed::FINALIZER;
use kube::ResourceExt as _;

use super::apply::ApplyError;
use super::bound_workloads::BoundWorkload;
use super::reconcile::{EarlyExit, Reconciler};
use crate::conditions::ConditionUpdate;
use crate::controller::managed::writes;
use crate::policies::Policies;
use crate::requeue::Requeue;

impl Reconciler<'_> {
    /// Removes what was injected, or leaves it where the policies say so, and the finalizer.
    pub(super) async fn delete(&mut self, policies: &Policies) -> Result<Requeue, EarlyExit> {
        let finalizers = self.managed.object.finalizers();
        if !finalizers.iter().any(|name| name == FINALIZER) {
            return Err(EarlyExit::Deleted);
        }
        self.refresh().await?;
        self.managed.set_condition(ConditionUpdate::deleting(None));
        // What an older binding of the actor injected stays.
        if self.older_binding().is_none() {
            // The watch cache may be outdated, and there is no second chance.
            let last = self.managed.old.at_provider.resolved_target.as_ref();
            let workloads = self
                .applier()
                .bound_workloads(&self.spec().actor, last)
                .await;
            if policies.may_delete() {
                self.remove_injected(&workloads?).await?;
            } else {
                self.orphan_injected(workloads).await;
            }
        }
        let managed = &self.managed;
        writes::finalizer(&managed.api, &managed.object, FINALIZER, false).await?;
        Err(EarlyExit::Deleted)
    }

    /// Leaves what was injected to the owners of the workloads. Without the right to do so, the object is
    /// deleted nevertheless: its policies ask for that.
    async fn orphan_injected(&self, workloads: Result<Vec<BoundWorkload>, ApplyError>) {
        let binding = self.managed.name();
        let workloads = match workloads {
            Ok(workloads) => workloads,
            Err(error) => {
                tracing::warn!(binding, ?error, "cannot remove labels from workloads");
                return;
            }
        };
        for bound in workloads.iter().filter(|bound| bound.is_applied) {
            let workload = &bound.workload;
            match self.applier().orphan_injected(bound).await {
                Ok(()) => {
                    tracing::info!(binding, %workload, "left injected containers to their workload")
                }
                Err(error) => {
                    tracing::warn!(binding, %workload, ?error, "cannot remove labels from a workload");
                }
            }
        }
    }
}
