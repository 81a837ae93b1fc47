//! The `ScaledObject`.

use actor::KEDA_API_VERSION;
use actor::names::LABEL_MAX;
use actor::quantity::number_text;
use actor::spec::{Advanced, Scaling};
use function_kit::Identity;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::queue_trigger::{self, QueueTrigger};
use crate::target::Target;

/// Name of the composed resource.
pub(crate) const RESOURCE_NAME: &str = "scaled-object";
/// Name of the composed resource for the target of an actor whose adapter has a
/// Deployment of its own.
pub(crate) const OF_TARGET: &str = "scaled-object-target";
/// Annotations of the XR by which people pause KEDA. Source: KEDA,
/// `scaledobject_types.go`.
pub(crate) const PAUSED_PREFIX: &str = "autoscaling.keda.sh/paused";

/// Longest name of a ScaledObject whose HPA name KEDA derives, `keda-hpa-<name>`:
/// both go into labels, which have 63 characters. Source: KEDA, admission webhook.
const NAME_MAX: usize = 54;
const HPA_PREFIX: &str = "keda-hpa-";
/// Characters of the actor's name in an HPA name with a hash of 8 characters.
const HPA_STEM: usize = 45;
const TARGET_SUFFIX: &str = "-target";

/// Workload and settings of one ScaledObject.
pub(crate) struct Scaled<'a> {
    /// Name of the composed resource.
    pub(crate) resource_name: &'static str,
    /// Name of the object.
    pub(crate) name: String,
    pub(crate) target: Target<'a>,
    /// True if the pods are somebody else's.
    pub(crate) is_foreign: bool,
}

impl<'a> Scaled<'a> {
    /// The actor's own workload.
    pub(crate) fn own(identity: &Identity, target: Target<'a>) -> Self {
        Self {
            resource_name: RESOURCE_NAME,
            name: identity.actor.to_string(),
            target,
            is_foreign: false,
        }
    }

    /// Somebody else's, in whose pods adapter and sidecar run.
    pub(crate) fn injected(identity: &Identity, target: Target<'a>) -> Self {
        Self {
            is_foreign: true,
            ..Self::own(identity, target)
        }
    }

    /// Somebody else's beside the actor's own.
    pub(crate) fn beside(identity: &Identity, target: Target<'a>) -> Self {
        Self {
            resource_name: OF_TARGET,
            name: shortened("", identity.actor.as_str(), TARGET_SUFFIX),
            target,
            is_foreign: true,
        }
    }
}

/// The object by which KEDA scales it.
pub(crate) fn object(
    identity: &Identity,
    scaling: &Scaling,
    scaled: &Scaled<'_>,
    trigger: &QueueTrigger,
) -> Value {
    let Scaled { name, target, .. } = scaled;
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
    let authentication = match &trigger.platform_authentication {
        None => json!({"name": identity.actor.trigger_authentication()}),
        Some(platforms) => json!(platforms),
    };
    let mut triggers = vec![json!({
        "type": trigger.r#type,
        "name": queue_trigger::NAME,
        "metadata": trigger.metadata,
        "authenticationRef": authentication,
    })];
    triggers.extend(scaling.additional_triggers.iter().map(with_texts));

    let mut spec = json!({
        "scaleTargetRef": scale_target,
        "minReplicaCount": scaling.min(),
        "maxReplicaCount": scaling.max(),
        "pollingInterval": scaling.polling_interval(),
        "cooldownPeriod": scaling.cooldown_period(),
        "advanced": advanced(scaled, &scaling.advanced),
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

fn advanced(scaled: &Scaled<'_>, given: &Advanced) -> Value {
    let behavior = given.behavior.clone().map_or_else(behavior, Value::Object);
    let mut hpa = json!({"behavior": behavior});
    if scaled.name.len() > NAME_MAX {
        hpa["name"] = json!(shortened(HPA_PREFIX, &scaled.name, ""));
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
    // An actor that goes must not leave somebody else's server at zero.
    let restore = given
        .restore_to_original_replica_count
        .or_else(|| scaled.is_foreign.then_some(true))
        .map(Value::from);
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

/// Default behaviour of the HPA: fast up, and down by one pod a minute, because a removed pod loses
/// its loaded model.
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

/// `name` between prefix and suffix, and a short form of it where the whole would be too
/// long for an HPA or a ScaledObject. The hash keeps those apart that begin alike.
fn shortened(prefix: &str, name: &str, suffix: &str) -> String {
    let whole = format!("{prefix}{name}{suffix}");
    if whole.len() <= LABEL_MAX {
        return whole;
    }
    let stem = name.get(..HPA_STEM).unwrap_or(name);
    let stem = stem.trim_end_matches('-');
    let digest: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    let [a, b, c, d, ..] = digest;
    let hash = u32::from_be_bytes([a, b, c, d]);
    format!("{prefix}{stem}-{hash:08x}{suffix}")
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
    fn shortened_names_fit_and_differ() {
        let long = "a".repeat(63);
        let similar = format!("{}b", "a".repeat(62));
        let dashed = format!("{}-{}", "a".repeat(44), "b".repeat(18));
        for (prefix, suffix) in [(HPA_PREFIX, ""), ("", TARGET_SUFFIX)] {
            let short = |name| shortened(prefix, name, suffix);
            for name in [&long, &similar, &dashed] {
                let name = short(name);
                assert!(name.len() <= 63, "{name} has {} characters", name.len());
                assert!(!name.contains("--"), "{name}");
            }
            assert_ne!(short(&long), short(&similar));
        }
        assert_eq!(shortened("", "echo", TARGET_SUFFIX), "echo-target");
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
