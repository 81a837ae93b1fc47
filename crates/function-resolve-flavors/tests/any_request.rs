//! The step returns a response for every request, and always the same one.

use function_kit::cases::{any, form};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys that mean something to the step or to the merge, so that random documents
/// get past the first check.
const KEYS: [&str; 16] = [
    "actor",
    "adopt",
    "config",
    "crossplane",
    "data",
    "deadLetter",
    "enabled",
    "env",
    "flavors",
    "minReplicaCount",
    "minReplicas",
    "queue",
    "scaling",
    "transport",
    "transports",
    "type",
];
const TEXTS: [&str; 8] = [
    "",
    "gpu",
    "spot",
    "sqs",
    "rabbitmq",
    "asya-platform",
    "a\nb",
    "\u{fffd}",
];

fn any_value() -> impl Strategy<Value = Value> {
    any::value(&KEYS, &TEXTS)
}

fn any_map() -> impl Strategy<Value = Value> {
    any::map(&KEYS, &TEXTS)
}

/// A request about an actor that names two flavors, with random contents.
fn any_request() -> impl Strategy<Value = Value> {
    let document = || prop_oneof![any_map(), any_value()];
    let documents = prop::collection::vec(document(), 6);
    // Mostly yes, so that most requests get as far as the merge.
    let flags = prop::array::uniform5(prop::bool::weighted(0.85));
    (any_map(), documents, flags).prop_map(|(mut spec, documents, flags)| {
        let [named, gpu, spot, platform, configured] = flags;
        let mut documents = documents.into_iter();
        let mut next = || documents.next().unwrap_or_default();
        if named {
            spec["flavors"] = json!(["gpu", "spot"]);
        }
        let mut required = json!({});
        for (key, fetched) in [
            ("flavor-gpu", gpu),
            ("flavor-spot", spot),
            ("asya-platform", platform),
        ] {
            if fetched {
                required[key] = json!([{"metadata": {"name": key}, "data": next()}]);
            }
        }
        json!({
            "observed": {
                "composite": {"metadata": {"name": "a", "namespace": "prod"}, "spec": spec},
                "resources": {"queue": next()},
            },
            "input": {"platform": if configured { transports() } else { next() }},
            "context": {"asya.sh/facts": next()},
            "required": required,
        })
    })
}

fn transports() -> Value {
    json!({"transports": {"sqs": {"type": "sqs", "config": {"region": "us-east-1"}}}})
}

proptest! {
    #[test]
    fn every_request_gets_one_answer(document in any_request()) {
        let request = form::request(&document).unwrap();
        let response = form::response(&function_resolve_flavors::run(request.clone()));
        let again = form::response(&function_resolve_flavors::run(request));
        prop_assert_eq!(&response, &again);

        let conditions = response["conditions"].as_array().unwrap();
        let of_flavors = conditions.iter().filter(|condition| condition["type"] == "FlavorsResolved");
        prop_assert_eq!(of_flavors.count(), 1);
        let fatal = response["results"].as_array().is_some_and(|results| !results.is_empty());
        let resolved = &response["desired"]["composite"]["spec"];
        let fetching = conditions[0]["reason"] == "FetchingFlavors";
        prop_assert_eq!(resolved["transport"].is_string() || fatal, !fetching);
    }
}
