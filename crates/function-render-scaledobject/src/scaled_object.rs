//! The `ScaledObject`.

use actor::KEDA_API_VERSION;
use actor::quantity::number_text;
use actor::spec::{Advanced, Scaling};
use function_kit::Identity;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::queue_trigger::{self, QueueTrigger};
use crate::target::Target;

/// Name of the composed resource.
pub(crate) const RESOURCE_NAME: &str = "scaled-object";
/// Annotations of the XR by which people pause KEDA. Source: KEDA,
/// `scaledobject_types.go`.
pub(crate) const PAUSED_PREFIX: &str = "autoscaling.keda.sh/paused";

/// Longest name of a ScaledObject whose HPA name KEDA derives, `keda-hpa-<name>`:
/// both go into labels, which have 63 characters. Source: KEDA, admission webhook.
const NAME_MAX: usize = 54;
const HPA_PREFIX: &str = "keda-hpa-";
/// Characters of the actor's name in an HPA name with a hash of 8 characters.
const HPA_STEM: usize = 45;

/// The object by which KEDA scales `target`.
pub(crate) fn object(
    identity: &Identity,
    scaling: &Scaling,
    target: &Target<'_>,
    trigger: &QueueTrigger,
) -> Value {
    let name = identity.actor.as_str();
    let mut metadata = identity.metadata(name, "scaledobject");
    let paused: Map<String, Value> = identity
        .annotations
        .iter()
        .filter(|(key, _)| key.starts_with(PAUSED_PREFIX))
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    if !paused.is_empty() {
        metadata["annotations"] = Value::Object(paused);
    }
    let mut scale_target = json!({
        "apiVersion": target.api_version,
        "kind": target.kind,
        "name": target.name,
    });
    if let Some(container) = trigger.environment_of {
        scale_target["envSourceContainerName"] = json!(container);
    }
    let mut triggers = vec![json!({
        "type": trigger.r#type,
        "name": queue_trigger::NAME,
        "metadata": trigger.metadata,
        "authenticationRef": {"name": identity.actor.trigger_authentication()},
    })];
    triggers.extend(scaling.additional_triggers.iter().map(with_texts));

    let mut spec = json!({
        "scaleTargetRef": scale_target,
        "minReplicaCount": scaling.min(),
        "maxReplicaCount": scaling.max(),
        "pollingInterval": scaling.polling_interval(),
        "cooldownPeriod": scaling.cooldown_period(),
        "advanced": advanced(name, &scaling.advanced),
        "triggers": triggers,
    });
    let given = [
        (
            "initialCooldownPeriod",
            scaling.initial_cooldown_period.map(Value::from),
        ),
        (
            "idleReplicaCount",
            scaling.idle_replica_count.map(Value::from),
        ),
        ("fallback", scaling.fallback.clone().map(Value::Object)),
    ];
    put_given(&mut spec, given);
    json!({
        "apiVersion": KEDA_API_VERSION,
        "kind": "ScaledObject",
        "metadata": metadata,
        "spec": spec,
    })
}

fn advanced(actor: &str, given: &Advanced) -> Value {
    let behavior = given.behavior.clone().map_or_else(behavior, Value::Object);
    let mut hpa = json!({"behavior": behavior});
    if actor.len() > NAME_MAX {
        hpa["name"] = json!(hpa_name(actor));
    }
    let mut modifiers = json!({});
    put_given(
        &mut modifiers,
        [
            ("formula", given.formula.clone().map(Value::String)),
            ("target", given.target.as_ref().and_then(text)),
            (
                "activationTarget",
                given.activation_target.as_ref().and_then(text),
            ),
            ("metricType", given.metric_type.clone().map(Value::String)),
        ],
    );
    let mut advanced = json!({"horizontalPodAutoscalerConfig": hpa});
    if modifiers != json!({}) {
        advanced["scalingModifiers"] = modifiers;
    }
    let restore = given.restore_to_original_replica_count.map(Value::from);
    put_given(&mut advanced, [("restoreToOriginalReplicaCount", restore)]);
    advanced
}

/// Adds the fields that have a value.
fn put_given<const N: usize>(object: &mut Value, fields: [(&str, Option<Value>); N]) {
    for (name, value) in fields {
        if let Some(value) = value {
            object[name] = value;
        }
    }
}

/// How the HPA acts unless the actor says: quickly up, and down by one pod a minute,
/// for a pod that goes takes its warm model with it.
fn behavior() -> Value {
    json!({
        "scaleDown": {
            "stabilizationWindowSeconds": 300,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
        },
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 10, "periodSeconds": 60},
                {"type": "Percent", "value": 100, "periodSeconds": 60},
            ],
        },
    })
}

/// A short name for the HPA of an actor with a long one. The hash keeps actors
/// apart that begin alike.
fn hpa_name(actor: &str) -> String {
    let stem = actor.get(..HPA_STEM).unwrap_or(actor);
    let stem = stem.trim_end_matches('-');
    let digest: [u8; 32] = Sha256::digest(actor.as_bytes()).into();
    let [a, b, c, d, ..] = digest;
    let hash = u32::from_be_bytes([a, b, c, d]);
    format!("{HPA_PREFIX}{stem}-{hash:08x}")
}

/// A trigger as it is, but with texts in its metadata: KEDA takes no others.
fn with_texts(trigger: &Map<String, Value>) -> Value {
    let mut trigger = trigger.clone();
    if let Some(Value::Object(metadata)) = trigger.get_mut("metadata") {
        for value in metadata.values_mut() {
            if let Some(text) = text(value) {
                *value = text;
            }
        }
    }
    Value::Object(trigger)
}

/// A scalar as a text.
fn text(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(number) => Some(Value::String(number_text(number))),
        Value::Bool(truth) => Some(Value::String(truth.to_string())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hpas_fit_and_differ() {
        let long = "a".repeat(63);
        let similar = format!("{}b", "a".repeat(62));
        let dashed = format!("{}-{}", "a".repeat(44), "b".repeat(18));
        for actor in [&long, &similar, &dashed] {
            let name = hpa_name(actor);
            assert!(name.len() <= 63, "{name} has {} characters", name.len());
            assert!(!name.contains("--"), "{name}");
        }
        assert_ne!(hpa_name(&long), hpa_name(&similar));
    }

    #[test]
    fn scalars_become_texts() {
        let cases = [
            (json!(5), Some(json!("5")), "an integer"),
            (json!(5.0), Some(json!("5")), "an integral number"),
            (json!(0.5), Some(json!("0.5")), "a fraction"),
            (json!(true), Some(json!("true")), "a truth value"),
            (json!("5"), Some(json!("5")), "a text"),
            (json!(["5"]), None, "a list is no scalar"),
        ];
        for (value, expected, reason) in cases {
            assert_eq!(text(&value), expected, "{reason}");
        }
    }
}
