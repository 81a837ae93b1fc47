//! Deletion of a binding: wait for the actor's scalers, remove what was injected, then the finalizer.
//!
//! When its ScaledObject is deleted, KEDA reads the target's scale and writes the replicas that it had
//! before. If anyone writes the target between the two, the API server refuses KEDA's write, and KEDA
//! tries it once only (observed with KEDA 2.21): the target would stay at zero replicas. So nothing is
//! removed from the target before KEDA is done.

use std::time::Duration;

use actor::managed::FINALIZER;
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::apply::ApplyError;
use super::bound_workloads::BoundWorkload;
use super::reconcile::{EarlyExit, Reconciler};
use crate::conditions::ConditionUpdate;
use crate::controller::managed::writes;
use crate::controller::scalers;
use crate::policies::Policies;
use crate::requeue::Requeue;

impl Reconciler<'_> {
    /// Removes the finalizer, and the injected containers unless the management policies keep them.
    pub(super) async fn delete(&mut self, policies: &Policies) -> Result<Requeue, EarlyExit> {
        let finalizers = self.managed.object.finalizers();
        if !finalizers.iter().any(|name| name == FINALIZER) {
            return Err(EarlyExit::Deleted);
        }
        self.refresh().await?;
        if self.scalers_remain().await? {
            let message =
                "waits until the actor's scalers are deleted: they restore the target's replicas";
            let condition = ConditionUpdate::deleting(Some(message.to_owned()));
            self.managed.set_condition(condition);
            self.managed.set_condition(ConditionUpdate::synced());
            return Ok(Requeue::Backoff);
        }
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

    /// Returns whether scalers of the actor exist; false after [`Timings::scalers`], the limit of the wait.
    ///
    /// [`Timings::scalers`]: crate::timings::Timings::scalers
    async fn scalers_remain(&self) -> Result<bool, EarlyExit> {
        let provider = &self.context.provider;
        let requested = &self.managed.object.metadata.deletion_timestamp;
        let age = requested
            .as_ref()
            .map(|requested| Timestamp::now().duration_since(requested.0));
        let age = age.and_then(|age| Duration::try_from(age).ok());
        if age.unwrap_or_default() >= provider.timings.scalers {
            return Ok(false);
        }
        let actor = &self.spec().actor;
        Ok(scalers::remain(&provider.client, &self.namespace, actor).await?)
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
                    tracing::info!(binding, %workload, "left injected containers to their workload");
                }
                Err(error) => {
                    tracing::warn!(binding, %workload, ?error, "cannot remove labels from a workload");
                }
            }
        }
    }
}
