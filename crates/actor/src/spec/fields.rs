//! The top-level fields of a spec, by kind.

use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

/// Fields that a flavor cannot set: they are left out before anything is compared.
pub const INFRASTRUCTURE: [&str; 3] = ["actor", "transport", "flavors"];

/// Field of a v2 XR's spec that holds Crossplane's own fields.
pub const MACHINERY: &str = "crossplane";

/// Crossplane's own fields in a legacy XR's spec; two of them only in Crossplane 1.
/// Source: `apiextensions.crossplane.io/v1` XRDs.
pub const LEGACY_MACHINERY: [&str; 11] = [
    "claimRef",
    "compositeDeletePolicy",
    "compositionRef",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionSelector",
    "compositionUpdatePolicy",
    "environmentConfigRefs",
    "publishConnectionDetailsTo",
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

/// The fields of the maps inside a spec, by path. What lies in lists and what
/// Kubernetes defines is not among them.
pub const KNOWN_INSIDE: [(&[&str], &[&str]); 11] = [
    (&["binding"], &["scaleTarget", "strategy"]),
    (&["queue"], &["adopt", "deadLetter", "deletionPolicy"]),
    (&["queue", "deadLetter"], &["enabled", "maxReceiveCount"]),
    (
        &["resiliency"],
        &[
            "actorTimeout",
            "nonRetryableErrors",
            "policies",
            "retry",
            "rules",
        ],
    ),
    (
        &["resiliency", "retry"],
        &[
            "backoffCoefficient",
            "initialInterval",
            "jitter",
            "maxAttempts",
            "maxInterval",
            "policy",
        ],
    ),
    (
        &["runtime"],
        &[
            "env",
            "handler",
            "image",
            "resources",
            "securityContext",
            "targetURL",
        ],
    ),
    (
        &["scaling"],
        &[
            "additionalTriggers",
            "advanced",
            "cooldownPeriod",
            "enabled",
            "fallback",
            "idleReplicaCount",
            "initialCooldownPeriod",
            "maxReplicaCount",
            "maxReplicas",
            "minReplicaCount",
            "minReplicas",
            "pollingInterval",
            "queueLength",
        ],
    ),
    (
        &["scaling", "advanced"],
        &[
            "activationTarget",
            "behavior",
            "formula",
            "metricType",
            "restoreToOriginalReplicaCount",
            "target",
        ],
    ),
    (
        &["sidecar"],
        &[
            "env",
            "image",
            "imagePullPolicy",
            "resources",
            "securityContext",
        ],
    ),
    (
        &["workload"],
        &[
            "kind",
            "replicas",
            "serviceName",
            "strategy",
            "template",
            "volumeClaimTemplates",
        ],
    ),
    (&["workloadRef"], &["apiVersion", "kind", "name"]),
];

/// The fields of a policy in `resiliency.policies`.
const POLICY_FIELDS: [&str; 7] = [
    "backoff",
    "initialDelay",
    "jitter",
    "maxAttempts",
    "maxDuration",
    "maxInterval",
    "onExhausted",
];
/// The fields of a rule in `resiliency.rules`.
const RULE_FIELDS: [&str; 2] = ["errors", "policy"];

/// The fields of a document that the API does not know, sorted. The API server
/// refuses them in an actor, except those of policies and rules; in a flavor nothing else would tell.
pub fn unknown_fields(document: &Map<String, Value>) -> Vec<FieldPath> {
    let inside = KNOWN_INSIDE.iter().filter_map(|(path, known)| {
        let (first, rest) = path.split_first()?;
        let field = rest
            .iter()
            .try_fold(document.get(*first)?, |value, key| value.get(*key))?;
        Some((*path, *known, field.as_object()?))
    });
    let mut unknown: Vec<FieldPath> = std::iter::once((&[][..], &KNOWN_FIELDS[..], document))
        .chain(inside)
        .flat_map(|(path, known, map)| {
            map.keys()
                .map(String::as_str)
                .filter(|key| !known.contains(key))
                .map(|key| path.iter().copied().chain([key]).collect())
        })
        .collect();
    unknown.extend(unknown_in_resiliency(document));
    unknown.sort_unstable();
    unknown
}

/// The unknown fields of retry policies and rules, which the sidecar would ignore.
fn unknown_in_resiliency(document: &Map<String, Value>) -> Vec<FieldPath> {
    let inside = |field: &str| document.get("resiliency")?.get(field);
    let policies = inside("policies").and_then(Value::as_object);
    let policies = policies.into_iter().flatten().map(|(name, policy)| {
        let at = ["policies".into(), Segment::from(name.as_str())];
        (at, policy, &POLICY_FIELDS[..])
    });
    let rules = inside("rules").and_then(Value::as_array);
    let rules = rules
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, rule)| {
            let at = ["rules".into(), Segment::from(index)];
            (at, rule, &RULE_FIELDS[..])
        });
    let mut unknown = Vec::new();
    for (at, map, known) in policies.chain(rules) {
        let keys = map.as_object().into_iter().flatten();
        for (key, _) in keys.filter(|(key, _)| !known.contains(&key.as_str())) {
            let path = std::iter::once(Segment::from("resiliency"))
                .chain(at.clone())
                .chain([key.as_str().into()]);
            unknown.push(path.collect());
        }
    }
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
