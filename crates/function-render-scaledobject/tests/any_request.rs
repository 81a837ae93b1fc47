//! The step returns a response for every request, and always the same one.

use function_kit::cases::{any, form};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys that mean something to the step.
const KEYS: [&str; 30] = [
    "activationTarget",
    "additionalTriggers",
    "advanced",
    "apiVersion",
    "atProvider",
    "authenticationRef",
    "behavior",
    "containers",
    "failureThreshold",
    "fallback",
    "foreignScaler",
    "formula",
    "idleReplicaCount",
    "kind",
    "maxReplicaCount",
    "metadata",
    "metricType",
    "minReplicaCount",
    "name",
    "pollingInterval",
    "replicas",
    "resources",
    "scaling",
    "spec",
    "status",
    "target",
    "template",
    "type",
    "url",
    "useCachedMetrics",
];
const TEXTS: [&str; 8] = [
    "",
    "cpu",
    "queue",
    "queue + é(",
    "Utilization",
    "NaN",
    "a\nb",
    "\u{fffd}",
];

fn any_value() -> impl Strategy<Value = Value> {
    any::value(&KEYS, &TEXTS)
}

fn any_map() -> impl Strategy<Value = Value> {
    any::map(&KEYS, &TEXTS)
}

/// An actor on either kind of transport; its scaling and all that is desired and
/// observed hold anything.
fn any_request() -> impl Strategy<Value = Value> {
    let transport = prop::sample::select(&["sqs", "mq"][..]);
    let values = prop::array::uniform6(any_map());
    (transport, values, any_value()).prop_map(|(transport, values, trigger)| {
        let [mut scaling, queue, workload, health, annotations, facts] = values;
        scaling["additionalTriggers"] = json!([{"type": "cpu", "metadata": trigger}, trigger]);
        json!({
            "observed": {
                "composite": {
                    "metadata": {"name": "a", "namespace": "prod", "annotations": annotations},
                    "spec": {"scaling": scaling, "transport": transport},
                },
                "resources": {"queue": queue, "health": health},
            },
            "desired": {"resources": {"deployment": workload}},
            "context": {"asya.sh/facts": facts},
            "input": {"platform": {"transports": {
                "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
                "mq": {"type": "rabbitmq", "config": {"host": "mq"}},
            }}},
        })
    })
}

proptest! {
    #[test]
    fn every_request_gets_one_answer(document in any_request()) {
        let request = form::request(&document).unwrap();
        let response = function_render_scaledobject::run(request.clone());
        prop_assert_eq!(&response, &function_render_scaledobject::run(request));
        let desired = response.desired.map(|desired| desired.resources).unwrap_or_default();
        if desired.contains_key("scaled-object") {
            prop_assert!(response.results.is_empty());
            prop_assert!(desired.contains_key("trigger-authentication"));
        }
    }
}
