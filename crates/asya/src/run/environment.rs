//! The environment of a container, as the kubelet would make it from the pod template.
//!
//! Secrets and ConfigMaps come from the input files, or their values from `--env` and `--env-file` by
//! the names of the variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pipeline::Object;
use serde_json::Value;

use super::resource_field;

/// Values of variables, and where else values are found.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Variables of `--env` and `--env-file`; they replace those of the pod template.
    pub given: BTreeMap<String, String>,
    /// Secrets and ConfigMaps among the input files.
    pub objects: Vec<Arc<Object>>,
}

/// A variable without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The variable; none for all variables of an object.
    pub variable: Option<String>,
    /// Object that would contain its value, such as `key "url" of Secret "redis"`.
    pub source: String,
}

/// A pod, of which containers are a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pod<'a> {
    /// Its template.
    pub template: &'a Value,
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
}

/// The variables of a container, and those that have no value. A variable that is optional and missing
/// is left out.
pub(super) fn environment(
    container: &Value,
    pod: Pod<'_>,
    values: &Values,
) -> (BTreeMap<String, String>, Vec<Missing>) {
    let mut variables = BTreeMap::new();
    let mut missing = Vec::new();
    for source in list(container, "envFrom") {
        match values.all_of(source, pod.namespace) {
            Ok(found) => variables.extend(found),
            Err(lacking) => missing.extend(lacking),
        }
    }
    for entry in list(container, "env") {
        let Some(name) = entry["name"].as_str() else {
            continue;
        };
        if let Some(given) = values.given.get(name) {
            variables.insert(name.to_owned(), given.clone());
            continue;
        }
        let from = &entry["valueFrom"];
        if from.is_null() {
            let text = entry["value"].as_str().unwrap_or_default();
            variables.insert(name.to_owned(), expanded(text, &variables));
            continue;
        }
        match values.one_of(from, container, pod) {
            Ok(Some(value)) => drop(variables.insert(name.to_owned(), value)),
            Ok(None) => {}
            Err(source) => missing.push(Missing {
                variable: Some(name.to_owned()),
                source,
            }),
        }
    }
    (variables, missing)
}

impl Values {
    /// The value behind `valueFrom`; none where it is missing and optional, else where it would be.
    fn one_of(
        &self,
        from: &Value,
        container: &Value,
        pod: Pod<'_>,
    ) -> Result<Option<String>, String> {
        for (member, kind) in [("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")] {
            let reference = &from[member];
            if reference.is_null() {
                continue;
            }
            let name = reference["name"].as_str().unwrap_or_default();
            let key = reference["key"].as_str().unwrap_or_default();
            let data = self.find(kind, name, pod.namespace).map(data);
            let value = data.and_then(|mut data| data.remove(key));
            return match value {
                None if reference["optional"] != true => {
                    Err(format!("key {key:?} of {kind} {name:?}"))
                }
                value => Ok(value),
            };
        }
        if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
            return field(path, pod)
                .map(Some)
                .ok_or_else(|| format!("field {path} of the pod"));
        }
        let reference = &from["resourceFieldRef"];
        if !reference.is_null() {
            let resource = reference["resource"].as_str().unwrap_or_default();
            return resource_field::value(reference, container)
                .map(Some)
                .ok_or_else(|| format!("{resource} of the container"));
        }
        Err("a source that this program does not know".to_owned())
    }

    /// All keys of the object behind an entry of `envFrom`.
    fn all_of(
        &self,
        source: &Value,
        namespace: &str,
    ) -> Result<BTreeMap<String, String>, Option<Missing>> {
        let prefix = source["prefix"].as_str().unwrap_or_default();
        for (member, kind) in [("secretRef", "Secret"), ("configMapRef", "ConfigMap")] {
            let reference = &source[member];
            let Some(name) = reference["name"].as_str() else {
                continue;
            };
            let Some(object) = self.find(kind, name, namespace) else {
                let is_optional = reference["optional"] == true || !self.given.is_empty();
                return Err((!is_optional).then(|| Missing {
                    variable: None,
                    source: format!("{kind} {name:?}"),
                }));
            };
            let data = data(object).into_iter();
            return Ok(data
                .map(|(key, value)| (format!("{prefix}{key}"), value))
                .collect());
        }
        Err(None)
    }

    fn find(&self, kind: &str, name: &str, namespace: &str) -> Option<&Object> {
        self.objects
            .iter()
            .rev()
            .map(AsRef::as_ref)
            .find(|object: &&Object| {
                let is_here = ["", namespace].contains(&object.namespace());
                object.kind() == kind && object.name() == name && is_here
            })
    }
}

/// The keys of a Secret or ConfigMap, as texts.
fn data(object: &Object) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let is_secret = object.kind() == "Secret";
    for (member, is_encoded) in [("data", is_secret), ("stringData", false)] {
        let Some(values) = object.get(&[member]).and_then(Value::as_object) else {
            continue;
        };
        for (key, value) in values {
            let text = value.as_str().unwrap_or_default();
            let decoded = is_encoded
                .then(|| STANDARD.decode(text.trim()).ok())
                .flatten();
            let text = match decoded {
                Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                None => text.to_owned(),
            };
            texts.insert(key.clone(), text);
        }
    }
    texts
}

