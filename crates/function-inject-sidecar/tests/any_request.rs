//! Whatever a workload holds, the step answers.

use function_inject_sidecar::{Config, run};
use function_kit::cases::form;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Keys that the step looks for.
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

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec!["", "a", "asya-runtime", "asya-sidecar", "tmp", "/tmp"]);
    let leaf = prop_oneof![
        text.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(5, 64, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(&KEYS[..]), inner, 0..6)
                .prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn the_sidecar_is_injected_or_a_fault_is_told(
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
