//! The step returns a response for every workload.

use function_inject_sidecar::{Config, run};
use function_kit::cases::{any, form};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys that the step reads.
const KEYS: [&str; 18] = [
    "connector",
    "containers",
    "env",
    "image",
    "kind",
    "limits",
    "livenessProbe",
    "metadata",
    "mount",
    "mountPath",
    "name",
    "path",
    "requests",
    "resources",
    "spec",
    "template",
    "volumeMounts",
    "volumes",
];
const TEXTS: [&str; 6] = ["", "a", "asya-runtime", "asya-sidecar", "tmp", "/tmp"];

fn any_value() -> impl Strategy<Value = Value> {
    any::value(&KEYS, &TEXTS)
}

proptest! {
    #[test]
    fn any_request_gets_a_sidecar_or_an_error(
        pod in any_value(),
        containers in any_value(),
        sidecar in any_value(),
        proxies in any_value(),
        in_pod in any::<bool>(),
    ) {
        let pod = if in_pod {
            json!({"containers": [{"name": "asya-runtime"}, containers], "volumes": pod})
        } else {
            pod
        };
        let request = form::request(&json!({
            "observed": {"composite": {
                "metadata": {"name": "text-processor", "namespace": "default"},
                "spec": {"sidecar": sidecar, "stateProxy": proxies},
            }},
            "desired": {"resources": {"deployment": {"kind": "Deployment", "spec": {"template": {"spec": pod}}}}},
            "input": {"platform": {
                "runtime": {"configMap": "asya-runtime"},
                "transports": {"sqs": {"type": "sqs", "config": {"region": "us-east-1"}}},
            }},
        })).unwrap();
        let config = Config::default();
        let response = run(request.clone(), &config);
        prop_assert_eq!(&response, &run(request.clone(), &config));
        let is_changed = response.desired != request.desired;
        prop_assert_eq!(is_changed, response.results.is_empty());
    }
}
