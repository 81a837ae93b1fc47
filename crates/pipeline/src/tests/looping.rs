//! Tests of the loop: requests of functions, and how often they are called.

use super::*;

fn environment_config(name: &str, label: &str) -> Object {
    object(json!({
        "apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": {"name": name, "labels": {"l": label}}, "data": {"of": name},
    }))
}

fn selector(name: &str) -> Value {
    json!({"apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig", "matchName": name})
}

/// The names of the objects that a request carries under each requirement.
fn fetched(request: &Value, field: &str) -> Value {
    let requirements = request[field].as_object().cloned().unwrap_or_default();
    requirements
        .into_iter()
        .map(|(key, resources)| {
            let items = resources["items"].as_array().cloned().unwrap_or_default();
            let names = items
                .iter()
                .map(|item| item["resource"]["data"]["of"].clone());
            (key, names.collect())
        })
        .collect::<Map<_, _>>()
        .into()
}

#[test]
fn a_function_gets_the_xr_with_the_fields_of_crossplane() {
    let mut xr = actor();
    xr["metadata"]["generation"] = json!(4);
    xr["metadata"]["labels"] = json!({"team": "nlp"});
    xr["spec"] = json!({"replicas": 3, "crossplane": {"compositionUpdatePolicy": "Manual"}});
    xr["status"] = json!({"text": "old"});
    let (functions, requests) = answering(vec![json!({})]);
    let mut inputs = inputs(xr);
    inputs.observed = vec![object(json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "namespace": "prod", "annotations": {RESOURCE_NAME: "secret"}},
    }))];
    inputs.context = Map::from_iter([("k".to_owned(), json!([1]))]);
    render(&inputs, &functions).unwrap();
    let request = &requests.lock().unwrap()[0];
    assert_eq!(
        request["observed"]["composite"]["resource"],
        json!({
            "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
            "metadata": {
                "name": "text-processor", "namespace": "prod", "generation": 4.0,
                "labels": {"team": "nlp", "crossplane.io/composite": "text-processor"},
                "resourceVersion": "999", "uid": "5ebd24a9-7468-5a6e-8b0c-dad017c5f120",
            },
            "spec": {"replicas": 3.0, "crossplane": {
                "compositionUpdatePolicy": "Manual",
                "compositionRef": {"name": "actors"},
                "resourceRefs": [{"apiVersion": "v1", "kind": "Secret", "name": "s"}],
            }},
            "status": {"text": "old", "conditions": [{
                "type": "Responsive", "status": "True", "reason": "WatchCircuitClosed",
                "observedGeneration": 4.0, "lastTransitionTime": "2024-01-01T00:00:00Z",
            }]},
        })
    );
    assert_eq!(
        request["observed"]["resources"]["secret"]["resource"]["metadata"]["name"],
        "s"
    );
    assert_eq!(request["context"], json!({"k": [1.0]}));
    assert_eq!(request["desired"], json!({}));
    assert_eq!(
        request["meta"]["capabilities"],
        json!([
            "CAPABILITY_CAPABILITIES",
            "CAPABILITY_REQUIRED_RESOURCES",
            "CAPABILITY_CREDENTIALS",
            "CAPABILITY_CONDITIONS",
            "CAPABILITY_REQUIRED_SCHEMAS"
        ])
    );
}

#[test]
fn the_tag_depends_on_nothing_but_the_request() {
    let tag = |xr: Value| {
        let (functions, requests) = answering(vec![json!({})]);
        render(&inputs(xr), &functions).unwrap();
        let tag = requests.lock().unwrap()[0]["meta"]["tag"].clone();
        tag.as_str().unwrap().to_owned()
    };
    let mut other = actor();
    other["spec"] = json!({"image": "a:1"});
    assert_eq!(tag(actor()), tag(actor()));
    assert_ne!(tag(actor()), tag(other));
    assert_eq!(tag(actor()).len(), 16);
}

#[test]
fn a_function_is_called_until_it_asks_twice_for_the_same() {
    let asking = |names: &[&str]| {
        let resources: Map<_, _> = names
            .iter()
            .map(|name| (format!("key-{name}"), selector(name)))
            .collect();
        json!({"requirements": {"resources": resources}})
    };
    let cases = [
        (vec![json!({})], 1, "nothing is asked for"),
        (
            vec![json!({"requirements": {}})],
            2,
            "an empty set is not none",
        ),
        (vec![asking(&["a"])], 2, "the same each time"),
        (
            vec![asking(&["a"]), asking(&["a", "b"])],
            3,
            "one thing leads to another",
        ),
        (vec![asking(&["a"]), json!({})], 3, "nothing any more"),
        (
            vec![
                asking(&["a"]),
                asking(&["b"]),
                asking(&["c"]),
                asking(&["d"]),
                asking(&["e"]),
            ],
            6,
            "at the last moment",
        ),
    ];
    for (answers, calls, reason) in cases {
        let (functions, requests) = answering(answers);
        render(&inputs(actor()), &functions).unwrap();
        assert_eq!(requests.lock().unwrap().len(), calls, "{reason}");
    }
}

#[test]
fn a_function_that_never_stops_asking_is_stopped() {
    let answers =
        (0..7).map(|n| json!({"requirements": {"resources": {"k": selector(&n.to_string())}}}));
    let (functions, requests) = answering(answers.collect());
    let error = render(&inputs(actor()), &functions).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot run Composition pipeline step \"one\": requirements didn't stabilize after the maximum number of iterations (5)"
    );
    assert_eq!(requests.lock().unwrap().len(), 6);
}

