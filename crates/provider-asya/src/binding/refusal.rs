//! Rejections of an intent by the API server, as messages for users.
//!
//! A conflict of field managers has causes that name field and manager. For a missing workload the uid of
//! the intent is a conflict without causes, and for a replaced one it is an invalid value. A missing
//! right and an admission that refuses both answer 403, so the message decides: only the first names
//! what the user cannot do.
//! Source: Kubernetes, `apimachinery/pkg/util/managedfields/internal/conflict.go`,
//! `apiserver/pkg/endpoints/handlers/responsewriters/errors.go`.

use actor::binding::{ObjectReference, reason, targets};
use actor::labels::BOUND_TO;
use kube::core::Status;

/// Reason of a cause of a conflict between field managers.
const FIELD_CONFLICT: &str = "FieldManagerConflict";
/// Prefix of the field managers of bindings.
const OUR_MANAGERS: &str = "provider.asya.sh/";

/// Reason for which the API server rejected an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The workload is missing, or another one has its name.
    Replaced,
    /// It will reject it again until something changes.
    Refused(Box<Refusal>),
}

/// Reason for which nothing can be injected into a workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another actor is bound to it.
    #[error(
        "actor {actor:?} is already bound to {workload}: delete that actor, bind this one to another workload, or use binding.strategy Adapter for both"
    )]
    AlreadyBound {
        /// The other actor.
        actor: String,
        /// The workload.
        workload: ObjectReference,
    },
    /// A field or container of the same name belongs to another field manager.
    #[error(
        "{field}{} of {workload} belongs to field manager {manager:?}: rename it there, or use binding.strategy Adapter",
        and_more(*more)
    )]
    FieldTaken {
        /// The first such field, as the API server writes it.
        field: String,
        /// Its field manager.
        manager: String,
        /// Number of further fields.
        more: usize,
        /// The workload.
        workload: ObjectReference,
    },
    /// The provider lacks a right.
    #[error(
        "the provider is not allowed to {verb} {what} in namespace {namespace:?}: grant it, for example with install/provider-asya/rbac-binding.yaml"
    )]
    Forbidden {
        /// The missing verb.
        verb: String,
        /// The kind, and the group in parentheses.
        what: String,
        /// The namespace.
        namespace: String,
    },
    /// Containers cannot be injected into the pods of the target, or would be removed again.
    #[error(
        "nothing can be injected into the pods of {target}: {why}; use binding.strategy Adapter"
    )]
    NotInjectable {
        /// The target.
        target: ObjectReference,
        /// The reason.
        why: String,
    },
    /// Another WorkloadBinding binds the same actor.
    #[error("WorkloadBinding {binding:?} already binds actor {actor:?}: delete one of the two")]
    DuplicateBinding {
        /// The other one.
        binding: String,
        /// The actor of both.
        actor: String,
    },
    /// The API server refuses the injected template.
    #[error("the API server refuses the template that is injected into {workload}: {message}")]
    Refused {
        /// The workload.
        workload: ObjectReference,
        /// Message of the API server.
        message: String,
    },
}

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Refusal {
    /// Reason of the conditions.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::AlreadyBound { .. } | Self::DuplicateBinding { .. } => reason::ALREADY_BOUND,
            Self::FieldTaken { .. } => reason::FIELD_TAKEN,
            Self::Forbidden { .. } => reason::FORBIDDEN,
            Self::NotInjectable { .. } | Self::Refused { .. } => reason::REFUSED,
        }
    }

    /// The refusal that follows from a missing right on objects of a kind.
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

/// The rejection that a failed patch of a workload means; none where the API server did not decide, as
/// when it is overloaded.
pub fn read(status: &Status, workload: &ObjectReference, namespace: &str) -> Option<Rejection> {
    let refused = |message: &str| {
        Rejection::from(Refusal::Refused {
            workload: workload.clone(),
            message: one_line(message),
        })
    };
    Some(match status.code {
        404 => Rejection::Replaced,
        422 if is_about_uid(status) => Rejection::Replaced,
        409 => match conflict(status, workload) {
            Some(refusal) => refusal.into(),
            None => Rejection::Replaced,
        },
        403 if is_lack_of_right(&status.message) => Refusal::forbidden(
            "patch",
            targets::group_of(&workload.api_version),
            &workload.kind,
            namespace,
        )
        .into(),
        400 | 403 | 413 | 422 => refused(&status.message),
        // The intent violates the schema, such as a list with a duplicate key: a retry would fail too.
        500 if status.message.contains("failed to create typed") => refused(&status.message),
        _ => return None,
    })
}

/// Returns whether the message of a 403 names a right that the provider lacks.
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
        .find_map(|(_, manager)| manager.strip_prefix(OUR_MANAGERS));
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

/// The manager in the message of a cause: `conflict with "helm" using apps/v1 at …`.
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

/// The API server's message as part of one line.
fn one_line(message: &str) -> String {
    let message: Vec<&str> = message.split_whitespace().collect();
    message.join(" ").trim_end_matches('.').to_owned()
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
    fn every_rejection_names_the_cause_and_the_remedy() {
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
                    "AlreadyBound: actor \"first\" is already bound to Deployment \"llm\": delete that actor, bind this one to another workload, or use binding.strategy Adapter for both",
                ),
            ),
            (
                conflict(json!([cause("helm", image), cause("kubectl-edit", label)])),
                Some(
                    "FieldTaken: .metadata.labels.asya.sh/bound-to (and 1 more) of Deployment \"llm\" belongs to field manager \"kubectl-edit\": rename it there, or use binding.strategy Adapter",
                ),
            ),
            (
                conflict(json!([cause("provider.asya.sh/deleted", image)])),
                Some(
                    "FieldTaken: .spec.template.spec.containers[name=\"asya-sidecar\"].image of Deployment \"llm\" belongs to field manager \"provider.asya.sh/deleted\": rename it there, or use binding.strategy Adapter",
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
                    "Forbidden: the provider is not allowed to patch Deployment (apps) in namespace \"shop\": grant it, for example with install/provider-asya/rbac-binding.yaml",
                ),
            ),
            (
                json!({"code": 403, "reason": "Forbidden", "message": "admission webhook \"policy\" denied the request:\n no sidecars."}),
                Some(
                    "Refused: the API server refuses the template that is injected into Deployment \"llm\": admission webhook \"policy\" denied the request: no sidecars",
                ),
            ),
            (
                json!({"code": 422, "reason": "Invalid", "message": "Deployment.apps \"llm\" is invalid: no such volume"}),
                Some(
                    "Refused: the API server refuses the template that is injected into Deployment \"llm\": Deployment.apps \"llm\" is invalid: no such volume",
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
                Rejection::Replaced => "replaced".to_owned(),
                Rejection::Refused(refusal) => format!("{}: {refusal}", refusal.reason()),
            });
            assert_eq!(found.as_deref(), expected, "{status}");
        }
    }
}
