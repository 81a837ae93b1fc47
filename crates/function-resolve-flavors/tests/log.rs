//! Log lines: required content, and secrets that they never contain.

use function_kit::cases::form;
use function_kit::cases::log::Log;
use serde_json::{Value, json};
use tracing_subscriber::fmt;

/// The log lines that the answer to a request leaves, in the form in which the
/// function writes them.
fn log_of(request: &Value) -> Vec<Value> {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = fmt().json().with_writer(move || writer.clone()).finish();
    let request = form::request(request).expect("a request in its form");
    tracing::subscriber::with_default(subscriber, || function_resolve_flavors::run(request));
    let text = log.text();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

fn request(spec: &Value, required: &Value) -> Value {
    let platform = json!({"data": {"transports": {"sqs": {"type": "sqs", "config": {"region": "us-east-1"}}}}});
    let mut required = required.clone();
    required["asya-platform"] = json!([platform]);
    json!({
        "observed": {"composite": {
            "metadata": {"name": "embedding", "namespace": "ml-platform"},
            "spec": spec,
        }},
        "required": required,
    })
}

#[test]
fn missing_flavors_are_logged_by_name() {
    let spec = json!({"flavors": ["spot", "gpu", "burst"]});
    let log = log_of(&request(
        &spec,
        &json!({"flavor-spot": [], "flavor-gpu": [{}], "flavor-burst": []}),
    ));
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["level"], "INFO");
    assert_eq!(
        log[0]["fields"],
        json!({
            "message": "Waiting for flavor EnvironmentConfigs",
            "actor": "embedding",
            "namespace": "ml-platform",
            "names": "spot, burst",
        })
    );
}

#[test]
fn the_resolved_spec_is_logged_without_secrets() {
    let secret = |name: &str| json!({"name": name, "value": format!("s3cret-{name}")});
    let spec = json!({
        "flavors": ["gpu"],
        "image": "my-org/app:1",
        "env": [secret("own"), {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "kept", "key": "k"}}}],
        "args": ["--token=s3cret-args"],
        "podAnnotations": {"note": "s3cret-annotation"},
        "workload": {"template": {
            "metadata": {"annotations": {"note": "s3cret-template"}},
            "spec": {"containers": [{"name": "asya-runtime", "env": [secret("template")], "args": ["s3cret"]}]},
        }},
    });
    let gpu = json!({"data": {
        "scaling": {"maxReplicaCount": 4},
        "sidecar": {"env": [secret("sidecar")]},
        "stateProxy": [{"name": "s", "connector": {"env": [secret("connector")]}}],
        "initContainers": [{"name": "i", "env": [secret("init")], "args": ["s3cret"]}],
    }});
    let log = log_of(&request(&spec, &json!({"flavor-gpu": [gpu]})));
    assert_eq!(log.len(), 1);
    let fields = &log[0]["fields"];
    assert_eq!(log[0]["level"], "INFO");
    assert_eq!(fields["message"], "Flavors applied");
    assert_eq!(fields["actor"], "embedding");
    assert_eq!(fields["namespace"], "ml-platform");
    assert_eq!(fields["flavors"], "gpu");
    let resolved: Value = serde_json::from_str(fields["spec"].as_str().unwrap()).unwrap();
    assert_eq!(resolved["scaling"]["maxReplicaCount"], 4);
    assert_eq!(resolved["transport"], "sqs");
    assert_eq!(resolved["env"][0], json!({"name": "own", "value": "***"}));
    assert_eq!(
        resolved["env"][1]["valueFrom"]["secretKeyRef"]["name"],
        "kept"
    );
    let text = log[0].to_string();
    assert!(!text.contains("s3cret"), "{text}");
}

#[test]
fn nothing_is_logged_while_crossplane_fetches() {
    let image = json!([{"data": {"image": "s3cret"}}]);
    let spec = json!({"flavors": ["gpu", "spot"]});
    let log = log_of(&request(&spec, &json!({"flavor-gpu": image})));
    assert_eq!(log, Vec::<Value>::new());
}

#[test]
fn conflict_is_logged_once_without_values() {
    let image = json!([{"data": {"image": "s3cret"}}]);
    let spec = json!({"actor": "conflicting", "flavors": ["gpu", "spot"]});
    let request = || request(&spec, &json!({"flavor-gpu": image, "flavor-spot": image}));
    let log = log_of(&request());
    assert_eq!(log.len(), 1);
    let fields = &log[0]["fields"];
    assert_eq!(log[0]["level"], "WARN");
    assert_eq!(fields["message"], "Flavors not applied");
    assert_eq!(fields["actor"], "conflicting");
    let error = fields["error"].as_str().unwrap();
    assert!(
        error.contains("conflict on image") && error.contains("ASYA230"),
        "{error}"
    );
    assert!(!log[0].to_string().contains("s3cret"));
    assert_eq!(log_of(&request()), Vec::<Value>::new(), "the same again");
}
