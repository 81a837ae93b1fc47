//! The second half of a reconcile: execute the step that was decided.

use actor::managed::FINALIZER;
use actor::names::EXTERNAL_NAME;
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::json;
use tokio::time::Instant;

use super::reconcile::{EarlyExit, Failure, Reconciler};
use crate::conditions::ConditionUpdate;
use crate::controller::connect::Connection;
use crate::controller::managed::events::Severity;
use crate::controller::managed::writes;
use crate::counters::Counters;
use crate::external_create;
use crate::plan::{Refusal, Step, Waiting};
use crate::policies::Policies;
use crate::requeue::Requeue;
use crate::transport::{Drift, ObservedQueue, TransportError};

impl Reconciler<'_> {
    pub(super) async fn execute(
        &mut self,
        step: Step,
        observed: Option<&ObservedQueue>,
        policies: &Policies,
        connection: &Connection,
        name: &str,
    ) -> Result<Requeue, EarlyExit> {
        match step {
            Step::NoOp => {
                self.set_ready(observed);
                self.managed.set_condition(ConditionUpdate::synced());
                Ok(Requeue::Poll)
            }
            Step::Create => {
                if observed.is_none() {
                    self.check_creation(name).await?;
                }
                self.create(policies, connection, name).await
            }
            Step::Update(drift) => self.update(connection, observed, &drift).await,
            Step::Delete => self.delete(connection).await,
            Step::Release => Err(self.release().await?),
            Step::Wait(Waiting::Visibility) => {
                let message = "Waiting for external resource existence to be confirmed";
                self.managed
                    .emit_event(Severity::Normal, "PendingExternalResource", message)
                    .await;
                Ok(Requeue::Backoff)
            }
            Step::Wait(waiting) => {
                self.wait_for_deletion(&waiting);
                Ok(Requeue::Backoff)
            }
            Step::Refuse(refusal) => Err(self.refuse(&refusal).into()),
        }
    }

    fn refuse(&mut self, refusal: &Refusal) -> Failure {
        let reason = match refusal {
            Refusal::NothingToObserve => "ReconcileError",
            Refusal::Foreign { .. } => "QueueOwnedByAnother",
            Refusal::Unowned { .. } | Refusal::AdoptionForbidden { .. } => "QueueNotOwned",
        };
        if !self.managed.is_deleted() {
            self.managed
                .set_condition(ConditionUpdate::unavailable(refusal.to_string()));
            Counters::write(None, &mut self.managed.status.at_provider);
        }
        Failure {
            event: "CannotObserveExternalResource",
            reason,
            message: refusal.to_string(),
            requeue: Requeue::Poll,
        }
    }

    /// Sets `Ready` once everything that the queue needs was found or created.
    fn set_ready(&mut self, observed: Option<&ObservedQueue>) {
        if let Some(observed) = observed {
            self.managed.set_condition(match &observed.unusable {
                Some(cause) => ConditionUpdate::unavailable(cause.clone()),
                None => ConditionUpdate::available(),
            });
        }
    }

    /// Creates the queue. A broker that shows it at once is read back in the same reconcile, so that
    /// the first status that is written is the final one.
    async fn create(
        &mut self,
        policies: &Policies,
        connection: &Connection,
        name: &str,
    ) -> Result<Requeue, EarlyExit> {
        let object = self.queue().name_any();
        self.record_policies(connection, "CannotCreateExternalResource", "create")
            .await?;
        let begun = external_create::next(self.queue().annotations(), Timestamp::now());
        let pending = [(external_create::PENDING, begun.as_str())];
        // A conflict ends the reconcile here, so what follows works on the newest object.
        self.managed.object =
            writes::begin(&self.managed.api, self.queue(), &pending, FINALIZER).await?;
        self.managed.set_condition(ConditionUpdate::creating());
        let created = self.within(connection.external.create()).await;
        let end = external_create::next(self.queue().annotations(), Timestamp::now());
        if let Err(error) = created {
            let failed = [(external_create::FAILED, end.as_str())];
            self.managed.object =
                writes::annotations(&self.managed.api, &object, &failed, None).await?;
            self.withdraw_policies(connection, &error).await;
            let event = "CannotCreateExternalResource";
            return Err(self.broker_failure(event, "create", &error).into());
        }
        let done = [
            (external_create::SUCCEEDED, end.as_str()),
            (EXTERNAL_NAME, name),
        ];
        self.managed.object = writes::annotations(&self.managed.api, &object, &done, None).await?;
        self.emit_success("CreatedExternalResource", "creation")
            .await;
        self.managed.set_condition(ConditionUpdate::synced());
        self.state.last_resync = None;
        if connection.external.shows_changes_at_once() {
            let (step, observed) = self.observe_and_plan(policies, connection, name).await?;
            if let (Step::NoOp, Some(observed)) = (step, observed) {
                self.report(&observed);
                self.report_owner(&observed, connection);
                self.publish(&observed, name).await?;
                self.set_ready(Some(&observed));
                return Ok(Requeue::Poll);
            }
        }
        if self.managed.old.conditions.is_empty() {
            // The first status is the one that the next reconcile finds: each is another reconcile of the
            // actor.
            self.managed.status = self.managed.old.clone();
        }
        Ok(Requeue::After(self.context.timings.first_backoff))
    }

    async fn update(
        &mut self,
        connection: &Connection,
        observed: Option<&ObservedQueue>,
        drift: &[Drift],
    ) -> Result<Requeue, EarlyExit> {
        tracing::debug!(queue = self.managed.name(), ?drift, "the queue has drifted");
        self.record_policies(connection, "CannotUpdateExternalResource", "update")
            .await?;
        if let Err(error) = self.within(connection.external.update()).await {
            let event = "CannotUpdateExternalResource";
            return Err(self.broker_failure(event, "update", &error).into());
        }
        self.state.updated = Some(Instant::now());
        self.state.last_resync = None;
        self.emit_success("UpdatedExternalResource", "update").await;
        self.set_ready(observed);
        self.managed.set_condition(ConditionUpdate::synced());
        Ok(Requeue::Poll)
    }

    /// Records in the status which policies may be written next, where they are not recorded yet.
    async fn record_policies(
        &mut self,
        connection: &Connection,
        event: &'static str,
        action: &str,
    ) -> Result<(), EarlyExit> {
        let names = self.within(connection.external.names_to_record()).await;
        let names = names.map_err(|error| self.broker_failure(event, action, &error))?;
        self.record_shared_policies(connection).await?;
        let recorded = self.managed.old.at_provider.policies.clone();
        let mut recorded = recorded.unwrap_or_default();
        let is_recorded = |name: &String| recorded.contains(name);
        let added: Vec<String> = names
            .into_iter()
            .filter(|name| !is_recorded(name))
            .collect();
        if added.is_empty() {
            return Ok(());
        }
        recorded.extend(added);
        let fields = json!({"atProvider": {"policies": recorded}});
        let written = writes::early_status(&self.managed.api, self.queue(), fields).await?;
        self.managed.object = written;
        self.managed.old.at_provider.policies = Some(recorded.clone());
        self.managed.status.at_provider.policies = Some(recorded);
        Ok(())
    }

    /// Removes policies from the record that a denied creation has not written: whoever writes one of that name
    /// next is not the provider.
    async fn withdraw_policies(&mut self, connection: &Connection, error: &TransportError) {
        let recorded = self.managed.status.at_provider.policies.clone();
        let recorded = recorded.unwrap_or_default();
        if recorded.is_empty() || !error.is_final() {
            return;
        }
        let absent = self.within(connection.external.absent_policies(recorded.clone()));
        // Without an answer they stay: they may exist.
        if let Ok(absent) = absent.await {
            let remaining: Vec<String> = recorded
                .into_iter()
                .filter(|name| !absent.contains(name))
                .collect();
            let at_provider = &mut self.managed.status.at_provider;
            at_provider.policies = (!remaining.is_empty()).then_some(remaining);
        }
    }

    /// Records in the ProviderConfig who wrote shared policies, where that is not recorded yet.
    pub(super) async fn record_shared_policies(
        &self,
        connection: &Connection,
    ) -> Result<(), EarlyExit> {
        let proposed = connection.external.shared_policies_to_record();
        if !proposed.is_empty() {
            let connector = &self.context.connector;
            let recorded = connector.record_shared_policies(self.queue(), &proposed);
            let recorded = recorded.await?;
            connection.external.shared_policies_recorded(&recorded);
        }
        Ok(())
    }

    pub(super) async fn emit_success(&self, reason: &str, action: &str) {
        let message = format!("Successfully requested {action} of external resource");
        self.managed
            .emit_event(Severity::Normal, reason, &message)
            .await;
    }
}
