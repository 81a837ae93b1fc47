//! Three exclusive forms that define an actor's workload.

use serde_json::{Map, Value};

use super::{INLINE_POD_FIELDS, Spec};
use crate::diagnostic::Code;

/// The forms that exclude inline pod fields, each with the one that may stand beside it all the
/// same.
pub(crate) const EXCLUSIVE: [(&str, Option<&str>); 2] =
    [("workload", Some("handler")), ("workloadRef", None)];

/// The remedy for an inline pod field beside one of the [`EXCLUSIVE`] forms: where the same is
/// written in that form. `runtime` has a few of the fields only.
pub(crate) fn remedy(form: &str, field: &str) -> &'static str {
    if form == "workload" {
        return match field {
            "replicas" => "write it in 'workload.replicas'",
            "strategy" => "write it in 'workload.strategy'",
            "podLabels" => "write them in 'workload.template.metadata.labels'",
            "podAnnotations" => "write them in 'workload.template.metadata.annotations'",
            "containerSecurityContext" => {
                "write it as 'securityContext' of container \"asya-runtime\" in 'workload.template'"
            }
            "secretRefs" => {
                "write each key as 'env' with 'valueFrom.secretKeyRef' of container \"asya-runtime\" in 'workload.template'"
            }
            "args" | "env" | "image" | "imagePullPolicy" | "lifecycle" | "livenessProbe"
            | "readinessProbe" | "resources" | "startupProbe" | "volumeMounts" => {
                "write it in container \"asya-runtime\" of 'workload.template'"
            }
            _ => "write it in 'workload.template.spec'",
        };
    }
    match field {
        "env" | "handler" | "image" | "resources" => "write it in 'runtime'",
        "secretRefs" => "write each key in 'runtime.env' with 'valueFrom.secretKeyRef'",
        "replicas" => "use 'scaling', or set the number of pods in the target's own manifest",
        "args"
        | "containerSecurityContext"
        | "imagePullPolicy"
        | "lifecycle"
        | "livenessProbe"
        | "readinessProbe"
        | "startupProbe"
        | "volumeMounts" => {
            "remove it, 'runtime' has no such field; a flavor can set it for the adapter"
        }
        "imagePullSecrets" | "volumes" => {
            "set them in the target's own manifest, or for the adapter in a flavor"
        }
        _ => {
            "set it in the target's own manifest, or in a flavor for an adapter with pods of its own"
        }
    }
}

/// The fields that describe how to bind to `workloadRef`, sorted.
pub(crate) const BINDING_FIELDS: [&str; 2] = ["binding", "runtime"];

/// Form of a resolved spec: one of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `image`, `handler` and the other pod fields.
    Inline,
    /// A pod template of the user's own.
    Workload,
    /// A workload that another operator owns.
    WorkloadRef,
}

/// A spec with none of the three forms, or with two.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// None of the three.
    #[error(
        "the actor has nothing to run: set 'image' and 'handler' (here or in a flavor), 'workload', or 'workloadRef'"
    )]
    None,
    /// Both exclusive forms.
    #[error("Exactly one of 'workload' or 'workloadRef' must be set")]
    Both,
    /// An inline pod field beside an exclusive form.
    #[error("'{field}' cannot stand beside '{form}': {remedy}", remedy = remedy(.form, .field))]
    Beside {
        /// The field.
        field: &'static str,
        /// The exclusive form.
        form: &'static str,
    },
    /// A field of mode Binding in an actor that binds to nothing.
    #[error("'{field}' needs 'workloadRef': it describes how to bind to that workload")]
    BindsNothing {
        /// The field.
        field: &'static str,
    },
}

impl FormError {
    /// The code of its diagnostic.
    pub fn code(&self) -> Code {
        match self {
            Self::None => Code::NothingToRun,
            Self::Both => Code::WorkloadAndReference,
            Self::Beside { .. } => Code::FieldBesideWorkload,
            Self::BindsNothing { .. } => Code::BindingWithoutTarget,
        }
    }

    /// The top-level field that is wrong; none where one is missing.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Both => Some("workloadRef"),
            Self::Beside { field, .. } | Self::BindsNothing { field } => Some(field),
        }
    }

    /// The top-level field that it does not go with.
    pub fn other_field(&self) -> Option<&'static str> {
        match self {
            Self::None | Self::BindsNothing { .. } => None,
            Self::Both => Some("workload"),
            Self::Beside { form, .. } => Some(form),
        }
    }
}

impl Form {
    /// The form of a resolved spec.
    ///
    /// # Errors
    /// When it has none or both exclusive ones.
    pub fn of(spec: &Spec) -> Result<Self, FormError> {
        match (&spec.workload, &spec.workload_ref) {
            (Some(_), Some(_)) => Err(FormError::Both),
            (Some(_), None) => Ok(Self::Workload),
            (None, Some(_)) => Ok(Self::WorkloadRef),
            (None, None) if spec.image.is_none() && spec.handler.is_none() => Err(FormError::None),
            (None, None) => Ok(Self::Inline),
        }
    }

