//! Fields of actors, flavors and settings whose content Kubernetes defines.

use merge::Segment;

use super::schema::Type;

/// A step of a path in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathPart {
    /// A key.
    Key(&'static str),
    /// Any item of a list.
    Item,
}

use PathPart::{Item, Key};

/// Paths in a spec, with the types of their values.
const SPEC: [(&[PathPart], &str); 34] = [
    (&[Key("affinity")], "Affinity"),
    (&[Key("args")], "[]string"),
    (&[Key("containerSecurityContext")], "SecurityContext"),
    (&[Key("env")], "[]EnvVar"),
    (&[Key("imagePullSecrets")], "[]LocalObjectReference"),
    (&[Key("initContainers")], "[]Container"),
    (&[Key("lifecycle")], "Lifecycle"),
    (&[Key("livenessProbe")], "Probe"),
    (&[Key("nodeSelector")], "{}string"),
    (&[Key("podAnnotations")], "{}string"),
    (&[Key("podLabels")], "{}string"),
    (&[Key("readinessProbe")], "Probe"),
    (&[Key("resources")], "ResourceRequirements"),
    (&[Key("runtime"), Key("env")], "[]EnvVar"),
    (&[Key("runtime"), Key("resources")], "ResourceRequirements"),
    (&[Key("runtime"), Key("securityContext")], "SecurityContext"),
    (
        &[Key("scaling"), Key("advanced"), Key("behavior")],
        "HorizontalPodAutoscalerBehavior",
    ),
    (&[Key("securityContext")], "PodSecurityContext"),
    (&[Key("sidecar"), Key("env")], "[]EnvVar"),
    (&[Key("sidecar"), Key("resources")], "ResourceRequirements"),
    (&[Key("sidecar"), Key("securityContext")], "SecurityContext"),
    (&[Key("startupProbe")], "Probe"),
    (
        &[Key("stateProxy"), Item, Key("connector"), Key("env")],
        "[]EnvVar",
    ),
    (
        &[Key("stateProxy"), Item, Key("connector"), Key("resources")],
        "ResourceRequirements",
    ),
    (
        &[Key("stateProxy"), Item, Key("securityContext")],
        "SecurityContext",
    ),
    (
        &[
            Key("stateProxy"),
            Item,
            Key("connector"),
            Key("volumeMounts"),
        ],
        "[]VolumeMount",
    ),
    (&[Key("strategy")], "DeploymentStrategy"),
    (&[Key("tolerations")], "[]Toleration"),
    (
        &[Key("topologySpreadConstraints")],
        "[]TopologySpreadConstraint",
    ),
    (&[Key("volumeMounts")], "[]VolumeMount"),
    (&[Key("volumes")], "[]Volume"),
    (&[Key("workload"), Key("template")], "PodTemplateSpec"),
    (
        &[Key("workload"), Key("volumeClaimTemplates")],
        "[]PersistentVolumeClaim",
    ),
    (&[Key("workload"), Key("strategy")], WORKLOAD_STRATEGY),
];

/// Paths in the platform's settings, with the types of their values.
const SETTINGS: [(&[PathPart], &str); 2] = [
    (&[Key("sidecar"), Key("resources")], "ResourceRequirements"),
    (&[Key("sidecar"), Key("securityContext")], "SecurityContext"),
];

/// Stands for the strategy of a Deployment or of a StatefulSet.
const WORKLOAD_STRATEGY: &str = "strategy";

/// The type of the field at a path of a spec, or of the settings; none if Kubernetes does not define
/// it. `stateful` is true if the workload is a StatefulSet.
pub(crate) fn root_at(path: &[Segment], is_platform: bool, stateful: bool) -> Option<Type> {
    let table = if is_platform {
        &SETTINGS[..]
    } else {
        &SPEC[..]
    };
    let fits = |parts: &[PathPart]| {
        parts.len() == path.len()
            && parts.iter().zip(path).all(|pair| match pair {
                (Key(key), Segment::Key(own)) => key == own,
                (Item, Segment::Index(_)) => true,
                _ => false,
            })
    };
    let (_, name) = table.iter().find(|(parts, _)| fits(parts))?;
    Some(Type::of(match (*name, stateful) {
        (WORKLOAD_STRATEGY, true) => "StatefulSetUpdateStrategy",
        (WORKLOAD_STRATEGY, false) => "DeploymentStrategy",
        (name, _) => name,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::fields_of;

    #[test]
    fn every_root_has_a_known_type_and_is_a_field_of_the_api() {
        let spec = actor::schema::spec();
        for (parts, name) in SPEC {
            let mut node = &spec;
            for part in parts {
                node = match part {
                    Key(key) => &node["properties"][*key],
                    Item => &node["items"],
                };
            }
            assert!(node.is_object(), "{parts:?}");
            let name = name.trim_start_matches(['[', ']', '{', '}']);
            assert!(
                fields_of(name).is_some() || ["string", WORKLOAD_STRATEGY].contains(&name),
                "{name}"
            );
        }
    }

    #[test]
    fn the_strategy_depends_on_the_kind() {
        let path = ["workload", "strategy"].map(Segment::from);
        let of = |stateful| root_at(&path, false, stateful).map(|it| it.name());
        assert_eq!(of(true).as_deref(), Some("StatefulSetUpdateStrategy"));
        assert_eq!(of(false).as_deref(), Some("DeploymentStrategy"));
        assert_eq!(root_at(&path, true, false), None);
    }
}
