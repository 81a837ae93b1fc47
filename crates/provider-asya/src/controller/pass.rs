//! One pass over one Queue, in the order of every managed resource of Crossplane's.

mod act;
mod look;

use std::future::Future;
use std::time::Duration;

use actor::managed::FINALIZER;
use actor::names::EXTERNAL_NAME;
use actor::queue::QueueStatus;
use jiff::Timestamp;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::connect::Connection;
use super::events::{self, Severity};
use super::memory::Memory;
use super::queues::Context;
use super::{publish, usage, writes};
use crate::conditions::{self, Statement};
use crate::controller::{PAUSED, REQUESTED};
use crate::kinds::Queue;
use crate::plan::Step;
use crate::policies::Policies;
use crate::requeue::Next;
use crate::transport::{Fault, Found};

/// How an object goes whose broker cannot be reached any more.
const WAY_OUT: &str = "; to let this object go and leave its queue alone, set `spec.managementPolicies` to \
                       [\"Observe\",\"Create\",\"Update\",\"LateInitialize\"]";

/// A pass that is on its way.
pub(super) struct Pass<'a> {
    context: &'a Context,
    api: Api<Queue>,
    queue: Queue,
    /// The status as it was, and as it will be written.
    old: QueueStatus,
    status: QueueStatus,
    counters: Option<Duration>,
    /// What is told once the status that it follows from is written: a pass that started
    /// from an old status writes none, and so tells nothing twice.
    news: Vec<(Severity, &'static str, String)>,
    /// What is remembered of the object.
    pub(super) memory: Memory,
}

/// How a pass ended.
pub(super) struct End {
    /// When the next one is due.
    pub(super) next: Next,
    /// Whether this one failed.
    pub(super) is_failure: bool,
    /// Whether the object is gone, as far as we are concerned.
    pub(super) is_over: bool,
    /// How often counters are read.
    pub(super) counters: Option<Duration>,
}

/// Why a pass stopped before its end.
enum Stop {
    /// It has nothing more to do.
    Done(Next),
    /// The object is none of our business any more.
    Over,
    /// Something failed, with the event's reason, the condition's and the message.
    Failed(&'static str, &'static str, String, Next),
    /// The API server did.
    Kube(kube::Error),
}

impl From<kube::Error> for Stop {
    fn from(error: kube::Error) -> Self {
        Self::Kube(error)
    }
}

impl<'a> Pass<'a> {
    pub(super) fn new(context: &'a Context, queue: Queue, memory: Memory) -> Self {
        let api = writes::api_of(&context.client, &queue);
        let old = queue.status.clone();
        Self {
            context,
            api,
            status: old.clone(),
            old,
            queue,
            counters: None,
            news: Vec::new(),
            memory,
        }
    }

    /// Makes the pass, and writes what it found.
    pub(super) async fn run(&mut self) -> End {
        let mut is_failure = false;
        let counted = self.memory.counted;
        let (next, is_over) = match self.steps().await {
            Stop::Done(next) => (next, false),
            Stop::Over => (Next::OnChange, true),
            Stop::Failed(event, reason, message, next) => {
                is_failure = true;
                self.fail(event, reason, message);
                (next, false)
            }
            Stop::Kube(error) => {
                is_failure = !writes::is_outdated(&error);
                if is_failure {
                    let event = "CannotUpdateManagedResource";
                    let message = format!("update failed: {}", writes::refusal(&error));
                    self.fail(event, "ReconcileError", message);
                }
                (Next::Backoff, false)
            }
        };
        let (mut next, mut is_failure) = (next, is_failure);
        if !is_over {
            match self.write_status().await {
                Ok(()) => self.tell_news().await,
                Err(error) => {
                    if !writes::is_outdated(&error) {
                        is_failure = true;
                        tracing::warn!(queue = %self.shown(), %error, "cannot write the status");
                    }
                    self.memory.forget_what_was_said(counted);
                    next = Next::Backoff;
                }
            }
        }
        End {
            next,
            is_failure,
            is_over,
            counters: self.counters,
        }
    }

    async fn steps(&mut self) -> Stop {
        match self.try_steps().await {
            Ok(next) => Stop::Done(next),
            Err(stop) => stop,
        }
    }

