//! The step returns a response for every request, and always the same one.

use function_kit::cases::{any, form};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys that mean something to the step.
const KEYS: [&str; 26] = [
    "accountId",
    "actorTimeout",
    "adopt",
    "annotations",
    "config",
    "crossplane.io/external-name",
    "deadLetter",
    "defaultTransport",
    "deletionPolicy",
    "enabled",
    "env",
    "forProvider",
    "host",
    "labels",
    "maxReceiveCount",
    "messageRetentionSeconds",
    "metadata",
    "name",
    "queue",
    "queueType",
    "rabbitmq",
    "resiliency",
    "sidecar",
    "spec",
    "sqs",
    "value",
];
const TEXTS: [&str; 8] = [
    "",
    "sqs",
    "Orphan",
    "ASYA_RUNTIME_TIMEOUT",
    "24h",
    "9999999999999h",
    "a\nb",
    "\u{fffd}",
];

fn any_map() -> impl Strategy<Value = Value> {
    any::map(&KEYS, &TEXTS)
}

/// An actor on either kind of transport; settings, live queue and spec hold anything.
fn any_request() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(&["sqs", "mq"][..]);
    let values = prop::array::uniform6(any_map());
    (name, values).prop_map(|(transport, values)| {
        let [mut spec, config, live, settings, facts, labels] = values;
        spec["transport"] = json!(transport);
        let mut platform = settings;
        platform["transports"] = json!({
            "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
            "mq": {"type": "rabbitmq", "config": {"host": "mq"}},
        });
        let mut over = json!({"transports": {}});
        over["transports"][transport] = json!({"config": config});
        json!({
            "observed": {
                "composite": {"metadata": {"name": "a", "namespace": "prod", "labels": labels}, "spec": spec},
                "resources": {"queue": live},
            },
            "input": {"platform": over},
            "context": {"asya.sh/facts": facts, "asya.sh/platform": platform},
        })
    })
}

proptest! {
    #[test]
    fn any_request_renders_a_queue_or_an_error(document in any_request()) {
        let request = form::request(&document).unwrap();
        let response = function_render_queue::run(request.clone());
        prop_assert_eq!(&response, &function_render_queue::run(request));
        let is_rendered = response.desired.is_some_and(|desired| !desired.resources.is_empty());
        prop_assert_eq!(is_rendered, response.results.is_empty());
    }
}
