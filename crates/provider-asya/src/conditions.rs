//! Conditions of an object: what is said, and whether saying it changes anything.

use actor::binding::TARGET_RESOLVED;
use actor::binding::reason::RESOLVED;
use actor::managed::{Condition, READY, SYNCED};
use actor::queue::{DRIFTED, FLAGS, PASSWORD_NOT_URL_SAFE, POLICY_SHADOWED};
use jiff::Timestamp;

/// A condition without its time and generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    type_: &'static str,
    status: &'static str,
    reason: &'static str,
    message: Option<String>,
}

impl Statement {
    /// The queue can be used.
    pub fn available() -> Self {
        Self {
            type_: READY,
            status: "True",
            reason: "Available",
            message: None,
        }
    }

    /// The queue was asked for.
    pub fn creating() -> Self {
        Self {
            type_: READY,
            status: "False",
            reason: "Creating",
            message: None,
        }
    }

    /// The queue is going.
    pub fn deleting(message: Option<String>) -> Self {
        Self {
            type_: READY,
            status: "False",
            reason: "Deleting",
            message,
        }
    }

    /// The queue is there and cannot be used.
    pub fn unavailable(message: String) -> Self {
        Self {
            type_: READY,
            status: "False",
            reason: "Unavailable",
            message: Some(message),
        }
    }

    /// It cannot be used, for a reason of its own kind.
    pub fn unready(reason: &'static str, message: String) -> Self {
        Self {
            reason,
            ..Self::unavailable(message)
        }
    }

    /// The target of a binding is there.
    pub fn resolved() -> Self {
        Self {
            type_: TARGET_RESOLVED,
            status: "True",
            reason: RESOLVED,
            message: None,
        }
    }

    /// The target of a binding, or what is behind it, is not there.
    pub fn unresolved(reason: &'static str, message: String) -> Self {
        Self {
            type_: TARGET_RESOLVED,
            status: "False",
            reason,
            message: Some(message),
        }
    }

    /// Nobody knows whether the target of a binding is there.
    pub fn unseen(reason: &'static str, message: String) -> Self {
        Self {
            status: "Unknown",
            ..Self::unresolved(reason, message)
        }
    }

    /// The last pass worked.
    pub fn synced() -> Self {
        Self {
            type_: SYNCED,
            status: "True",
            reason: "ReconcileSuccess",
            message: None,
        }
    }

    /// The last pass failed; `reason` is `ReconcileError` or a word of our own.
    pub fn failed(reason: &'static str, message: String) -> Self {
        Self {
            type_: SYNCED,
            status: "False",
            reason,
            message: Some(message),
        }
    }

    /// Nothing is done.
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

    /// Whether the settings of the queue differ for good.
    pub fn drifted(message: Option<String>) -> Self {
        Self::flag(DRIFTED, "ImmutableDifference", "NoDifference", message)
    }

    /// Whether another policy stands in the way of ours.
    pub fn shadowed(message: Option<String>) -> Self {
        Self::flag(POLICY_SHADOWED, "AnotherPolicy", "NoOtherPolicy", message)
    }

    /// Whether the password that the provider uses cannot stand in a URL.
    pub fn password_not_url_safe(message: Option<String>) -> Self {
        let type_ = PASSWORD_NOT_URL_SAFE;
        Self::flag(type_, "ReservedCharacter", "NoReservedCharacter", message)
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

    /// Whether this says that something is wrong that few objects ever have.
    fn is_lowered_flag(&self) -> bool {
        self.status == "False" && FLAGS.contains(&self.type_)
    }
}

/// `conditions` with `statement` in them; nothing moves when it says what is said already.
///
/// A flag that was never raised is not lowered either.
pub fn set(
    conditions: &mut Vec<Condition>,
    statement: Statement,
    generation: Option<i64>,
    now: Timestamp,
) {
    let found = conditions
        .iter_mut()
        .find(|condition| condition.type_ == statement.type_);
    if found.is_none() && statement.is_lowered_flag() {
        return;
    }
    let says_the_same = found.as_ref().is_some_and(|found| {
        found.status == statement.status
            && found.reason == statement.reason
            && found.message == statement.message
    });
    if says_the_same {
        if let Some(found) = found {
            found.observed_generation = generation;
        }
        return;
    }
    let condition = Condition {
        type_: statement.type_.to_owned(),
        status: statement.status.to_owned(),
        reason: statement.reason.to_owned(),
        message: statement.message,
        last_transition_time: format!("{now:.0}"),
        observed_generation: generation,
    };
    match found {
        Some(found) => *found = condition,
        None => conditions.push(condition),
    }
}

/// Whether the condition of this type says `True`.
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
    fn a_condition_moves_only_when_it_says_something_new() {
        let mut conditions = Vec::new();
        set(&mut conditions, Statement::synced(), Some(1), at(1));
        let first = conditions.clone();
        set(&mut conditions, Statement::synced(), Some(1), at(2));
        assert_eq!(conditions, first, "the same again");
        set(
            &mut conditions,
            Statement::failed("ReconcileError", "no".to_owned()),
            Some(1),
            at(3),
        );
        assert_eq!(conditions[0].last_transition_time, "2026-01-01T00:00:03Z");
        set(
            &mut conditions,
            Statement::failed("ReconcileError", "no".to_owned()),
            Some(2),
            at(4),
        );
        assert_eq!(
            conditions[0].last_transition_time, "2026-01-01T00:00:03Z",
            "generation only"
        );
        assert_eq!(conditions[0].observed_generation, Some(2));
        set(&mut conditions, Statement::available(), Some(2), at(5));
        assert_eq!(conditions.len(), 2);
        assert!(is_true(&conditions, READY) && !is_true(&conditions, SYNCED));
    }

    #[test]
    fn a_flag_is_lowered_only_after_it_was_raised() {
        let mut conditions = Vec::new();
        set(&mut conditions, Statement::drifted(None), None, at(1));
        assert!(conditions.is_empty());
        set(
            &mut conditions,
            Statement::drifted(Some("type".to_owned())),
            None,
            at(2),
        );
        assert!(is_true(&conditions, DRIFTED));
        set(&mut conditions, Statement::drifted(None), None, at(3));
        assert_eq!(conditions[0].status, "False");
    }
}