    async fn try_steps(&mut self) -> Result<Next, Stop> {
        let policies = Policies::read(&self.queue.spec.management_policies);
        let is_paused = self.annotation(PAUSED) == Some("true");
        if is_paused || policies.as_ref().is_ok_and(Policies::is_paused) {
            self.pause();
            return Ok(Next::OnChange);
        }
        self.answer_request();
        let policies = policies.map_err(|error| {
            let event = "CannotUseInvalidManagementPolicy";
            Stop::Failed(event, "ReconcileError", error.to_string(), Next::OnChange)
        })?;
        if self.is_deleted() && !policies.may_delete() {
            return Err(self.release().await?);
        }
        let name = self.external_name().await?;
        self.check_name(&policies, &name)?;
        let connection = self.connect(&name).await?;
        self.counters = connection.counters;
        let unsafe_password = connection.unsafe_password.clone();
        self.say(Statement::password_not_url_safe(unsafe_password));
        let (step, found) = self.decide(&policies, &connection, &name).await?;
        // Of a queue that is refused nothing is kept: another name may be chosen.
        let is_refused = matches!(step, Step::Refuse(_));
        if step == Step::Create || (found.is_some() && !is_refused) {
            self.status.at_provider.name = Some(name.clone());
        }
        if let Some(found) = found.as_ref().filter(|_| !is_refused) {
            self.report(found);
            if !self.is_deleted() {
                self.publish(found, &name).await?;
            }
        }
        if !self.is_deleted() {
            let added = writes::finalizer(&self.api, &self.queue, FINALIZER, true).await?;
            self.queue = added.unwrap_or_else(|| self.queue.clone());
        }
        self.act(step, found.as_ref(), &connection, &name).await
    }

    /// Lets the object go.
    async fn release(&mut self) -> Result<Stop, Stop> {
        writes::finalizer(&self.api, &self.queue, FINALIZER, false).await?;
        Ok(Stop::Over)
    }

    fn pause(&mut self) {
        let was_paused = self
            .old
            .conditions
            .iter()
            .any(|condition| condition.reason == "ReconcilePaused");
        if !was_paused {
            let message = "Reconciliation is paused via the pause annotation or an empty list of management policies";
            self.tell_later(Severity::Normal, "ReconciliationPaused", message);
        }
        self.say(Statement::paused());
    }

    fn answer_request(&mut self) {
        let token = self.annotation(REQUESTED).map(str::to_owned);
        if token.is_some() && token != self.old.last_handled_reconcile_at {
            self.tell_later(
                Severity::Normal,
                "ReconcileRequestHandled",
                "Handled a reconcile request",
            );
            self.status.last_handled_reconcile_at = token;
            self.memory.whole_look = None;
        }
    }

    /// The queue's name, which is the object's unless the object says otherwise.
    async fn external_name(&mut self) -> Result<String, Stop> {
        if let Some(name) = self
            .annotation(EXTERNAL_NAME)
            .filter(|name| !name.is_empty())
        {
            return Ok(name.to_owned());
        }
        let name = self.queue.name_any();
        let version = self.queue.resource_version();
        let pairs = [(EXTERNAL_NAME, name.as_str())];
        self.queue = writes::annotations(&self.api, &name, &pairs, version.as_deref()).await?;
        Ok(name)
    }

    /// A queue that is only looked at may be another one tomorrow.
    fn check_name(&self, policies: &Policies, name: &str) -> Result<(), Stop> {
        match &self.old.at_provider.name {
            Some(was) if was != name && !policies.only_observe() => {
                Err(self.moved(&format!("name {was:?} is now {name:?}")))
            }
            _ => Ok(()),
        }
    }

    fn moved(&self, difference: &str) -> Stop {
        let message = format!(
            "this queue was made elsewhere, and another one is never made in its place: {difference}; point the \
             ProviderConfig or the annotation back{}",
            if self.is_deleted() { WAY_OUT } else { "" }
        );
        Stop::Failed(
            "CannotObserveExternalResource",
            "QueueLocationChanged",
            message,
            Next::Poll,
        )
    }

