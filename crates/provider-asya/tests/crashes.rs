//! The real program, killed again and again while it makes and deletes queues:
//! exactly one queue of each name comes of it, and no message is lost.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use provider_asya::kinds::{ProviderConfig, Queue};
use rig::process::{Process, free_ports};
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

/// Times at which the program is killed after its start: before it has connected, and at about
/// every step of the ten queues that it makes or deletes at once.
const LIVES: [u64; 12] = [50, 100, 150, 200, 250, 300, 350, 400, 500, 600, 800, 1000];

const QUEUES: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_provider_leaves_nothing_that_it_cannot_mend() {
    if rig::is_skipped("crashes") {
        return;
    }
    let cluster = rig::cluster::Cluster::start().await;
    let (rabbitmq, ()) = tokio::join!(RabbitMq::start(), cluster.install_kinds());
    let client = cluster.client().await;
    set(&client, &rabbitmq).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = || start(&cluster.kubeconfig(), folder.path());

    for life in LIVES {
        let provider = provider();
        tokio::time::sleep(Duration::from_millis(life)).await;
        drop(provider); // SIGKILL
    }
    let mut last = provider();
    let queues: Api<Queue> = Api::default_namespaced(client);
    rig::until("all queues are ready", || async {
        let listed = queues
            .list(&kube::api::ListParams::default())
            .await
            .unwrap();
        let is_ready = |queue: &Queue| {
            provider_asya::conditions::is_true(&queue.status.conditions, actor::managed::READY)
        };
        (listed.items.len() == QUEUES && listed.items.iter().all(is_ready)).then_some(())
    })
    .await;
    let found = rabbitmq.read(&["queues", "/"]).await;
    assert_eq!(found.as_array().unwrap().len(), QUEUES, "each name once");
    for name in names() {
        assert!(
            rabbitmq.publish("asya", &name).await,
            "a queue that is ready gets what is published by {name:?}"
        );
    }
    terminate(&mut last).await;

    for life in LIVES {
        let provider = provider();
        tokio::time::sleep(Duration::from_millis(life)).await;
        drop(provider);
    }
    rig::until("no message is lost by restarts", || async {
        let found = rabbitmq.read(&["queues", "/"]).await;
        let counts: Vec<&Value> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|queue| &queue["messages"])
            .collect();
        (counts == vec![&json!(1); QUEUES]).then_some(())
    })
    .await;

    for name in names() {
        queues
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
    }
    for life in LIVES {
        let provider = provider();
        tokio::time::sleep(Duration::from_millis(life)).await;
        drop(provider);
    }
    let mut last = provider();
    rig::until("all objects are gone", || async {
        let listed = queues
            .list(&kube::api::ListParams::default())
            .await
            .unwrap();
        listed.items.is_empty().then_some(())
    })
    .await;
    assert_eq!(
        rabbitmq.read(&["queues", "/"]).await,
        json!([]),
        "and so are their queues"
    );
    assert_eq!(
        rabbitmq.read(&["policies", "/"]).await,
        json!([]),
        "and their policies"
    );
    terminate(&mut last).await;
}

fn names() -> impl Iterator<Item = String> {
    (0..QUEUES).map(|number| format!("cart-{number}"))
}

fn start(kubeconfig: &Path, folder: &Path) -> Process {
    let [port] = free_ports();
    let mut command = Command::new(env!("CARGO_BIN_EXE_provider-asya"));
    command
        .env_clear()
        .env("KUBECONFIG", kubeconfig)
        .args(["--metrics-address", &format!("127.0.0.1:{port}")]);
    Process::start("provider-asya", &mut command, folder)
}

/// Ends the program as the kubelet does; it has to follow in time.
async fn terminate(provider: &mut Process) {
    provider.signal("TERM");
    rig::until("the provider ends", || {
        let has_ended = provider.has_ended();
        async move { has_ended.then_some(()) }
    })
    .await;
}

async fn set(client: &Client, rabbitmq: &RabbitMq) {
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let login = json!({"metadata": {"name": "login"}, "stringData": {"user": "guest", "password": "guest"}});
    let login = serde_json::from_value(login).unwrap();
    secrets
        .create(&PostParams::default(), &login)
        .await
        .unwrap();
    let configs: Api<ProviderConfig> = Api::default_namespaced(client.clone());
    let key = |key: &str| json!({"name": "login", "key": key});
    let credentials =
        json!({"usernameSecretRef": key("user"), "passwordSecretRef": key("password")});
    let spec = json!({"rabbitmq": {"endpoint": rabbitmq.endpoint, "credentials": credentials}});
    apply(
        &configs,
        "ProviderConfig",
        json!({"metadata": {"name": "rabbitmq"}, "spec": spec}),
    )
    .await;
    let queues: Api<Queue> = Api::default_namespaced(client.clone());
    for name in names() {
        let dead_letter = json!({"enabled": false});
        let queue = json!({
            "metadata": {"name": name},
            "spec": {
                "forProvider": {"rabbitmq": {
                    "host": "rabbitmq", "routingKeys": [name], "deadLetter": dead_letter}},
                "providerConfigRef": {"kind": "ProviderConfig", "name": "rabbitmq"},
            },
        });
        apply(&queues, "Queue", queue).await;
    }
}

async fn apply<K>(api: &Api<K>, kind: &str, mut object: Value)
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    object["apiVersion"] = json!(actor::PROVIDER_API_VERSION);
    object["kind"] = json!(kind);
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    let manager = PatchParams::apply("tests");
    api.patch(&name, &manager, &Patch::Apply(&object))
        .await
        .unwrap();
}
