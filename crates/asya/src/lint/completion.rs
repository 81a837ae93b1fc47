//! Fields that flavors may give which are not among the documents: the steps run with substitutes, and
//! findings that such a flavor could repair are not reported.

use actor::diagnostic::{Code, Diagnostic, Severity, Source};
use actor::names::HANDLER_VARIABLE;
use merge::Segment;
use serde_json::{Map, Value, json};

/// Most replicas that the API server accepts.
const REPLICAS_MAX: u64 = i32::MAX as u64;

/// Findings in the actor that a flavor could repair with a field that the actor does not set.
const REPAIRABLE_IN_ACTOR: [Code; 16] = [
    Code::NothingToRun,
    Code::ImageMissing,
    Code::HandlerMissing,
    Code::RuntimeContainer,
    Code::UndeclaredVolume,
    Code::NoRequests,
    Code::ReplicasWhileScaling,
    Code::NoDeadLettering,
    Code::ServiceAccountRole,
    Code::GracePeriodTooShort,
    Code::VisibilityTooShort,
    Code::LongWorkOverAmqp,
    Code::TargetUrlMissing,
    Code::FragileInjection,
    Code::NotScalable,
    Code::DefaultSidecarImage,
];

/// Errors of a flavor that neither an actor nor another flavor can repair by setting further fields.
const OF_FLAVOR_ALONE: [Code; 16] = [
    Code::FieldSetTwice,
    Code::InvalidHandler,
    Code::InvalidImage,
    Code::InvalidFlavorData,
    Code::QueueOptionInFlavor,
    Code::NameMissing,
    Code::ReservedContainer,
    Code::CommandSet,
    Code::DuplicateName,
    Code::ReservedVariable,
    Code::InvalidStateProxy,
    Code::InvalidQuantity,
    Code::InvalidTimeout,
    Code::ScalingOutOfRange,
    Code::InvalidFallback,
    Code::InvalidTrigger,
];

/// Errors that can be of a flavor alone in an item of a list only: in a map, a field that others set can
/// repair them. [`super::fields`] reports those of a single field.
const IN_LIST: [Code; 7] = [
    Code::InvalidValue,
    Code::RequiredFieldMissing,
    Code::InvalidKubernetesValue,
    Code::ExclusiveFields,
    Code::RequestAboveLimit,
    Code::InvalidLabel,
    Code::FieldNotInTemplate,
];

/// Returns whether a flavor that is not among the files could repair a finding, or it is of a substitute for
/// such a flavor.
pub(super) fn could_be_repaired(diagnostic: &Diagnostic, missing: &[&str]) -> bool {
    if missing.is_empty() {
        return false;
    }
    match &diagnostic.source {
        Source::Flavor(name) if missing.contains(&name.as_str()) => true,
        Source::Flavor(_) => {
            let conflicts = [Code::FlavorConflict, Code::FlavorTypeMismatch];
            // The check of the flavor itself reports its own errors.
            diagnostic.severity == Severity::Error && !conflicts.contains(&diagnostic.code)
        }
        _ => REPAIRABLE_IN_ACTOR.contains(&diagnostic.code),
    }
}

/// Returns whether an error in a flavor is one for every actor. `flavor` is its EnvironmentConfig.
pub(super) fn is_of_flavor_alone(code: Code, path: &[Segment], flavor: &Value) -> bool {
    // Others can add a field to a map, but not to an item of a list.
    let is_given = || {
        let found = path
            .iter()
            .try_fold(flavor, |value, segment| match segment {
                Segment::Key(key) => value.get(key),
                Segment::Index(index) => value.get(index),
            });
        found.is_some_and(|value| !value.is_null())
    };
    let is_in_list = path.iter().any(|it| matches!(it, Segment::Index(_)));
    if is_in_list {
        OF_FLAVOR_ALONE.contains(&code) || IN_LIST.contains(&code)
    } else {
        OF_FLAVOR_ALONE.contains(&code) && is_given()
    }
}

/// Data of a flavor that gives what no layer gives: without an image or a handler, the steps would end
/// before they check anything else.
pub(super) fn substitute(layers: &[&Map<String, Value>]) -> Value {
    let given = |field: &str| {
        let values = layers.iter().filter_map(|layer| layer.get(field));
        values.filter(|value| !value.is_null()).collect::<Vec<_>>()
    };
    let is_given = |field| !given(field).is_empty();
    let mut data = Map::new();
    let mut add = |field: &str, value: Value| data.insert(field.to_owned(), value);
    if is_given("workloadRef") {
        let runtime = given("runtime");
        let fields = [
            ("image", json!("adapter:1")),
            ("handler", json!("module.function")),
            ("targetURL", json!("http://target")),
            (
                "resources",
                json!({"requests": {"cpu": "1", "memory": "1Gi"}}),
            ),
        ];
        let absent = fields.into_iter().filter(|(field, _)| {
            runtime.iter().all(|runtime| runtime[*field].is_null())
                && (*field != "handler" || !is_given("handler"))
        });
        let absent = absent.map(|(field, value)| (field.to_owned(), value));
        add("runtime", absent.collect());
        return Value::Object(data);
    }
    if !is_given("image") && !is_given("workload") {
        add("image", json!("app:1"));
    }
    if !is_given("workload") {
        let requests = requests(&given("resources"));
        add("resources", json!({"requests": requests}));
    }
    if !is_given("handler") && !given("workload").into_iter().any(names_handler) {
        add("handler", json!("module.function"));
    }
    Value::Object(data)
}

/// Requests for what no layer requests or limits: triggers on cpu and memory need them.
fn requests(resources: &[&Value]) -> Value {
    let is_given = |name: &str| {
        let lists = resources
            .iter()
            .flat_map(|it| [&it["requests"], &it["limits"]]);
        lists.into_iter().any(|list| !list[name].is_null())
    };
    let amounts = [("cpu", "1"), ("memory", "1Gi")].into_iter();
    let absent = amounts.filter(|(name, _)| !is_given(name));
    absent
        .map(|(name, amount)| (name.to_owned(), json!(amount)))
        .collect()
}

/// Returns whether a container of an inline workload has the variable that names the handler.
fn names_handler(workload: &Value) -> bool {
    let containers = workload["template"]["spec"]["containers"].as_array();
    let variables = containers
        .into_iter()
        .flatten()
        .filter_map(|it| it["env"].as_array());
    variables
        .flatten()
        .any(|variable| variable["name"] == HANDLER_VARIABLE)
}

/// Bounds for the bounds that a flavor sets without the other one.
pub(super) fn bounds(scaling: &Map<String, Value>) -> Value {
    let is_given = |names: [&str; 2]| names.iter().any(|name| scaling.contains_key(*name));
    let mut bounds = Map::new();
    if !is_given(["maxReplicaCount", "maxReplicas"]) {
        bounds.insert("maxReplicaCount".to_owned(), json!(REPLICAS_MAX));
    }
    let idle = scaling.get("idleReplicaCount").and_then(Value::as_u64);
    if let Some(idle) = idle.filter(|_| !is_given(["minReplicaCount", "minReplicas"])) {
        bounds.insert("minReplicaCount".to_owned(), json!(idle.saturating_add(1)));
    }
    Value::Object(bounds)
}
