//! Every object that the examples render, applied to a real API server as Crossplane does: server-side,
//! by dry run, with unknown fields refused. KEDA's own definitions judge its objects.

mod restricted;

use crate::rig::{self, shared};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

/// Kinds of which the examples together must have at least one object.
const KINDS: [&str; 8] = [
    "ActorHealth",
    "ConfigMap",
    "Deployment",
    "Queue",
    "ScaledObject",
    "ServiceAccount",
    "StatefulSet",
    "TriggerAuthentication",
];

#[test]
fn the_api_server_accepts_every_rendered_object() {
    shared::run("rendered objects", async {
        let cluster = rig::cluster::Cluster::start().await;
        cluster.install_kinds().await;
        cluster.install_keda().await;
        let client = cluster.client().await;
        let mut refused = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for file in rendered() {
            for object in composed(&file) {
                let what = format!("{}: {}", file.display(), shown(&object));
                if let Err(reason) = dry_run(&client, object, &mut seen).await {
                    refused.push(format!("{what}: {reason}"));
                }
            }
        }
        assert!(refused.is_empty(), "{}", refused.join("\n"));
        for kind in KINDS {
            assert!(seen.contains_key(kind), "no {kind} among {seen:?}");
        }
    });
}

/// Rendered objects of the examples.
fn rendered() -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = std::fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("expected.yaml"))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    files
}

/// The objects of a file, less the actor itself and what Crossplane adds to its output.
fn composed(file: &Path) -> Vec<DynamicObject> {
    let text = std::fs::read_to_string(file).unwrap();
    let documents = actor::yaml::documents(&text).unwrap();
    let objects = documents.into_iter().filter(|document| {
        let group = document["apiVersion"].as_str().unwrap_or_default();
        !group.starts_with("asya.sh/") && !group.starts_with("render.crossplane.io/")
    });
    objects
        .map(|object| serde_json::from_value(object).unwrap())
        .collect()
}

async fn dry_run(
    client: &Client,
    mut object: DynamicObject,
    seen: &mut BTreeMap<String, usize>,
) -> Result<(), String> {
    let types = object.types.clone().unwrap();
    let kind = (&types).try_into().unwrap();
    // Definitions are served a moment after they were installed.
    let (resource, capabilities) = rig::until(&format!("{} is served", types.kind), || async {
        discovery::pinned_kind(client, &kind).await.ok()
    })
    .await;
    assert_eq!(capabilities.scope, Scope::Namespaced, "{kind:?}");
    *seen.entry(types.kind).or_default() += 1;
    let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
    object.metadata.namespace = Some(namespace.clone());
    make_namespace(client, &namespace).await;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
    apply(&api, &resource, &object).await
}

async fn apply(
    api: &Api<DynamicObject>,
    resource: &ApiResource,
    object: &DynamicObject,
) -> Result<(), String> {
    let name = object.metadata.name.as_deref().unwrap_or_default();
    if name.is_empty() {
        return Err(format!("a {} without a name", resource.kind));
    }
    let mut manager = PatchParams::apply("apiextensions.crossplane.io/composed/x")
        .dry_run()
        .force();
    manager.field_validation = Some(kube::api::ValidationDirective::Strict);
    match api.patch(name, &manager, &Patch::Apply(object)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

async fn make_namespace(client: &Client, name: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    match namespaces.create(&PostParams::default(), &namespace).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => panic!("namespace {name:?}: {error}"),
    }
}

fn shown(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map(|types| types.kind.as_str());
    format!("{} {}", kind.unwrap_or("?"), object.name_any())
}
