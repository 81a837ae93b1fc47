//! The next step for an existing workload with the strategy Inject.
//!
//! The applied state is not kept in memory: the reason and observed generation of the condition `Ready`
//! and the uid in the status record it. So a restarted provider continues where it stopped, and counts a
//! conflict only where fields were known to be applied.

use std::time::Duration;

use actor::binding::{AtProvider, reason};
use actor::managed::Condition;
use jiff::Timestamp;

use super::conflicts::Conflicts;
use super::field_ownership::FieldOwnership;
use crate::timings::Timings;

/// Reasons of `Ready` that are set only after the template was applied.
const APPLIED: [&str; 3] = [reason::AVAILABLE, reason::CONFLICT, reason::GAVE_UP];

/// Inputs of the decision.
#[derive(Debug, Clone, Copy)]
pub struct DecideInput<'a> {
    /// Generation of the binding.
    pub generation: Option<i64>,
    /// True if the provider may change the workload.
    pub may_update: bool,
    /// The last status of this target.
    pub before: &'a AtProvider,
    /// The last condition `Ready`.
    pub ready: Option<&'a Condition>,
    /// Uid of the workload.
    pub uid: &'a str,
    /// Fields of the intent that are still owned.
    pub ownership: &'a FieldOwnership,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Everything is injected.
    NoOp,
    /// Something is not injected, and management policies do not allow to change that.
    ObserveOnly,
    /// Apply the intent.
    Apply,
    /// Apply it again after this time, since another controller has removed fields.
    Wait(Duration),
    /// Do nothing until the spec changes, since another controller removes fields every time.
    GiveUp,
}

/// The next step, and the conflicts that count from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The next step.
    pub step: Step,
    /// The conflicts.
    pub conflicts: Conflicts,
}

/// Decides the next step.
pub fn decide(input: &DecideInput, now: Timestamp, timings: &Timings) -> Decision {
    let reported = Conflicts::reported(input.before);
    let current = input
        .ready
        .filter(|ready| ready.observed_generation == input.generation);
    let is_same = current.is_some() && input.before.uid.as_deref() == Some(input.uid);
    let conflicts = if is_same {
        reported.at(now, timings)
    } else {
        reported.reset()
    };
    let and = |step| Decision { step, conflicts };
    if !input.may_update {
        return and(if input.ownership.is_complete() {
            Step::NoOp
        } else {
            Step::ObserveOnly
        });
    }
    let last_reason = current.map(|ready| ready.reason.as_str());
    let was_applied = last_reason.is_some_and(|reason| APPLIED.contains(&reason));
    if is_same && conflicts.are_too_many() {
        return and(if input.ownership.is_complete() {
            Step::NoOp
        } else {
            Step::GiveUp
        });
    }
    if !is_same || !was_applied {
        return and(Step::Apply);
    }
    if input.ownership.is_complete() {
        return and(Step::NoOp);
    }
    if last_reason == Some(reason::CONFLICT) {
        let wait = conflicts.wait(now, timings);
        return and(wait.map_or(Step::Apply, Step::Wait));
    }
    conflict(conflicts, now, timings)
}

