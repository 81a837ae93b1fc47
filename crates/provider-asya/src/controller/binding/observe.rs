//! The first half of a reconcile: resolve the target, clean up other workloads, report what was found.

use actor::binding::{AtProvider, ObjectReference, Strategy};
use actor::managed::{FINALIZER, READY};
use kube::ResourceExt as _;
use serde_json::Value;

use super::apply::ApplyError;
use super::reconcile::{EarlyExit, Reconciler};
use super::targets;
use crate::binding::refusal::Refusal;
use crate::binding::{field_ownership, rollout, scalers};
use crate::conditions::ConditionUpdate;
use crate::policies::Policies;
use crate::requeue::Requeue;
use crate::resolve::{self, Query, QueryResult, QueryResults, Resolved, Unresolved};

/// Most queries for one target.
const QUERIES_MAX: usize = 16;

/// Result of resolving the target.
enum Found {
    /// A workload, and what was read for it.
    Resolved(Box<Resolved>, QueryResults),
    /// No workload; reason and message of the condition.
    Missing(&'static str, String),
}

impl Reconciler<'_> {
    /// Reconciles an object that is not being deleted.
    pub(super) async fn observe(&mut self, policies: &Policies) -> Result<Requeue, EarlyExit> {
        let target = self.spec().target_ref.clone();
        let before = self.managed.status.at_provider.clone().about(&target);
        let found = self.resolve(&target).await?;
        let injects = self.spec().strategy == Strategy::Inject;
        let keep = match &found {
            Found::Resolved(resolved, _) => Some(&resolved.workload),
            // It may only be replaced at the moment: what runs is kept until then.
            Found::Missing(..) => before.resolved_target.as_ref(),
        };
        if policies.may_update() {
            self.clean_up_others(keep.filter(|_| injects)).await?;
        }
        self.managed.status.at_provider = before.clone();
        let poll = self.context.provider.timings.target_poll_interval;
        let (resolved, results) = match found {
            Found::Resolved(resolved, results) => (resolved, results),
            Found::Missing(reason, message) => {
                let managed = &mut self.managed;
                managed.set_condition(ConditionUpdate::unresolved(reason, message.clone()));
                managed.set_condition(ConditionUpdate::unready(reason, message));
                managed.set_condition(ConditionUpdate::synced());
                return Ok(Requeue::After(poll));
            }
        };
        self.managed.set_condition(ConditionUpdate::resolved());
        self.report(&target, &resolved, &before);
        if injects {
            if let Err(why) = resolved.injection {
                return Err(Refusal::NotInjectable { target, why }.into());
            }
            return self
                .inject(policies, &resolved.workload, results, &before)
                .await;
        }
        self.managed
            .set_condition(ConditionUpdate::grace_period_too_short(None));
        self.managed.status.at_provider.rolled_out_generation =
            self.restored_generation(&resolved, &results, &before);
        self.managed.set_condition(ConditionUpdate::available());
        self.managed.set_condition(ConditionUpdate::synced());
        Ok(Requeue::After(poll))
    }

    async fn resolve(&mut self, target: &ObjectReference) -> Result<Found, EarlyExit> {
        let mut results = QueryResults::default();
        for _ in 0..QUERIES_MAX {
            match resolve::resolve(target, &results) {
                Ok(resolved) => return Ok(Found::Resolved(Box::new(resolved), results)),
                Err(Unresolved::Missing { reason, message }) => {
                    return Ok(Found::Missing(reason, message));
                }
                Err(Unresolved::Needs(query)) => {
                    let result = self.query(&query).await?;
                    results.put(query, result);
                }
            }
        }
        Err(EarlyExit::Invalid(format!(
            "the workload behind {target} is not found after {QUERIES_MAX} queries"
        )))
    }

    /// Runs a query. Without the right to, nothing is known of the target.
    async fn query(&mut self, query: &Query) -> Result<QueryResult, EarlyExit> {
        match self.context.targets.read(&self.namespace, query).await {
            Err(error) if targets::is_forbidden(&error) => {
                let (verb, group, kind) = match query {
                    Query::Object { group, kind, .. } => ("get", group, kind),
                    Query::Labelled { group, kind, .. } => ("list", group, kind),
                };
                let refusal = Refusal::forbidden(verb, group, kind, &self.namespace);
                let (reason, message) = (refusal.reason(), refusal.to_string());
                self.managed
                    .set_condition(ConditionUpdate::target_unknown(reason, message));
                Err(refusal.into())
            }
            result => Ok(result?),
        }
    }

