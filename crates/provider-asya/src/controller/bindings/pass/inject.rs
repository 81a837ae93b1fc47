//! The second half of a pass, where the strategy is to inject.

use std::time::Duration;

use actor::binding::{AtProvider, CONFLICTS_MAX, ObjectReference, reason};
use actor::managed::{FINALIZER, READY};
use jiff::Timestamp;
use serde_json::Value;

use super::{Pass, Stop, condition};
use crate::binding::conflicts::Conflicts;
use crate::binding::decide::{self, Decision, Facts, Step};
use crate::binding::rollout;
use crate::binding::standing::Standing;
use crate::conditions::Statement;
use crate::controller::events::Severity;
use crate::controller::writes;
use crate::policies::Policies;
use crate::requeue::Next;
use crate::resolve::View;

impl Pass<'_> {
    /// Adds the template to a workload, or sees that it is there.
    pub(super) async fn inject(
        &mut self,
        policies: &Policies,
        workload: &ObjectReference,
        mut view: View,
        before: &AtProvider,
    ) -> Result<Next, Stop> {
        let mut live = self.workload(workload, &mut view).await?;
        let uid = text(&live, "uid");
        let intent = self.addition().to(workload, &uid);
        let mut standing = Standing::read(&live, &self.manager, &intent);
        let timings = self.context.provider.timings.clone();
        let facts = Facts {
            generation: self.binding.metadata.generation,
            may_update: policies.may_update(),
            before,
            ready: condition(&self.old.conditions, READY),
            uid: &uid,
            standing: &standing,
        };
        let mut decision = decide::decide(&facts, Timestamp::now(), &timings);
        self.report_conflicts(&uid, decision.conflicts, &standing);
        if decision.step == Step::Apply {
            self.freshen().await?;
            self.hold().await?;
            let changed = self.applier().apply(workload, &intent).await?;
            self.tell_of(workload, &live, &changed);
            live = changed;
            standing = Standing::read(&live, &self.manager, &intent);
            decision.step = Step::Rest;
            if !standing.is_whole() {
                // Something takes it out on the way in, such as an admission.
                decision = decide::lost(decision.conflicts, Timestamp::now(), &timings);
            }
            self.report_conflicts(&uid, decision.conflicts, &standing);
        }
        self.say(Statement::synced());
        let is_rolled_out = self.report_rollout(&uid, &live, &standing, before);
        self.conclude(&decision, workload, &standing);
        Ok(match decision.step {
            Step::Wait(wait) => Next::After(wait),
            Step::Rest if !is_rolled_out => Next::After(timings.rollout_look),
            Step::Rest => self.look_again(&uid, decision.conflicts),
            Step::Look | Step::GiveUp | Step::Apply => Next::After(timings.bound_look),
        })
    }

    /// Puts the finalizer on the object, before there is anything to take away.
    async fn hold(&mut self) -> Result<(), Stop> {
        let held = writes::finalizer(&self.api, &self.binding, FINALIZER, true).await?;
        if let Some(held) = held {
            self.binding = held;
        }
        Ok(())
    }

    /// Says what follows from the decision.
    fn conclude(&mut self, decision: &Decision, workload: &ObjectReference, standing: &Standing) {
        let timings = &self.context.provider.timings;
        let other = match &standing.other {
            Some(manager) => format!("field manager {manager:?}"),
            None => "another controller".to_owned(),
        };
        let count = decision.conflicts.count;
        match decision.step {
            Step::Rest | Step::Apply => self.say(Statement::available()),
            Step::Look => self.say(Statement::unready(
                reason::CREATING,
                format!(
                    "nothing is added to {workload}: `spec.managementPolicies` has no \"Update\""
                ),
            )),
            Step::Wait(_) => {
                let after = decision.conflicts.backoff(timings);
                let message = format!(
                    "{other} removed what was added to {workload}: it is put back {} s later, {count} of {CONFLICTS_MAX} times",
                    after.as_secs_f64()
                );
                self.warn(reason::CONFLICT, message);
            }
            Step::GiveUp => {
                let message = format!(
                    "{other} removed what was added to {workload} {count} times, and nothing is done until the spec changes: use binding.strategy Adapter, or have that controller leave the pod template alone"
                );
                self.warn(reason::GAVE_UP, message);
            }
        }
    }

    fn report_conflicts(&mut self, uid: &str, conflicts: Conflicts, standing: &Standing) {
        let known = &mut self.status.at_provider;
        known.uid = Some(uid.to_owned());
        known.observed_manager.clone_from(&standing.other);
        known.conflict_count = Some(conflicts.count);
        known.last_conflict_time = conflicts.last.map(|time| format!("{time:.0}"));
    }

    /// Reports for which generation every pod has the template, and whether that is the
    /// present one.
    fn report_rollout(
        &mut self,
        uid: &str,
        live: &Value,
        standing: &Standing,
        before: &AtProvider,
    ) -> bool {
        let is_same = before.uid.as_deref() == Some(uid);
        let is_done = standing.is_whole() && rollout::is_done(live);
        self.status.at_provider.rolled_out_generation = if is_done {
            self.binding.metadata.generation
        } else {
            before
                .rolled_out_generation
                .filter(|_| is_same && standing.is_whole())
        };
        is_done
    }

    /// When to look again at a workload in which everything stands.
    fn look_again(&self, uid: &str, conflicts: Conflicts) -> Next {
        let timings = &self.context.provider.timings;
        let marks = &self.context.marks;
        let poll = if marks.follows(&self.namespace, &self.spec().actor, uid) {
            timings.poll
        } else {
            timings.bound_look
        };
        let forgotten = conflicts.forgotten_in(Timestamp::now(), timings);
        match forgotten {
            Some(forgotten) if forgotten < poll => Next::After(forgotten + Duration::from_secs(1)),
            _ if poll == timings.poll => Next::Poll,
            _ => Next::After(poll),
        }
    }

    fn tell_of(&mut self, workload: &ObjectReference, before: &Value, after: &Value) {
        let generation = |workload: &Value| workload["metadata"]["generation"].as_i64();
        if generation(before) != generation(after) {
            self.has_changed = true;
            let message = format!("added adapter and sidecar to {workload}");
            self.tell_later(Severity::Normal, "Bound", message);
        }
    }
}

fn text(live: &Value, field: &str) -> String {
    let text = live["metadata"][field].as_str();
    text.unwrap_or_default().to_owned()
}
