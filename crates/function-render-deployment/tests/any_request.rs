//! The step returns a response for every spec.

use actor::spec::KNOWN_FIELDS;
use function_kit::cases::{any, form};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Keys inside the fields that the step looks into.
const INNER: [&str; 24] = [
    "args",
    "connector",
    "containers",
    "env",
    "envVar",
    "image",
    "initContainers",
    "key",
    "keys",
    "kind",
    "labels",
    "limits",
    "metadata",
    "mount",
    "mountPath",
    "name",
    "path",
    "requests",
    "resources",
    "secretName",
    "spec",
    "template",
    "value",
    "volumes",
];
const TEXTS: [&str; 5] = ["", "a", "asya-runtime", "asya-sidecar", "StatefulSet"];

fn any_value() -> impl Strategy<Value = Value> {
    any::value(&INNER, &TEXTS)
}

/// A valid actor in which some fields hold anything.
fn any_spec() -> impl Strategy<Value = Value> {
    let fields =
        prop::collection::btree_map(prop::sample::select(&KNOWN_FIELDS[..]), any_value(), 0..4);
    (fields, any::<bool>(), any_value()).prop_map(|(fields, in_template, pod)| {
        let mut spec = Map::new();
        if in_template {
            spec.insert("workload".to_owned(), json!({"template": {"spec": pod}}));
        } else {
            spec.insert("image".to_owned(), json!("app:1"));
        }
        spec.insert("handler".to_owned(), json!("app.handle"));
        spec.extend(
            fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value)),
        );
        Value::Object(spec)
    })
}

/// Keys and texts that mean something where an actor is bound.
const BOUND_KEYS: [&str; 19] = [
    "annotations",
    "apiVersion",
    "asya.sh/forwards-to",
    "atProvider",
    "containers",
    "env",
    "handler",
    "image",
    "kind",
    "metadata",
    "name",
    "podSelector",
    "resolvedTarget",
    "spec",
    "status",
    "targetRef",
    "targetURL",
    "template",
    "value",
];
const BOUND_TEXTS: [&str; 6] = [
    "",
    "apps/v1",
    "Deployment",
    "Deployment.apps/phi",
    "asya-runtime",
    "ASYA_TARGET_URL",
];

/// A spec that is bound to something and otherwise holds anything.
fn any_bound_spec() -> impl Strategy<Value = Value> {
    let kinds = prop::sample::select(
        &[
            ("apps/v1", "Deployment"),
            ("kaito.sh/v1beta1", "Workspace"),
            ("serving.kserve.io/v1beta1", "InferenceService"),
            ("v1", "Pod"),
        ][..],
    );
    let strategies = prop::sample::select(&["Auto", "Inject", "Adapter"][..]);
    let runtime = any::map(&BOUND_KEYS, &BOUND_TEXTS);
    (kinds, strategies, runtime, any::<bool>()).prop_map(
        |(kind, strategy, mut runtime, is_whole)| {
            let (api_version, kind) = kind;
            if is_whole {
                runtime = json!({"image": "a:1", "handler": "a.b", "targetURL": "http://phi"});
            }
            json!({
                "workloadRef": {"apiVersion": api_version, "kind": kind, "name": "phi"},
                "runtime": runtime,
                "binding": {"strategy": strategy},
            })
        },
    )
}

proptest! {
    #[test]
    fn any_request_renders_a_binding_or_an_error(
        spec in any_bound_spec(),
        at_provider in any::map(&BOUND_KEYS, &BOUND_TEXTS),
        adapter in any::map(&BOUND_KEYS, &BOUND_TEXTS),
    ) {
        let request = form::request(&json!({
            "observed": {
                "composite": {
                    "metadata": {"name": "phi-async", "namespace": "default"},
                    "spec": spec,
                },
                "resources": {
                    "binding": {"status": {"atProvider": at_provider}},
                    "adapter": adapter,
                },
            },
        })).unwrap();
        let response = function_render_deployment::run(request.clone());
        prop_assert_eq!(&response, &function_render_deployment::run(request));
        let desired = response.desired.unwrap_or_default();
        let is_bound = desired.resources.contains_key("binding");
        prop_assert_eq!(is_bound, response.results.is_empty());
    }

    #[test]
    fn any_request_renders_a_workload_or_an_error(spec in any_spec()) {
        let request = form::request(&json!({
            "observed": {"composite": {
                "metadata": {"name": "text-processor", "namespace": "default"},
                "spec": spec,
            }},
        })).unwrap();
        let response = function_render_deployment::run(request.clone());
        prop_assert_eq!(&response, &function_render_deployment::run(request));
        let is_rendered = response.desired.is_some_and(|desired| !desired.resources.is_empty());
        prop_assert_eq!(is_rendered, response.results.is_empty());
    }
}
