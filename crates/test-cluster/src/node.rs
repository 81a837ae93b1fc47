//! A simulated node: kube-scheduler binds pods to it, and kwok reports that they run.

use std::path::Path;
use std::process::Command;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::process::Process;
use crate::{components, objects, ports, until};

const NAME: &str = "node";

/// Starts both, and waits until the node is ready.
///
/// # Panics
/// When it is not in time.
pub(crate) async fn start(client: Client, kubeconfig: &Path, folder: &Path) -> [Process; 2] {
    // As large as many nodes: nothing of it is used.
    let size = json!({"cpu": "1000", "memory": "4Ti", "pods": "10000"});
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME},
        "status": {"allocatable": size, "capacity": size}});
    objects::apply(&client, &node).await.expect("a node");
    let nodes: Api<Node> = Api::all(client);
    // Every new node is tainted as not ready, and the controller that lifts that is not run.
    let untainted = Patch::Merge(json!({"spec": {"taints": null}}));
    let patched = nodes.patch(NAME, &PatchParams::default(), &untainted).await;
    patched.expect("a node without a taint");
    let [scheduler, kwok] = ports::reserve();
    let mut processes = [
        start_scheduler(kubeconfig, folder, scheduler),
        start_kwok(kubeconfig, folder, kwok),
    ];
    until("the node is ready", || {
        for process in &mut processes {
            process.check(folder);
        }
        async {
            let node = nodes.get(NAME).await.expect("the node is there");
            is_ready(&json!(node)).then_some(())
        }
    })
    .await;
    processes
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn start_scheduler(kubeconfig: &Path, folder: &Path, port: u16) -> Process {
    let mut command = Command::new(components::program("kube-scheduler"));
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--bind-address", "127.0.0.1", "--leader-elect=false"])
        .args(["--secure-port", &port.to_string()]);
    Process::start("kube-scheduler", &mut command, folder)
}

fn start_kwok(kubeconfig: &Path, folder: &Path, port: u16) -> Process {
    let mut command = Command::new(components::program("kwok"));
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--config")
        .arg(components::definitions("kwok-stages"))
        .args(["--manage-all-nodes=true", "--node-ip", "127.0.0.1"])
        .args(["--cidr", "10.244.0.0/16"])
        .args(["--server-address", &format!("127.0.0.1:{port}")])
        // It would read a configuration of the user's.
        .env("HOME", folder);
    Process::start("kwok", &mut command, folder)
}
