//! The real program, killed again and again while it makes and deletes queues:
//! exactly one queue of each name comes of it, and no message is lost.

use crate::rig::{self, shared};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::rig::cluster::Cluster;
use crate::rig::moto::{Moto, REGION};
use crate::rig::process::{Process, Signal};
use crate::rig::provider_fixture::{self, Queues};
use crate::rig::rabbitmq::RabbitMq;
use aws_sdk_sqs::types::QueueAttributeName;
use kube::api::ListParams;
use kube::{Api, Client};
use provider_asya::conditions;
use provider_asya::kinds::{ProviderConfig, Queue};
use serde_json::{Value, json};

/// Times at which the program is killed after its start: before it has connected, and at about
/// every step of the queues that it makes or deletes at once.
const LIVES: [u64; 12] = [50, 100, 150, 200, 250, 300, 350, 400, 500, 600, 800, 1000];

/// Queues of each transport.
const QUEUES: usize = 10;

const NAMESPACE: &str = "shop";

#[test]
fn no_queue_is_left_or_doubled_and_no_message_lost_if_the_provider_is_killed_again_and_again() {
    shared::run("crashes", async {
        // In this order: what is created in the first part is used in the second and deleted in the third.
        let fixture = Fixture::set().await;
        fixture.lives_and_deaths().await;
        fixture.all_become_ready_and_take_a_message().await;
        fixture.lives_and_deaths().await;
        fixture.no_message_is_lost().await;
        fixture.delete_all().await;
        fixture.lives_and_deaths().await;
        fixture.nothing_is_left().await;
    });
}

/// A cluster, a broker of each kind, and the objects that the program is to make true.
struct Fixture {
    cluster: Cluster,
    folder: tempfile::TempDir,
    client: Client,
    queues: Queues,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    async fn set() -> Self {
        let cluster = Cluster::start().await;
        let (rabbitmq, moto, ()) =
            tokio::join!(RabbitMq::start(), Moto::start(), cluster.install_kinds());
        let client = cluster.client().await;
        let fixture = Self {
            cluster,
            folder: tempfile::tempdir().unwrap(),
            queues: Queues(Api::namespaced(client.clone(), NAMESPACE)),
            client,
            rabbitmq,
            moto,
        };
        fixture.apply_all().await;
        fixture
    }

    async fn apply_all(&self) {
        provider_fixture::make_namespace(&self.client, NAMESPACE).await;
        let configs: Api<ProviderConfig> = Api::namespaced(self.client.clone(), NAMESPACE);
        let connections = [
            (
                "rabbitmq",
                provider_fixture::rabbitmq_connection(&self.rabbitmq.endpoint, None),
            ),
            (
                "sqs",
                provider_fixture::sqs_connection(&self.moto.endpoint, None),
            ),
        ];
        for (transport, connection) in connections {
            let spec = json!({transport: connection});
            provider_fixture::apply(
                &configs,
                json!({"metadata": {"name": transport}, "spec": spec}),
            )
            .await;
        }
        for name in names("rabbitmq") {
            let rabbitmq = json!({"host": "rabbitmq", "routingKeys": [name],
                "deadLetter": {"enabled": false}});
            self.apply(&name, "rabbitmq", rabbitmq).await;
        }
        for name in names("sqs") {
            self.apply(&name, "sqs", json!({"region": REGION})).await;
        }
    }

    async fn apply(&self, name: &str, transport: &str, settings: Value) {
        let spec = json!({"forProvider": {transport: settings},
            "providerConfigRef": {"kind": "ProviderConfig", "name": transport}});
        let queue = json!({"metadata": {"name": name}, "spec": spec});
        provider_fixture::apply(&self.queues.0, queue).await;
    }

    /// Starts the program and kills it, again and again.
    async fn lives_and_deaths(&self) {
        for life in LIVES {
            let provider = self.start();
            tokio::time::sleep(Duration::from_millis(life)).await;
            drop(provider); // SIGKILL
        }
    }

