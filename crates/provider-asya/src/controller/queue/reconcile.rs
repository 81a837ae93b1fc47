//! One reconcile of one Queue: validate, connect, observe, decide, execute, report.
//!
//! The order is that of Crossplane's managed reconciler.

use std::future::Future;
use std::time::Duration;

use actor::managed::FINALIZER;
use actor::names::EXTERNAL_NAME;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::calls::Calls;
use super::connection_secret;
use super::state::ObjectState;
use crate::conditions::ConditionUpdate;
use crate::controller::connect::{Connection, Slot};
use crate::controller::managed::events::Severity;
use crate::controller::managed::{ManagedObject, ReconcileOutcome, writes};
use crate::controller::{Context, usage};
use crate::kinds::Queue;
use crate::plan::Step;
use crate::policies::Policies;
use crate::requeue::Requeue;
use crate::transport::{ObservedQueue, TransportError};

/// Remedy if the broker of a deleted object cannot be reached.
const WAY_OUT: &str = "; to delete this object and keep its queue, set `spec.managementPolicies` to \
                       [\"Observe\",\"Create\",\"Update\",\"LateInitialize\"]";

/// Reconciles one Queue once.
pub(super) struct Reconciler<'a> {
    pub(super) context: &'a Context,
    pub(super) managed: ManagedObject<Queue>,
    /// Interval at which counters are read; they never are if there is none.
    pub(super) counters: Option<Duration>,
    pub(super) state: ObjectState,
    /// Calls to the broker, within the slot.
    pub(super) calls: Calls,
}

/// Reason for which a reconcile ends early.
pub(super) enum EarlyExit {
    /// The object is deleted, or no longer this provider's concern.
    Deleted,
    /// Something failed.
    Failed(Failure),
    /// The API server failed, or refused.
    Kube(kube::Error),
}

/// Failure of a reconcile, for condition and event.
pub(super) struct Failure {
    /// Reason of the event.
    pub(super) event: &'static str,
    /// Reason of the condition `Synced`.
    pub(super) reason: &'static str,
    /// One line: what failed and what to do.
    pub(super) message: String,
    /// Requeue of the object.
    pub(super) requeue: Requeue,
}

impl From<kube::Error> for EarlyExit {
    fn from(error: kube::Error) -> Self {
        Self::Kube(error)
    }
}

impl From<Failure> for EarlyExit {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl<'a> Reconciler<'a> {
    pub(super) fn new(context: &'a Context, queue: Queue, state: ObjectState, slot: Slot) -> Self {
        Self {
            context,
            managed: ManagedObject::new(&context.client, queue),
            counters: None,
            state,
            calls: Calls::new(slot, &context.timings),
        }
    }

    /// Reconciles, and writes the status.
    pub(super) async fn run(&mut self) -> ReconcileOutcome {
        let (counted, updated) = (self.state.counted, self.state.updated);
        let mut outcome = match self.reconcile().await {
            Ok(requeue) => ReconcileOutcome::done(requeue),
            Err(EarlyExit::Deleted) => ReconcileOutcome::deleted(),
            Err(EarlyExit::Failed(failure)) => self.fail(failure),
            Err(EarlyExit::Kube(error)) if writes::is_outdated(&error) => {
                ReconcileOutcome::done(Requeue::Backoff)
            }
            Err(EarlyExit::Kube(error)) => self.fail(Failure {
                event: "CannotUpdateManagedResource",
                reason: "ReconcileError",
                message: format!("update failed: {}", writes::refusal(&error)),
                requeue: Requeue::Backoff,
            }),
        };
        outcome.has_changed = self.state.updated != updated;
        if !self.managed.conclude(&mut outcome).await {
            self.state.forget_reported(counted);
        }
        outcome
    }

    fn fail(&mut self, failure: Failure) -> ReconcileOutcome {
        let Failure {
            event,
            reason,
            message,
            requeue,
        } = failure;
        self.managed.fail(event, reason, &message);
        ReconcileOutcome::failed(message, requeue)
    }

