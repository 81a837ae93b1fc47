//! Conditions of managed objects, and how they change.

use actor::binding::reason::RESOLVED;
use actor::binding::{GRACE_PERIOD_TOO_SHORT, TARGET_RESOLVED};
use actor::health::ENVIRONMENT_WATCHED;
use actor::managed::{Condition, READY, SYNCED};
use actor::queue::{DRIFTED, FLAGS, NO_CONSUMER, PASSWORD_NOT_URL_SAFE, POLICY_SHADOWED};
use jiff::Timestamp;

use crate::text;

/// Longest message of a condition, in characters.
const MESSAGE_MAX: usize = 4096;

/// A new value of one condition, without time and generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionUpdate {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: Option<String>,
}

impl ConditionUpdate {
    /// The queue can be used.
    pub fn available() -> Self {
        Self {
            type_: READY,
            status: "True",
            reason: "Available",
            message: None,
        }
    }

    /// The queue is being created.
    pub fn creating() -> Self {
        Self {
            type_: READY,
            status: "False",
            reason: "Creating",
            message: None,
        }
    }

    /// The queue is being deleted.
    pub fn deleting(message: Option<String>) -> Self {
        Self {
            type_: READY,
            status: "False",
            reason: "Deleting",
            message,
        }
    }

    /// The queue exists and cannot be used.
    pub fn unavailable(message: String) -> Self {
        Self {
            type_: READY,
            status: "False",
            reason: "Unavailable",
            message: Some(message),
        }
    }

    /// The object cannot be used; `reason` is one of its kind's reasons.
    pub fn unready(reason: &'static str, message: String) -> Self {
        Self {
            reason,
            ..Self::unavailable(message)
        }
    }

    /// The target of a binding exists.
    pub fn resolved() -> Self {
        Self {
            type_: TARGET_RESOLVED,
            status: "True",
            reason: RESOLVED,
            message: None,
        }
    }

    /// The target of a binding, or its workload, is missing.
    pub fn unresolved(reason: &'static str, message: String) -> Self {
        Self {
            type_: TARGET_RESOLVED,
            status: "False",
            reason,
            message: Some(message),
        }
    }

    /// `TargetFound` Unknown: the provider cannot read whether the target exists.
    pub fn target_unknown(reason: &'static str, message: String) -> Self {
        Self {
            status: "Unknown",
            ..Self::unresolved(reason, message)
        }
    }

    /// The last reconcile succeeded.
    pub fn synced() -> Self {
        Self {
            type_: SYNCED,
            status: "True",
            reason: "ReconcileSuccess",
            message: None,
        }
    }

    /// The last reconcile failed; `reason` is `ReconcileError` or a more specific one.
    pub fn failed(reason: &'static str, message: String) -> Self {
        Self {
            type_: SYNCED,
            status: "False",
            reason,
            message: Some(message),
        }
    }

    /// Reconciliation is paused.
    pub fn paused() -> Self {
        let message = "reconciliation is paused: remove the annotation crossplane.io/paused, or give \
                       `spec.managementPolicies` a value, to go on";
        Self {
            type_: SYNCED,
            status: "False",
            reason: "ReconcilePaused",
            message: Some(message.to_owned()),
        }
    }

    /// `Drifted`: settings of the queue differ that cannot or must not be changed.
    pub fn drifted(message: Option<String>) -> Self {
        Self::flag(DRIFTED, "ImmutableDifference", "NoDifference", message)
    }

    /// `Shadowed`: another policy of the broker shadows ours, or ours shadows another.
    pub fn shadowed(message: Option<String>) -> Self {
        Self::flag(POLICY_SHADOWED, "AnotherPolicy", "NoOtherPolicy", message)
    }

    /// `PasswordNotUrlSafe`: the password must be percent-encoded in a URL.
    pub fn password_not_url_safe(message: Option<String>) -> Self {
        let type_ = PASSWORD_NOT_URL_SAFE;
        Self::flag(type_, "ReservedCharacter", "NoReservedCharacter", message)
    }

    /// The actor is informed of changed EnvironmentConfigs.
    pub fn environment_watched() -> Self {
        Self {
            type_: ENVIRONMENT_WATCHED,
            status: "True",
            reason: "Watching",
            message: None,
        }
    }

    /// The actor is not informed of changed EnvironmentConfigs.
    pub fn environment_not_watched(reason: &'static str, message: String) -> Self {
        Self {
            type_: ENVIRONMENT_WATCHED,
            status: "False",
            reason,
            message: Some(message),
        }
    }

