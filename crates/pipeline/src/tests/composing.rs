//! Tests of composing: from the desired state to objects.

use super::*;

/// The owner reference of everything that [`actor`] composes.
fn owner() -> Value {
    json!({
        "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor", "name": "text-processor",
        "uid": "5ebd24a9-7468-5a6e-8b0c-dad017c5f120", "controller": true, "blockOwnerDeletion": true,
    })
}

/// An answer that desires one ConfigMap, `one`.
fn desiring(object: Value) -> Value {
    json!({"desired": {"resources": {"one": {"resource": object}}}})
}

fn condition(r#type: &str, status: &str, reason: &str) -> Value {
    json!({"type": r#type, "status": status, "reason": reason, "lastTransitionTime": "2024-01-01T00:00:00Z"})
}

#[test]
fn an_actor_without_anything_is_ready() {
    assert_eq!(
        everything(&inputs(actor()), json!({"context": {"k": 1}})),
        [
            json!({
                "apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
                "metadata": {"name": "text-processor", "namespace": "prod"},
                "spec": {"crossplane": {"resourceRefs": []}},
                "status": {"conditions": [
                    condition("Responsive", "True", "WatchCircuitClosed"),
                    condition("Synced", "True", "ReconcileSuccess"),
                    condition("Ready", "True", "Available"),
                ]},
            }),
            json!({"apiVersion": "render.crossplane.io/v1beta1", "kind": "Result", "severity": "Normal",
                "reason": "SelectComposition", "message": "Successfully selected composition: actors"}),
            json!({"apiVersion": "render.crossplane.io/v1beta1", "kind": "Context", "fields": {"k": 1}}),
        ]
    );
}

#[test]
fn a_composed_object_is_named_labelled_and_owned() {
    let with_metadata =
        |metadata: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let cases = [
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap"}),
            json!({"name": "text-processor-1530edd3fcc5", "generateName": "text-processor-"}),
            "named by Crossplane",
        ),
        (
            with_metadata(json!({"generateName": "foo-"})),
            json!({"name": "foo-1530edd3fcc5", "generateName": "foo-"}),
            "with a prefix of the function's",
        ),
        (
            with_metadata(json!({"name": "own"})),
            json!({"name": "own"}),
            "named by the function",
        ),
    ];
    for (desired, expected, reason) in cases {
        let rendered = rendered(&inputs(actor()), desiring(desired)).unwrap();
        let metadata = rendered.composed["one"].get(&["metadata"]).unwrap();
        let mut expected = expected;
        expected["namespace"] = json!("prod");
        expected["labels"] = json!({"crossplane.io/composite": "text-processor"});
        expected["annotations"] = json!({RESOURCE_NAME: "one"});
        expected["ownerReferences"] = json!([owner()]);
        assert_eq!(*metadata, expected, "{reason}");
    }
}

#[test]
fn an_object_that_exists_keeps_its_name() {
    let mut inputs = inputs(actor());
    let observed = |name: &str, resource: &str| {
        object(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": name, "namespace": "prod", "generateName": "gg-", "annotations": {RESOURCE_NAME: resource},
            }}),
        )
    };
    inputs.observed = vec![observed("kept", "one"), observed("old", "removed")];
    let desired = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "generateName": "q-"}});
    let rendered = rendered(&inputs, desiring(desired)).unwrap();
    assert_eq!(rendered.composed["one"].name(), "kept");
    assert_eq!(rendered.composed["one"].metadata("generateName"), "gg-");
    assert_eq!(rendered.deleted, ["removed"]);
}

#[test]
fn an_object_of_another_namespace_is_moved_to_the_xrs() {
    let desired = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "elsewhere"}});
    let documents = everything(&inputs(actor()), desiring(desired));
    assert_eq!(documents[1]["metadata"]["namespace"], "prod");
    assert_eq!(documents[3]["reason"], "NamespaceOverridden");
    assert_eq!(
        documents[3]["message"],
        "cannot create composed resource \"one\" in namespace \"elsewhere\", using XR namespace \"prod\" instead"
    );
}

#[test]
fn a_legacy_xr_keeps_its_own_things_in_spec_and_its_objects_where_they_are() {
    let inputs = inputs(json!({
        "apiVersion": "asya.sh/v1alpha1", "kind": "XAsyncActor",
        "metadata": {"name": "a-x7kq2", "labels": {
            "crossplane.io/claim-name": "a", "crossplane.io/claim-namespace": "ns", "crossplane.io/composite": "a-x7kq2",
        }},
    }));
    let mut answer = desiring(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "q", "namespace": "ns"}}),
    );
    answer["conditions"] = json!([
        {"type": "A", "status": "STATUS_CONDITION_TRUE", "reason": "R", "target": "TARGET_COMPOSITE_AND_CLAIM"},
        {"type": "B", "status": "STATUS_CONDITION_TRUE", "reason": "R", "target": "TARGET_COMPOSITE"},
    ]);
    let documents = everything(&inputs, answer);
    assert_eq!(
        documents[0]["spec"],
        json!({"resourceRefs": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "q", "namespace": "ns"}]})
    );
    assert_eq!(documents[0]["status"]["claimConditionTypes"], json!(["A"]));
    assert_eq!(
        documents[1]["metadata"]["labels"],
        json!({
            "crossplane.io/claim-name": "a", "crossplane.io/claim-namespace": "ns", "crossplane.io/composite": "a-x7kq2",
        })
    );
}