    async fn reconcile(&mut self) -> Result<Requeue, EarlyExit> {
        let policies = Policies::read(&self.queue().spec.management_policies);
        if self.managed.is_paused(policies.as_ref().ok()) {
            self.pause();
            return Ok(Requeue::OnChange);
        }
        self.handle_request();
        let policies = policies.map_err(|error| Failure {
            event: "CannotUseInvalidManagementPolicy",
            reason: "ReconcileError",
            message: error.to_string(),
            requeue: Requeue::OnChange,
        })?;
        if self.managed.is_deleted() && !policies.may_delete() {
            return Err(self.release().await?);
        }
        let name = self.external_name().await?;
        self.check_name(&policies, &name)?;
        let connection = self.connect(&name).await?;
        self.check_owner_id(&policies, &connection.owner_id)?;
        self.counters = connection.counters;
        let unsafe_password = connection.unsafe_password.clone();
        self.managed
            .set_condition(ConditionUpdate::password_not_url_safe(unsafe_password));
        let (step, observed) = self.observe_and_plan(&policies, &connection, &name).await?;
        self.record_shared_policies(&connection).await?;
        // The status of a refused queue stays empty: the user may choose another name.
        let is_refused = matches!(step, Step::Refuse(_));
        if step == Step::Create || (observed.is_some() && !is_refused) {
            self.managed.status.at_provider.name = Some(name.clone());
        }
        if let Some(observed) = observed.as_ref().filter(|_| !is_refused) {
            self.report(observed);
            self.report_owner(observed, &connection);
            if !self.managed.is_deleted() {
                self.publish(observed, &name).await?;
            }
        }
        // A creation adds the finalizer in its own first write.
        if !self.managed.is_deleted() && step != Step::Create {
            let object = &self.managed.object;
            if let Some(added) =
                writes::finalizer(&self.managed.api, object, FINALIZER, true).await?
            {
                self.managed.object = added;
            }
        }
        self.execute(step, observed.as_ref(), &policies, &connection, &name)
            .await
    }

    /// The object as it is now.
    pub(super) fn queue(&self) -> &Queue {
        &self.managed.object
    }

    /// Removes the finalizer.
    pub(super) async fn release(&mut self) -> Result<EarlyExit, EarlyExit> {
        writes::finalizer(&self.managed.api, self.queue(), FINALIZER, false).await?;
        Ok(EarlyExit::Deleted)
    }

    fn pause(&mut self) {
        let old = &self.managed.old.conditions;
        let was_paused = old.iter().any(|old| old.reason == "ReconcilePaused");
        if !was_paused {
            let message = "Reconciliation is paused via the pause annotation or an empty list of management policies";
            self.managed
                .add_event(Severity::Normal, "ReconciliationPaused", message);
        }
        self.managed.set_condition(ConditionUpdate::paused());
    }

    fn handle_request(&mut self) {
        let token = self.managed.requested();
        if token.is_some() && token != self.managed.old.last_handled_reconcile_at {
            let message = "Handled a reconcile request";
            self.managed
                .add_event(Severity::Normal, "ReconcileRequestHandled", message);
            self.managed.status.last_handled_reconcile_at = token;
            self.state.last_resync = None;
            self.state.use_recorded = None;
        }
    }

    /// Name of the queue: the annotation, else the object's name.
    async fn external_name(&mut self) -> Result<String, EarlyExit> {
        let name = self.managed.annotation(EXTERNAL_NAME);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            return Ok(name.to_owned());
        }
        let name = self.queue().name_any();
        let version = self.queue().resource_version();
        let pairs = [(EXTERNAL_NAME, name.as_str())];
        self.managed.object =
            writes::annotations(&self.managed.api, &name, &pairs, version.as_deref()).await?;
        Ok(name)
    }

