//! Precedence of the actor's inline fields over the pod template of a flavor.
//!
//! A flavor may give `workload` (or `runtime`), an actor inline fields such as `image`. Rendering
//! applies inline fields under a template, which is right for those of other flavors. What the
//! actor itself writes wins: it is removed from the flavor's template before the merge, so that
//! every step, and `asya explain`, has the same resolved spec.

use std::collections::BTreeSet;

use merge::{FieldPath, Segment};
use serde_json::{Map, Value};

use crate::diagnostic::{original_index, removed_from};
use crate::names::{HANDLER_VARIABLE, RUNTIME_CONTAINER};

type Document = Map<String, Value>;

/// Rule by which an inline field replaces something in a template.
enum Rule {
    /// The same field of the template is removed.
    Field(&'static str),
    /// The keys that both have are removed from the template's map of that name.
    Keys(&'static str),
    /// The same for the maps inside it: `limits` and `requests`.
    InnerKeys(&'static str),
    /// Items of that list with the same key are removed.
    Items(&'static str, &'static str),
}

use Rule::{Field, InnerKeys, Items, Keys};

/// Inline fields that the container `asya-runtime` of a template may set.
const CONTAINER: [(&str, Rule); 12] = [
    ("image", Field("image")),
    ("imagePullPolicy", Field("imagePullPolicy")),
    ("args", Field("args")),
    ("livenessProbe", Field("livenessProbe")),
    ("readinessProbe", Field("readinessProbe")),
    ("startupProbe", Field("startupProbe")),
    ("lifecycle", Keys("lifecycle")),
    ("containerSecurityContext", Keys("securityContext")),
    ("resources", InnerKeys("resources")),
    ("env", Items("env", "name")),
    ("secretRefs", Items("env", "name")),
    ("volumeMounts", Items("volumeMounts", "mountPath")),
];

/// Inline fields that the pod spec of a template may set. Of `tolerations`,
/// `topologySpreadConstraints` and `imagePullSecrets` both are kept.
const POD: [(&str, Rule); 10] = [
    ("nodeSelector", Keys("nodeSelector")),
    ("affinity", Keys("affinity")),
    ("securityContext", Keys("securityContext")),
    ("volumes", Items("volumes", "name")),
    ("initContainers", Items("initContainers", "name")),
    ("serviceAccountName", Field("serviceAccountName")),
    ("serviceAccountName", Field("serviceAccount")),
    ("priorityClassName", Field("priorityClassName")),
    ("runtimeClassName", Field("runtimeClassName")),
    (
        "terminationGracePeriodSeconds",
        Field("terminationGracePeriodSeconds"),
    ),
];

/// Inline fields that `metadata` of a template may set.
const METADATA: [(&str, Rule); 2] = [
    ("podLabels", Keys("labels")),
    ("podAnnotations", Keys("annotations")),
];

/// Inline fields that `workload` may set beside its template.
const WORKLOAD: [(&str, Rule); 2] = [
    ("replicas", Field("replicas")),
    ("strategy", Field("strategy")),
];

/// Inline fields that `runtime` of mode Binding may set.
const RUNTIME: [(&str, Rule); 5] = [
    ("image", Field("image")),
    ("handler", Field("handler")),
    ("resources", InnerKeys("resources")),
    ("env", Items("env", "name")),
    ("secretRefs", Items("env", "name")),
];

/// Removes from a flavor's `workload` and `runtime` what the actor's own inline fields set. Returns
/// the removed items of lists, as they were numbered before: later indices differ from the flavor's.
///
/// A `workload` or `runtime` of the actor's own replaces the flavor's as a whole, which is the
/// merge's part: then nothing is removed.
pub fn yield_to_actor(flavor: &mut Document, own: &Document) -> Vec<FieldPath> {
    let mut yielding = Yielding {
        own,
        removed: Vec::new(),
    };
    let is_own = |field: &str| own.get(field).is_some_and(|value| !value.is_null());
    if !is_own("workload")
        && let Some(workload) = map(flavor, "workload")
    {
        yielding.workload(workload);
    }
    if !is_own("runtime")
        && let Some(runtime) = map(flavor, "runtime")
    {
        yielding.apply(&RUNTIME, runtime, &["runtime".into()]);
    }
    yielding.removed
}

/// A flavor that gives way to an actor.
struct Yielding<'a> {
    own: &'a Document,
    removed: Vec<FieldPath>,
}

impl Yielding<'_> {
    fn workload(&mut self, workload: &mut Document) {
        let template_at = ["workload", "template"].map(Segment::from);
        let below = |keys: &[&str]| -> Vec<Segment> {
            let keys = keys.iter().map(|key| Segment::from(*key));
            template_at.iter().cloned().chain(keys).collect()
        };
        self.apply(&WORKLOAD, workload, &template_at[..1]);
        let Some(template) = map(workload, "template") else {
            return;
        };
        if let Some(metadata) = map(template, "metadata") {
            self.apply(&METADATA, metadata, &below(&["metadata"]));
        }
        let Some(pod) = map(template, "spec") else {
            return;
        };
        self.apply(&POD, pod, &below(&["spec"]));
        let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
        let containers = containers.into_iter().flatten().enumerate();
        for (index, container) in containers {
            let Some(container) = container.as_object_mut() else {
                continue;
            };
            if text(container, "name") != Some(RUNTIME_CONTAINER) {
                continue;
            }
            let mut at = below(&["spec", "containers"]);
            at.push(index.into());
            self.apply(&CONTAINER, container, &at);
            if is_set(self.own.get("handler")) {
                let handler = BTreeSet::from([HANDLER_VARIABLE]);
                self.remove_items(container, &at, ("env", "name"), &handler);
            }
        }
    }

    /// Applies rules to the map at the path `at`.
    fn apply(&mut self, rules: &[(&str, Rule)], place: &mut Document, at: &[Segment]) {
        for (inline, rule) in rules {
            let Some(given) = self.own.get(*inline).filter(|given| is_set(Some(given))) else {
                continue;
            };
            match rule {
                Field(field) => drop(place.remove(*field)),
                Keys(field) => remove_keys(place, field, given),
                InnerKeys(field) => {
                    let inner = given.as_object().into_iter().flatten();
                    if let Some(place) = map(place, field) {
                        inner.for_each(|(key, given)| remove_keys(place, key, given));
                    }
                }
                Items(field, key) => {
                    let names = names(inline, given, key);
                    self.remove_items(place, at, (field, key), &names);
                }
            }
        }
    }

    /// Removes the items whose `key` is one of the names from the list in `field`.
    fn remove_items(
        &mut self,
        place: &mut Document,
        at: &[Segment],
        (field, key): (&str, &str),
        names: &BTreeSet<&str>,
    ) {
        let Some(Value::Array(items)) = place.get_mut(field) else {
            return;
        };
        let list: FieldPath = at.iter().cloned().chain([field.into()]).collect();
        // An earlier rule may have removed items of the same list.
        let earlier = removed_from(&list, &self.removed);
        let mut index = 0;
        items.retain(|item| {
            let name = item.as_object().and_then(|item| text(item, key));
            let is_kept = name.is_none_or(|name| !names.contains(name));
            if !is_kept {
                let index = original_index(index, &earlier);
                let path = list.segments().iter().cloned().chain([index.into()]);
                self.removed.push(path.collect());
            }
            index += 1;
            is_kept
        });
        if items.is_empty() {
            place.remove(field);
        }
    }
}

/// Returns whether a value counts as given: an empty text or list does not, as everywhere in the spec.
fn is_set(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

/// Removes the keys of `given` from the map in a field, and the map if nothing is left of it.
fn remove_keys(place: &mut Document, field: &str, given: &Value) {
    let Some(own) = map(place, field) else {
        return;
    };
    for key in given.as_object().into_iter().flatten().map(|(key, _)| key) {
        own.remove(key);
    }
    if own.is_empty() {
        place.remove(field);
    }
}

/// The names that the items of an inline list have in a template.
fn names<'a>(inline: &str, given: &'a Value, key: &str) -> BTreeSet<&'a str> {
    let items = given.as_array().into_iter().flatten();
    if inline == "secretRefs" {
        let keys = items.filter_map(|secret| secret.get("keys")?.as_array());
        let variables = keys.flatten().filter_map(|key| key.get("envVar")?.as_str());
        return variables.collect();
    }
    items.filter_map(|item| item.get(key)?.as_str()).collect()
}

fn map<'a>(parent: &'a mut Document, field: &str) -> Option<&'a mut Document> {
    parent.get_mut(field)?.as_object_mut()
}

fn text<'a>(map: &'a Document, key: &str) -> Option<&'a str> {
    map.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn own_fields_are_removed_from_a_template() {
        let in_container = |container: Value| {
            let mut named = json!({"name": "asya-runtime"});
            if let (Some(named), Value::Object(fields)) = (named.as_object_mut(), container) {
                named.extend(fields);
            }
            json!({"workload": {"template": {"spec": {"containers": [named]}}}})
        };
        let in_pod = |pod: Value| json!({"workload": {"template": {"spec": pod}}});
        let cases = [
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
        ];
        for (reason, own, flavor, expected) in cases {
            let (Value::Object(own), Value::Object(mut flavor)) = (own, flavor) else {
                panic!("{reason}: no maps")
            };
            yield_to_actor(&mut flavor, &own);
            assert_eq!(Value::Object(flavor), expected, "{reason}");
        }
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
        let removed = yield_to_actor(&mut flavor, &own);
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
}
