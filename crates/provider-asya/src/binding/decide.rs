//! What a pass does with a workload that is there, where the strategy is to inject.
//!
//! What was applied and when is not remembered by the process: the condition `Ready`
//! tells it, by its reason and the generation that it speaks of, and so does the uid
//! beside it. So a provider that was restarted goes on where it stopped, and counts as a
//! conflict only what it knows to have stood.

use std::time::Duration;

use actor::binding::{AtProvider, reason};
use actor::managed::Condition;
use jiff::Timestamp;

use super::conflicts::Conflicts;
use super::standing::Standing;
use crate::timings::Timings;

/// Reasons of `Ready` that are said only after the template was applied.
const APPLIED: [&str; 3] = [reason::AVAILABLE, reason::CONFLICT, reason::GAVE_UP];

/// What is known.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Generation of the binding.
    pub generation: Option<i64>,
    /// Whether the provider may change the workload.
    pub may_update: bool,
    /// What was reported of this target last.
    pub before: &'a AtProvider,
    /// What was said of it last.
    pub ready: Option<&'a Condition>,
    /// Uid of the workload.
    pub uid: &'a str,
    /// What stands in it.
    pub standing: &'a Standing,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing: all of it stands.
    Rest,
    /// Nothing: it does not stand, and the provider may not change that.
    Look,
    /// Apply it.
    Apply,
    /// Put it back after this time, for another controller has removed it.
    Wait(Duration),
    /// Nothing until the spec changes, for another controller removes it every time.
    GiveUp,
}

/// What to do, and the conflicts that count from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub step: Step,
    /// The conflicts.
    pub conflicts: Conflicts,
}

/// Decides.
pub fn decide(facts: &Facts, now: Timestamp, timings: &Timings) -> Decision {
    let reported = Conflicts::reported(facts.before);
    let said_of_this = facts
        .ready
        .filter(|ready| ready.observed_generation == facts.generation);
    let is_same = said_of_this.is_some() && facts.before.uid.as_deref() == Some(facts.uid);
    let conflicts = if is_same {
        reported.at(now, timings)
    } else {
        reported.anew()
    };
    let and = |step| Decision { step, conflicts };
    if !facts.may_update {
        return and(if facts.standing.is_whole() {
            Step::Rest
        } else {
            Step::Look
        });
    }
    let said = said_of_this.map(|ready| ready.reason.as_str());
    let was_applied = said.is_some_and(|reason| APPLIED.contains(&reason));
    if is_same && conflicts.are_too_many() {
        return and(if facts.standing.is_whole() {
            Step::Rest
        } else {
            Step::GiveUp
        });
    }
    if !is_same || !was_applied {
        return and(Step::Apply);
    }
    if facts.standing.is_whole() {
        return and(Step::Rest);
    }
    if said == Some(reason::CONFLICT) {
        let wait = conflicts.wait(now, timings);
        return and(wait.map_or(Step::Apply, Step::Wait));
    }
    lost(conflicts, now, timings)
}

/// What follows where something was removed that stood, with the conflicts before that.
pub fn lost(before: Conflicts, now: Timestamp, timings: &Timings) -> Decision {
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

    /// The case, what `Ready` said of which generation, conflicts so far and whether all of
    /// it stands; then what is done with generation 2, and how many conflicts count.
    const CASES: &str = "
        a new binding                    | -                | 0 | lost  | Apply     | 0
        it stands                        | Available 2      | 2 | whole | Rest      | 2
        the first loss                   | Available 2      | 0 | lost  | Wait(10s) | 1
        the third loss                   | Available 2      | 2 | lost  | Wait(40s) | 3
        the sixth loss                   | Available 2      | 5 | lost  | GiveUp    | 6
        it is time                       | Conflict 2       | 1 | lost  | Apply     | 1
        the owner put it back            | Conflict 2       | 1 | whole | Rest      | 1
        given up                         | GaveUp 2         | 6 | lost  | GiveUp    | 6
        given up, and put back by hand   | GaveUp 2         | 6 | whole | Rest      | 6
        given up, and gone for a while   | TargetNotFound 2 | 6 | lost  | GiveUp    | 6
        a new spec                       | Available 1      | 3 | whole | Apply     | 0
        a new spec after giving up       | GaveUp 1         | 6 | lost  | Apply     | 0
        a taken field may be free        | FieldTaken 2     | 1 | lost  | Apply     | 1
        the other actor may be gone      | AlreadyBound 2   | 0 | lost  | Apply     | 0
        the right may have been granted  | Forbidden 2      | 0 | lost  | Apply     | 0
        it was only looked at            | Creating 2       | 0 | lost  | Apply     | 0
    ";

    #[test]
    fn what_stood_and_is_gone_is_a_conflict_and_nothing_else_is() {
        let now = NOW.parse().unwrap();
        let timings = Timings::default();
        for case in CASES.trim().lines() {
            let [reason, said, count, stands, step, counted] =
                case.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("{case}");
            };
            let said = said.split_once(' ');
            let ready = said.map(|(reason, generation)| ready(reason, generation.parse().unwrap()));
            let is_whole = stands == "whole";
            let missing = if is_whole {
                vec![]
            } else {
                vec!["spec".to_owned()]
            };
            let standing = Standing {
                missing,
                other: None,
            };
            let facts = Facts {
                generation: Some(2),
                may_update: true,
                before: &before(count.parse().unwrap(), "u"),
                ready: ready.as_ref(),
                uid: "u",
                standing: &standing,
            };
            let found = decide(&facts, now, &timings);
            assert_eq!(format!("{:?}", found.step), step, "{reason}");
            assert_eq!(found.conflicts.count.to_string(), counted, "{reason}");

            let may_update = false;
            let looking = decide(
                &Facts {
                    may_update,
                    ..facts
                },
                now,
                &timings,
            );
            let expected = if is_whole { Step::Rest } else { Step::Look };
            assert_eq!(looking.step, expected, "{reason}, without Update");

            let uid = "another";
            let anew = decide(&Facts { uid, ..facts }, now, &timings);
            let found = (anew.step, anew.conflicts.count);
            assert_eq!(found, (Step::Apply, 0), "{reason}, on another object");
        }
    }

    #[test]
    fn what_is_to_be_put_back_waits_its_time() {
        let standing = Standing {
            missing: vec!["spec.template".to_owned()],
            other: None,
        };
        let said = ready("Conflict", 2);
        let facts = Facts {
            generation: Some(2),
            may_update: true,
            before: &before(4, "u"),
            ready: Some(&said),
            uid: "u",
            standing: &standing,
        };
        let soon = "2026-01-01T00:01:00Z".parse().unwrap();
        let decision = decide(&facts, soon, &Timings::default());
        assert_eq!(decision.step, Step::Wait(Duration::from_secs(20)));
        assert_eq!(decision.conflicts.count, 4, "one loss is counted once");
    }
}
