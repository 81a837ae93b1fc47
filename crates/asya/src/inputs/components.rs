//! Versions of what actors need in a cluster: Kubernetes, Crossplane, KEDA.

use std::process::Command;

use serde_json::Value;

use super::Cluster;

/// A component and its version; none where it is missing or may not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// `Kubernetes`, `Crossplane` or `KEDA`.
    pub name: &'static str,
    /// Its version.
    pub version: Option<String>,
}

/// Reads the versions with kubectl. Needs `list` of Deployments in all namespaces for Crossplane and
/// KEDA.
pub fn components(cluster: &Cluster) -> Vec<Component> {
    let kubernetes = kubectl(cluster, &["version", "--output", "json"]);
    let kubernetes =
        kubernetes.and_then(|it| Some(it["serverVersion"]["gitVersion"].as_str()?.to_owned()));
    let deployments = |selector: &str| {
        let arguments = [
            "get",
            "deployments.apps",
            "--all-namespaces",
            "--selector",
            selector,
            "--output",
            "json",
        ];
        kubectl(cluster, &arguments).and_then(|list| version(&list))
    };
    vec![
        Component {
            name: "Kubernetes",
            version: kubernetes,
        },
        Component {
            name: "Crossplane",
            version: deployments("app=crossplane"),
        },
        Component {
            name: "KEDA",
            version: deployments("app=keda-operator")
                .or_else(|| deployments("app.kubernetes.io/name=keda-operator")),
        },
    ]
}

/// The version of the first Deployment: its label, else the tag of its first image.
fn version(list: &Value) -> Option<String> {
    let first = list["items"].as_array()?.first()?;
    let label = first["metadata"]["labels"]["app.kubernetes.io/version"].as_str();
    let image = first["spec"]["template"]["spec"]["containers"][0]["image"].as_str();
    let name = image.and_then(|image| image.rsplit('/').next()?.split('@').next());
    let tag = name.and_then(|name| Some(name.split_once(':')?.1));
    label.or(tag).map(str::to_owned)
}

fn kubectl(cluster: &Cluster, arguments: &[&str]) -> Option<Value> {
    let mut command = Command::new("kubectl");
    command.args(arguments);
    if let Some(context) = &cluster.context {
        command.args(["--context", context]);
    }
    let output = command.output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_version_is_the_label_or_the_tag() {
        let deployment = |labels: Value, image: &str| {
            json!({"items": [{
                "metadata": {"labels": labels},
                "spec": {"template": {"spec": {"containers": [{"image": image}]}}},
            }]})
        };
        let cases = [
            (
                deployment(json!({"app.kubernetes.io/version": "2.17.0"}), "a/keda:1"),
                Some("2.17.0"),
            ),
            (
                deployment(json!({}), "xpkg.crossplane.io/crossplane/crossplane:v2.0.2"),
                Some("v2.0.2"),
            ),
            (
                deployment(json!({}), "registry:5000/crossplane@sha256:ab"),
                None,
            ),
            (json!({"items": []}), None),
        ];
        for (list, expected) in cases {
            assert_eq!(version(&list).as_deref(), expected, "{list}");
        }
    }
}
