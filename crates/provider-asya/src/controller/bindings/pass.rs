//! One pass over one WorkloadBinding: find the target, take away what is elsewhere, add
//! what is wanted, report.
//!
//! A pass works on the object as the watch has it, which may be behind. Looking does no
//! harm; before anything of somebody else's is changed, the newest object is read.

mod find;
mod go;
mod inject;

use actor::binding::{BindingStatus, ForProvider, field_manager};
use actor::managed::{Condition, READY, SYNCED};
use jiff::Timestamp;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::Context;
use super::apply::{Applier, Failure};
use super::marks::Mark;
use crate::binding::intent::Addition;
use crate::binding::refusal::{Answer, Refusal};
use crate::conditions::{self, Statement};
use crate::controller::events::{self, Severity};
use crate::controller::writes;
use crate::controller::{PAUSED, REQUESTED};
use crate::kinds::WorkloadBinding;
use crate::policies::Policies;
use crate::requeue::Next;

/// How an object goes whose target cannot be changed any more.
const WAY_OUT: &str = "; to let this object go and leave what was added to its target, set \
                       `spec.managementPolicies` to [\"Observe\",\"Create\",\"Update\",\"LateInitialize\"]";

/// A pass that is on its way.
pub(super) struct Pass<'a> {
    context: &'a Context,
    api: Api<WorkloadBinding>,
    binding: WorkloadBinding,
    namespace: String,
    /// The actor's field manager.
    manager: String,
    /// The status as it was, and as it will be written.
    old: BindingStatus,
    status: BindingStatus,
    /// Whether the object was read for this pass.
    is_fresh: bool,
    has_changed: bool,
    /// What is told once the status that it follows from is written: a pass that started
    /// from an old status writes none, and so tells nothing twice.
    news: Vec<(Severity, &'static str, String)>,
}

/// How a pass ended.
pub(super) struct End {
    /// When the next one is due.
    pub(super) next: Next,
    /// Whether this one failed.
    pub(super) is_failure: bool,
    /// Whether the object is gone, as far as we are concerned.
    pub(super) is_over: bool,
    /// Whether it has changed a workload.
    pub(super) has_changed: bool,
}

