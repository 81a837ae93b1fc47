//! `scaling.additionalTriggers`.

use actor::spec::Scaling;
use function_kit::Call;
use merge::Segment;
use serde_json::{Map, Value};

use super::set_by;
use crate::queue_trigger;
use crate::target::Target;

const METRIC_TYPES: [&str; 3] = ["AverageValue", "Value", "Utilization"];
/// Triggers whose value KEDA does not cache.
const NOT_CACHED: [&str; 3] = ["cpu", "memory", "cron"];

/// One of the triggers that the user writes.
pub(super) struct Trigger<'a>(&'a Map<String, Value>);

impl<'a> Trigger<'a> {
    /// Those of an actor, in their order.
    pub(super) fn all(scaling: &'a Scaling) -> impl Iterator<Item = Self> {
        scaling.additional_triggers.iter().map(Self)
    }

    /// A text that is not empty.
    fn text(&self, key: &str) -> Option<&'a str> {
        let text = self.0.get(key)?.as_str()?;
        (!text.is_empty()).then_some(text)
    }

    /// Its name, by which formulas know it.
    pub(super) fn name(&self) -> Option<&'a str> {
        self.text("name")
    }

    /// Whether it reads a resource of the target's pods, which the HPA does itself.
    pub(super) fn reads_pods(&self) -> bool {
        self.is_any_of(&["cpu", "memory"])
    }

    fn is_any_of(&self, types: &[&str]) -> bool {
        self.text("type").is_some_and(|name| types.contains(&name))
    }
}

pub(super) fn faults(call: &Call, scaling: &Scaling, target: &Target<'_>) -> Vec<String> {
    let mut taken = vec![queue_trigger::NAME];
    let mut faults = Vec::new();
    for (index, trigger) in Trigger::all(scaling).enumerate() {
        let duplicate = trigger.name().filter(|name| taken.contains(name));
        taken.extend(trigger.name());
        let found = [
            required(&trigger),
            metadata(&trigger),
            duplicate.map(|name| format!("its name {name:?} is taken: give it another")),
            cached(&trigger),
            metric_type(&trigger),
            requests(&trigger, target),
        ];
        let origin = set_by(call, [Segment::from("additionalTriggers"), index.into()]);
        let place = format!("scaling.additionalTriggers[{index}] ({origin})");
        faults.extend(
            found
                .into_iter()
                .flatten()
                .map(|fault| format!("{place}: {fault}")),
        );
    }
    faults
}

fn required(trigger: &Trigger<'_>) -> Option<String> {
    let Trigger(fields) = trigger;
    if trigger.text("type").is_none() {
        return Some("type is missing: set the name of a KEDA scaler".to_owned());
    }
    if fields.contains_key("name") && trigger.name().is_none() {
        return Some("name must be a text".to_owned());
    }
    let reference = fields.get("authenticationRef")?;
    let is_named = reference["name"]
        .as_str()
        .is_some_and(|name| !name.is_empty());
    (!is_named).then(|| {
        "authenticationRef.name is missing: set the name of a TriggerAuthentication".to_owned()
    })
}

fn metadata(trigger: &Trigger<'_>) -> Option<String> {
    let Some(metadata) = trigger.0.get("metadata").and_then(Value::as_object) else {
        return Some("metadata is missing: set what the scaler needs to know".to_owned());
    };
    let is_nested = |value: &Value| value.is_array() || value.is_object();
    let (key, _) = metadata.iter().find(|(_, value)| is_nested(value))?;
    Some(format!(
        "metadata.{key} must be a text, a number, true or false"
    ))
}

fn cached(trigger: &Trigger<'_>) -> Option<String> {
    let is_cached = trigger.0.get("useCachedMetrics")?;
    if !is_cached.is_boolean() {
        return Some("useCachedMetrics must be true or false".to_owned());
    }
    (*is_cached == Value::Bool(true) && trigger.is_any_of(&NOT_CACHED)).then(|| {
        format!(
            "useCachedMetrics is not possible with types {}",
            NOT_CACHED.join(", ")
        )
    })
}

fn metric_type(trigger: &Trigger<'_>) -> Option<String> {
    let name = trigger.0.get("metricType")?;
    if !METRIC_TYPES.iter().any(|known| name == known) {
        let known = METRIC_TYPES.join(", ");
        return Some(format!("metricType is {name}: set one of {known}"));
    }
    (name == "Utilization" && !trigger.reads_pods())
        .then(|| "metricType \"Utilization\" is possible with types cpu and memory only".to_owned())
}

/// Containers without the resource that a trigger reads. A `LimitRange` may give it
/// to the pods, which cannot be seen from here.
fn requests(trigger: &Trigger<'_>, target: &Target<'_>) -> Option<String> {
    let resource = trigger.text("type").filter(|_| trigger.reads_pods())?;
    let only = trigger
        .0
        .get("metadata")
        .and_then(|metadata| metadata["containerName"].as_str());
    let without = target.without(resource, only);
    (!without.is_empty()).then(|| {
        format!(
            "type {resource:?} needs a request for {resource} in every container that it reads, and there is none in {}: add it, even where a LimitRange would",
            without.join(", ")
        )
    })
}