    /// `Standalone` or `Binding`, as in `status.mode`.
    pub fn mode(self) -> &'static str {
        match self {
            Self::Inline | Self::Workload => "Standalone",
            Self::WorkloadRef => "Binding",
        }
    }
}

/// Returns whether the actor's *own* spec, before the merge, mixes forms. What a flavor
/// gives may stand beside any form.
///
/// # Errors
/// The first field, in alphabetical order, that does not go with the others.
pub fn beside_exclusive(own: &Map<String, Value>) -> Result<(), FormError> {
    let is_set = |field: &str| own.get(field).is_some_and(|value| !value.is_null());
    if is_set("workload") && is_set("workloadRef") {
        return Err(FormError::Both);
    }
    let of_binding = BINDING_FIELDS.into_iter().find(|field| is_set(field));
    if let Some(field) = of_binding
        && !is_set("workloadRef")
    {
        return Err(FormError::BindsNothing { field });
    }
    let form = EXCLUSIVE.into_iter().find(|(form, _)| is_set(form));
    let Some((form, allowed)) = form else {
        return Ok(());
    };
    INLINE_POD_FIELDS
        .into_iter()
        .find(|field| is_set(field) && Some(*field) != allowed)
        .map_or(Ok(()), |field| Err(FormError::Beside { field, form }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forms_exclude_each_other_in_the_actors_own_spec() {
        let cases = [
            (json!({"image": "a", "handler": "b"}), None, "inline"),
            (
                json!({"workload": {}, "handler": "b"}),
                None,
                "a handler may stand beside a template",
            ),
            (
                json!({"workload": {}, "image": null}),
                None,
                "null is not set",
            ),
            (
                json!({"workload": {}, "stateProxy": []}),
                None,
                "injected, not part of the template",
            ),
            (
                json!({"workloadRef": {}, "runtime": {}, "binding": {}}),
                None,
                "binding",
            ),
            (
                json!({"workload": {}, "workloadRef": {}}),
                Some("Exactly one of 'workload' or 'workloadRef' must be set"),
                "both",
            ),
            (
                json!({"workload": {}, "env": []}),
                Some(
                    "'env' cannot stand beside 'workload': write it in container \"asya-runtime\" of 'workload.template'",
                ),
                "beside",
            ),
            (
                json!({"workload": {}, "replicas": 2}),
                Some("'replicas' cannot stand beside 'workload': write it in 'workload.replicas'"),
                "the template has no such field",
            ),
            (
                json!({"workloadRef": {}, "image": "a"}),
                Some("'image' cannot stand beside 'workloadRef': write it in 'runtime'"),
                "beside",
            ),
            (
                json!({"image": "a", "runtime": {}}),
                Some("'runtime' needs 'workloadRef': it describes how to bind to that workload"),
                "alone",
            ),
            (
                json!({"workload": {}, "binding": {}}),
                Some("'binding' needs 'workloadRef': it describes how to bind to that workload"),
                "alone",
            ),
        ];
        for (own, expected, reason) in cases {
            let error = beside_exclusive(own.as_object().unwrap())
                .err()
                .map(|e| e.to_string());
            assert_eq!(error.as_deref(), expected, "{reason}");
        }
    }

    #[test]
    fn runtime_is_named_only_for_fields_that_it_has() {
        let of_runtime: Vec<&str> = INLINE_POD_FIELDS
            .into_iter()
            .filter(|field| remedy("workloadRef", field) == "write it in 'runtime'")
            .collect();
        assert_eq!(of_runtime, ["env", "handler", "image", "resources"]);
        let cases = [
            ("tolerations", "target's own manifest"),
            ("volumes", "target's own manifest"),
            ("podLabels", "target's own manifest"),
            ("strategy", "target's own manifest"),
            ("replicas", "use 'scaling'"),
            ("secretRefs", "'runtime.env'"),
            ("args", "remove it"),
        ];
        for (field, part) in cases {
            let remedy = remedy("workloadRef", field);
            assert!(remedy.contains(part), "{field}: {remedy}");
        }
    }

    #[test]
    fn the_mode_is_implied() {
        let form = |document| Form::of(&Spec::parse(document).unwrap());
        assert_eq!(
            form(json!({"image": "a"})).map(Form::mode),
            Ok("Standalone")
        );
        let bound = json!({"workloadRef": {"apiVersion": "a/v1", "kind": "K", "name": "n"}});
        assert_eq!(form(bound).map(Form::mode), Ok("Binding"));
        assert_eq!(form(json!({"replicas": 1})), Err(FormError::None));
    }
}