#[test]
fn readiness_names_three_and_counts_the_rest() {
    let cases = [
        (vec!["b"], "Unready resources: b"),
        (vec!["b", "a"], "Unready resources: a, b"),
        (vec!["c", "b", "a"], "Unready resources: a, b, and c"),
        (
            vec!["d", "c", "b", "a"],
            "Unready resources: a, b, c, and 1 more",
        ),
    ];
    for (unready, message) in cases {
        let mut resources = Map::new();
        for name in unready {
            let object =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            resources.insert(
                name.to_owned(),
                json!({"resource": object, "ready": "READY_FALSE"}),
            );
        }
        resources.insert(
            "ready".to_owned(),
            json!({
                "resource": {"apiVersion": "v1", "kind": "ConfigMap"}, "ready": "READY_TRUE",
            }),
        );
        let documents = everything(
            &inputs(actor()),
            json!({"desired": {"resources": resources}}),
        );
        let mut expected = condition("Ready", "False", "Creating");
        expected["message"] = json!(message);
        assert_eq!(documents[0]["status"]["conditions"][2], expected);
    }
}

#[test]
fn a_function_may_decide_on_readiness_itself() {
    for (ready, status, reason) in [
        ("READY_TRUE", "True", "Available"),
        ("READY_FALSE", "False", "Creating"),
    ] {
        let mut answer = desiring(json!({"apiVersion": "v1", "kind": "ConfigMap"}));
        answer["desired"]["composite"] = json!({"ready": ready});
        let documents = everything(&inputs(actor()), answer);
        assert_eq!(
            documents[0]["status"]["conditions"][2],
            condition("Ready", status, reason)
        );
    }
}

#[test]
fn the_status_is_the_desired_one_with_every_condition() {
    let mut xr = actor();
    xr["metadata"]["generation"] = json!(4);
    xr["status"] = json!({"text": "old", "conditions": [
        {"type": "ActorReady", "status": "True", "reason": "Running", "lastTransitionTime": "2025-02-02T00:00:00Z"},
        {"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2025-02-02T00:00:00Z"},
    ]});
    let answer = json!({
        "desired": {"composite": {"resource": {"spec": {"resolved": 1}, "status": {"text": "new", "n": 3}}}},
        "conditions": [
            {"type": "FlavorsResolved", "status": "STATUS_CONDITION_TRUE", "reason": "Resolved"},
            {"type": "Ready", "status": "STATUS_CONDITION_FALSE", "reason": "NotAFunctionsBusiness"},
            {"type": "Unsure", "reason": "R", "message": "m"},
        ],
    });
    let documents = everything(&inputs(xr), answer);
    let mut responsive = condition("Responsive", "True", "WatchCircuitClosed");
    responsive["observedGeneration"] = json!(4);
    let mut unsure = condition("Unsure", "Unknown", "R");
    unsure["message"] = json!("m");
    assert_eq!(
        documents[0]["spec"],
        json!({"crossplane": {"resourceRefs": []}})
    );
    assert_eq!(
        documents[0]["status"],
        json!({"text": "new", "n": 3, "conditions": [
            condition("ActorReady", "True", "Running"),
            condition("Ready", "True", "Available"),
            responsive,
            condition("FlavorsResolved", "True", "Resolved"),
            unsure,
            condition("Synced", "True", "ReconcileSuccess"),
        ]})
    );
}

#[test]
fn results_have_the_wording_of_crossplane() {
    let result = |severity: &str, reason: Value| json!({"severity": severity, "message": "m", "reason": reason});
    let answer = json!({"results": [
        result("SEVERITY_NORMAL", json!(null)),
        result("SEVERITY_WARNING", json!("Why")),
        result("SEVERITY_UNSPECIFIED", json!("")),
    ]});
    let documents = everything(&inputs(actor()), answer);
    let events: Vec<_> = documents[2..5]
        .iter()
        .map(|event| ["severity", "reason", "message"].map(|key| event[key].as_str().unwrap()))
        .collect();
    assert_eq!(
        events,
        [
            ["Normal", "ComposeResources", "Pipeline step \"one\": m"],
            ["Warning", "Why", "Pipeline step \"one\": m"],
            [
                "Warning",
                "ComposeResources",
                "Pipeline step \"one\" returned a result of unknown severity (assuming warning): m"
            ],
        ]
    );
}

