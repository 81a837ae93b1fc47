//! The API server's refusals of an intent, read.
//!
//! A conflict about fields has causes that name field and manager. Where the workload is
//! gone the uid of the intent is a conflict without causes, and where another one has its
//! name it is an invalid value. Lack of a right and an admission that refuses both answer 403, so the words
//! decide: only the first says what the user cannot do.
//! Source: Kubernetes, `apimachinery/pkg/util/managedfields/internal/conflict.go`,
//! `apiserver/pkg/endpoints/handlers/responsewriters/errors.go`.

use actor::binding::{ObjectReference, reason, targets};
use actor::labels::BOUND_TO;
use kube::core::Status;

/// What a cause of a conflict between field managers is called.
const FIELD_CONFLICT: &str = "FieldManagerConflict";
/// What the field managers of bindings begin with.
const OURS: &str = "provider.asya.sh/";

/// Why the API server did not take an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The workload is gone, or another one has its name.
    Replaced,
    /// It will refuse again until something changes.
    Refused(Box<Refusal>),
}

/// Why nothing can be added to a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another actor is bound to it.
    #[error(
        "actor {actor:?} is bound to {workload} already: delete that actor, bind this one to another workload, or use binding.strategy Adapter for both"
    )]
    AlreadyBound {
        /// That actor.
        actor: String,
        /// The workload.
        workload: ObjectReference,
    },
    /// What is to be added has the name of something that is there.
    #[error(
        "{field}{} of {workload} belongs to field manager {manager:?}: rename it there, or use binding.strategy Adapter",
        and_more(*more)
    )]
    FieldTaken {
        /// The first such field, as the API server writes it.
        field: String,
        /// Whose it is.
        manager: String,
        /// How many more there are.
        more: usize,
        /// The workload.
        workload: ObjectReference,
    },
    /// The provider lacks the right.
    #[error(
        "the provider may not {verb} {what} in namespace {namespace:?}: grant it, for example with install/provider-asya/rbac-binding.yaml"
    )]
    Forbidden {
        /// The verb that it lacks.
        verb: String,
        /// The kind, and the group in parentheses.
        what: String,
        /// Where.
        namespace: String,
    },
    /// Containers cannot be added to what makes the target's pods, or would not stay.
    #[error("nothing can be added to the pods of {target}: {why}; use binding.strategy Adapter")]
    NotInjectable {
        /// The target.
        target: ObjectReference,
        /// The reason.
        why: String,
    },
    /// Another WorkloadBinding is about the same actor.
    #[error("WorkloadBinding {binding:?} binds actor {actor:?} already: delete one of the two")]
    Twice {
        /// The other one.
        binding: String,
        /// The actor of both.
        actor: String,
    },
    /// What is to be added is wrong.
    #[error("the API server refuses what is to be added to {workload}: {words}")]
    Refused {
        /// The workload.
        workload: ObjectReference,
        /// The API server's words.
        words: String,
    },
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Refusal {
    /// The reason of the conditions.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::AlreadyBound { .. } | Self::Twice { .. } => reason::ALREADY_BOUND,
            Self::FieldTaken { .. } => reason::FIELD_TAKEN,
            Self::Forbidden { .. } => reason::FORBIDDEN,
            Self::NotInjectable { .. } | Self::Refused { .. } => reason::REFUSED,
        }
    }

    /// The lack of a right on objects of a kind.
    pub fn forbidden(verb: &str, group: &str, kind: &str, namespace: &str) -> Self {
        Self::Forbidden {
            verb: verb.to_owned(),
            what: if group.is_empty() {
                kind.to_owned()
            } else {
                format!("{kind} ({group})")
            },
            namespace: namespace.to_owned(),
        }
    }
}

/// What a failed patch of a workload means; nothing where the API server did not judge
/// it, as when it is overloaded.
pub fn read(status: &Status, workload: &ObjectReference, namespace: &str) -> Option<Answer> {
    let refused = |words: &str| {
        Answer::from(Refusal::Refused {
            workload: workload.clone(),
            words: one_line(words),
        })
    };
    Some(match status.code {
        404 => Answer::Replaced,
        422 if is_about_uid(status) => Answer::Replaced,
        409 => match conflict(status, workload) {
            Some(refusal) => refusal.into(),
            None => Answer::Replaced,
        },
        403 if is_lack_of_right(&status.message) => Refusal::forbidden(
            "patch",
            targets::group_of(&workload.api_version),
            &workload.kind,
            namespace,
        )
        .into(),
        400 | 403 | 413 | 422 => refused(&status.message),
        // A conversion or a schema that cannot take the intent, such as a list with one
        // key twice: another try ends the same way.
        500 if status.message.contains("failed to create typed") => refused(&status.message),
        _ => return None,
    })
}

/// Whether a 403 is about what the provider's user may do.
pub fn is_lack_of_right(message: &str) -> bool {
    message.contains("cannot ") && message.contains(" resource ")
}

