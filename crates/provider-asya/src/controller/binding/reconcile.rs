//! One reconcile of one WorkloadBinding: resolve the target, clean up other workloads, inject, report.
//!
//! A reconcile starts from the object in the watch cache, which may be outdated. Reading does no harm;
//! before a workload of another owner is changed, the newest object is read.

use actor::binding::{ForProvider, field_manager};
use actor::managed::READY;
use kube::ResourceExt as _;

use super::BindingContext;
use super::apply::{Applier, ApplyError};
use super::bound_workloads::BoundWorkload;
use crate::binding::intent::Addition;
use crate::binding::refusal::{Refusal, Rejection};
use crate::conditions::ConditionUpdate;
use crate::controller::managed::events::Severity;
use crate::controller::managed::{ManagedObject, ReconcileOutcome, writes};
use crate::kinds::WorkloadBinding;
use crate::policies::Policies;
use crate::requeue::Requeue;

/// Remedy if the target of a deleted object cannot be changed.
const WAY_OUT: &str = "; to delete this object and keep what was injected into its target, set \
                       `spec.managementPolicies` to [\"Observe\",\"Create\",\"Update\",\"LateInitialize\"]";

/// Reconciles one WorkloadBinding once.
pub(super) struct Reconciler<'a> {
    pub(super) context: &'a BindingContext,
    pub(super) managed: ManagedObject<WorkloadBinding>,
    pub(super) namespace: String,
    /// Field manager of the actor.
    pub(super) manager: String,
    /// True if the object was read in this reconcile.
    is_fresh: bool,
    /// True if a workload was changed.
    pub(super) has_changed: bool,
}

/// Reason for which a reconcile ends early.
pub(super) enum EarlyExit {
    /// The object is deleted, or no longer this provider's concern.
    Deleted,
    /// The object has changed: the reconcile starts again.
    Restart,
    /// A workload has changed: another reconcile is due.
    Stale,
    /// Nothing can be done until something changes.
    Refused(Box<Refusal>),
    /// The object is invalid.
    Invalid(String),
    /// The API server failed.
    Kube(kube::Error),
}

impl From<Refusal> for EarlyExit {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<kube::Error> for EarlyExit {
    fn from(error: kube::Error) -> Self {
        Self::Kube(error)
    }
}

impl From<ApplyError> for EarlyExit {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Rejected(Rejection::Replaced) => Self::Stale,
            ApplyError::Rejected(Rejection::Refused(refusal)) => Self::Refused(refusal),
            ApplyError::Kube(error) => Self::Kube(error),
        }
    }
}

impl<'a> Reconciler<'a> {
    pub(super) fn new(context: &'a BindingContext, binding: WorkloadBinding) -> Self {
        let actor = binding.spec.for_provider.actor.parse();
        Self {
            context,
            namespace: binding.namespace().unwrap_or_default(),
            manager: actor.map_or_else(|_| String::new(), |actor| field_manager(&actor)),
            managed: ManagedObject::new(&context.provider.client, binding),
            is_fresh: false,
            has_changed: false,
        }
    }

    /// Reconciles, and writes the status.
    pub(super) async fn run(&mut self) -> ReconcileOutcome {
        let mut result = self.reconcile().await;
        if matches!(result, Err(EarlyExit::Restart)) {
            result = self.reconcile().await;
        }
        let mut outcome = match result {
            Ok(requeue) => ReconcileOutcome::done(requeue),
            Err(EarlyExit::Deleted) => ReconcileOutcome::deleted(),
            Err(EarlyExit::Restart | EarlyExit::Stale) => ReconcileOutcome::done(Requeue::Backoff),
            Err(EarlyExit::Refused(refusal)) => self.refuse(&refusal),
            Err(EarlyExit::Invalid(message)) => self.fail(message, Requeue::OnChange),
            Err(EarlyExit::Kube(error)) if writes::is_outdated(&error) => {
                ReconcileOutcome::done(Requeue::Backoff)
            }
            Err(EarlyExit::Kube(error)) => self.fail(writes::refusal(&error), Requeue::Backoff),
        };
        outcome.has_changed = self.has_changed;
        self.managed.conclude(&mut outcome).await;
        outcome
    }

