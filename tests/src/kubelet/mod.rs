//! A stand-in for a kubelet: the pods of namespace `default` become processes of this machine, their
//! statuses are reported, and the API server reads their logs here.
//!
//! A pod with restart policy `Never` runs its one container once, others run as in [`crate::pod`].
//! There is one node, and no scheduler: every pod is bound to it. Images are those of the test; a pod
//! with another one waits, as if the image could not be pulled. Probes, resources and security
//! contexts have no effect.

mod logs;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Secret};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::cluster::Cluster;
use test_cluster::objects;
use tokio::task::JoinHandle;

use crate::pod::{self, Images, Pod, Secrets};
use logs::Logs;

const NODE: &str = "node";

/// Between two reads of the pods.
const INTERVAL: Duration = Duration::from_millis(50);

/// A running stand-in. Its processes end with it.
pub struct Kubelet {
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Kubelet {
    /// Registers the node, and runs pods from now on.
    ///
    /// # Panics
    /// If the node cannot be registered.
    pub async fn start(cluster: &Cluster, images: Images) -> Self {
        let client = cluster.client().await;
        let logs = Logs::default();
        let (port, server) = logs::serve(cluster.serving_certificate(), logs.clone()).await;
        register(&client, port).await;
        let node = NodePods {
            pods: api(&client).await,
            secrets: Api::namespaced(client, "default"),
            images,
            running: BTreeMap::new(),
            logs,
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        Self {
            tasks: [server, tokio::spawn(node.run())],
        }
    }
}

async fn api(client: &Client) -> Api<DynamicObject> {
    let any = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
    objects::api_of(client, &any).await.0
}

/// Creates the node. The API server finds the port of the logs in its status.
async fn register(client: &Client, port: u16) {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}});
    let made = objects::apply(client, &node).await;
    made.expect("a node");
    let status = json!({"status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}});
    let nodes: Api<Node> = Api::all(client.clone());
    let (how, status) = (PatchParams::default(), Patch::Merge(status));
    let patched = nodes.patch_status(NODE, &how, &status).await;
    patched.expect("the status of a node");
}

/// Processes of a pod.
enum Processes {
    /// Of a workload.
    Lasting(Pod),
    /// Of a Job.
    Once(JoinHandle<ExitStatus>),
    /// Ended, or never started.
    None,
}

/// The pods of the node.
struct NodePods {
    pods: Api<DynamicObject>,
    secrets: Api<Secret>,
    images: Images,
    running: BTreeMap<String, Processes>,
    logs: Logs,
    folder: TempDir,
}

impl NodePods {
    async fn run(mut self) {
        loop {
            // The API server may be at its end.
            if let Ok(pods) = self.pods.list(&ListParams::default()).await {
                for pod in pods {
                    let name = pod.name_any();
                    let pod = json!(pod);
                    self.tend(&name, &pod).await;
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Takes the next step in the life of a pod.
    async fn tend(&mut self, name: &str, pod: &Value) {
        let spec = &pod["spec"];
        if pod["metadata"]["deletionTimestamp"].is_string() {
            if let Some(Processes::Lasting(pod)) = self.running.remove(name) {
                pod.terminate().await;
            }
            let now = DeleteParams::default().grace_period(0);
            drop(self.pods.delete(name, &now).await);
            return;
        }
        if spec["nodeName"].is_null() {
            return self.bind(name).await;
        }
        match self.running.get_mut(name) {
            None => self.begin(name, spec).await,
            Some(Processes::Once(process)) if process.is_finished() => {
                let status = process.await.expect("a process ends");
                self.running.insert(name.to_owned(), Processes::None);
                self.logs.read();
                let phase = if status.success() {
                    "Succeeded"
                } else {
                    "Failed"
                };
                let code = status.code().unwrap_or(1);
                let state = json!({"terminated": {"exitCode": code, "reason": "Completed"}});
                self.report(name, spec, phase, &state).await;
            }
            Some(_) => self.logs.read(),
        }
    }

    async fn bind(&self, name: &str) {
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}});
        let how = PostParams::default();
        let bound = self
            .pods
            .create_subresource("binding", name, &how, &binding);
        let bound: kube::Result<Value> = bound.await;
        // It is bound again the next time.
        drop(bound);
    }

    /// Starts the processes of a pod.
    async fn begin(&mut self, name: &str, spec: &Value) {
        let containers = spec["containers"].as_array().into_iter().flatten();
        let mut images = containers.map(|container| container["image"].as_str());
        if !images.all(|image| image.is_some_and(|image| self.images.contains_key(image))) {
            self.running.insert(name.to_owned(), Processes::None);
            let state = json!({"waiting": {"reason": "ErrImagePull", "message": "no such image"}});
            // A kubelet reports this next, and from then on.
            self.report(name, spec, "Pending", &state).await;
            let state =
                json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}});
            return self.report(name, spec, "Pending", &state).await;
        }
        let secrets = self.secrets().await;
        let folder = self.folder.path();
        let files = |container: &str| {
            [".out", ".err"].map(|ending| folder.join(name).join(format!("{container}{ending}")))
        };
        for container in spec["containers"].as_array().into_iter().flatten() {
            let container = container["name"].as_str().unwrap_or_default();
            let files: [PathBuf; 2] = files(container);
            self.logs.add(name, container, files);
        }
        let processes = if spec["restartPolicy"] == "Never" {
            let ending = pod::run_once(name, spec, &self.images, &secrets, folder);
            Processes::Once(tokio::spawn(ending))
        } else {
            let template = json!({ "spec": spec });
            let pod = Pod::start(name, &template, &[], &self.images, &secrets, folder);
            Processes::Lasting(pod)
        };
        self.running.insert(name.to_owned(), processes);
        let state = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
        self.report(name, spec, "Running", &state).await;
    }

    /// The Secrets of the namespace.
    async fn secrets(&self) -> Secrets {
        let list = self.secrets.list(&ListParams::default()).await;
        let secrets = list.expect("the Secrets can be read").into_iter();
        let values = |secret: Secret| {
            let data = secret.data.unwrap_or_default().into_iter();
            data.filter_map(|(key, value)| Some((key, String::from_utf8(value.0).ok()?)))
                .collect()
        };
        secrets
            .map(|secret| (secret.name_any(), values(secret)))
            .collect()
    }

    /// Writes the status of a pod, with the same state for all of its containers.
    async fn report(&self, name: &str, spec: &Value, phase: &str, state: &Value) {
        let is_ready = phase == "Running";
        let containers = spec["containers"].as_array().into_iter().flatten();
        let containers: Vec<Value> = containers
            .map(|container| {
                json!({"name": container["name"], "image": container["image"], "imageID": "",
                    "restartCount": 0, "ready": is_ready, "started": is_ready, "state": state})
            })
            .collect();
        let condition = |kind: &str, is_true: bool| {
            let status = if is_true { "True" } else { "False" };
            json!({"type": kind, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let conditions = [
            condition("PodScheduled", true),
            condition("ContainersReady", is_ready),
            condition("Ready", is_ready),
        ];
        let status = json!({"status": {
            "phase": phase, "conditions": conditions, "containerStatuses": containers}});
        let (how, status) = (PatchParams::default(), Patch::Merge(status));
        // It may have been deleted.
        drop(self.pods.patch_status(name, &how, &status).await);
    }
}
