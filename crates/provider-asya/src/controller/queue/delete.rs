//! Deletion of a queue: what it waits for, and the call.

use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::reconcile::{EarlyExit, Reconciler};
use crate::conditions::ConditionUpdate;
use crate::controller::connect::Connection;
use crate::controller::managed::writes;
use crate::controller::scalers;
use crate::plan::{Deletion, Waiting};
use crate::requeue::Requeue;
use crate::transport::Observation;

impl Reconciler<'_> {
    /// Inputs of the deletion; none if the object is not being deleted.
    pub(super) async fn deletion(
        &mut self,
        observation: &Observation,
    ) -> Result<Option<Deletion>, EarlyExit> {
        let Some(requested) = &self.queue().metadata.deletion_timestamp else {
            return Ok(None);
        };
        let age = Timestamp::now().duration_since(requested.0);
        let age = Duration::try_from(age).unwrap_or_default();
        let timings = &self.context.timings;
        let is_empty =
            matches!(observation, Observation::Present(observed) if observed.held == Some(0));
        self.state.empty_since =
            is_empty.then(|| self.state.empty_since.unwrap_or_else(Instant::now));
        let mut scalers_remain = false;
        if let Some(actor) = self.queue().labels().get(actor::labels::ACTOR)
            && age < timings.scalers
        {
            let namespace = self.queue().namespace().unwrap_or_default();
            scalers_remain = scalers::remain(&self.context.client, &namespace, actor).await?;
        }
        let empty_since = self.state.empty_since;
        let is_surely_empty = empty_since.is_some_and(|since| since.elapsed() >= timings.empty_for);
        Ok(Some(Deletion {
            has_other_finalizers: writes::has_other_finalizers(self.queue()),
            scalers_remain,
            waits_for_empty: self.queue().spec.for_provider.delete_only_if_empty
                && !is_surely_empty,
        }))
    }

    /// Deletes the queue. The finalizer is removed once the queue is observed missing.
    pub(super) async fn delete(&mut self, connection: &Connection) -> Result<Requeue, EarlyExit> {
        self.managed.set_condition(ConditionUpdate::deleting(None));
        if let Err(error) = self.within(connection.external.delete()).await {
            let event = "CannotDeleteExternalResource";
            return Err(self.broker_failure(event, "delete", &error).into());
        }
        // SQS shows a deleted queue for up to 60 s: the deletion is repeated ever more rarely, and
        // reported once.
        if !self.state.is_queue_deleted {
            self.emit_success("DeletedExternalResource", "deletion")
                .await;
        }
        self.state.is_queue_deleted = true;
        self.managed.set_condition(ConditionUpdate::synced());
        Ok(Requeue::Backoff)
    }

    /// Reports what the deletion waits for.
    pub(super) fn wait_for_deletion(&mut self, waiting: &Waiting) {
        let message = match waiting {
            Waiting::Visibility => "waits until the new queue is visible".to_owned(),
            Waiting::OtherFinalizers => "waits until other finalizers are removed".to_owned(),
            Waiting::Scalers => "waits until the actor's scalers are deleted".to_owned(),
            Waiting::Empty(Some(0)) => {
                "waits until the queue has been empty for a while".to_owned()
            }
            Waiting::Empty(Some(held)) => {
                format!(
                    "waits until the queue is empty: it holds {held} messages, dead letters included"
                )
            }
            Waiting::Empty(None) => {
                "waits until the queue is empty: how many messages it holds is not known yet"
                    .to_owned()
            }
        };
        self.managed
            .set_condition(ConditionUpdate::deleting(Some(message)));
        self.managed.set_condition(ConditionUpdate::synced());
    }
}