    async fn reconcile(&mut self) -> Result<Requeue, EarlyExit> {
        let policies = Policies::read(&self.managed.object.spec.management_policies);
        if self.managed.is_paused(policies.as_ref().ok()) {
            self.managed.set_condition(ConditionUpdate::paused());
            return Ok(Requeue::OnChange);
        }
        if let Some(token) = self.managed.requested() {
            self.managed.status.last_handled_reconcile_at = Some(token);
        }
        let policies = policies.map_err(|error| EarlyExit::Invalid(error.to_string()))?;
        if self.manager.is_empty() {
            let actor = &self.spec().actor;
            return Err(EarlyExit::Invalid(format!(
                "{actor:?} is not a valid name of an actor"
            )));
        }
        if self.managed.is_deleted() {
            return self.delete(&policies).await;
        }
        if let Some(binding) = self.older_binding() {
            let actor = self.spec().actor.clone();
            return Err(Refusal::DuplicateBinding { binding, actor }.into());
        }
        self.observe(&policies).await
    }

    /// An older binding of the same actor. Both would have one field manager, and each would remove what
    /// the other one injects, so only the older one is reconciled.
    pub(super) fn older_binding(&self) -> Option<String> {
        let age = |binding: &WorkloadBinding| {
            let created = binding.creation_timestamp().map(|time| time.0);
            (created, binding.name_any())
        };
        let own = age(&self.managed.object);
        let is_older = |other: &WorkloadBinding| {
            other.namespace().as_ref() == Some(&self.namespace)
                && other.spec.for_provider.actor == self.spec().actor
                && age(other) < own
        };
        let found = self.context.bindings.find(is_older);
        found.map(|other| other.name_any())
    }

    /// Makes sure that this is the newest object, before a workload is changed.
    pub(super) async fn refresh(&mut self) -> Result<(), EarlyExit> {
        if self.is_fresh {
            return Ok(());
        }
        self.is_fresh = true;
        let object = &self.managed.object;
        let Some(newest) = self.managed.api.get_opt(&object.name_any()).await? else {
            return Err(EarlyExit::Deleted);
        };
        if newest.uid() != object.uid() {
            return Err(EarlyExit::Deleted);
        }
        if newest.resource_version() == object.resource_version() {
            return Ok(());
        }
        self.managed.replace(newest);
        Err(EarlyExit::Restart)
    }

    /// Removes what was injected into workloads.
    pub(super) async fn remove_injected(
        &mut self,
        workloads: &[BoundWorkload],
    ) -> Result<(), EarlyExit> {
        for bound in workloads.iter().filter(|bound| bound.is_applied) {
            self.refresh().await?;
            self.applier().remove_injected(bound).await?;
            self.has_changed = true;
            let message = format!("removed injected containers from {}", bound.workload);
            self.managed.add_event(Severity::Normal, "Unbound", message);
        }
        Ok(())
    }

    fn refuse(&mut self, refusal: &Refusal) -> ReconcileOutcome {
        let way_out = if self.managed.is_deleted() {
            WAY_OUT
        } else {
            ""
        };
        let (reason, message) = (refusal.reason(), format!("{refusal}{way_out}"));
        self.managed
            .set_condition(ConditionUpdate::unready(reason, message.clone()));
        self.managed.fail(reason, reason, &message);
        let wait = self.context.provider.timings.target_poll_interval;
        ReconcileOutcome::failed(message, Requeue::After(wait))
    }

    fn fail(&mut self, message: String, requeue: Requeue) -> ReconcileOutcome {
        self.managed
            .fail("ReconcileError", "ReconcileError", &message);
        ReconcileOutcome::failed(message, requeue)
    }

    /// Sets `Ready` to `False`; an event follows where the message is new.
    pub(super) fn warn(&mut self, reason: &'static str, message: String) {
        let old = self.managed.old_condition(READY);
        if old.and_then(|old| old.message.as_ref()) != Some(&message) {
            self.managed
                .add_event(Severity::Warning, reason, message.clone());
        }
        self.managed
            .set_condition(ConditionUpdate::unready(reason, message));
    }

    pub(super) fn applier(&self) -> Applier<'_> {
        Applier {
            client: &self.context.provider.client,
            namespace: &self.namespace,
            manager: &self.manager,
        }
    }

    pub(super) fn addition(&self) -> Addition<'_> {
        Addition {
            namespace: &self.namespace,
            actor: &self.spec().actor,
            template: &self.spec().template,
        }
    }

    pub(super) fn spec(&self) -> &ForProvider {
        &self.managed.object.spec.for_provider
    }
}
