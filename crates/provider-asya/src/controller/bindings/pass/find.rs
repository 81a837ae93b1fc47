//! The first half of a pass: find the target and what is behind it, take away what was
//! added elsewhere, and report what was found.

use actor::binding::{AtProvider, ObjectReference, Strategy};
use actor::managed::{FINALIZER, READY};
use kube::ResourceExt as _;
use serde_json::Value;

use super::{Pass, Stop, condition};
use crate::binding::refusal::Refusal;
use crate::binding::{rollout, scalers, standing};
use crate::conditions::Statement;
use crate::controller::bindings::apply::Failure;
use crate::controller::targets;
use crate::policies::Policies;
use crate::requeue::Next;
use crate::resolve::{self, Look, Resolved, Seen, Unresolved, View};

/// How many questions the way from a target to its workload may take.
const LOOKS_MAX: usize = 16;

/// What is behind the target.
enum Found {
    /// This, and what was read for it.
    Resolved(Box<Resolved>, View),
    /// Nothing, with the condition's reason and message.
    Missing(&'static str, String),
}

impl Pass<'_> {
    /// The pass over an object that is to stay.
    pub(super) async fn pursue(&mut self, policies: &Policies) -> Result<Next, Stop> {
        let target = self.spec().target_ref.clone();
        let before = self.status.at_provider.clone().about(&target);
        let found = self.find(&target).await?;
        let injects = self.spec().strategy == Strategy::Inject;
        let keep = match &found {
            Found::Resolved(resolved, _) => Some(&resolved.workload),
            // It may only be made anew, and what runs is left alone until then.
            Found::Missing(..) => before.resolved_target.as_ref(),
        };
        if policies.may_update() {
            self.take_away_elsewhere(keep.filter(|_| injects)).await?;
        }
        self.status.at_provider = before.clone();
        let timings = &self.context.provider.timings;
        let (resolved, view) = match found {
            Found::Resolved(resolved, view) => (resolved, view),
            Found::Missing(reason, message) => {
                self.say(Statement::unresolved(reason, message.clone()));
                self.say(Statement::unready(reason, message));
                self.say(Statement::synced());
                return Ok(Next::After(timings.bound_look));
            }
        };
        self.say(Statement::resolved());
        self.report(&target, &resolved, &before);
        if injects {
            if let Err(why) = resolved.injection {
                return Err(Refusal::NotInjectable { target, why }.into());
            }
            return self
                .inject(policies, &resolved.workload, view, &before)
                .await;
        }
        self.status.at_provider.rolled_out_generation = self.restored(&resolved, &view, &before);
        self.say(Statement::available());
        self.say(Statement::synced());
        Ok(Next::After(timings.bound_look))
    }

    async fn find(&mut self, target: &ObjectReference) -> Result<Found, Stop> {
        let mut view = View::default();
        for _ in 0..LOOKS_MAX {
            match resolve::resolve(target, &view) {
                Ok(resolved) => return Ok(Found::Resolved(Box::new(resolved), view)),
                Err(Unresolved::Missing { reason, message }) => {
                    return Ok(Found::Missing(reason, message));
                }
                Err(Unresolved::Look(look)) => {
                    let seen = self.read(&look).await?;
                    view.put(look, seen);
                }
            }
        }
        Err(Stop::Wrong(format!(
            "what is behind {target} is not found after {LOOKS_MAX} questions"
        )))
    }

    /// Reads what is to be known of a target. Where the provider may not, nothing is known
    /// of the target.
    async fn read(&mut self, look: &Look) -> Result<Seen, Stop> {
        let answer = self.context.targets.read(&self.namespace, look).await;
        match answer {
            Err(error) if targets::is_forbidden(&error) => {
                let (verb, group, kind) = match look {
                    Look::Object { group, kind, .. } => ("get", group, kind),
                    Look::Labelled { group, kind, .. } => ("list", group, kind),
                };
                let refusal = Refusal::forbidden(verb, group, kind, &self.namespace);
                self.say(Statement::unseen(refusal.reason(), refusal.to_string()));
                Err(refusal.into())
            }
            answer => Ok(answer?),
        }
    }

