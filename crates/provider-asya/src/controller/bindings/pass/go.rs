//! The last pass over an object: what was added to workloads is taken away first.

use actor::managed::FINALIZER;
use kube::ResourceExt as _;

use super::{Pass, Stop};
use crate::conditions::Statement;
use crate::controller::bindings::apply::Failure;
use crate::controller::bindings::marks::Mark;
use crate::controller::writes;
use crate::policies::Policies;
use crate::requeue::Next;

impl Pass<'_> {
    /// Takes away what was added, and lets the object go.
    pub(super) async fn go(&mut self, policies: &Policies) -> Result<Next, Stop> {
        let finalizers = self.binding.finalizers();
        if !finalizers.iter().any(|name| name == FINALIZER) {
            return Err(Stop::Over);
        }
        self.freshen().await?;
        self.say(Statement::deleting(None));
        // What another binding of the actor has added is not this one's to take away.
        if self.another().is_none() {
            // The watch may be behind, and there is no second chance.
            let last = self.old.at_provider.resolved_target.as_ref();
            let marked = self.applier().marked(&self.spec().actor, last).await;
            if policies.may_delete() {
                self.take_away(&marked?).await?;
            } else {
                self.renounce(marked).await;
            }
        }
        writes::finalizer(&self.api, &self.binding, FINALIZER, false).await?;
        Err(Stop::Over)
    }

    /// Leaves what was added to the owners of the workloads. Where the provider may not
    /// even do that, it lets the object go nevertheless: that is what was asked for.
    async fn renounce(&self, marked: Result<Vec<Mark>, Failure>) {
        let binding = self.shown();
        let marks = match marked {
            Ok(marks) => marks,
            Err(failure) => {
                tracing::warn!(binding, ?failure, "cannot take the marks off workloads");
                return;
            }
        };
        for mark in marks.iter().filter(|mark| mark.is_applied) {
            let workload = &mark.workload;
            match self.applier().renounce(mark).await {
                Ok(()) => tracing::info!(binding, %workload, "left what was added to its owner"),
                Err(failure) => {
                    tracing::warn!(binding, %workload, ?failure, "cannot take the marks off a workload");
                }
            }
        }
    }
}
