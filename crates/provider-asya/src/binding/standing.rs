//! What of an intent still stands in a workload, by the workload's managed fields.
//!
//! The API server keeps for each field manager the set of fields that it owns. A field
//! leaves our set when another manager removes it, or gives it another value; it stays
//! when somebody writes the same value. So what is missing from our set was undone, and
//! values need not be compared: they are written otherwise than we wrote them anyway,
//! such as quantities.
//! Source: Kubernetes, structured-merge-diff `merge/update.go`, format `FieldsV1`.

use serde_json::{Map, Value};

/// What stands of an intent, and who else writes there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Paths of the intent that its manager does not own (any more), in their order there.
    pub missing: Vec<String>,
    /// The other field manager that wrote the pod template last; of those that wrote
    /// something of the workload at all, where none wrote there.
    pub other: Option<String>,
}

impl Standing {
    /// What stands of `intent`, applied by `manager`, in `live`.
    pub fn read(live: &Value, manager: &str, intent: &Value) -> Self {
        let nothing = Value::Null;
        let owned = applied(live, manager).map_or(&nothing, |entry| &entry["fieldsV1"]);
        let mut missing = Vec::new();
        for path in [
            &["metadata", "labels"] as &[&str],
            &["metadata", "annotations"],
            &["spec", "template"],
        ] {
            let wanted = at(intent, path, str::to_owned);
            let found = at(owned, path, |key| format!("f:{key}"));
            if let Some(wanted) = wanted {
                lacks(wanted, found, &path.join("."), &mut missing);
            }
        }
        Self {
            missing,
            other: other(live, manager),
        }
    }

    /// Whether all of it stands.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Whether `manager` has applied anything that still stands.
pub fn has_applied(managed_fields: &Value, manager: &str) -> bool {
    entries(managed_fields).any(|entry| is_applied_by(entry, manager))
}

/// The entry of what `manager` has applied.
fn applied<'a>(live: &'a Value, manager: &str) -> Option<&'a Value> {
    entries(&live["metadata"]["managedFields"]).find(|entry| is_applied_by(entry, manager))
}

fn is_applied_by(entry: &Value, manager: &str) -> bool {
    entry["manager"] == manager && entry["operation"] == "Apply" && is_of_the_object(entry)
}

/// Whether an entry is of the object itself, not of its status or scale.
fn is_of_the_object(entry: &Value) -> bool {
    entry["subresource"].as_str().is_none_or(str::is_empty)
}

fn other(live: &Value, manager: &str) -> Option<String> {
    let others = entries(&live["metadata"]["managedFields"])
        .filter(|entry| entry["manager"] != manager && is_of_the_object(entry));
    let last = others.max_by_key(|entry| {
        let writes_template = entry["fieldsV1"]["f:spec"]["f:template"].is_object();
        let time = entry["time"].as_str();
        (writes_template, time, entry["manager"].as_str())
    })?;
    last["manager"].as_str().map(str::to_owned)
}

fn entries(managed_fields: &Value) -> impl Iterator<Item = &Value> {
    managed_fields.as_array().into_iter().flatten()
}

fn at<'a>(mut value: &'a Value, path: &[&str], key: impl Fn(&str) -> String) -> Option<&'a Value> {
    for step in path {
        value = value.get(key(step))?;
    }
    Some(value)
}

/// Adds the paths of `wanted` that are not `owned`.
fn lacks(wanted: &Value, owned: Option<&Value>, path: &str, missing: &mut Vec<String>) {
    // To a server-side apply `null` is no value.
    if wanted.is_null() {
        return;
    }
    let Some(owned) = owned.and_then(Value::as_object) else {
        missing.push(path.to_owned());
        return;
    };
    // A field without fields below it is owned as a whole, whatever is in it.
    let is_atomic = owned.keys().all(|key| key == ".");
    match wanted {
        Value::Object(wanted) if !is_atomic => {
            for (key, value) in wanted {
                let owned = owned.get(&format!("f:{key}"));
                lacks(value, owned, &format!("{path}.{key}"), missing);
            }
        }
        Value::Array(wanted) if !is_atomic => {
            for item in wanted {
                lacks(item, item_of(owned, item), &item_path(path, item), missing);
            }
        }
        _ => {}
    }
}

/// What is owned of an item of a list. Keys of the list that the item does not have were
/// filled in with their defaults.
fn item_of<'a>(owned: &'a Map<String, Value>, item: &Value) -> Option<&'a Value> {
    if !item.is_object() {
        return owned.get(&format!("v:{item}"));
    }
    let is_of = |key: &str| {
        let keys = key.strip_prefix("k:")?;
        let keys: Map<String, Value> = serde_json::from_str(keys).ok()?;
        let mut keys = keys.iter();
        Some(keys.all(|(key, value)| item.get(key).is_none_or(|own| own == value)))
    };
    let mut found = owned.iter().filter(|(key, _)| is_of(key) == Some(true));
    found.next().map(|(_, owned)| owned)
}

