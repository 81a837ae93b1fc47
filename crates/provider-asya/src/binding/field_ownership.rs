//! Field ownership: which fields of an intent our field manager still owns in a workload.
//!
//! The API server keeps the set of fields that each field manager owns. A field leaves our set when
//! another manager removes it or sets another value, and stays when another manager sets the same value.
//! So a field that is missing from our set was undone, and values need not be compared; the API server
//! normalizes them anyway, such as quantities.
//! Source: Kubernetes, structured-merge-diff `merge/update.go`, format `FieldsV1`.

use serde_json::{Map, Value};

/// Owned fields of an intent, and the other field manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldOwnership {
    /// Paths of the intent that its manager does not own, in their order there.
    pub missing: Vec<String>,
    /// The other field manager that wrote the pod template last; where none did, the one that wrote
    /// any field of the workload last.
    pub other_manager: Option<String>,
}

impl FieldOwnership {
    /// Reads the ownership of `intent`, applied by `manager`, from the workload `live`.
    pub fn read(live: &Value, manager: &str, intent: &Value) -> Self {
        let nothing = Value::Null;
        let owned = applied(live, manager).map_or(&nothing, |entry| &entry["fieldsV1"]);
        let mut missing = Vec::new();
        for path in [
            &["metadata", "labels"] as &[&str],
            &["metadata", "annotations"],
            &["spec", "template"],
        ] {
            let wanted = get(intent, path, str::to_owned);
            let found = get(owned, path, |key| format!("f:{key}"));
            if let Some(wanted) = wanted {
                missing_fields(wanted, found, &path.join("."), &mut missing);
            }
        }
        Self {
            missing,
            other_manager: other_manager(live, manager),
        }
    }

    /// Returns whether the manager owns all fields of the intent.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Returns whether `manager` owns any applied field.
pub fn has_applied(managed_fields: &Value, manager: &str) -> bool {
    entries(managed_fields).any(|entry| is_applied_by(entry, manager))
}

/// The entry of the fields that `manager` has applied.
fn applied<'a>(live: &'a Value, manager: &str) -> Option<&'a Value> {
    entries(&live["metadata"]["managedFields"]).find(|entry| is_applied_by(entry, manager))
}

fn is_applied_by(entry: &Value, manager: &str) -> bool {
    entry["manager"] == manager && entry["operation"] == "Apply" && is_of_the_object(entry)
}

/// Returns whether an entry belongs to the object itself, not to its status or scale.
fn is_of_the_object(entry: &Value) -> bool {
    entry["subresource"].as_str().is_none_or(str::is_empty)
}

fn other_manager(live: &Value, manager: &str) -> Option<String> {
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

fn get<'a>(mut value: &'a Value, path: &[&str], key: impl Fn(&str) -> String) -> Option<&'a Value> {
    for step in path {
        value = value.get(key(step))?;
    }
    Some(value)
}

/// Adds the paths of `wanted` that are not `owned`.
fn missing_fields(wanted: &Value, owned: Option<&Value>, path: &str, missing: &mut Vec<String>) {
    // For server-side apply `null` is no value.
    if wanted.is_null() {
        return;
    }
    let Some(owned) = owned.and_then(Value::as_object) else {
        missing.push(path.to_owned());
        return;
    };
    // A field without child fields is owned as a whole, whatever its content.
    let is_atomic = owned.keys().all(|key| key == ".");
    match wanted {
        Value::Object(wanted) if !is_atomic => {
            for (key, value) in wanted {
                let owned = owned.get(&format!("f:{key}"));
                missing_fields(value, owned, &format!("{path}.{key}"), missing);
            }
        }
        Value::Array(wanted) if !is_atomic => {
            for item in wanted {
                missing_fields(item, item_of(owned, item), &item_path(path, item), missing);
            }
        }
        _ => {}
    }
}

/// The owned fields of a list item. Keys of the list that the item does not have were set to their
/// defaults.
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

    /// Managed fields that the API server writes for [`intent`].
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
    fn fields_that_are_no_longer_owned_are_missing() {
        type Change = fn(&mut Value);
        let cases: [(&str, Change, &[&str]); 6] = [
            ("all owned", |_| {}, &[]),
            (
                "the container is removed",
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
                "label and annotation are removed",
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
            let ownership = FieldOwnership::read(&live(&json!([entry])), MANAGER, &intent());
            assert_eq!(ownership.missing, expected, "{reason}");
            assert_eq!(ownership.is_complete(), expected.is_empty(), "{reason}");
        }
        let updated = entry(MANAGER, "Update", "2026-01-01T00:00:00Z", &owned());
        let live = live(&json!([updated]));
        assert!(
            !FieldOwnership::read(&live, MANAGER, &intent()).is_complete(),
            "updated fields are not applied fields"
        );
        assert!(!has_applied(&live["metadata"]["managedFields"], MANAGER));
    }

    #[test]
    fn the_other_manager_wrote_the_template_last() {
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
            ("none", json!([]), None),
            (
                "our own manager",
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
                "not the one that scales it",
                json!([
                    entry("helm", "Update", "2026-01-01T00:00:00Z", &template()),
                    entry("kubectl", "Update", "2026-01-02T00:00:00Z", &replicas())
                ]),
                Some("helm"),
            ),
            (
                "the one that writes any field, if none writes the template",
                json!([
                    entry("kubectl", "Update", "2026-01-02T00:00:00Z", &replicas()),
                    status()
                ]),
                Some("kubectl"),
            ),
        ];
        for (reason, entries, expected) in cases {
            let ownership = FieldOwnership::read(&live(&entries), MANAGER, &intent());
            assert_eq!(ownership.other_manager.as_deref(), expected, "{reason}");
        }
    }
}