    async fn all_become_ready_and_take_a_message(&self) {
        let provider = self.start();
        rig::until("all queues are ready", || async {
            let listed = self.queues.0.list(&ListParams::default()).await.unwrap();
            let is_ready = |queue: &Queue| {
                conditions::is_true(&queue.status.conditions, actor::managed::READY)
            };
            let are_ready = listed.items.iter().all(is_ready);
            (listed.items.len() == 2 * QUEUES && are_ready).then_some(())
        })
        .await;
        assert_eq!(self.held().await, every_queue_holds(0), "each name once");
        for name in names("rabbitmq") {
            assert!(
                self.rabbitmq.publish("asya", &name).await,
                "a queue that is ready gets what is published by {name:?}"
            );
        }
        let (sqs, _) = self.moto.clients();
        for name in names("sqs") {
            let found = sqs.get_queue_url().queue_name(name).send().await.unwrap();
            let url = found.queue_url.unwrap();
            let send = sqs.send_message().queue_url(url).message_body("{}");
            send.send().await.unwrap();
        }
        terminate(provider).await;
    }

    async fn no_message_is_lost(&self) {
        let expected = every_queue_holds(1);
        rig::until("every message is counted", || async {
            (self.held().await == expected).then_some(())
        })
        .await;
    }

    async fn delete_all(&self) {
        for name in names("rabbitmq").chain(names("sqs")) {
            self.queues.delete(&name).await;
        }
    }

    async fn nothing_is_left(&self) {
        let provider = self.start();
        rig::until("all objects are deleted", || async {
            let listed = self.queues.0.list(&ListParams::default()).await.unwrap();
            listed.items.is_empty().then_some(())
        })
        .await;
        assert_eq!(
            self.held().await,
            BTreeMap::new(),
            "and so are their queues"
        );
        assert_eq!(
            self.rabbitmq.read(&["policies", "/"]).await,
            json!([]),
            "and their policies"
        );
        terminate(provider).await;
    }

    /// Every queue that there is, with the number of its messages.
    async fn held(&self) -> BTreeMap<String, u64> {
        let found = self.rabbitmq.read(&["queues", "/"]).await;
        let of_rabbitmq = found.as_array().unwrap().iter().map(|queue| {
            let name = queue["name"].as_str().unwrap().to_owned();
            (name, queue["messages"].as_u64().unwrap_or_default())
        });
        let mut held: BTreeMap<String, u64> = of_rabbitmq.collect();
        let (sqs, _) = self.moto.clients();
        let listed = sqs.list_queues().send().await.unwrap();
        for url in listed.queue_urls.unwrap_or_default() {
            let messages = QueueAttributeName::ApproximateNumberOfMessages;
            let read = sqs.get_queue_attributes().queue_url(&url);
            let read = read.attribute_names(messages.clone()).send().await.unwrap();
            let count = read.attributes.unwrap()[&messages].parse().unwrap();
            let (_, name) = url.rsplit_once('/').unwrap();
            held.insert(name.to_owned(), count);
        }
        held
    }

    fn start(&self) -> Process {
        start(&self.cluster.kubeconfig(), self.folder.path())
    }
}

fn names(transport: &str) -> impl Iterator<Item = String> {
    (0..QUEUES).map(move |number| format!("{transport}-{number}"))
}

fn every_queue_holds(count: u64) -> BTreeMap<String, u64> {
    let names = names("rabbitmq").chain(names("sqs"));
    names.map(|name| (name, count)).collect()
}

fn start(kubeconfig: &Path, folder: &Path) -> Process {
    let [port] = rig::ports::reserve();
    let mut command = Command::new(env!("CARGO_BIN_EXE_provider-asya"));
    command
        .env_clear()
        .env("KUBECONFIG", kubeconfig)
        .args(["--metrics-address", &format!("127.0.0.1:{port}")]);
    Process::start("provider-asya", &mut command, folder)
}

/// Ends the program as the kubelet does; it has to follow in time.
async fn terminate(mut provider: Process) {
    provider.signal(Signal::TERM);
    rig::until("the provider ends", || {
        let has_ended = provider.has_ended();
        async move { has_ended.then_some(()) }
    })
    .await;
}
