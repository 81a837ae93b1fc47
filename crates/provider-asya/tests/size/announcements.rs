//! One changed flavor that thousands of actors use, with a restart of the provider in between.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::{Api, Client, ResourceExt as _};
use provider_asya::controller::environment::ANNOTATION;
use provider_asya::kinds::ActorHealth;
use serde_json::json;

use crate::program::{Program, mebibytes, sum};
use crate::rig;
use actor::health::UsedEnvironmentConfig;

/// Variable with the number of actors.
const ACTORS: &str = "ASYA_SIZE_ACTORS";
/// Number without it.
const DEFAULT: usize = 5000;
/// Objects that are created at the same time.
const AT_ONCE: usize = 16;
const FLAVOR: &str = "gpu";
const TIMEOUT: Duration = Duration::from_mins(15);

/// Prints how long it takes until the first actor and all of them have the annotation, and what that costs.
pub(crate) async fn measure() {
    let count = std::env::var(ACTORS).map_or(DEFAULT, |count| count.parse().unwrap());
    let cluster = rig::cluster::Cluster::start().await;
    cluster.install_kinds().await;
    let kinds = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crds/environment.yaml");
    cluster.install(kinds.as_ref()).await;
    let client = cluster.client().await;
    let used = write_flavor(&client, "app:1").await;
    make_actors(&client, count, &used).await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = cluster.kubeconfig();
    let program = observed(Program::start(&kubeconfig, folder.path()), count).await;

    write_flavor(&client, "app:2").await;
    let changed = Instant::now();
    let first = until_announced(&client, 1).await.duration_since(changed);
    until_announced(&client, count / 2).await;
    let before = program.measure("");
    drop(program);
    let program = Program::start(&kubeconfig, folder.path());
    let all = until_announced(&client, count)
        .await
        .duration_since(changed);
    let after = program.measure("");
    println!(
        "| Actors | First annotation | All, with a restart | Requests, both processes | Resident, maximum (MiB) |\n\
         |---|---|---|---|---|\n\
         | {count} | {:.1} s | {:.0} s | {} | {:.1}, {:.1} |",
        first.as_secs_f64(),
        all.as_secs_f64(),
        before.requests + after.requests,
        mebibytes(after.provider.resident),
        mebibytes(after.provider.peak),
    );
}

/// The program, once it has reconciled every ActorHealth.
async fn observed(program: Program, count: usize) -> Program {
    let reconciles = "controller_runtime_reconcile_total{controller=\"actorhealth\"";
    let is_done = |metrics: &str| sum(metrics, reconciles) >= count;
    program
        .until("every ActorHealth was reconciled", is_done)
        .await;
    program
}

fn flavors(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(
        "apiextensions.crossplane.io",
        "v1beta1",
        "EnvironmentConfig",
    );
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

fn actors(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("asya.sh", "v1alpha1", "AsyncActor");
    Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&kind))
}

async fn write_flavor(client: &Client, image: &str) -> UsedEnvironmentConfig {
    let flavor = json!({"apiVersion": "apiextensions.crossplane.io/v1beta1", "kind": "EnvironmentConfig",
        "metadata": {"name": FLAVOR}, "data": {"image": image}});
    let manager = PatchParams::apply("platform-team").force();
    let written = flavors(client)
        .patch(FLAVOR, &manager, &Patch::Apply(flavor))
        .await;
    let written = written.unwrap();
    let generation = written.metadata.generation;
    UsedEnvironmentConfig::new(FLAVOR, written.uid().as_deref(), generation)
}

async fn make_actors(client: &Client, count: usize, used: &UsedEnvironmentConfig) {
    let health: Api<ActorHealth> = Api::default_namespaced(client.clone());
    let (actors, health) = (&actors(client), &health);
    stream::iter(0..count)
        .for_each_concurrent(AT_ONCE, |index| async move {
            let name = format!("actor-{index}");
            let actor = json!({"apiVersion": "asya.sh/v1alpha1", "kind": "AsyncActor",
                "metadata": {"name": name}, "spec": {"flavors": [FLAVOR], "handler": "app.run"}});
            let actor = serde_json::from_value(actor).unwrap();
            let actor = actors.create(&PostParams::default(), &actor).await.unwrap();
            let report = json!({"apiVersion": "provider.asya.sh/v1alpha1", "kind": "ActorHealth",
                "metadata": {"name": name, "ownerReferences": [{"apiVersion": "asya.sh/v1alpha1",
                    "kind": "AsyncActor", "name": name, "uid": actor.uid(), "controller": true}]},
                "spec": {"forProvider": {"actor": name, "workload": {"kind": "Deployment", "name": name},
                    "podSelector": {"asya.sh/actor": name}, "environmentConfigs": [used]}}});
            let report = serde_json::from_value(report).unwrap();
            health.create(&PostParams::default(), &report).await.unwrap();
        })
        .await;
}

/// Waits until so many actors have the annotation; the time at which it was seen.
async fn until_announced(client: &Client, count: usize) -> Instant {
    let api = actors(client);
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let all = api.list_metadata(&ListParams::default()).await.unwrap();
        let has = |actor: &&PartialObjectMeta<DynamicObject>| {
            actor.annotations().contains_key(ANNOTATION)
        };
        let announced = all.iter().filter(has).count();
        if announced >= count {
            return Instant::now();
        }
        assert!(
            Instant::now() < deadline,
            "{announced} of {count} announced"
        );
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