    /// Takes away what was added to other workloads than the one to keep.
    ///
    /// What the watch tells may be behind just after a change of the spec, so the API
    /// server is asked then.
    async fn take_away_elsewhere(&mut self, keep: Option<&ObjectReference>) -> Result<(), Stop> {
        let actor = self.spec().actor.clone();
        let generation = self.binding.metadata.generation;
        let said = condition(&self.old.conditions, READY);
        let is_settled = said.is_some_and(|said| said.observed_generation == generation);
        let known = || self.context.marks.of(&self.namespace, &actor);
        let marks = if is_settled {
            known()
        } else {
            let is_held = self
                .binding
                .finalizers()
                .iter()
                .any(|name| name == FINALIZER);
            let last = self.old.at_provider.resolved_target.as_ref();
            match self
                .applier()
                .marked(&actor, last.filter(|_| is_held))
                .await
            {
                // Who may not list them has not changed them either.
                Err(Failure::Answer(_)) => known(),
                marks => marks?,
            }
        };
        let elsewhere: Vec<_> = marks
            .into_iter()
            .filter(|mark| !keep.is_some_and(|keep| keep.is_same_object(&mark.workload)))
            .collect();
        self.take_away(&elsewhere).await
    }

    fn report(&mut self, target: &ObjectReference, resolved: &Resolved, before: &AtProvider) {
        let scale_target = resolved.scale.as_ref().ok().cloned();
        let objects = scale_target.iter().chain([&resolved.workload]);
        let objects: Vec<&ObjectReference> = objects.collect();
        let sight = &self.context.provider.sight;
        let foreign_scaler = match sight.scalers(&self.namespace, &objects) {
            Some(scalers) => scalers::foreign(&self.spec().actor, objects, &scalers),
            None => before.foreign_scaler.clone(),
        };
        self.status.at_provider = AtProvider {
            target_ref: Some(target.clone()),
            resolved_target: Some(resolved.workload.clone()),
            uid: Some(resolved.uid.clone()),
            pod_selector: resolved.pod_selector.clone(),
            target_url: resolved.url.clone(),
            foreign_scaler,
            not_scalable: resolved.scale.as_ref().err().cloned(),
            scale_target,
            // What is known of conflicts holds until more is.
            ..if self.spec().strategy == Strategy::Inject {
                before.clone()
            } else {
                AtProvider::default()
            }
        };
    }

    /// The generation for which no pod of the workload has anything of ours, as far as
    /// the workload was read.
    fn restored(&self, resolved: &Resolved, view: &View, before: &AtProvider) -> Option<i64> {
        let is_clean = |workload: &Value| {
            let fields = &workload["metadata"]["managedFields"];
            !standing::has_applied(fields, &self.manager) && rollout::is_done(workload)
        };
        if seen(view, &resolved.workload).is_some_and(is_clean) {
            return self.binding.metadata.generation;
        }
        before.rolled_out_generation
    }

    /// The workload, whole.
    pub(super) async fn workload(
        &mut self,
        workload: &ObjectReference,
        view: &mut View,
    ) -> Result<Value, Stop> {
        if seen(view, workload).is_none() {
            let look = look(workload);
            let found = self.read(&look).await?;
            view.put(look, found);
        }
        seen(view, workload).cloned().ok_or(Stop::Stale)
    }
}

fn look(workload: &ObjectReference) -> Look {
    let group = actor::binding::targets::group_of(&workload.api_version);
    Look::Object {
        group: group.to_owned(),
        kind: workload.kind.clone(),
        name: workload.name.clone(),
    }
}

/// A workload as it was read on the way to it.
fn seen<'a>(view: &'a View, workload: &ObjectReference) -> Option<&'a Value> {
    let group = actor::binding::targets::group_of(&workload.api_version);
    match view.object(group, &workload.kind, &workload.name) {
        Ok(Seen::Objects(objects)) => objects.first(),
        Ok(Seen::NotServed) | Err(_) => None,
    }
}
