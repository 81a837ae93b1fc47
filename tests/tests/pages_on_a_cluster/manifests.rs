//! Every manifest of the documents, on a real API server.

use std::collections::BTreeSet;

use kube::api::{DynamicObject, Patch, PatchParams, ValidationDirective};
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use test_cluster::objects;
use tests::manifests;

use crate::{cluster_with_every_kind, is_inside};

/// The folders whose manifests are for a cluster.
const FOLDERS: [&str; 2] = ["docs", "install"];

/// The group of what `asya test` alone reads.
const OF_NO_CLUSTER: &str = "test.asya.sh/";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_server_takes_every_manifest() {
    if !is_inside("manifests::the_api_server_takes_every_manifest") {
        return;
    }
    let (cluster, _crossplane) = cluster_with_every_kind().await;
    let client = cluster.client().await;

    let all: Vec<(String, Value)> = FOLDERS
        .into_iter()
        .flat_map(manifests::manifests_in)
        .collect();
    make_namespaces(&client, &all).await;
    let (mut taken, mut refused) = (0, Vec::new());
    for (place, object) in all {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        if api_version.starts_with(OF_NO_CLUSTER) {
            continue;
        }
        match dry_run(&client, &object).await {
            Ok(()) => taken += 1,
            Err(reason) => refused.push(format!("{place}: {}: {reason}", object["kind"])),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(taken >= 60, "only {taken} manifests were found");
}

/// Makes every namespace that a manifest names.
async fn make_namespaces(client: &Client, manifests: &[(String, Value)]) {
    let names: BTreeSet<&str> = manifests
        .iter()
        .filter_map(|(_, object)| object["metadata"]["namespace"].as_str())
        .collect();
    for name in names {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let made = objects::apply(client, &namespace).await;
        made.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Applies an object as `kubectl apply --server-side --dry-run=server` does: an unknown field is
/// an error.
async fn dry_run(client: &Client, object: &Value) -> Result<(), String> {
    let object: DynamicObject =
        serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    let types = object.types.as_ref().ok_or("has no kind")?;
    let kind = types.try_into().map_err(|error| format!("{error}"))?;
    let served = discovery::pinned_kind(client, &kind).await;
    let (resource, capabilities) = served.map_err(|error| error.to_string())?;
    let api: Api<DynamicObject> = match (&capabilities.scope, object.namespace()) {
        (Scope::Cluster, None) => Api::all_with(client.clone(), &resource),
        (Scope::Namespaced, Some(namespace)) => {
            Api::namespaced_with(client.clone(), &namespace, &resource)
        }
        (_, namespace) => return Err(format!("is not of namespace {namespace:?}")),
    };
    let mut parameters = PatchParams::apply("documents").dry_run();
    parameters.field_validation = Some(ValidationDirective::Strict);
    api.patch(&object.name_any(), &parameters, &Patch::Apply(&object))
        .await
        .map(drop)
        .map_err(|error| error.to_string())
}