fn item_path(path: &str, item: &Value) -> String {
    let keys = ["name", "mountPath", "devicePath", "containerPort", "ip"];
    let key = keys.into_iter().find(|key| item.get(key).is_some());
    match key {
        Some(key) => format!("{path}[{key}={}]", item[key]),
        None => format!("{path}[{item}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MANAGER: &str = "provider.asya.sh/embedder";

    fn intent() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "llm", "uid": "u", "labels": {"asya.sh/bound-to": "embedder"},
                "annotations": {"asya.sh/managed-by": "shop/embedder"}},
            "spec": {"template": {
                "metadata": {"labels": {"asya.sh/actor": "embedder"}},
                "spec": {
                    "containers": [{
                        "name": "asya-sidecar", "image": "sidecar:1", "args": ["a", "b"],
                        "env": [{"name": "ASYA_ACTOR_NAME", "value": "embedder"}, {"name": "TOKEN",
                            "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                        "ports": [{"containerPort": 80}], "stdin": null,
                        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}],
                    "volumes": [{"name": "tmp", "emptyDir": {}}]}}},
        })
    }

    /// As the API server writes it for [`intent`].
    fn owned() -> Value {
        json!({
            "f:metadata": {"f:labels": {"f:asya.sh/bound-to": {}}, "f:annotations": {"f:asya.sh/managed-by": {}}},
            "f:spec": {"f:template": {
                "f:metadata": {"f:labels": {"f:asya.sh/actor": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"asya-sidecar\"}": {
                        ".": {}, "f:name": {}, "f:image": {}, "f:args": {},
                        "f:env": {
                            "k:{\"name\":\"ASYA_ACTOR_NAME\"}": {".": {}, "f:name": {}, "f:value": {}},
                            "k:{\"name\":\"TOKEN\"}": {".": {}, "f:name": {}, "f:valueFrom": {"f:secretKeyRef": {}}}},
                        "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                        "f:volumeMounts": {"k:{\"mountPath\":\"/tmp\"}": {".": {}, "f:mountPath": {}, "f:name": {}}}}},
                    "f:volumes": {"k:{\"name\":\"tmp\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}}}}},
        })
    }

    fn live(entries: &Value) -> Value {
        json!({"metadata": {"name": "llm", "managedFields": entries}})
    }

    fn entry(manager: &str, operation: &str, time: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "time": time, "fieldsV1": fields})
    }

    #[test]
    fn what_is_not_owned_any_more_was_undone() {
        type Change = fn(&mut Value);
        let cases: [(&str, Change, &[&str]); 6] = [
            ("all stands", |_| {}, &[]),
            (
                "the container is gone",
                |owned| owned["f:spec"]["f:template"]["f:spec"]["f:containers"] = Value::Null,
                &["spec.template.spec.containers"],
            ),
            (
                "the volumes are replaced",
                |owned| {
                    owned["f:spec"]["f:template"]["f:spec"]["f:volumes"] =
                        json!({"k:{\"name\":\"other\"}": {".": {}}});
                },
                &["spec.template.spec.volumes[name=\"tmp\"]"],
            ),
            (
                "another image",
                |owned| {
                    let containers = &mut owned["f:spec"]["f:template"]["f:spec"]["f:containers"];
                    let container = containers["k:{\"name\":\"asya-sidecar\"}"].as_object_mut();
                    container.unwrap().remove("f:image");
                },
                &["spec.template.spec.containers[name=\"asya-sidecar\"].image"],
            ),
            (
                "the marks are gone",
                |owned| owned["f:metadata"] = Value::Null,
                &["metadata.labels", "metadata.annotations"],
            ),
            (
                "everything",
                |owned| *owned = Value::Null,
                &["metadata.labels", "metadata.annotations", "spec.template"],
            ),
        ];
        for (reason, change, expected) in cases {
            let mut owned = owned();
            change(&mut owned);
            let entry = entry(MANAGER, "Apply", "2026-01-01T00:00:00Z", &owned);
            let standing = Standing::read(&live(&json!([entry])), MANAGER, &intent());
            assert_eq!(standing.missing, expected, "{reason}");
            assert_eq!(standing.is_whole(), expected.is_empty(), "{reason}");
        }
        let updated = entry(MANAGER, "Update", "2026-01-01T00:00:00Z", &owned());
        let live = live(&json!([updated]));
        assert!(
            !Standing::read(&live, MANAGER, &intent()).is_whole(),
            "what a manager updates is not what it applies"
        );
        assert!(!has_applied(&live["metadata"]["managedFields"], MANAGER));
    }

    #[test]
    fn the_other_manager_is_the_last_that_wrote_the_template() {
        let template = || json!({"f:spec": {"f:template": {"f:spec": {}}}});
        let replicas = || json!({"f:spec": {"f:replicas": {}}});
        let status = || {
            let mut entry = entry(
                "kube-controller-manager",
                "Update",
                "2026-09-01T00:00:00Z",
                &json!({"f:status": {}}),
            );
            entry["subresource"] = json!("status");
            entry
        };
        let cases = [
            ("nobody", json!([]), None),
            (
                "we ourselves",
                json!([entry(MANAGER, "Apply", "2026-01-01T00:00:00Z", &template())]),
                None,
            ),
            (
                "the later of two",
                json!([
                    entry("helm", "Update", "2026-01-01T00:00:00Z", &template()),
                    entry("kserve", "Update", "2026-01-02T00:00:00Z", &template())
                ]),
                Some("kserve"),
            ),
            (
                "not who scales it",
                json!([
                    entry("helm", "Update", "2026-01-01T00:00:00Z", &template()),
                    entry("kubectl", "Update", "2026-01-02T00:00:00Z", &replicas())
                ]),
                Some("helm"),
            ),
            (
                "who writes anything, if nobody writes the template",
                json!([
                    entry("kubectl", "Update", "2026-01-02T00:00:00Z", &replicas()),
                    status()
                ]),
                Some("kubectl"),
            ),
        ];
        for (reason, entries, expected) in cases {
            let standing = Standing::read(&live(&entries), MANAGER, &intent());
            assert_eq!(standing.other.as_deref(), expected, "{reason}");
        }
    }
}
