//! The top-level fields of a spec, by kind.

use serde_json::{Map, Value};

/// Fields that a flavor cannot set: they are left out before anything is compared.
pub const INFRASTRUCTURE: [&str; 3] = ["actor", "transport", "flavors"];

/// Where Crossplane keeps its own things in a v2 XR's spec.
pub const MACHINERY: &str = "crossplane";

/// Where Crossplane keeps its own things in a legacy XR's spec.
/// Source: `apiextensions.crossplane.io/v1` XRDs.
pub const LEGACY_MACHINERY: [&str; 9] = [
    "claimRef",
    "compositeDeletePolicy",
    "compositionRef",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionSelector",
    "compositionUpdatePolicy",
    "resourceRefs",
    "writeConnectionSecretToRef",
];

/// The inline fields that describe a pod; they exclude `workload` and `workloadRef`.
pub const INLINE_POD_FIELDS: [&str; 29] = [
    "affinity",
    "args",
    "containerSecurityContext",
    "env",
    "handler",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "initContainers",
    "lifecycle",
    "livenessProbe",
    "nodeSelector",
    "podAnnotations",
    "podLabels",
    "priorityClassName",
    "readinessProbe",
    "replicas",
    "resources",
    "runtimeClassName",
    "secretRefs",
    "securityContext",
    "serviceAccountName",
    "startupProbe",
    "strategy",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "volumeMounts",
    "volumes",
];

/// Every top-level field that the API knows.
pub const KNOWN_FIELDS: [&str; 42] = [
    "actor",
    "affinity",
    "args",
    "binding",
    "containerSecurityContext",
    "env",
    "flavors",
    "handler",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "initContainers",
    "lifecycle",
    "livenessProbe",
    "nodeSelector",
    "podAnnotations",
    "podLabels",
    "priorityClassName",
    "pythonExecutable",
    "queue",
    "readinessProbe",
    "replicas",
    "resiliency",
    "resources",
    "runtime",
    "runtimeClassName",
    "scaling",
    "secretRefs",
    "securityContext",
    "serviceAccountName",
    "sidecar",
    "startupProbe",
    "stateProxy",
    "strategy",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "transport",
    "volumeMounts",
    "volumes",
    "workload",
    "workloadRef",
];

/// The top-level keys of a document that the API does not know, sorted.
pub fn unknown_fields(document: &Map<String, Value>) -> Vec<&str> {
    let mut unknown: Vec<&str> = document
        .keys()
        .map(String::as_str)
        .filter(|key| !KNOWN_FIELDS.contains(key))
        .collect();
    unknown.sort_unstable();
    unknown
}

/// A stored spec without Crossplane's own fields: what the user wrote.
#[must_use]
pub fn without_machinery(mut spec: Map<String, Value>, legacy: bool) -> Map<String, Value> {
    spec.remove(MACHINERY);
    if legacy {
        for field in LEGACY_MACHINERY {
            spec.remove(field);
        }
    }
    spec
}
