//! One managed object during a reconcile.

use std::fmt::Debug;

use actor::managed::{Condition, READY, SYNCED};
use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::events::{self, Severity};
use super::outcome::ReconcileOutcome;
use super::writes;
use crate::conditions::{self, ConditionUpdate};
use crate::kinds::Managed;
use crate::policies::Policies;
use crate::requeue::Requeue;
use crate::text;

/// Annotation that pauses an object when it is `true`.
pub(in crate::controller) const PAUSED: &str = "crossplane.io/paused";
/// Longest message of a failure, in characters; it fits into a condition.
const MESSAGE_MAX: usize = 4000;
/// Annotation that requests a reconcile.
const REQUESTED: &str = "crossplane.io/reconcile-requested-at";

/// One managed object during a reconcile: its status before and after, and its pending events.
///
/// Events are emitted once the status that they follow from is written. A reconcile that started
/// from an outdated object writes no status and emits nothing, so no event is emitted twice.
pub(in crate::controller) struct ManagedObject<K: Managed> {
    client: Client,
    /// The API of the object's namespace.
    pub(in crate::controller) api: Api<K>,
    /// The object, as it was read or written last.
    pub(in crate::controller) object: K,
    /// Its status before the reconcile.
    pub(in crate::controller) old: K::Status,
    /// Its status as it will be written.
    pub(in crate::controller) status: K::Status,
    pending_events: Vec<(Severity, &'static str, String)>,
}

impl<K> ManagedObject<K>
where
    K: Managed + kube::Resource<Scope = NamespaceResourceScope>,
    K: Clone + DeserializeOwned + Debug,
{
    /// The object as the watch has it.
    pub(in crate::controller) fn new(client: &Client, object: K) -> Self {
        Self {
            client: client.clone(),
            api: writes::api_of(client, &object),
            old: object.status().clone(),
            status: object.status().clone(),
            object,
            pending_events: Vec::new(),
        }
    }

    /// Starts again with a newer version of the object.
    pub(in crate::controller) fn replace(&mut self, newest: K) {
        self.pending_events.clear();
        self.old = newest.status().clone();
        self.status = newest.status().clone();
        self.object = newest;
    }

    /// Sets a condition of the new status.
    pub(in crate::controller) fn set_condition(&mut self, update: ConditionUpdate) {
        let generation = self.object.meta().generation;
        let conditions = K::conditions_mut(&mut self.status);
        conditions::set(conditions, update, generation, Timestamp::now());
    }

    /// The condition of this type before the reconcile.
    pub(in crate::controller) fn old_condition(&self, type_: &str) -> Option<&Condition> {
        let mut conditions = K::conditions_in(&self.old).iter();
        conditions.find(|condition| condition.type_ == type_)
    }

    /// Returns whether the object is ready by its new status.
    pub(in crate::controller) fn is_ready(&self) -> bool {
        conditions::is_true(K::conditions_in(&self.status), READY)
    }

    /// Returns whether the object is being deleted.
    pub(in crate::controller) fn is_deleted(&self) -> bool {
        self.object.meta().deletion_timestamp.is_some()
    }

    /// Returns whether the annotation or an empty list of management policies pauses the object.
    pub(in crate::controller) fn is_paused(&self, policies: Option<&Policies>) -> bool {
        self.annotation(PAUSED) == Some("true") || policies.is_some_and(Policies::is_paused)
    }

    /// The token by which somebody requested a reconcile.
    pub(in crate::controller) fn requested(&self) -> Option<String> {
        self.annotation(REQUESTED).map(str::to_owned)
    }

    /// The value of an annotation.
    pub(in crate::controller) fn annotation(&self, key: &str) -> Option<&str> {
        self.object.annotations().get(key).map(String::as_str)
    }

    /// Adds an event to be emitted once the status is written.
    pub(in crate::controller) fn add_event(
        &mut self,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        self.pending_events.push((severity, reason, message.into()));
    }

    /// Emits an event at once.
    pub(in crate::controller) async fn emit_event(
        &self,
        severity: Severity,
        reason: &str,
        message: &str,
    ) {
        events::emit(&self.client, &self.object, severity, reason, message).await;
    }

    /// Sets `Synced` to `False`; log and event follow where the message is new.
    pub(in crate::controller) fn fail(
        &mut self,
        event: &'static str,
        reason: &'static str,
        message: &str,
    ) {
        let message = text::clean(message, MESSAGE_MAX);
        let old = self.old_condition(SYNCED);
        if old.and_then(|old| old.message.as_ref()) != Some(&message) {
            tracing::warn!(kind = %K::kind(&()), object = %self.name(), reason, message, "reconcile failed");
            self.add_event(Severity::Warning, event, message.clone());
        }
        self.set_condition(ConditionUpdate::failed(reason, message));
    }

    /// Writes the status and emits the pending events. Whether the status was written.
    pub(in crate::controller) async fn conclude(&self, outcome: &mut ReconcileOutcome) -> bool {
        if !outcome.is_deleted
            && let Err(error) = self.write_status().await
        {
            if !writes::is_outdated(&error) {
                tracing::warn!(kind = %K::kind(&()), object = %self.name(), %error, "cannot write the status");
                outcome.error = Some(format!("cannot write the status: {error}"));
            }
            outcome.requeue = Requeue::Backoff;
            return false;
        }
        for (severity, reason, message) in &self.pending_events {
            self.emit_event(*severity, reason, message).await;
        }
        true
    }

    async fn write_status(&self) -> kube::Result<()> {
        let (old, new) = (json!(self.old), json!(self.status));
        let version = self.object.resource_version();
        let name = self.object.name_any();
        writes::status(&self.api, &name, &old, &new, version.as_deref()).await
    }

    /// Namespace and name, for logs.
    pub(in crate::controller) fn name(&self) -> String {
        format!(
            "{}/{}",
            self.object.namespace().unwrap_or_default(),
            self.object.name_any()
        )
    }
}
