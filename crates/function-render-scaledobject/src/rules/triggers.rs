//! `scaling.additionalTriggers`.

use actor::spec::Scaling;
use function_kit::{Call, Code, Diagnostic};
use merge::Segment;
use serde_json::{Map, Value};

use super::locate;
use crate::queue_trigger;
use crate::target::Target;

const METRIC_TYPES: [&str; 3] = ["AverageValue", "Value", "Utilization"];
/// Triggers whose value KEDA does not cache.
const NOT_CACHED: [&str; 3] = ["cpu", "memory", "cron"];

/// One of the triggers that the user writes.
pub(super) struct Trigger<'a>(&'a Map<String, Value>);

impl<'a> Trigger<'a> {
    /// Returns the triggers of an actor, in their order.
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

    /// Returns whether it reads a resource of the target's pods, which the HPA does itself.
    pub(super) fn reads_pods(&self) -> bool {
        self.is_any_of(&["cpu", "memory"])
    }

    fn is_any_of(&self, types: &[&str]) -> bool {
        self.text("type").is_some_and(|name| types.contains(&name))
    }
}

/// Problem of one trigger: its field, and the message.
type Problem = (&'static str, String);

/// Kind of the credentials that belong to the whole cluster.
const CLUSTER_KIND: &str = "ClusterTriggerAuthentication";

/// The triggers that use a ClusterTriggerAuthentication which the platform does not list.
pub(super) fn check_credentials(
    call: &Call,
    scaling: &Scaling,
    allowed: &[String],
) -> Vec<Diagnostic> {
    let triggers = Trigger::all(scaling).enumerate();
    let refused = triggers.filter_map(|(index, Trigger(fields))| {
        let reference = fields.get("authenticationRef")?;
        let name = reference["name"].as_str().unwrap_or_default();
        let is_refused =
            reference["kind"] == CLUSTER_KIND && !allowed.iter().any(|allowed| allowed == name);
        is_refused.then_some((index, name))
    });
    refused
        .map(|(index, name)| {
            let path = [
                Segment::from("additionalTriggers"),
                index.into(),
                "authenticationRef".into(),
            ];
            let location = locate(call, path);
            let message = format!(
                "scaling.additionalTriggers[{index}] (set by {}): the platform does not allow actors to use {CLUSTER_KIND} {name:?}",
                location.source
            );
            Diagnostic::error(Code::ClusterTriggerAuthentication, location, message).help(
                "use a TriggerAuthentication of the namespace, or have the platform list it in allowedClusterTriggerAuthentications",
            )
        })
        .collect()
}

pub(super) fn check(call: &Call, scaling: &Scaling, target: &Target<'_>) -> Vec<Diagnostic> {
    let mut taken = vec![queue_trigger::NAME];
    let mut errors = Vec::new();
    for (index, trigger) in Trigger::all(scaling).enumerate() {
        let duplicate = trigger.name().filter(|name| taken.contains(name));
        taken.extend(trigger.name());
        let found = [
            required(&trigger),
            metadata(&trigger),
            duplicate.map(|name| {
                let problem = format!("its name {name:?} is taken: give it another");
                ("name", problem)
            }),
            cached(&trigger),
            metric_type(&trigger),
            requests(&trigger, target),
        ];
        let item = [Segment::from("additionalTriggers"), index.into()];
        let origin = locate(call, item.clone()).source;
        for (field, problem) in found.into_iter().flatten() {
            let location = locate(call, item.clone().into_iter().chain([field.into()]));
            let message =
                format!("scaling.additionalTriggers[{index}] (set by {origin}): {problem}");
            errors.push(Diagnostic::error(Code::InvalidTrigger, location, message));
        }
    }
    errors
}

fn required(trigger: &Trigger<'_>) -> Option<Problem> {
    let Trigger(fields) = trigger;
    if trigger.text("type").is_none() {
        let problem = "type is missing: set the name of a KEDA scaler";
        return Some(("type", problem.to_owned()));
    }
    if fields.contains_key("name") && trigger.name().is_none() {
        return Some(("name", "name must be a text".to_owned()));
    }
    let reference = fields.get("authenticationRef")?;
    let is_named = reference["name"]
        .as_str()
        .is_some_and(|name| !name.is_empty());
    if !is_named {
        let problem = "authenticationRef.name is missing: set the name of a TriggerAuthentication";
        return Some(("authenticationRef", problem.to_owned()));
    }
    // To KEDA an empty kind is the default. `check_credentials` checks those of the cluster.
    let kind = reference.get("kind").filter(|kind| !kind.is_null())?;
    let known = ["", "TriggerAuthentication", CLUSTER_KIND];
    (!known.iter().any(|known| kind == known)).then(|| {
        let problem = format!(
            "authenticationRef.kind is {kind}: set \"TriggerAuthentication\", or leave it out"
        );
        ("authenticationRef", problem)
    })
}

fn metadata(trigger: &Trigger<'_>) -> Option<Problem> {
    let Some(metadata) = trigger.0.get("metadata").and_then(Value::as_object) else {
        let problem = "metadata is missing: set what the scaler needs to know";
        return Some(("metadata", problem.to_owned()));
    };
    let is_nested = |value: &Value| value.is_array() || value.is_object();
    let (key, _) = metadata.iter().find(|(_, value)| is_nested(value))?;
    let problem = format!("metadata.{key} must be a text, a number, true or false");
    Some(("metadata", problem))
}

fn cached(trigger: &Trigger<'_>) -> Option<Problem> {
    const FIELD: &str = "useCachedMetrics";
    let is_cached = trigger.0.get(FIELD)?;
    if !is_cached.is_boolean() {
        return Some((FIELD, format!("{FIELD} must be true or false")));
    }
    (*is_cached == Value::Bool(true) && trigger.is_any_of(&NOT_CACHED)).then(|| {
        let types = NOT_CACHED.join(", ");
        (FIELD, format!("{FIELD} is not possible with types {types}"))
    })
}

fn metric_type(trigger: &Trigger<'_>) -> Option<Problem> {
    const FIELD: &str = "metricType";
    let name = trigger.0.get(FIELD)?;
    if !METRIC_TYPES.iter().any(|known| name == known) {
        let known = METRIC_TYPES.join(", ");
        return Some((FIELD, format!("metricType is {name}: set one of {known}")));
    }
    (name == "Utilization" && !trigger.reads_pods()).then(|| {
        let problem = "metricType \"Utilization\" is possible with types cpu and memory only";
        (FIELD, problem.to_owned())
    })
}

/// Containers without the resource that a trigger reads. A `LimitRange` may give it
/// to the pods, which cannot be seen from here.
fn requests(trigger: &Trigger<'_>, target: &Target<'_>) -> Option<Problem> {
    let resource = trigger.text("type").filter(|_| trigger.reads_pods())?;
    let only = trigger
        .0
        .get("metadata")
        .and_then(|metadata| metadata["containerName"].as_str());
    let without = target.without(resource, only);
    (!without.is_empty()).then(|| {
        let problem = format!(
            "type {resource:?} needs a request for {resource} in every container that it reads, and there is none in {}: add it, even where a LimitRange would",
            without.join(", ")
        );
        ("type", problem)
    })
}