    async fn connect(&mut self, name: &str) -> Result<Connection, Stop> {
        // Again with every whole look, should somebody have deleted the record.
        let is_recorded = self.memory.is_use_recorded && self.memory.whole_look.is_some();
        if !self.is_deleted() && !is_recorded {
            usage::record(&self.context.client, &self.queue)
                .await
                .map_err(|error| {
                    unconnected(&format!(
                        "cannot record the use of the config: {}",
                        writes::refusal(&error)
                    ))
                })?;
            self.memory.is_use_recorded = true;
        }
        let way_out = if self.is_deleted() { WAY_OUT } else { "" };
        self.context
            .connector
            .connect(&self.queue, name)
            .await
            .map_err(|reason| unconnected(&format!("{reason}{way_out}")))
    }

    /// Writes where the queue is into the Secret that the object names.
    async fn publish(&self, found: &Found, name: &str) -> Result<(), Stop> {
        let published = publish::details(&self.context.client, &self.queue, name, found);
        published.await.map_err(|error| {
            let message = format!("publish failed: {error}");
            let event = "CannotPublishConnectionDetails";
            Stop::Failed(event, "ReconcileError", message, Next::Backoff)
        })
    }

    /// A call to the outside, with its time limit.
    async fn within<T>(&self, call: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let limit = self.context.timings.external_calls;
        tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
            Err(Fault::Unreachable {
                endpoint: "the broker".to_owned(),
                cause: format!("not done within {} s", limit.as_secs()),
            })
        })
    }

    fn fault(&self, event: &'static str, action: &str, fault: &Fault) -> Stop {
        if fault.is_denied() {
            self.context.connector.doubt_credentials(&self.queue);
        }
        let way_out = if self.is_deleted() { WAY_OUT } else { "" };
        let message = format!("{action} failed: {fault}{way_out}");
        let next = fault.retry_after().map_or(Next::Backoff, Next::After);
        Stop::Failed(event, fault.reason(), message, next)
    }

    fn fail(&mut self, event: &'static str, reason: &'static str, message: String) {
        let is_new = !self.old.conditions.iter().any(|condition| {
            condition.type_ == actor::managed::SYNCED
                && condition.message.as_ref() == Some(&message)
        });
        if is_new {
            tracing::warn!(queue = %self.shown(), reason, message, "the pass failed");
            self.tell_later(Severity::Warning, event, &message);
        }
        self.say(Statement::failed(reason, message));
    }

    async fn tell_success(&self, reason: &str, what: &str) {
        let message = format!("Successfully requested {what} of external resource");
        self.tell(Severity::Normal, reason, &message).await;
    }

    fn tell_later(&mut self, severity: Severity, reason: &'static str, message: &str) {
        self.news.push((severity, reason, message.to_owned()));
    }

    async fn tell_news(&self) {
        for (severity, reason, message) in &self.news {
            self.tell(*severity, reason, message).await;
        }
    }

    async fn tell(&self, severity: Severity, reason: &str, message: &str) {
        events::tell(&self.context.client, &self.queue, severity, reason, message).await;
    }

    fn say(&mut self, statement: Statement) {
        let generation = self.queue.metadata.generation;
        conditions::set(
            &mut self.status.conditions,
            statement,
            generation,
            Timestamp::now(),
        );
    }

    async fn write_status(&mut self) -> kube::Result<()> {
        let (old, new) = (json!(self.old), json!(self.status));
        let version = self.queue.resource_version();
        let name = self.queue.name_any();
        writes::status(&self.api, &name, &old, &new, version.as_deref()).await
    }

    /// Whether the object is ready, as of now.
    pub(super) fn is_ready(&self) -> bool {
        conditions::is_true(&self.status.conditions, actor::managed::READY)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.queue.annotations().get(key).map(String::as_str)
    }

    fn is_deleted(&self) -> bool {
        self.queue.metadata.deletion_timestamp.is_some()
    }

    fn shown(&self) -> String {
        format!(
            "{}/{}",
            self.queue.namespace().unwrap_or_default(),
            self.queue.name_any()
        )
    }
}

fn unconnected(reason: &str) -> Stop {
    let message = format!("connect failed: {reason}");
    let event = "CannotConnectToProvider";
    Stop::Failed(event, "ReconcileError", message, Next::Backoff)
}