/// Why a pass stopped before its end.
enum Stop {
    /// The object is none of our business any more.
    Over,
    /// The object has changed: the pass begins again.
    Again,
    /// A workload has changed: another pass is due.
    Stale,
    /// Nothing can be done until something changes.
    Refused(Box<Refusal>),
    /// The object is wrong.
    Wrong(String),
    /// The API server failed.
    Kube(kube::Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<kube::Error> for Stop {
    fn from(error: kube::Error) -> Self {
        Self::Kube(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Answer(Answer::Replaced) => Self::Stale,
            Failure::Answer(Answer::Refused(refusal)) => Self::Refused(refusal),
            Failure::Kube(error) => Self::Kube(error),
        }
    }
}

impl<'a> Pass<'a> {
    pub(super) fn new(context: &'a Context, binding: WorkloadBinding) -> Self {
        let actor = binding.spec.for_provider.actor.parse();
        Self {
            context,
            api: writes::api_of(&context.provider.client, &binding),
            namespace: binding.namespace().unwrap_or_default(),
            manager: actor.map_or_else(|_| String::new(), |actor| field_manager(&actor)),
            old: binding.status.clone(),
            status: binding.status.clone(),
            binding,
            is_fresh: false,
            has_changed: false,
            news: Vec::new(),
        }
    }

    /// Makes the pass, and writes what it found.
    pub(super) async fn run(&mut self) -> End {
        let mut stop = self.steps().await;
        if matches!(stop, Err(Stop::Again)) {
            stop = self.steps().await;
        }
        let mut is_failure = false;
        let mut is_over = false;
        let mut next = match stop {
            Ok(next) => next,
            Err(Stop::Over) => {
                is_over = true;
                Next::OnChange
            }
            Err(Stop::Again | Stop::Stale) => Next::Backoff,
            Err(Stop::Refused(refusal)) => {
                is_failure = true;
                self.refuse(&refusal);
                Next::After(self.context.provider.timings.bound_look)
            }
            Err(Stop::Wrong(message)) => {
                is_failure = true;
                self.fail("ReconcileError", message);
                Next::OnChange
            }
            Err(Stop::Kube(error)) => {
                is_failure = !writes::is_outdated(&error);
                if is_failure {
                    self.fail("ReconcileError", writes::refusal(&error));
                }
                Next::Backoff
            }
        };
        if is_over {
            self.tell_news().await;
        } else {
            match self.write_status().await {
                Ok(()) => self.tell_news().await,
                Err(error) => {
                    if !writes::is_outdated(&error) {
                        is_failure = true;
                        tracing::warn!(binding = self.shown(), %error, "cannot write the status");
                    }
                    next = Next::Backoff;
                }
            }
        }
        End {
            next,
            is_failure,
            is_over,
            has_changed: self.has_changed,
        }
    }

    async fn steps(&mut self) -> Result<Next, Stop> {
        let policies = Policies::read(&self.binding.spec.management_policies);
        let is_paused = self.annotation(PAUSED) == Some("true");
        if is_paused || policies.as_ref().is_ok_and(Policies::is_paused) {
            self.say(Statement::paused());
            return Ok(Next::OnChange);
        }
        let token = self.annotation(REQUESTED).map(str::to_owned);
        if token.is_some() {
            self.status.last_handled_reconcile_at = token;
        }
        let policies = policies.map_err(|error| Stop::Wrong(error.to_string()))?;
        if self.manager.is_empty() {
            let actor = &self.binding.spec.for_provider.actor;
            return Err(Stop::Wrong(format!("{actor:?} is no name of an actor")));
        }
        if self.binding.metadata.deletion_timestamp.is_some() {
            return self.go(&policies).await;
        }
        self.check_that_it_is_the_only_one()?;
        self.pursue(&policies).await
    }

    /// Two objects about one actor would have one field manager, and each would take away
    /// what the other has added. The older one stays.
    fn check_that_it_is_the_only_one(&self) -> Result<(), Stop> {
        match self.another() {
            Some(binding) => Err(Refusal::Twice {
                binding,
                actor: self.spec().actor.clone(),
            }
            .into()),
            None => Ok(()),
        }
    }

    /// An older binding of the same actor.
    fn another(&self) -> Option<String> {
        let age = |binding: &WorkloadBinding| {
            let created = binding.creation_timestamp().map(|time| time.0);
            (created, binding.name_any())
        };
        let own = age(&self.binding);
        let is_another = |other: &WorkloadBinding| {
            other.namespace().as_ref() == Some(&self.namespace)
                && other.spec.for_provider.actor == self.spec().actor
                && age(other) < own
        };
        let found = self.context.bindings.find(is_another);
        found.map(|other| other.name_any())
    }

    /// Makes sure that this is the newest object, before something else is changed for it.
    async fn freshen(&mut self) -> Result<(), Stop> {
        if self.is_fresh {
            return Ok(());
        }
        self.is_fresh = true;
        let name = self.binding.name_any();
        let Some(newest) = self.api.get_opt(&name).await? else {
            return Err(Stop::Over);
        };
        if newest.uid() != self.binding.uid() {
            return Err(Stop::Over);
        }
        if newest.resource_version() == self.binding.resource_version() {
            return Ok(());
        }
        self.news.clear();
        self.old = newest.status.clone();
        self.status = newest.status.clone();
        self.binding = newest;
        Err(Stop::Again)
    }

    /// Takes away what was added to workloads.
    async fn take_away(&mut self, marks: &[Mark]) -> Result<(), Stop> {
        for mark in marks.iter().filter(|mark| mark.is_applied) {
            self.freshen().await?;
            self.applier().take_away(mark).await?;
            self.has_changed = true;
            let message = format!("took away what was added to {}", mark.workload);
            self.tell_later(Severity::Normal, "Unbound", message);
        }
        Ok(())
    }

    fn refuse(&mut self, refusal: &Refusal) {
        let is_deleted = self.binding.metadata.deletion_timestamp.is_some();
        let way_out = if is_deleted { WAY_OUT } else { "" };
        let message = format!("{refusal}{way_out}");
        self.say(Statement::unready(refusal.reason(), message.clone()));
        self.fail(refusal.reason(), message);
    }

    fn fail(&mut self, reason: &'static str, message: String) {
        let said = condition(&self.old.conditions, SYNCED).and_then(|said| said.message.as_ref());
        if said != Some(&message) {
            let binding = self.shown();
            tracing::warn!(binding, reason, message, "the pass failed");
            self.tell_later(Severity::Warning, reason, message.clone());
        }
        self.say(Statement::failed(reason, message));
    }

    /// Says what keeps the object from being ready; an event tells it once.
    fn warn(&mut self, reason: &'static str, message: String) {
        let said = condition(&self.old.conditions, READY);
        if said.is_none_or(|said| said.message.as_ref() != Some(&message)) {
            self.tell_later(Severity::Warning, reason, message.clone());
        }
        self.say(Statement::unready(reason, message));
    }

    fn tell_later(&mut self, severity: Severity, reason: &'static str, message: String) {
        self.news.push((severity, reason, message));
    }

    async fn tell_news(&self) {
        let client = &self.context.provider.client;
        for (severity, reason, message) in &self.news {
            events::tell(client, &self.binding, *severity, reason, message).await;
        }
    }

    fn say(&mut self, statement: Statement) {
        let generation = self.binding.metadata.generation;
        let conditions = &mut self.status.conditions;
        conditions::set(conditions, statement, generation, Timestamp::now());
    }

    async fn write_status(&mut self) -> kube::Result<()> {
        let (old, new) = (json!(self.old), json!(self.status));
        let version = self.binding.resource_version();
        let name = self.binding.name_any();
        writes::status(&self.api, &name, &old, &new, version.as_deref()).await
    }

    /// Whether the object is ready, as of now.
    pub(super) fn is_ready(&self) -> bool {
        conditions::is_true(&self.status.conditions, READY)
    }

    fn applier(&self) -> Applier<'_> {
        Applier {
            client: &self.context.provider.client,
            namespace: &self.namespace,
            manager: &self.manager,
        }
    }

    fn addition(&self) -> Addition<'_> {
        Addition {
            namespace: &self.namespace,
            actor: &self.spec().actor,
            template: &self.spec().template,
        }
    }

    fn spec(&self) -> &ForProvider {
        &self.binding.spec.for_provider
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.binding.annotations().get(key).map(String::as_str)
    }

    fn shown(&self) -> String {
        format!("{}/{}", self.namespace, self.binding.name_any())
    }
}

fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}