    /// Removes what was injected into other workloads than the one to keep.
    ///
    /// The watch cache may be outdated just after a change of the spec, so the API server is asked then.
    async fn clean_up_others(&mut self, keep: Option<&ObjectReference>) -> Result<(), EarlyExit> {
        let actor = self.spec().actor.clone();
        let object = &self.managed.object;
        let old = self.managed.old_condition(READY);
        let is_settled =
            old.is_some_and(|old| old.observed_generation == object.metadata.generation);
        let cached = || self.context.bound_workloads.get(&self.namespace, &actor);
        let workloads = if is_settled {
            cached()
        } else {
            let has_finalizer = object.finalizers().iter().any(|name| name == FINALIZER);
            let last = self.managed.old.at_provider.resolved_target.as_ref();
            let last = last.filter(|_| has_finalizer);
            match self.applier().bound_workloads(&actor, last).await {
                // Without the right to list workloads, none was changed either.
                Err(ApplyError::Rejected(_)) => cached(),
                workloads => workloads?,
            }
        };
        let others: Vec<_> = workloads
            .into_iter()
            .filter(|bound| !keep.is_some_and(|keep| keep.is_same_object(&bound.workload)))
            .collect();
        self.remove_injected(&others).await
    }

    fn report(&mut self, target: &ObjectReference, resolved: &Resolved, before: &AtProvider) {
        let scale_target = resolved.scale.as_ref().ok().cloned();
        let objects = scale_target.iter().chain([&resolved.workload]);
        let objects: Vec<&ObjectReference> = objects.collect();
        let cache = &self.context.provider.watch_cache;
        let foreign_scaler = match cache.scalers(&self.namespace, &objects) {
            Some(scalers) => scalers::foreign(&self.spec().actor, objects, &scalers),
            None => before.foreign_scaler.clone(),
        };
        self.managed.status.at_provider = AtProvider {
            target_ref: Some(target.clone()),
            resolved_target: Some(resolved.workload.clone()),
            uid: Some(resolved.uid.clone()),
            pod_selector: resolved.pod_selector.clone(),
            target_url: resolved.url.clone(),
            foreign_scaler,
            not_scalable: resolved.scale.as_ref().err().cloned(),
            scale_target,
            // Conflicts stay as they are until the workload is read.
            ..if self.spec().strategy == Strategy::Inject {
                before.clone()
            } else {
                AtProvider::default()
            }
        };
    }

    /// The generation for which no pod of the workload has injected containers any more, as far as the
    /// workload was read.
    fn restored_generation(
        &self,
        resolved: &Resolved,
        results: &QueryResults,
        before: &AtProvider,
    ) -> Option<i64> {
        let is_clean = |workload: &Value| {
            let fields = &workload["metadata"]["managedFields"];
            !field_ownership::has_applied(fields, &self.manager) && rollout::is_done(workload)
        };
        if read_workload(results, &resolved.workload).is_some_and(is_clean) {
            return self.managed.object.metadata.generation;
        }
        before.rolled_out_generation
    }

    /// The whole workload.
    pub(super) async fn workload(
        &mut self,
        workload: &ObjectReference,
        results: &mut QueryResults,
    ) -> Result<Value, EarlyExit> {
        if read_workload(results, workload).is_none() {
            let query = query_for(workload);
            let result = self.query(&query).await?;
            results.put(query, result);
        }
        read_workload(results, workload)
            .cloned()
            .ok_or(EarlyExit::Stale)
    }
}

fn query_for(workload: &ObjectReference) -> Query {
    let group = actor::binding::targets::group_of(&workload.api_version);
    Query::Object {
        group: group.to_owned(),
        kind: workload.kind.clone(),
        name: workload.name.clone(),
    }
}

/// A workload that was read while the target was resolved.
fn read_workload<'a>(results: &'a QueryResults, workload: &ObjectReference) -> Option<&'a Value> {
    let group = actor::binding::targets::group_of(&workload.api_version);
    match results.object(group, &workload.kind, &workload.name) {
        Ok(QueryResult::Objects(objects)) => objects.first(),
        Ok(QueryResult::NotServed) | Err(_) => None,
    }
}
