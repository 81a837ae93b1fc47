//! Fields that Kubernetes defines: types, requirements, allowed values and ranges of the pinned version, and
//! the `kubectl explain` that describes them.

use super::{ChildDocs, FieldDocs, UnknownField, ValueDocs};
use crate::kubernetes::{
    Type, exclusive_fields_of, fields_of, is_required, range_of, values_of, version,
};
use crate::nearest::nearest;

/// Types and where `kubectl explain` describes them.
const DESCRIBED_AT: [(&str, &str); 19] = [
    ("Affinity", "pod.spec.affinity"),
    ("Container", "pod.spec.containers"),
    ("DeploymentStrategy", "deployment.spec.strategy"),
    ("EnvVar", "pod.spec.containers.env"),
    (
        "HorizontalPodAutoscalerBehavior",
        "horizontalpodautoscaler.spec.behavior",
    ),
    ("Lifecycle", "pod.spec.containers.lifecycle"),
    ("LocalObjectReference", "pod.spec.imagePullSecrets"),
    ("ObjectMeta", "pod.metadata"),
    ("PersistentVolumeClaim", "persistentvolumeclaim"),
    ("PodSecurityContext", "pod.spec.securityContext"),
    ("PodTemplateSpec", "deployment.spec.template"),
    ("Probe", "pod.spec.containers.livenessProbe"),
    ("ResourceRequirements", "pod.spec.containers.resources"),
    ("SecurityContext", "pod.spec.containers.securityContext"),
    (
        "StatefulSetUpdateStrategy",
        "statefulset.spec.updateStrategy",
    ),
    ("Toleration", "pod.spec.tolerations"),
    (
        "TopologySpreadConstraint",
        "pod.spec.topologySpreadConstraints",
    ),
    ("Volume", "pod.spec.volumes"),
    ("VolumeMount", "pod.spec.containers.volumeMounts"),
];

/// The fields of `metadata`.
pub(super) fn metadata<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<FieldDocs, UnknownField> {
    below("metadata", &Type::Object("ObjectMeta"), names)
}

/// The documentation of a field below one of a type: `parent` is the path of that one.
pub(super) fn below<'a>(
    parent: &str,
    r#type: &Type,
    names: impl Iterator<Item = &'a str>,
) -> Result<FieldDocs, UnknownField> {
    let mut shown = parent.to_owned();
    let mut described_at = described_at(r#type);
    let mut docs = FieldDocs {
        path: String::new(),
        r#type: r#type.name(),
        is_required: false,
        description: String::new(),
        values: Vec::new(),
        fields: Vec::new(),
    };
    let mut notes = Vec::new();
    let mut of = r#type.clone();
    for name in names {
        notes.clear();
        docs.values.clear();
        let inner = object(&of);
        let fields = inner.and_then(fields_of);
        match (
            inner,
            fields.and_then(|fields| fields.get(name)),
            innermost_map(&of),
        ) {
            (Some(object), Some(known), _) => {
                docs.is_required = is_required(object, name, known);
                docs.values
                    .extend(values_of(object, name).iter().map(|it| ValueDocs {
                        value: if it.is_empty() { "\"\"" } else { it }.to_owned(),
                        meaning: String::new(),
                    }));
                notes.extend(range_of(object, name).map(range));
                of = known.r#type.clone();
            }
            // A key of the user's choice.
            (_, None, Some(values)) => {
                docs.is_required = false;
                of = values.clone();
            }
            _ => {
                let known = fields.into_iter().flat_map(|fields| fields.keys().copied());
                return Err(UnknownField {
                    parent: shown,
                    name: name.to_owned(),
                    meant: nearest(name, known).map(str::to_owned),
                });
            }
        }
        shown.push('.');
        shown.push_str(name);
        if let Some(at) = &mut described_at {
            at.push('.');
            at.push_str(name);
        }
    }
    let object = object(&of);
    if let Some((fields, must)) = object.and_then(exclusive_fields_of) {
        let (how_many, may) = if must {
            ("Exactly one", "must")
        } else {
            ("At most one", "may")
        };
        notes.push(format!("{how_many} of {} {may} be set.", fields.join(", ")));
    }
    notes.extend(source(&of, described_at.as_deref()));
    docs.fields = object.map(children).unwrap_or_default();
    docs.path = shown;
    docs.r#type = of.name();
    docs.description = notes.join("\n");
    Ok(docs)
}

fn children(object: &'static str) -> Vec<ChildDocs> {
    let child = |(name, field): (&&'static str, &crate::kubernetes::Field)| {
        let values = values_of(object, name).iter().filter(|it| !it.is_empty());
        let values: Vec<&str> = values.copied().collect();
        let values = (!values.is_empty()).then(|| format!("One of {}.", values.join(", ")));
        ChildDocs {
            name: (*name).to_owned(),
            r#type: field.r#type.name(),
            is_required: is_required(object, name, field),
            summary: values
                .or_else(|| range_of(object, name).map(range))
                .unwrap_or_default(),
        }
    };
    fields_of(object).into_iter().flatten().map(child).collect()
}

fn range((least, most): (i64, i64)) -> String {
    match most {
        i64::MAX => format!("At least {least}."),
        most => format!("{least} to {most}."),
    }
}

/// The sentence that names the description's place; none for a text or number that is no part of a type.
fn source(r#type: &Type, described_at: Option<&str>) -> Option<String> {
    let at = described_at?;
    let name = object(r#type).unwrap_or("A field");
    let version = version();
    Some(format!(
        "{name} of Kubernetes {version}: `kubectl explain {at}` describes it."
    ))
}

fn described_at(r#type: &Type) -> Option<String> {
    let name = object(r#type)?;
    let found = DESCRIBED_AT.iter().find(|(of, _)| *of == name);
    found.map(|(_, at)| (*at).to_owned())
}

/// The name of the type of items of a list and of values of a map, else of the type itself.
fn object(r#type: &Type) -> Option<&'static str> {
    match r#type {
        Type::List(inner) | Type::Map(inner) => object(inner),
        Type::Object(name) => Some(name),
        _ => None,
    }
}

/// The type of values of a map.
fn innermost_map(r#type: &Type) -> Option<&Type> {
    match r#type {
        Type::Map(values) => Some(values),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_requirement_values_range_and_source() {
        let docs =
            |root: &'static str, path: &str| below("x", &Type::of(root), path.split('.')).unwrap();
        let operator = docs("[]Toleration", "operator");
        let values: Vec<&str> = operator.values.iter().map(|it| it.value.as_str()).collect();
        assert_eq!(values, ["Exists", "Equal"]);
        let port = docs("[]Container", "ports.containerPort");
        assert!(port.is_required);
        assert!(
            port.description.starts_with("1 to 65535.\n"),
            "{}",
            port.description
        );
        let source = docs("[]EnvVar", "valueFrom");
        let at = "`kubectl explain pod.spec.containers.env.valueFrom` describes it.";
        assert!(source.description.ends_with(at), "{}", source.description);
        let exclusive = "Exactly one of configMapKeyRef, ";
        assert!(source.description.starts_with(exclusive));
        let limit = docs("ResourceRequirements", "limits.memory");
        assert_eq!(limit.r#type, "Quantity");
    }

    #[test]
    fn types_with_a_description_exist() {
        for (name, _) in DESCRIBED_AT {
            assert!(fields_of(name).is_some(), "{name}");
        }
    }
}