/// The decision where owned fields were removed; `before` are the conflicts before that.
pub fn conflict(before: Conflicts, now: Timestamp, timings: &Timings) -> Decision {
    let conflicts = before.and_one(now, timings);
    let step = if conflicts.are_too_many() {
        Step::GiveUp
    } else {
        Step::Wait(conflicts.wait(now, timings).unwrap_or_default())
    };
    Decision { step, conflicts }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten minutes after the last conflict of [`before`].
    const NOW: &str = "2026-01-01T00:10:00Z";

    fn ready(reason: &str, generation: i64) -> Condition {
        Condition {
            type_: "Ready".to_owned(),
            status: "Any".to_owned(),
            reason: reason.to_owned(),
            message: None,
            last_transition_time: NOW.to_owned(),
            observed_generation: Some(generation),
        }
    }

    fn before(count: u32, uid: &str) -> AtProvider {
        AtProvider {
            uid: Some(uid.to_owned()),
            conflict_count: Some(count),
            last_conflict_time: Some("2026-01-01T00:00:00Z".to_owned()),
            ..AtProvider::default()
        }
    }

    /// The case, the condition `Ready` with its generation, conflicts so far and whether everything is
    /// owned; then the step for generation 2, and how many conflicts count.
    const CASES: &str = "
        a new binding                    | -                | 0 | lost  | Apply     | 0
        everything is owned              | Available 2      | 2 | owned | NoOp      | 2
        the first removal                | Available 2      | 0 | lost  | Wait(10s) | 1
        the third removal                | Available 2      | 2 | lost  | Wait(40s) | 3
        the sixth removal                | Available 2      | 5 | lost  | GiveUp    | 6
        the backoff has passed           | Conflict 2       | 1 | lost  | Apply     | 1
        the owner has restored it        | Conflict 2       | 1 | owned | NoOp      | 1
        given up                         | GaveUp 2         | 6 | lost  | GiveUp    | 6
        given up, and restored by hand   | GaveUp 2         | 6 | owned | NoOp      | 6
        given up, and the target missing | TargetNotFound 2 | 6 | lost  | GiveUp    | 6
        a new spec                       | Available 1      | 3 | owned | Apply     | 0
        a new spec after giving up       | GaveUp 1         | 6 | lost  | Apply     | 0
        a taken field may be free        | FieldTaken 2     | 1 | lost  | Apply     | 1
        the other actor may be deleted   | AlreadyBound 2   | 0 | lost  | Apply     | 0
        the right may have been granted  | Forbidden 2      | 0 | lost  | Apply     | 0
        it was only observed             | Creating 2       | 0 | lost  | Apply     | 0
    ";

    #[test]
    fn only_removal_of_owned_fields_is_a_conflict() {
        let now = NOW.parse().unwrap();
        let timings = Timings::default();
        for case in CASES.trim().lines() {
            let [case_name, ready_text, count, fields, step, counted] =
                case.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("{case}");
            };
            let last = ready_text.split_once(' ');
            let ready = last.map(|(reason, generation)| ready(reason, generation.parse().unwrap()));
            let is_complete = fields == "owned";
            let missing = if is_complete {
                vec![]
            } else {
                vec!["spec".to_owned()]
            };
            let ownership = FieldOwnership {
                missing,
                other_manager: None,
            };
            let input = DecideInput {
                generation: Some(2),
                may_update: true,
                before: &before(count.parse().unwrap(), "u"),
                ready: ready.as_ref(),
                uid: "u",
                ownership: &ownership,
            };
            let found = decide(&input, now, &timings);
            assert_eq!(format!("{:?}", found.step), step, "{case_name}");
            assert_eq!(found.conflicts.count.to_string(), counted, "{case_name}");

            let may_update = false;
            let observing = decide(
                &DecideInput {
                    may_update,
                    ..input
                },
                now,
                &timings,
            );
            let expected = if is_complete {
                Step::NoOp
            } else {
                Step::ObserveOnly
            };
            assert_eq!(observing.step, expected, "{case_name}, without Update");

            let uid = "another";
            let replaced = decide(&DecideInput { uid, ..input }, now, &timings);
            let found = (replaced.step, replaced.conflicts.count);
            assert_eq!(found, (Step::Apply, 0), "{case_name}, on another object");
        }
    }

    #[test]
    fn a_removed_template_is_applied_after_the_backoff() {
        let ownership = FieldOwnership {
            missing: vec!["spec.template".to_owned()],
            other_manager: None,
        };
        let last = ready("Conflict", 2);
        let input = DecideInput {
            generation: Some(2),
            may_update: true,
            before: &before(4, "u"),
            ready: Some(&last),
            uid: "u",
            ownership: &ownership,
        };
        let soon = "2026-01-01T00:01:00Z".parse().unwrap();
        let decision = decide(&input, soon, &Timings::default());
        assert_eq!(decision.step, Step::Wait(Duration::from_secs(20)));
        assert_eq!(decision.conflicts.count, 4, "one removal is counted once");
    }
}