#[test]
fn requirements_are_fetched_and_bootstrap_requirements_stay() {
    let mut inputs = inputs(actor());
    inputs.required = vec![
        environment_config("platform", "x").into(),
        environment_config("gpu", "x").into(),
    ];
    inputs.schemas.add(json!({"components": {"schemas": {"cm": {"type": "object",
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "ConfigMap"}]}}}}));
    let (version, kind) = ("apiextensions.crossplane.io/v1beta1", "EnvironmentConfig");
    inputs.composition = composition(
        "AsyncActor",
        json!([{
            "step": "one", "functionRef": {"name": "fake"}, "input": {"n": 1},
            "requirements": {
                "requiredResources": [
                    {"requirementName": "named", "apiVersion": version, "kind": kind, "name": "platform"},
                    {"requirementName": "labelled", "apiVersion": version, "kind": kind, "matchLabels": {"l": "x"}},
                    {"requirementName": "absent", "apiVersion": version, "kind": kind, "name": "nope"},
                ],
                "requiredSchemas": [{"requirementName": "served", "apiVersion": "v1", "kind": "ConfigMap"}],
            },
        }]),
    );
    let (functions, requests) = answering(vec![
        json!({"context": {"first": true}, "requirements": {
            "resources": {"asked": selector("gpu"), "missing": selector("cpu")},
            "extraResources": {"old": selector("gpu")},
            "schemas": {"unserved": {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}},
        }}),
        json!({"requirements": {"resources": {"asked": selector("gpu")}}}),
    ]);
    render(&inputs, &functions).unwrap();
    let requests = requests.lock().unwrap();
    assert_eq!(
        fetched(&requests[0], "requiredResources"),
        json!({"named": ["platform"], "labelled": ["gpu", "platform"], "absent": []})
    );
    assert_eq!(
        requests[0]["requiredSchemas"]["served"]["openapiV3"]["type"],
        "object"
    );
    assert_eq!(requests[0]["input"], json!({"n": 1.0}));
    assert_eq!(
        fetched(&requests[1], "requiredResources"),
        json!({"named": ["platform"], "labelled": ["gpu", "platform"], "absent": [], "asked": ["gpu"], "missing": []})
    );
    assert_eq!(
        fetched(&requests[1], "extraResources"),
        json!({"old": ["gpu"]})
    );
    assert_eq!(requests[1]["requiredSchemas"]["unserved"], json!({}));
    assert_eq!(
        requests[1]["context"],
        json!({"first": true}),
        "of the call before"
    );
    assert_eq!(
        fetched(&requests[2], "requiredResources"),
        json!({"named": ["platform"], "labelled": ["gpu", "platform"], "absent": [], "asked": ["gpu"]}),
        "a requirement that is dropped is no longer answered"
    );
}

#[test]
fn a_step_gets_state_and_context_of_the_previous_one() {
    let mut inputs = inputs(actor());
    let step = |name: &str| json!({"step": name, "functionRef": {"name": name}});
    inputs.composition = composition("AsyncActor", json!([step("first"), step("second")]));
    let (second, requests) = answering(vec![json!({})]);
    let functions = Functions::none()
        .with("first", |_| {
            response(json!({
                "desired": {"composite": {"resource": {"spec": {"resolved": true}}}},
                "context": {"k": "v"},
            }))
        })
        .with("second", move |request| {
            second.run("fake", request).unwrap()
        });
    render(&inputs, &functions).unwrap();
    let request = &requests.lock().unwrap()[0];
    assert_eq!(
        request["desired"]["composite"]["resource"],
        json!({"spec": {"resolved": true}})
    );
    assert_eq!(request["context"], json!({"k": "v"}));
}

#[test]
fn a_fatal_result_ends_the_pipeline_at_once() {
    let mut inputs = inputs(actor());
    let step =
        |name: &str, function: &str| json!({"step": name, "functionRef": {"name": function}});
    inputs.composition = composition(
        "AsyncActor",
        json!([step("one", "fake"), step("two", "never")]),
    );
    let (functions, requests) = answering(vec![json!({
        "requirements": {"resources": {"k": selector("a")}},
        "results": [
            {"severity": "SEVERITY_WARNING", "message": "careful"},
            {"severity": "SEVERITY_FATAL", "message": "first"},
            {"severity": "SEVERITY_FATAL", "message": "second"},
        ],
    })]);
    let functions = functions.with("never", |_| panic!("a step after a fatal one ran"));
    let error = render(&inputs, &functions).unwrap_err();
    assert_eq!(
        error.lines(),
        [
            "pipeline step \"one\" returned a fatal result: first",
            "pipeline step \"one\" returned a fatal result: second",
        ]
    );
    assert_eq!(requests.lock().unwrap().len(), 1);
}

#[test]
fn an_unknown_function_is_refused_before_any_other_runs() {
    let mut inputs = inputs(actor());
    let step =
        |name: &str, function: &str| json!({"step": name, "functionRef": {"name": function}});
    inputs.composition = composition(
        "AsyncActor",
        json!([step("one", "fake"), step("two", "function-kcl")]),
    );
    let (functions, requests) = answering(vec![json!({})]);
    assert_eq!(
        render(&inputs, &functions).unwrap_err(),
        RenderError::Engine(EngineError::UnknownFunction {
            step: "two".to_owned(),
            function: "function-kcl".to_owned(),
        })
    );
    assert!(requests.lock().unwrap().is_empty());
}