fn is_about_uid(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.field == "metadata.uid")
}

fn conflict(status: &Status, workload: &ObjectReference) -> Option<Refusal> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut taken: Vec<(&str, &str)> = causes
        .filter(|cause| cause.reason == FIELD_CONFLICT)
        .map(|cause| (cause.field.as_str(), manager(&cause.message)))
        .collect();
    taken.sort_unstable();
    let label = format!(".metadata.labels.{BOUND_TO}");
    let other_actor = taken
        .iter()
        .filter(|(field, _)| *field == label)
        .find_map(|(_, manager)| manager.strip_prefix(OURS));
    if let Some(actor) = other_actor {
        return Some(Refusal::AlreadyBound {
            actor: actor.to_owned(),
            workload: workload.clone(),
        });
    }
    let (field, manager) = taken.first()?;
    Some(Refusal::FieldTaken {
        field: (*field).to_owned(),
        manager: (*manager).to_owned(),
        more: taken.len() - 1,
        workload: workload.clone(),
    })
}

/// The manager that a cause names: `conflict with "helm" using apps/v1 at …`.
fn manager(message: &str) -> &str {
    message.split('"').nth(1).unwrap_or(message)
}

fn and_more(more: usize) -> String {
    if more == 0 {
        String::new()
    } else {
        format!(" (and {more} more)")
    }
}

/// The API server's words as part of a line.
fn one_line(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment() -> ObjectReference {
        ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "llm".to_owned(),
        }
    }

    fn cause(manager: &str, field: &str) -> Value {
        json!({"reason": "FieldManagerConflict", "field": field,
            "message": format!("conflict with \"{manager}\" using apps/v1 at 2026-01-01T00:00:00Z")})
    }

    #[test]
    fn every_refusal_says_who_and_what_to_do() {
        let label = ".metadata.labels.asya.sh/bound-to";
        let image = ".spec.template.spec.containers[name=\"asya-sidecar\"].image";
        let conflict = |causes: Value| json!({"code": 409, "reason": "Conflict", "details": {"causes": causes}});
        let cases = [
            (
                conflict(json!([
                    cause("provider.asya.sh/first", image),
                    cause("provider.asya.sh/first", label)
                ])),
                Some(
                    "AlreadyBound: actor \"first\" is bound to Deployment \"llm\" already: delete that actor, bind this one to another workload, or use binding.strategy Adapter for both",
                ),
            ),
            (
                conflict(json!([cause("helm", image), cause("kubectl-edit", label)])),
                Some(
                    "FieldTaken: .metadata.labels.asya.sh/bound-to (and 1 more) of Deployment \"llm\" belongs to field manager \"kubectl-edit\": rename it there, or use binding.strategy Adapter",
                ),
            ),
            (
                conflict(json!([cause("provider.asya.sh/gone", image)])),
                Some(
                    "FieldTaken: .spec.template.spec.containers[name=\"asya-sidecar\"].image of Deployment \"llm\" belongs to field manager \"provider.asya.sh/gone\": rename it there, or use binding.strategy Adapter",
                ),
            ),
            (conflict(json!([])), Some("replaced")),
            (json!({"code": 404, "reason": "NotFound"}), Some("replaced")),
            (
                json!({"code": 422, "reason": "Invalid", "details": {"causes": [
                    {"reason": "FieldValueInvalid", "field": "metadata.uid", "message": "Invalid value: \"u\": field is immutable"}]}}),
                Some("replaced"),
            ),
            (
                json!({"code": 403, "reason": "Forbidden", "message": "deployments.apps \"llm\" is forbidden: User \"p\" cannot patch resource \"deployments\" in API group \"apps\" in the namespace \"shop\""}),
                Some(
                    "Forbidden: the provider may not patch Deployment (apps) in namespace \"shop\": grant it, for example with install/provider-asya/rbac-binding.yaml",
                ),
            ),
            (
                json!({"code": 403, "reason": "Forbidden", "message": "admission webhook \"policy\" denied the request:\n no sidecars."}),
                Some(
                    "Refused: the API server refuses what is to be added to Deployment \"llm\": admission webhook \"policy\" denied the request: no sidecars",
                ),
            ),
            (
                json!({"code": 422, "reason": "Invalid", "message": "Deployment.apps \"llm\" is invalid: no such volume"}),
                Some(
                    "Refused: the API server refuses what is to be added to Deployment \"llm\": Deployment.apps \"llm\" is invalid: no such volume",
                ),
            ),
            (json!({"code": 503, "reason": "ServiceUnavailable"}), None),
        ];
        for (status, expected) in cases {
            let found = read(
                &serde_json::from_value(status.clone()).unwrap(),
                &deployment(),
                "shop",
            );
            let found = found.map(|answer| match answer {
                Answer::Replaced => "replaced".to_owned(),
                Answer::Refused(refusal) => format!("{}: {refusal}", refusal.reason()),
            });
            assert_eq!(found.as_deref(), expected, "{status}");
        }
    }
}
