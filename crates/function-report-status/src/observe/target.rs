//! The workload that an actor in mode Binding works on.

use actor::binding::{
    AtProvider, GRACE_PERIOD_TOO_SHORT, ObjectReference, Strategy, TARGET_RESOLVED, reason,
};
use function_kit::value;
use pbjson_types::Struct;

use super::Problem;
use super::condition::Condition;

/// Reasons for which a binding is not ready though nothing is wrong with it. Why the
/// target is not found, condition `TargetResolved` reports it.
const IN_PROGRESS: [&str; 5] = [
    reason::CREATING,
    reason::CONFLICT,
    reason::TARGET_NOT_FOUND,
    reason::KIND_NOT_SERVED,
    reason::NO_WORKLOAD,
];
/// Generic reasons, which add nothing to their message.
const UNSPECIFIC_REASONS: [&str; 6] = [
    "ReconcileError",
    reason::ALREADY_BOUND,
    reason::FIELD_TAKEN,
    reason::FORBIDDEN,
    reason::GAVE_UP,
    reason::REFUSED,
];

/// State of the target, as the observed `WorkloadBinding` reports it.
#[derive(Debug, Default)]
pub(crate) struct Target {
    /// The workload that was found.
    pub(crate) resolved: Option<ObjectReference>,
    /// Problem of a target that does not exist, or no longer does.
    pub(crate) absence: Option<Problem>,
    /// Problem for which nothing can be added to it.
    pub(crate) problem: Option<Problem>,
    /// Message about containers that another controller removed and the provider injects again.
    pub(crate) conflict: Option<String>,
    /// Message if its pods can be killed while they work.
    pub(crate) grace_period: Option<String>,
    /// True if its pods are being replaced by pods with the present sidecar.
    pub(crate) rolls_out: bool,
    /// Number of times that another controller removed injected containers.
    pub(crate) conflict_count: Option<u32>,
    /// Time of the last conflict, RFC 3339.
    pub(crate) last_conflict_time: Option<String>,
}

impl Target {
    /// Reads the binding of an actor that is to be bound to `wanted`. Its report on another target,
    /// from before a change, is ignored.
    pub(super) fn read(object: &Struct, wanted: &ObjectReference) -> Self {
        let known = at_provider(object).about(wanted);
        let unready = Condition::of(object, "Ready").filter(|ready| ready.status == Some(false));
        let unsynced = Condition::of(object, "Synced")
            .filter(|synced| synced.status == Some(false) && synced.reason != "ReconcilePaused");
        let absence = Condition::of(object, TARGET_RESOLVED)
            .filter(|resolved| resolved.status == Some(false))
            .map(|resolved| Problem {
                reason: resolved.reason.to_owned(),
                message: resolved.summary(&[
                    reason::TARGET_NOT_FOUND,
                    reason::KIND_NOT_SERVED,
                    reason::NO_WORKLOAD,
                ]),
            });
        // The reason for not being ready is more specific than a failed reconcile.
        let problem = unready
            .filter(|unready| !IN_PROGRESS.contains(&unready.reason))
            .or_else(|| unsynced.filter(|_| absence.is_none()))
            .map(|condition| Problem {
                reason: condition.reason.to_owned(),
                message: format!(
                    "binding to {wanted}: {}",
                    condition.summary(&UNSPECIFIC_REASONS)
                ),
            });
        let conflict = unready
            .filter(|unready| unready.reason == reason::CONFLICT)
            .map(|conflict| {
                format!(
                    "binding to {wanted}: {}",
                    conflict.summary(&[reason::CONFLICT])
                )
            });
        Self {
            rolls_out: rolls_out(object, &known),
            resolved: known.resolved_target,
            absence,
            problem,
            conflict,
            grace_period: Condition::of(object, GRACE_PERIOD_TOO_SHORT)
                .filter(|condition| condition.status == Some(true))
                .map(|condition| condition.summary(&[condition.reason])),
            conflict_count: known.conflict_count,
            last_conflict_time: known.last_conflict_time,
        }
    }
}

/// Returns whether the provider knows pods that have an earlier template.
fn rolls_out(object: &Struct, known: &AtProvider) -> bool {
    let strategy = value::text(object, &["spec", "forProvider", "strategy"]);
    let generation = value::integer(object, &["metadata", "generation"]);
    let done = known.rolled_out_generation;
    strategy == Some(Strategy::Inject.as_str()) && done.is_some() && done < generation
}

/// Returns the provider's report; empty if it has another form, since an incomplete status is better than
/// none.
fn at_provider(object: &Struct) -> AtProvider {
    let reported = value::map(object, &["status", "atProvider"]);
    reported
        .and_then(|reported| serde_json::from_value(value::struct_to_json(reported)).ok())
        .unwrap_or_default()
}
