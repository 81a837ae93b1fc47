//! The second half of a reconcile with the strategy Inject.

use std::time::Duration;

use actor::binding::{AtProvider, CONFLICTS_MAX, ObjectReference, reason};
use actor::managed::{FINALIZER, READY};
use jiff::Timestamp;
use serde_json::Value;

use super::reconcile::{EarlyExit, Reconciler};
use crate::binding::conflicts::Conflicts;
use crate::binding::decide::{self, DecideInput, Decision, Step};
use crate::binding::field_ownership::FieldOwnership;
use crate::binding::rollout;
use crate::conditions::ConditionUpdate;
use crate::controller::managed::events::Severity;
use crate::controller::managed::writes;
use crate::policies::Policies;
use crate::requeue::Requeue;
use crate::resolve::QueryResults;

impl Reconciler<'_> {
    /// Injects the template into a workload, where it is not injected.
    pub(super) async fn inject(
        &mut self,
        policies: &Policies,
        workload: &ObjectReference,
        mut results: QueryResults,
        before: &AtProvider,
    ) -> Result<Requeue, EarlyExit> {
        let mut live = self.workload(workload, &mut results).await?;
        let uid = text(&live, "uid");
        let intent = self.addition().intent(workload, &uid);
        let mut ownership = FieldOwnership::read(&live, &self.manager, &intent);
        let timings = self.context.provider.timings.clone();
        let input = DecideInput {
            generation: self.managed.object.metadata.generation,
            may_update: policies.may_update(),
            before,
            ready: self.managed.old_condition(READY),
            uid: &uid,
            ownership: &ownership,
        };
        let mut decision = decide::decide(&input, Timestamp::now(), &timings);
        self.report_conflicts(&uid, decision.conflicts, &ownership);
        if decision.step == Step::Apply {
            self.refresh().await?;
            self.add_finalizer().await?;
            let changed = self.applier().apply(workload, &intent).await?;
            self.add_bound_event(workload, &live, &changed);
            live = changed;
            ownership = FieldOwnership::read(&live, &self.manager, &intent);
            decision.step = Step::NoOp;
            if !ownership.is_complete() {
                // Something removes fields on the way in, such as an admission webhook.
                decision = decide::conflict(decision.conflicts, Timestamp::now(), &timings);
            }
            self.report_conflicts(&uid, decision.conflicts, &ownership);
        }
        self.managed.set_condition(ConditionUpdate::synced());
        let minimum = self.spec().minimum_grace_period_seconds;
        self.managed
            .set_condition(ConditionUpdate::grace_period_too_short(
                rollout::short_grace_period(&live, minimum),
            ));
        let is_rolled_out = self.report_rollout(&uid, &live, &ownership, before);
        self.report_decision(&decision, workload, &ownership);
        Ok(match decision.step {
            Step::Wait(wait) => Requeue::After(wait),
            Step::NoOp if !is_rolled_out => Requeue::After(timings.rollout_poll_interval),
            Step::NoOp => self.poll(&uid, decision.conflicts),
            Step::ObserveOnly | Step::GiveUp | Step::Apply => {
                Requeue::After(timings.target_poll_interval)
            }
        })
    }

    /// Adds the finalizer, before anything is injected.
    async fn add_finalizer(&mut self) -> Result<(), EarlyExit> {
        let managed = &mut self.managed;
        let added = writes::finalizer(&managed.api, &managed.object, FINALIZER, true).await?;
        if let Some(added) = added {
            managed.object = added;
        }
        Ok(())
    }

    /// Sets the condition that follows from the decision.
    fn report_decision(
        &mut self,
        decision: &Decision,
        workload: &ObjectReference,
        ownership: &FieldOwnership,
    ) {
        let timings = &self.context.provider.timings;
        let other = match &ownership.other_manager {
            Some(manager) => format!("field manager {manager:?}"),
            None => "another controller".to_owned(),
        };
        let count = decision.conflicts.count;
        match decision.step {
            Step::NoOp | Step::Apply => self.managed.set_condition(ConditionUpdate::available()),
            Step::ObserveOnly => self.managed.set_condition(ConditionUpdate::unready(
                reason::CREATING,
                format!(
                    "nothing is injected into {workload}: `spec.managementPolicies` has no \"Update\""
                ),
            )),
            Step::Wait(_) => {
                let after = decision.conflicts.backoff(timings);
                let message = format!(
                    "{other} removed what was injected into {workload}: it is injected again after {} s ({count} of {CONFLICTS_MAX} times)",
                    after.as_secs_f64()
                );
                self.warn(reason::CONFLICT, message);
            }
            Step::GiveUp => {
                let message = format!(
                    "{other} removed what was injected into {workload} {count} times, so nothing is injected until the spec changes: use binding.strategy Adapter, or configure that controller to leave the pod template alone"
                );
                self.warn(reason::GAVE_UP, message);
            }
        }
    }

    fn report_conflicts(&mut self, uid: &str, conflicts: Conflicts, ownership: &FieldOwnership) {
        let status = &mut self.managed.status.at_provider;
        status.uid = Some(uid.to_owned());
        status.observed_manager.clone_from(&ownership.other_manager);
        status.conflict_count = Some(conflicts.count);
        status.last_conflict_time = conflicts.last.map(|time| format!("{time:.0}"));
    }

    /// Reports for which generation every pod has the template, and returns whether that is the current
    /// one.
    fn report_rollout(
        &mut self,
        uid: &str,
        live: &Value,
        ownership: &FieldOwnership,
        before: &AtProvider,
    ) -> bool {
        let is_same = before.uid.as_deref() == Some(uid);
        let is_done = ownership.is_complete() && rollout::is_done(live);
        self.managed.status.at_provider.rolled_out_generation = if is_done {
            self.managed.object.metadata.generation
        } else {
            before
                .rolled_out_generation
                .filter(|_| is_same && ownership.is_complete())
        };
        is_done
    }

    /// Returns the time of the next poll of a workload into which everything is injected.
    fn poll(&self, uid: &str, conflicts: Conflicts) -> Requeue {
        let timings = &self.context.provider.timings;
        let cache = &self.context.bound_workloads;
        let poll = if cache.is_watched(&self.namespace, &self.spec().actor, uid) {
            timings.poll
        } else {
            timings.target_poll_interval
        };
        match conflicts.reset_in(Timestamp::now(), timings) {
            Some(reset) if reset < poll => Requeue::After(reset + Duration::from_secs(1)),
            _ if poll == timings.poll => Requeue::Poll,
            _ => Requeue::After(poll),
        }
    }

    fn add_bound_event(&mut self, workload: &ObjectReference, before: &Value, after: &Value) {
        let generation = |workload: &Value| workload["metadata"]["generation"].as_i64();
        if generation(before) != generation(after) {
            self.has_changed = true;
            let message = format!("injected adapter and sidecar into {workload}");
            self.managed.add_event(Severity::Normal, "Bound", message);
        }
    }
}

fn text(live: &Value, field: &str) -> String {
    let text = live["metadata"][field].as_str();
    text.unwrap_or_default().to_owned()
}
