//! Removals from flavors, and the keys that are lost by them.

use super::*;
use serde_json::json;

/// A reason, the actor's own fields, a flavor, and what is left of it.
type Case = (&'static str, Value, Value, Value);

fn in_container(container: Value) -> Value {
    let mut named = json!({"name": "asya-runtime"});
    if let (Some(named), Value::Object(fields)) = (named.as_object_mut(), container) {
        named.extend(fields);
    }
    in_pod(json!({"containers": [named]}))
}

fn in_pod(pod: Value) -> Value {
    let template = Map::from_iter([("spec".to_owned(), pod)]);
    json!({"workload": {"template": template}})
}

fn check(cases: impl IntoIterator<Item = Case>) {
    for (reason, own, flavor, expected) in cases {
        let (Value::Object(own), Value::Object(mut flavor)) = (own, flavor) else {
            panic!("{reason}: no maps")
        };
        yield_to_actor(&mut flavor, &own);
        assert_eq!(Value::Object(flavor), expected, "{reason}");
    }
}

#[test]
fn own_fields_are_removed_from_a_template() {
    check([
        (
            "a field",
            json!({"image": "actor:2"}),
            in_container(json!({"image": "flavor:1", "args": ["-v"]})),
            in_container(json!({"args": ["-v"]})),
        ),
        (
            "quantities one by one",
            json!({"resources": {"requests": {"cpu": 1}}}),
            in_container(
                json!({"resources": {"requests": {"cpu": 2, "memory": "1Gi"}, "limits": {"cpu": 3}}}),
            ),
            in_container(
                json!({"resources": {"requests": {"memory": "1Gi"}, "limits": {"cpu": 3}}}),
            ),
        ),
        (
            "variables by name, also those of Secrets",
            json!({"env": [{"name": "A"}], "secretRefs": [{"secretName": "s", "keys": [{"key": "k", "envVar": "B"}]}]}),
            in_container(json!({"env": [{"name": "A"}, {"name": "B"}, {"name": "C"}]})),
            in_container(json!({"env": [{"name": "C"}]})),
        ),
        (
            "the handler of the environment",
            json!({"handler": "a.b"}),
            in_container(json!({"env": [{"name": "ASYA_HANDLER", "value": "c.d"}]})),
            in_container(json!({})),
        ),
        (
            "keys of the pod",
            json!({"nodeSelector": {"zone": "a"}, "volumes": [{"name": "v"}], "serviceAccountName": "own"}),
            in_pod(
                json!({"nodeSelector": {"zone": "b", "disk": "ssd"}, "volumes": [{"name": "v"}, {"name": "w"}], "serviceAccount": "old"}),
            ),
            in_pod(json!({"nodeSelector": {"disk": "ssd"}, "volumes": [{"name": "w"}]})),
        ),
        (
            "labels of the pods",
            json!({"podLabels": {"tier": "own"}}),
            json!({"workload": {"template": {"metadata": {"labels": {"tier": "x", "team": "y"}}}}}),
            json!({"workload": {"template": {"metadata": {"labels": {"team": "y"}}}}}),
        ),
        (
            "beside the template",
            json!({"replicas": 1, "strategy": {"type": "Recreate"}}),
            json!({"workload": {"replicas": 3, "strategy": {"type": "RollingUpdate"}, "kind": "Deployment"}}),
            json!({"workload": {"kind": "Deployment"}}),
        ),
        (
            "the adapter of mode Binding",
            json!({"image": "actor:2", "env": [{"name": "A"}]}),
            json!({"runtime": {"image": "flavor:1", "env": [{"name": "A"}, {"name": "B"}], "targetURL": "http://x"}}),
            json!({"runtime": {"env": [{"name": "B"}], "targetURL": "http://x"}}),
        ),
    ]);
}

#[test]
fn own_lists_and_variables_replace_those_of_a_flavor() {
    check([
        (
            "claims as a whole",
            json!({"resources": {"claims": [{"name": "own"}]}}),
            in_container(json!({"resources": {"claims": [{"name": "gpu"}], "limits": {"cpu": 3}}})),
            in_container(json!({"resources": {"limits": {"cpu": 3}}})),
        ),
        (
            "constraints by topology and action",
            json!({"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 5}]}),
            in_pod(json!({"topologySpreadConstraints": [
                {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1},
                {"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1}]})),
            in_pod(json!({"topologySpreadConstraints": [
                {"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1}]})),
        ),
        (
            "mounts with and without a slash at the end",
            json!({"volumeMounts": [{"name": "a", "mountPath": "/v/"}]}),
            in_container(
                json!({"volumeMounts": [{"name": "b", "mountPath": "/v"}, {"name": "c", "mountPath": "/w"}]}),
            ),
            in_container(json!({"volumeMounts": [{"name": "c", "mountPath": "/w"}]})),
        ),
        (
            "claim templates of the names of volumes",
            json!({"volumes": [{"name": "data", "emptyDir": {}}]}),
            json!({"workload": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}]}}),
            json!({"workload": {"volumeClaimTemplates": [{"metadata": {"name": "logs"}}]}}),
        ),
        (
            "the interpreter of a variable",
            json!({"env": [{"name": "ASYA_PYTHONEXECUTABLE", "value": "python9"}]}),
            json!({"pythonExecutable": "pypy3"}),
            json!({}),
        ),
        (
            "the variable of an interpreter",
            json!({"pythonExecutable": "python9"}),
            json!({"env": [{"name": "ASYA_PYTHONEXECUTABLE", "value": "pypy3"}]}),
            json!({}),
        ),
        (
            "an empty field is not given",
            json!({"image": "", "env": []}),
            in_container(json!({"image": "flavor:1"})),
            in_container(json!({"image": "flavor:1"})),
        ),
        (
            "a workload of the actor's own replaces all of it later",
            json!({"image": "actor:2", "workload": {}}),
            in_container(json!({"image": "flavor:1"})),
            in_container(json!({"image": "flavor:1"})),
        ),
        (
            "other containers are not the handler's",
            json!({"image": "actor:2"}),
            in_pod(json!({"containers": [{"name": "log", "image": "log:1"}]})),
            in_pod(json!({"containers": [{"name": "log", "image": "log:1"}]})),
        ),
    ]);
}

#[test]
fn removed_items_are_numbered_as_in_the_flavor() {
    let own = json!({
        "handler": "a.b",
        "env": [{"name": "B", "value": "1"}],
        "secretRefs": [{"secretName": "s", "keys": [{"key": "k", "envVar": "C"}]}],
        "volumes": [{"name": "cache", "emptyDir": {}}],
    });
    let env = ["A", "B", "C", "ASYA_HANDLER", "D"].map(|name| json!({"name": name}));
    let flavor = json!({"workload": {"template": {"spec": {
        "containers": [{"name": "log"}, {"name": "asya-runtime", "env": env}],
        "volumes": [{"name": "models"}, {"name": "cache"}],
    }}}});
    let (Value::Object(own), Value::Object(mut flavor)) = (own, flavor) else {
        panic!("no maps")
    };
    let Yielded { removed, .. } = yield_to_actor(&mut flavor, &own);
    let removed: Vec<String> = removed.iter().map(ToString::to_string).collect();
    assert_eq!(
        removed,
        [
            "workload.template.spec.volumes[1]",
            "workload.template.spec.containers[1].env[1]",
            "workload.template.spec.containers[1].env[2]",
            "workload.template.spec.containers[1].env[3]",
        ]
    );
}

#[test]
fn a_template_sets_what_inline_fields_give() {
    let document = json!({
        "image": "a:1",
        "handler": "a.b",
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "secretRefs": [{"secretName": "s", "keys": [
            {"key": "k", "envVar": "C"},
            {"key": "l", "envVar": "D"},
        ]}],
        "nodeSelector": {"disk": "ssd", "zone": "a"},
        "tolerations": [{"key": "gpu"}],
        "workload": {"template": {"spec": {
            "nodeSelector": {"disk": "hdd"},
            "tolerations": [{"key": "gpu"}],
            "containers": [{
                "name": "asya-runtime",
                "image": "b:1",
                "resources": {"limits": {"cpu": "2"}},
                "env": [{"name": "B"}, {"name": "C"}],
            }],
        }}},
    });
    let Value::Object(document) = document else {
        panic!("no map")
    };
    let is_set = |path: &[Segment]| is_set_by_template(&document, &path.to_vec().into());
    let index = Segment::Index;
    let set: [&[Segment]; 6] = [
        &["image".into()],
        &["resources".into(), "limits".into(), "cpu".into()],
        &["env".into(), index(1), "name".into()],
        &["env".into(), index(1), "value".into()],
        &[
            "secretRefs".into(),
            index(0),
            "keys".into(),
            index(0),
            "envVar".into(),
        ],
        &["nodeSelector".into(), "disk".into()],
    ];
    for path in set {
        assert!(is_set(path), "{path:?}");
    }
    let free: [&[Segment]; 6] = [
        &["handler".into()],
        &["resources".into(), "limits".into(), "memory".into()],
        &["env".into(), index(0), "value".into()],
        &[
            "secretRefs".into(),
            index(0),
            "keys".into(),
            index(1),
            "envVar".into(),
        ],
        &["nodeSelector".into(), "zone".into()],
        &["tolerations".into(), index(0), "key".into()],
    ];
    for path in free {
        assert!(!is_set(path), "{path:?}");
    }
}

#[test]
fn keys_that_the_actor_does_not_repeat_are_lost() {
    let template = |pod: Value| json!({"workload": {"template": {"spec": pod}}});
    let runtime = |mut container: Value| {
        container["name"] = json!("asya-runtime");
        template(json!({"containers": [{"name": "log"}, container]}))
    };
    let timeout = json!([{"name": "A"}, {"name": "ASYA_RUNTIME_TIMEOUT", "value": "1m"}]);
    let own_timeout = json!({"resiliency": {"actorTimeout": "9m"}});
    let cases = [
        (
            json!({"affinity": {"nodeAffinity": {"preferred": []}}}),
            template(json!({"affinity": {"nodeAffinity": {"required": {}}, "podAffinity": {}}})),
            "workload.template.spec.affinity.nodeAffinity.required",
        ),
        (
            json!({"containerSecurityContext": {"capabilities": {"drop": ["ALL"]}}}),
            runtime(json!({"securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}})),
            "workload.template.spec.containers[1].securityContext.capabilities.add",
        ),
        (
            json!({"strategy": {"type": "Recreate"}}),
            json!({"workload": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}}),
            "workload.strategy.rollingUpdate",
        ),
        (
            json!({"volumes": [{"name": "b", "emptyDir": {}}]}),
            template(json!({"volumes": [{"name": "a"}, {"name": "b", "hostPath": {}}]})),
            "workload.template.spec.volumes[1].hostPath",
        ),
        (
            json!({"image": "own:1", "resources": {"limits": {"cpu": 1}}, "env": [{"name": "A", "value": "1"}]}),
            runtime(
                json!({"image": "base:1", "resources": {"limits": {"cpu": 2}}, "env": [{"name": "A", "valueFrom": {}}]}),
            ),
            "",
        ),
        (
            own_timeout.clone(),
            runtime(json!({"env": timeout})),
            "workload.template.spec.containers[1].env[1]",
        ),
        (
            own_timeout.clone(),
            json!({"runtime": {"env": timeout}}),
            "runtime.env[1]",
        ),
        (own_timeout.clone(), json!({"env": timeout}), "env[1]"),
        (
            own_timeout.clone(),
            json!({"sidecar": {"env": timeout}}),
            "sidecar.env[1]",
        ),
        (
            json!({"resiliency": {}}),
            json!({"sidecar": {"env": timeout}}),
            "",
        ),
        (
            json!({"env": [{"name": "ASYA_RUNTIME_TIMEOUT", "value": "60s"}]}),
            json!({"sidecar": {"env": timeout}}),
            "sidecar.env[1]",
        ),
        (
            json!({"runtime": {"env": [{"name": "ASYA_RUNTIME_TIMEOUT", "value": "60s"}]}}),
            json!({"sidecar": {"env": timeout}}),
            "sidecar.env[1]",
        ),
        (
            runtime(json!({"env": [{"name": "ASYA_RUNTIME_TIMEOUT", "value": "60s"}]})),
            json!({"sidecar": {"env": timeout}}),
            "sidecar.env[1]",
        ),
        (
            json!({"resiliency": {"retry": {"maxAttempts": 2}, "nonRetryableErrors": ["ValueError"]}}),
            json!({"sidecar": {"env": [
                {"name": "ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS", "value": "9"},
                {"name": "ASYA_RESILIENCY_RETRY_JITTER", "value": "false"},
                {"name": "ASYA_RESILIENCY_NON_RETRYABLE_ERRORS", "value": "X"}]}}),
            "sidecar.env[0] sidecar.env[2]",
        ),
    ];
    for (own, flavor, expected) in cases {
        let (Value::Object(own), Value::Object(mut flavor)) = (own, flavor) else {
            panic!("{expected}: no maps")
        };
        let Yielded { lost, .. } = yield_to_actor(&mut flavor, &own);
        let lost: Vec<String> = lost.iter().map(|lost| lost.path.to_string()).collect();
        assert_eq!(lost.join(" "), expected, "{own:?}");
    }
}
