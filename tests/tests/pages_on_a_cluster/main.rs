//! Checks of `docs/` and `install/`: a real API server accepts every manifest, with
//! everybody's kinds, everything of `install/` fits together, and the commands of `docs/setup` run.

mod commands;
mod install;
mod manifests;

use serde_json::json;
use test_cluster::cluster::Cluster;
use test_cluster::crossplane::Crossplane;
use test_cluster::{components, namespace, objects};
use tests::validation::{definition_file, document};

/// Returns whether the test runs here: Crossplane core needs a network namespace of its own.
fn is_inside(test: &str) -> bool {
    !components::is_skipped("the documents") && namespace::is_inside(test)
}

/// An API server that serves Crossplane's, KEDA's and our kinds, and the core that has defined some.
async fn cluster_with_every_kind() -> (Cluster, Crossplane) {
    let cluster = Cluster::start().await;
    cluster.install_kinds().await;
    cluster.install_keda().await;
    let crossplane = Crossplane::start(&cluster).await;
    let client = cluster.client().await;
    let definition = document(&definition_file("asyncactors.asya.sh"));
    let defined = objects::apply(&client, &definition).await;
    defined.expect("the definition is taken");
    let any = json!({"apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor", "metadata": {}});
    objects::api_of(&client, &any).await;
    (cluster, crossplane)
}
