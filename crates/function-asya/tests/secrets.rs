//! A secret is planted wherever people put one, in its right form and in every wrong one, and must
//! be found nowhere but where the pod needs it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on panics"
)]

mod steps;

use std::collections::HashMap;

use function_asya::Config;
use function_kit::cases::form;
use function_kit::cases::log::Log;
use function_proto::v1::{
    CredentialData, Credentials, RunFunctionRequest, RunFunctionResponse, credentials::Source,
};
use serde_json::{Value, json};
use steps::STEPS;
use tracing_subscriber::fmt;

const SECRET: &str = "hunter2-correct-horse";

/// Fields that can hold a secret, as a path into the spec, and what a step expects there.
const PLACES: [&str; 9] = [
    "/env",
    "/args",
    "/podAnnotations",
    "/sidecar/env",
    "/stateProxy/0/connector/env",
    "/workload/template/metadata/annotations",
    "/workload/template/spec/containers/0/env",
    "/workload/template/spec/containers/0/args",
    "/runtime/env",
];

/// Values of that field: lists and maps, valid and invalid ones.
fn forms() -> Vec<Value> {
    vec![
        json!([{"name": "PASSWORD", "value": SECRET}]),
        json!([{"name": "PASSWORD", "value": SECRET}, {"name": "PASSWORD", "value": SECRET}]),
        json!([{"name": "ASYA_QUEUE_URL", "value": SECRET}]),
        json!([{"name": "ASYA_HANDLER", "value": SECRET}]),
        json!([{"name": "PASSWORD", "value": [SECRET]}]),
        json!([{"name": "PASSWORD", "value": {SECRET: SECRET}}]),
        json!([{"value": SECRET}]),
        json!([format!("PASSWORD={SECRET}")]),
        json!({"PASSWORD": SECRET}),
        json!({"PASSWORD": [SECRET]}),
        json!(SECRET),
        json!([[SECRET]]),
    ]
}

/// The smallest spec in which there is such a place.
fn spec_with(place: &str, value: &Value) -> Value {
    let mut spec = if place.starts_with("/workload") {
        let container =
            json!({"name": "asya-runtime", "image": "app:1", "env": null, "args": null});
        json!({"handler": "a.b", "workload": {"template": {
            "metadata": {"annotations": null}, "spec": {"containers": [container]},
        }}})
    } else if place.starts_with("/runtime") {
        json!({
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "phi"},
            "runtime": {"image": "a:1", "handler": "a.b", "targetURL": "http://phi", "env": null},
        })
    } else {
        json!({
            "image": "app:1", "handler": "a.b", "env": null, "args": null, "podAnnotations": null,
            "sidecar": {"env": null},
            "stateProxy": [{
                "name": "state", "mount": {"path": "/state"},
                "connector": {"image": "proxy:1", "env": null},
            }],
        })
    };
    *spec.pointer_mut(place).expect("the spec has the place") = value.clone();
    spec["flavors"] = json!(["gpu", "spot"]);
    spec
}

fn request(spec: &Value, flavors: [&Value; 2]) -> RunFunctionRequest {
    let [gpu, spot] = flavors;
    let document = json!({
        "observed": {
            "composite": {
                "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
                "metadata": {
                    "name": "a", "namespace": "b",
                    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET},
                },
                "spec": spec,
            },
            "resources": {"deployment": {
                "kind": "Deployment",
                "metadata": {"name": "a", "annotations": {"a": SECRET}},
                "spec": {"template": {"spec": {"containers": [
                    {"name": "asya-runtime", "env": [{"name": "OLD", "value": SECRET}]},
                ]}}},
            }},
        },
        "required": {
            "flavor-gpu": [{"metadata": {"name": "gpu"}, "data": gpu}],
            "flavor-spot": [{"metadata": {"name": "spot"}, "data": spot}],
            "asya-platform": [{"metadata": {"name": "asya-platform"}, "data": {"transports": {
                "sqs": {"type": "sqs", "config": {"region": "us-east-1"}},
            }}}],
        },
    });
    let mut request = form::request(&document).unwrap();
    let details = HashMap::from([("password".to_owned(), SECRET.into())]);
    let data = CredentialData {
        data: details.clone(),
    };
    let credentials = Credentials {
        source: Some(Source::CredentialData(data)),
    };
    request.credentials = HashMap::from([("aws".to_owned(), credentials)]);
    let observed = request.observed.as_mut().unwrap();
    let composite = observed.composite.as_mut().unwrap();
    composite.connection_details.clone_from(&details);
    observed
        .resources
        .values_mut()
        .for_each(|resource| resource.connection_details.clone_from(&details));
    request
}

/// Fails where the secret is in what people and monitoring see of an answer.
fn assert_hidden(what: &str, response: &RunFunctionResponse) {
    let mut seen = form::response(response);
    let is_pods = |name: &str| ["deployment", "statefulset", "adapter", "binding"].contains(&name);
    if let Some(resources) = seen["desired"]["resources"].as_object_mut() {
        // The pod gets what its owner gave it, and nobody else does.
        resources.retain(|name, _| !is_pods(name));
    }
    if let Some(composite) = seen["desired"]["composite"].as_object_mut() {
        // On its way to later steps: the last one removes it.
        composite.remove("spec");
    }
    let text = seen.to_string();
    assert!(!text.contains(SECRET), "{what}: {text}");
}

fn answer(what: &str, request: &RunFunctionRequest) {
    let mut request_of_all = request.clone();
    // Objects that Crossplane has not fetched by the second call end no reconcile.
    for _ in 0..2 {
        let whole = function_asya::run(request_of_all.clone(), &Config::default());
        assert_hidden(what, &whole);
        let composite = &form::response(&whole)["desired"]["composite"];
        let has_ended = whole.results.is_empty() && composite["status"].is_object();
        assert!(
            !has_ended || composite["spec"].is_null(),
            "{what}: {composite}"
        );
        request_of_all.context = whole.context;
    }

    let mut request = request.clone();
    for (name, step) in STEPS {
        let response = step(request.clone());
        assert_hidden(&format!("{what}, {name}"), &response);
        request.desired = response.desired;
        request.context = response.context;
    }
}

#[test]
fn secrets_appear_in_pods_only() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        for place in PLACES {
            for value in forms() {
                let spec = spec_with(place, &value);
                let empty = json!({});
                let what = |who: &str| format!("{place} of {who}: {value}");
                answer(&what("the actor"), &request(&spec, [&empty, &empty]));
                let mut of_flavor = spec.clone();
                let bare = json!({"image": "app:1", "handler": "a.b", "flavors": ["gpu", "spot"]});
                for field in ["image", "handler", "flavors"] {
                    of_flavor.as_object_mut().unwrap().remove(field);
                }
                answer(&what("a flavor"), &request(&bare, [&of_flavor, &empty]));
                answer(
                    &what("two flavors"),
                    &request(&bare, [&of_flavor, &of_flavor]),
                );
            }
        }
    });
    let log = log.text();
    assert!(
        log.contains("Flavors applied"),
        "the log is looked at: {log}"
    );
    let leaked = log.lines().find(|line| line.contains(SECRET));
    assert_eq!(leaked, None);
}
