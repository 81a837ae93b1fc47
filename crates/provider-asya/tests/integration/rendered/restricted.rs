//! Pods of actors in a namespace that enforces the Pod Security standard *restricted*, as a real API
//! server judges them. The pods are rendered from what the actors' authors write, and not changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::rig::{self, shared};

const NAMESPACE: &str = "restricted";

/// Each actor of `tests/restricted/actors.yaml`, and the container for which its pod is refused.
const ACTORS: [(&str, Option<&str>); 13] = [
    ("without", Some("asya-runtime")),
    ("inline", None),
    ("of-container", None),
    ("flavored", None),
    ("template", None),
    ("template-without", Some("metrics")),
    ("stateful", None),
    ("foreign-sidecar", None),
    ("state-proxies", None),
    ("privileged-sidecar", Some("asya-sidecar")),
    ("adapter", None),
    ("adapter-without", Some("asya-runtime")),
    ("inject", None),
];

#[test]
fn a_namespace_that_enforces_restricted_admits_pods_of_actors_with_restricted_fields() {
    shared::run("pods in a restricted namespace", async {
        let cluster = rig::cluster::Cluster::start().await;
        let client = cluster.client().await;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let enforced = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let namespace = json!({"metadata": {"name": NAMESPACE, "labels": enforced}});
        let namespace = serde_json::from_value(namespace).unwrap();
        let made = namespaces.create(&PostParams::default(), &namespace).await;
        made.unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
        rig::until("the namespace has its ServiceAccount", || async {
            accounts.get_opt("default").await.unwrap()
        })
        .await;
        let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
        let rendered = rendered();
        let mut wrong = Vec::new();
        for (actor, expected) in ACTORS {
            for pod in pods_of(&rendered, actor) {
                let answer = create(&pods, &pod).await;
                let is_expected = match (&answer, expected) {
                    (Ok(()), None) => true,
                    (Err(error), Some(container)) => {
                        error.contains("violates PodSecurity")
                            && error.contains(&format!("{container:?}"))
                    }
                    _ => false,
                };
                if !is_expected {
                    wrong.push(format!("{actor}: {answer:?} instead of {expected:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let count = of_kind(&rendered, "AsyncActor").count();
        assert_eq!(count, ACTORS.len(), "each actor has its case");
    });
}

async fn create(pods: &Api<Pod>, pod: &Value) -> Result<(), String> {
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let pod = serde_json::from_value(pod.clone()).unwrap();
    let created = pods.create(&dry, &pod).await;
    created.map(drop).map_err(|error| error.to_string())
}

/// All objects of the actors.
fn rendered() -> Vec<Value> {
    let actors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/restricted/actors.yaml");
    let mut render = Command::new(asya());
    let output = render
        .arg("render")
        .arg(actors)
        .args(["-o", "json"])
        .output();
    let output = output.unwrap_or_else(|error| panic!("asya: {error}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The program, in `ASYA_BIN_DIR` or beside the provider's.
fn asya() -> PathBuf {
    let beside = || Path::new(env!("CARGO_BIN_EXE_provider-asya")).with_file_name("asya");
    let named = std::env::var_os("ASYA_BIN_DIR").map(|folder| Path::new(&folder).join("asya"));
    let program = named.unwrap_or_else(beside);
    assert!(program.is_file(), "build {} first", program.display());
    program
}

fn of_kind<'a>(rendered: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    rendered.iter().filter(move |object| object["kind"] == kind)
}

/// The pods of an actor as their controllers create them: of its workload, or of targets in which it
/// is injected.
fn pods_of(rendered: &[Value], actor: &str) -> Vec<Value> {
    let is_its = |object: &&Value| object["metadata"]["labels"]["asya.sh/actor"] == actor;
    let workloads = ["Deployment", "StatefulSet"].into_iter();
    let mut workloads = workloads.flat_map(|kind| of_kind(rendered, kind).filter(is_its));
    if let Some(workload) = workloads.next() {
        let claims = workload["spec"]["volumeClaimTemplates"].as_array();
        let volumes = claims.into_iter().flatten();
        let volumes =
            volumes.map(|claim| json!({"name": claim["metadata"]["name"], "emptyDir": {}}));
        let claims = json!({"spec": {"volumes": volumes.collect::<Vec<_>>()}});
        let template = workload["spec"]["template"].clone();
        return vec![pod(added(template, &claims))];
    }
    let binding = of_kind(rendered, "WorkloadBinding").find(is_its);
    let binding = binding.unwrap_or_else(|| panic!("{actor} has no workload and no binding"));
    let template = &binding["spec"]["forProvider"]["template"];
    targets()
        .into_iter()
        .map(|target| pod(added(target, template)))
        .collect()
}

/// Pods of other owners that meet the standard: by fields of the pod, and by those of the container.
fn targets() -> [Value; 2] {
    let of_container =
        json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let of_pod = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    let mut all = of_container.clone();
    let fields = of_pod.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(fields);
    let target = |pod: &Value, container: &Value| {
        json!({"spec": {"securityContext": pod,
            "containers": [{"name": "llm", "image": "llm:1", "securityContext": container}]}})
    };
    [target(&of_pod, &of_container), target(&json!({}), &all)]
}

/// A pod with the containers and volumes of another template.
fn added(mut pod: Value, template: &Value) -> Value {
    for list in ["containers", "initContainers", "volumes"] {
        let added = template["spec"][list].as_array().cloned();
        let spec = pod["spec"].as_object_mut().unwrap();
        let present = spec.entry(list).or_insert_with(|| json!([]));
        present
            .as_array_mut()
            .unwrap()
            .extend(added.into_iter().flatten());
    }
    pod
}

/// A pod of a template; the ServiceAccount of the actor is not on this cluster.
fn pod(mut template: Value) -> Value {
    template["apiVersion"] = json!("v1");
    template["kind"] = json!("Pod");
    template["metadata"]["name"] = json!("pod");
    let spec = template["spec"].as_object_mut().unwrap();
    spec.remove("serviceAccountName");
    spec.insert("automountServiceAccountToken".to_owned(), json!(false));
    template
}