/// A field of the pod, as the downward API serves it.
fn field(path: &str, pod: Pod<'_>) -> Option<String> {
    let Pod {
        template,
        name,
        namespace,
    } = pod;
    let text = match path {
        "metadata.name" => name,
        "metadata.namespace" => namespace,
        "metadata.uid" => "00000000-0000-0000-0000-000000000000",
        "spec.nodeName" => "localhost",
        "spec.serviceAccountName" => template["spec"]["serviceAccountName"]
            .as_str()
            .unwrap_or("default"),
        "status.hostIP" | "status.podIP" | "status.hostIPs" | "status.podIPs" => "127.0.0.1",
        path => {
            let (map, key) = path.strip_prefix("metadata.")?.split_once("['")?;
            let key = key.strip_suffix("']")?;
            template["metadata"]
                .get(map)?
                .get(key)?
                .as_str()
                .unwrap_or_default()
        }
    };
    Some(text.to_owned())
}

/// The text with `$(NAME)` replaced by earlier variables; `$$` is a `$`, and what is not set stays.
fn expanded(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        let reference = after.strip_prefix('(').and_then(|it| it.split_once(')'));
        rest = match reference {
            Some((name, after)) => {
                match variables.get(name) {
                    Some(value) => result.push_str(value),
                    None => result.push_str(&format!("$({name})")),
                }
                after
            }
            None => {
                result.push('$');
                after.strip_prefix('$').unwrap_or(after)
            }
        };
    }
    result + rest
}

fn list<'a>(container: &'a Value, member: &str) -> &'a [Value] {
    container[member].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(kind: &str, member: &str) -> Object {
        let value = if member == "data" && kind == "Secret" {
            "dmFsdWU="
        } else {
            "value"
        };
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "it"}, member: {"key": value}});
        object.as_object().cloned().map(Object::from).unwrap()
    }

    const POD: fn(&Value) -> Pod<'_> = |template| Pod {
        template,
        name: "a-local",
        namespace: "ml",
    };

    #[test]
    fn each_source_of_a_value_is_resolved() {
        let template =
            json!({"metadata": {"labels": {"team": "x"}}, "spec": {"serviceAccountName": "sa"}});
        let values = Values {
            given: BTreeMap::from([("GIVEN".to_owned(), "mine".to_owned())]),
            objects: vec![
                object("Secret", "data").into(),
                object("ConfigMap", "data").into(),
            ],
        };
        let secret = json!({"secretKeyRef": {"name": "it", "key": "key"}});
        let field = |path: &str| json!({"fieldRef": {"fieldPath": path}});
        let cases = [
            (json!({"value": "x"}), Some("x")),
            (
                json!({"value": "$(FIRST)-$$(FIRST)-$(NONE)-$"}),
                Some("1-$(FIRST)-$(NONE)-$"),
            ),
            (json!({"valueFrom": secret}), Some("value")),
            (
                json!({"valueFrom": {"configMapKeyRef": {"name": "it", "key": "key"}}}),
                Some("value"),
            ),
            (
                json!({"valueFrom": {"secretKeyRef": {"name": "it", "key": "no", "optional": true}}}),
                None,
            ),
            (
                json!({"valueFrom": field("metadata.name")}),
                Some("a-local"),
            ),
            (
                json!({"valueFrom": field("metadata.namespace")}),
                Some("ml"),
            ),
            (
                json!({"valueFrom": field("metadata.labels['team']")}),
                Some("x"),
            ),
            (
                json!({"valueFrom": field("spec.serviceAccountName")}),
                Some("sa"),
            ),
            (
                json!({"valueFrom": field("status.podIP")}),
                Some("127.0.0.1"),
            ),
            (
                json!({"valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}}),
                Some("512"),
            ),
        ];
        for (entry, expected) in cases {
            let mut entry = entry;
            entry["name"] = json!("IT");
            let container = json!({"env": [{"name": "FIRST", "value": "1"}, entry],
                "resources": {"limits": {"memory": "512"}}});
            let (variables, missing) = environment(&container, POD(&template), &values);
            assert_eq!(
                variables.get("IT").map(String::as_str),
                expected,
                "{container}"
            );
            assert_eq!(missing, []);
        }
        let container = json!({"env": [{"name": "GIVEN", "value": "theirs"}],
            "envFrom": [{"prefix": "P_", "secretRef": {"name": "it"}}]});
        let (variables, _) = environment(&container, POD(&template), &values);
        assert_eq!(
            (variables["GIVEN"].as_str(), variables["P_key"].as_str()),
            ("mine", "value")
        );
    }

    #[test]
    fn a_missing_value_names_its_source() {
        let container = json!({"envFrom": [{"configMapRef": {"name": "all"}}],
            "env": [{"name": "URL", "valueFrom": {"secretKeyRef": {"name": "redis", "key": "url"}}}]});
        let (_, missing) = environment(&container, POD(&json!({})), &Values::default());
        let sources: Vec<&str> = missing.iter().map(|it| it.source.as_str()).collect();
        assert_eq!(
            sources,
            ["ConfigMap \"all\"", "key \"url\" of Secret \"redis\""]
        );
    }
}
