//! Bindings beside thousands of workloads that have nothing to do with them.

use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::program::{Program, mebibytes, ready, sum};
use crate::rig;

/// Bindings, and workloads of others.
const BINDINGS: usize = 50;
const OTHERS: usize = 5000;

/// By how much two starts may differ, with other workloads or without, in KiB. Five thousand workloads
/// that were kept would take more, were it 1 KiB of each.
const GROWTH_MAX: u64 = 2 << 10;

/// Time for bindings to settle, and then to be watched.
const SETTLING: Duration = Duration::from_mins(1);

/// Prints what they cost.
pub(crate) async fn measure() {
    let cluster = rig::cluster::Cluster::start().await;
    cluster.install_kinds().await;
    let client = cluster.client().await;
    make_deployments(&client, "bound", BINDINGS).await;
    make_bindings(&client).await;
    let folder = tempfile::tempdir().unwrap();
    println!("\nAPI server, {BINDINGS} bindings");
    let folder = folder.path();
    let kubeconfig = cluster.kubeconfig();
    // What is measured is a provider that finds everything done.
    drop(bound(Program::start(&kubeconfig, folder)).await);
    let mut resident = Vec::new();
    for others in [0, OTHERS] {
        make_deployments(&client, "other", others).await;
        let program = bound(Program::start(&kubeconfig, folder)).await;
        let asked = || sum(&program.metrics(), "rest_client_requests_total");
        let until_ready = asked();
        tokio::time::sleep(SETTLING).await;
        let before = asked();
        tokio::time::sleep(SETTLING).await;
        let now = program.measure("").provider;
        println!(
            "  beside {others} workloads of others: {until_ready} requests until all are observed, {} in the second \
             minute; {:.1} MiB resident, {:.1} MiB at most",
            asked() - before,
            mebibytes(now.resident),
            mebibytes(now.peak),
        );
        resident.push(now.resident);
    }
    let grown = resident[1].saturating_sub(resident[0]);
    assert!(
        grown < GROWTH_MAX,
        "{grown} KiB more beside {OTHERS} workloads"
    );
}

/// The program, when all bindings are ready and each was reconciled.
async fn bound(program: Program) -> Program {
    program
        .until("all bindings are ready and were reconciled", |metrics| {
            let reconciliations =
                "controller_runtime_reconcile_total{controller=\"workloadbinding\"";
            ready(metrics) == BINDINGS && sum(metrics, reconciliations) >= BINDINGS
        })
        .await;
    program
}

/// Makes Deployments whose rollout is done, as far as their status reports.
async fn make_deployments(client: &Client, prefix: &str, number: usize) {
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let variables: Vec<Value> = (0..20)
        .map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "some words of its own"}))
        .collect();
    stream::iter(0..number)
        .for_each_concurrent(8, |number| {
            let (deployments, variables) = (deployments.clone(), variables.clone());
            async move {
                let name = format!("{prefix}-{number}");
                let labels = json!({"app": name});
                let pod =
                    json!({"containers": [{"name": "llm", "image": "llm:1", "env": variables}]});
                let object = json!({"metadata": {"name": name, "labels": labels}, "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": pod}}});
                let object = serde_json::from_value(object).unwrap();
                let parameters = PostParams::default();
                deployments.create(&parameters, &object).await.unwrap();
                let done = json!({"observedGeneration": 1000, "replicas": 1, "updatedReplicas": 1});
                let done = Patch::Merge(json!({"status": done}));
                let parameters = PatchParams::default();
                deployments
                    .patch_status(&name, &parameters, &done)
                    .await
                    .unwrap();
            }
        })
        .await;
}

/// Binds an actor to each of the Deployments that are there for it.
async fn make_bindings(client: &Client) {
    for number in 0..BINDINGS {
        let (actor, target) = (format!("actor-{number}"), format!("bound-{number}"));
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": target});
        let binding = json!({"apiVersion": actor::PROVIDER_API_VERSION, "kind": "WorkloadBinding",
            "metadata": {"name": actor}, "spec": {"forProvider": {
            "actor": actor, "strategy": "Inject", "targetRef": target,
            "template": rig::binding_fixture::template(&actor, "adapter:1")}}});
        test_cluster::objects::apply(client, &binding)
            .await
            .unwrap();
    }
}