#[test]
fn the_full_xr_merges_the_written_fields_into_the_users() {
    let mut xr = actor();
    xr["metadata"]["labels"] = json!({"team": "nlp"});
    xr["spec"] = json!({"image": "a:1", "crossplane": {"compositionRef": {"name": "actors"}}});
    xr["status"] = json!({"kept": 7, "flag": true, "list": [1, 2], "map": {"a": 1}});
    let inputs = inputs(xr);
    let answer = json!({"desired": {"composite": {"resource": {
        "status": {"flag": false, "list": [], "map": {}},
    }}}});
    let include = Include {
        full_composite: true,
        events: true,
        context: false,
    };
    let documents = rendered(&inputs, answer)
        .unwrap()
        .documents(&inputs.composite, include);
    assert_eq!(
        documents.len(),
        1,
        "no event: the XR had chosen its Composition already"
    );
    assert_eq!(documents[0]["metadata"]["labels"], json!({"team": "nlp"}));
    assert_eq!(
        documents[0]["spec"],
        json!({"image": "a:1", "crossplane": {"compositionRef": {"name": "actors"}, "resourceRefs": []}})
    );
    let mut status = documents[0]["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    assert_eq!(
        status,
        json!({"kept": 7, "flag": false, "list": [], "map": {"a": 1}})
    );
}

#[test]
fn objects_that_cannot_be_applied_are_refused() {
    let controlled = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "ownerReferences": [{"kind": "Deployment", "name": "d", "uid": "u", "controller": true}],
    }});
    let named =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let cases = [
        (
            json!({"apiVersion": "v1"}),
            "desired composed resource \"one\" has no kind",
        ),
        (
            controlled,
            "is already controlled by Deployment \"d\" (UID u)",
        ),
        (named("Upper"), "has an invalid name \"Upper\""),
    ];
    for (desired, message) in cases {
        let error = rendered(&inputs(actor()), desiring(desired))
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn observed_objects_that_cannot_be_the_xrs_are_refused() {
    let observed = |metadata: Value| {
        object(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}))
    };
    let annotations = json!({RESOURCE_NAME: "one"});
    let foreign = json!([{"kind": "AsyncActor", "name": "other", "uid": "u", "controller": true}]);
    let cases = [
        (
            json!({"name": "s", "namespace": "prod"}),
            "observed Secret \"s\" has no annotation crossplane.io/composition-resource-name",
        ),
        (
            json!({"name": "s", "namespace": "test", "annotations": annotations}),
            "observed Secret \"s\" is in namespace \"test\", the XR in \"prod\"",
        ),
        (
            json!({"name": "s", "namespace": "prod", "annotations": annotations, "ownerReferences": foreign}),
            "observed Secret \"s\" is controlled by AsyncActor \"other\" (UID u), not by the XR (UID 5ebd24a9-7468-5a6e-8b0c-dad017c5f120)",
        ),
    ];
    for (metadata, message) in cases {
        let mut inputs = inputs(actor());
        inputs.observed = vec![observed(metadata)];
        assert_eq!(
            rendered(&inputs, json!({})).unwrap_err().to_string(),
            message
        );
    }
}

#[test]
fn a_composition_for_something_else_is_refused() {
    let mut inputs = inputs(actor());
    inputs.composition = composition(
        "Other",
        json!([{"step": "one", "functionRef": {"name": "fake"}}]),
    );
    assert_eq!(
        rendered(&inputs, json!({})).unwrap_err().to_string(),
        "Composition \"actors\" composes asya.sh/v1alpha1 Other, not asya.sh/v1alpha1 AsyncActor"
    );
    let mut xr = actor();
    xr["spec"] =
        json!({"crossplane": {"compositionSelector": {"matchLabels": {"provider": "aws"}}}});
    let selecting = super::inputs(xr);
    assert_eq!(
        rendered(&selecting, json!({})).unwrap_err().to_string(),
        "the XR selects Compositions with label provider=aws, which Composition \"actors\" does not have"
    );
}

#[test]
fn the_context_is_shown_as_the_last_function_left_it() {
    let context = everything(&inputs(actor()), json!({}));
    assert!(
        context.iter().all(|document| document["kind"] != "Context"),
        "it left none"
    );
    let rendered = rendered(&inputs(actor()), json!({"context": {"a.b/c": {"n": 1}}})).unwrap();
    assert_eq!(
        struct_to_json(&rendered.context.unwrap()),
        json!({"a.b/c": {"n": 1}})
    );
}