    /// Refuses a changed name, unless the object only observes.
    fn check_name(&self, policies: &Policies, name: &str) -> Result<(), Failure> {
        match &self.managed.old.at_provider.name {
            Some(old) if old != name && !policies.only_observe() => {
                Err(self.moved(&format!("name {old:?} is now {name:?}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses another owner than the recorded one, unless the object only observes. The queue has the
    /// former owner's tag, so a deletion would leave it behind.
    fn check_owner_id(&self, policies: &Policies, now: &str) -> Result<(), Failure> {
        let recorded = self.managed.old.at_provider.owner_id.as_deref();
        let Some(recorded) = recorded.filter(|recorded| *recorded != now) else {
            return Ok(());
        };
        if policies.only_observe() {
            return Ok(());
        }
        let config = &self.queue().spec.provider_config_ref;
        Err(Failure {
            event: "CannotObserveExternalResource",
            reason: "QueueOwnerChanged",
            message: format!(
                "the queue belongs to owner {recorded:?}, and {} {:?} now has owner {now:?}, so nothing is changed or \
                 deleted: set `ownerID: {recorded}` there{}",
                config.kind,
                config.name,
                self.way_out()
            ),
            requeue: Requeue::Poll,
        })
    }

    /// The failure of an object whose queue would be another one than before.
    pub(super) fn moved(&self, difference: &str) -> Failure {
        Failure {
            event: "CannotObserveExternalResource",
            reason: "QueueLocationChanged",
            message: format!(
                "this queue was created elsewhere, and the provider never creates another one in its place: \
                 {difference}; change the ProviderConfig or the annotation back{}",
                self.way_out()
            ),
            requeue: Requeue::Poll,
        }
    }

    /// Returns the remedy if the broker of an object that is being deleted cannot be reached; else
    /// an empty text.
    pub(super) fn way_out(&self) -> &'static str {
        if self.managed.is_deleted() {
            WAY_OUT
        } else {
            ""
        }
    }

    async fn connect(&mut self, name: &str) -> Result<Connection, Failure> {
        let generation = self.queue().metadata.generation.unwrap_or_default();
        let interval = self.context.timings.resync_interval;
        if !self.managed.is_deleted() && self.state.needs_use(generation, interval) {
            let recorded = usage::record(self.context, self.queue()).await;
            recorded.map_err(|error| {
                let cause = writes::refusal(&error);
                connect_failed(&format!("cannot write a ProviderConfigUsage: {cause}"))
            })?;
            self.state.use_recorded = Some((generation, Instant::now()));
        }
        let connector = &self.context.connector;
        let connection = connector.connect(self.queue(), name).await;
        connection.map_err(|cause| connect_failed(&format!("{cause}{}", self.way_out())))
    }

    /// Refuses to create a queue whose name belongs to another namespace, also where the status records that there
    /// was one: whoever may write the status could claim any name.
    pub(super) async fn check_creation(&self, name: &str) -> Result<(), Failure> {
        let checked = self.context.connector.check_creation(self.queue(), name);
        checked
            .await
            .map_err(|cause| connect_failed(&format!("{cause}{}", self.way_out())))
    }

    /// Writes the location of the queue into the connection Secret.
    pub(super) async fn publish(
        &self,
        observed: &ObservedQueue,
        name: &str,
    ) -> Result<(), Failure> {
        let client = &self.context.client;
        let published = connection_secret::publish(client, self.queue(), name, observed).await;
        published.map_err(|error| Failure {
            event: "CannotPublishConnectionDetails",
            reason: "ReconcileError",
            message: format!("publish failed: {error}"),
            requeue: Requeue::Backoff,
        })
    }

    /// Calls to the broker, within the time that the reconcile has for all of them.
    pub(super) async fn within<T>(
        &self,
        calls: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        self.calls.make(calls).await
    }

    /// The failure that follows from an error of the broker.
    pub(super) fn broker_failure(
        &self,
        event: &'static str,
        action: &str,
        error: &TransportError,
    ) -> Failure {
        if error.is_denied() {
            self.context.connector.invalidate_credentials(self.queue());
        }
        Failure {
            event,
            reason: error.reason(),
            message: format!("{action} failed: {error}{}", self.way_out()),
            requeue: error.retry_after().map_or(Requeue::Backoff, Requeue::After),
        }
    }
}

fn connect_failed(cause: &str) -> Failure {
    Failure {
        event: "CannotConnectToProvider",
        reason: "ReconcileError",
        message: format!("connect failed: {cause}"),
        requeue: Requeue::Backoff,
    }
}