    /// `NoConsumer`: messages wait, and no ready pod consumes them.
    pub fn no_consumer(message: Option<String>) -> Self {
        Self::flag(NO_CONSUMER, "NotConsumed", "Consumed", message)
    }

    /// `GracePeriodTooShort`: pods of a binding's target can be killed during a call.
    pub fn grace_period_too_short(message: Option<String>) -> Self {
        let type_ = GRACE_PERIOD_TOO_SHORT;
        Self::flag(type_, "BelowRuntimeTimeout", "LongEnough", message)
    }

    fn flag(
        type_: &'static str,
        raised: &'static str,
        lowered: &'static str,
        message: Option<String>,
    ) -> Self {
        let (status, reason) = if message.is_some() {
            ("True", raised)
        } else {
            ("False", lowered)
        };
        Self {
            type_,
            status,
            reason,
            message,
        }
    }

    /// Returns whether this lowers a flag, a condition that few objects ever have.
    fn is_lowered_flag(&self) -> bool {
        let is_flag = FLAGS.contains(&self.type_)
            || [NO_CONSUMER, GRACE_PERIOD_TOO_SHORT].contains(&self.type_);
        self.status == "False" && is_flag
    }
}

/// Sets a condition. An equal condition keeps its time; a flag that was never raised is not added.
pub fn set(
    conditions: &mut Vec<Condition>,
    update: ConditionUpdate,
    generation: Option<i64>,
    now: Timestamp,
) {
    let update = ConditionUpdate {
        message: update
            .message
            .map(|message| text::clean(&message, MESSAGE_MAX)),
        ..update
    };
    let found = conditions
        .iter_mut()
        .find(|condition| condition.type_ == update.type_);
    if found.is_none() && update.is_lowered_flag() {
        return;
    }
    let is_equal = found.as_ref().is_some_and(|found| {
        found.status == update.status
            && found.reason == update.reason
            && found.message == update.message
    });
    if is_equal {
        if let Some(found) = found {
            found.observed_generation = generation;
        }
        return;
    }
    let condition = Condition {
        type_: update.type_.to_owned(),
        status: update.status.to_owned(),
        reason: update.reason.to_owned(),
        message: update.message,
        last_transition_time: format!("{now:.0}"),
        observed_generation: generation,
    };
    match found {
        Some(found) => *found = condition,
        None => conditions.push(condition),
    }
}

/// Returns whether the condition of this type is `True`.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    conditions
        .iter()
        .any(|condition| condition.type_ == type_ && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u32) -> Timestamp {
        format!("2026-01-01T00:00:{second:02}Z").parse().unwrap()
    }

    #[test]
    fn last_transition_time_changes_only_with_the_condition() {
        let mut conditions = Vec::new();
        set(&mut conditions, ConditionUpdate::synced(), Some(1), at(1));
        let first = conditions.clone();
        set(&mut conditions, ConditionUpdate::synced(), Some(1), at(2));
        assert_eq!(conditions, first, "the same again");
        set(
            &mut conditions,
            ConditionUpdate::failed("ReconcileError", "no".to_owned()),
            Some(1),
            at(3),
        );
        assert_eq!(conditions[0].last_transition_time, "2026-01-01T00:00:03Z");
        set(
            &mut conditions,
            ConditionUpdate::failed("ReconcileError", "no".to_owned()),
            Some(2),
            at(4),
        );
        assert_eq!(
            conditions[0].last_transition_time, "2026-01-01T00:00:03Z",
            "generation only"
        );
        assert_eq!(conditions[0].observed_generation, Some(2));
        set(
            &mut conditions,
            ConditionUpdate::available(),
            Some(2),
            at(5),
        );
        assert_eq!(conditions.len(), 2);
        assert!(is_true(&conditions, READY) && !is_true(&conditions, SYNCED));
    }

    #[test]
    fn a_flag_is_added_only_when_it_is_raised() {
        let mut conditions = Vec::new();
        set(&mut conditions, ConditionUpdate::drifted(None), None, at(1));
        assert!(conditions.is_empty());
        set(
            &mut conditions,
            ConditionUpdate::drifted(Some("type".to_owned())),
            None,
            at(2),
        );
        assert!(is_true(&conditions, DRIFTED));
        set(&mut conditions, ConditionUpdate::drifted(None), None, at(3));
        assert_eq!(conditions[0].status, "False");
    }
}
