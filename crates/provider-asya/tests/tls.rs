//! RabbitMQ over TLS, with an authority of its own, as the user that the documents tell to make: the
//! least that is enough for a queue's whole life.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on panics"
)]

mod rig;

use std::fs;
use std::time::Duration;

use actor::managed::SYNCED;
use k8s_openapi::api::core::v1::Secret;
use provider_asya::kinds::ProviderConfig;
use provider_asya::timings::Timings;
use rig::certificates::Certificates;
use rig::provider_fixture::{self, ProviderFixture, Queues};
use rig::rabbitmq::RabbitMq;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";
const USER: &str = "asya-provider";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_is_trusted_by_its_own_authority_alone() {
    if rig::is_skipped("RabbitMQ over TLS") {
        return;
    }
    let (own, other) = (Certificates::make("own"), Certificates::make("other"));
    let [port] = rig::ports::reserve();
    let timings = Timings {
        // Secrets that change are noticed at once.
        credentials: Duration::from_millis(100),
        ..provider_fixture::timings()
    };
    let settings = own.settings(port);
    let (provider, rabbitmq) = tokio::join!(
        ProviderFixture::start(timings),
        RabbitMq::start_with(&settings)
    );
    make_documented_user(&rabbitmq).await;
    provider.make_namespace(NAMESPACE).await;
    make_secret(
        &provider,
        "user",
        json!({"username": USER, "password": "p"}),
    )
    .await;
    let queues = provider.queues(NAMESPACE);
    let endpoint = format!("https://127.0.0.1:{port}");
    let authorities = [("own", Some(&own)), ("other", Some(&other)), ("none", None)];
    for (name, authority) in authorities {
        if let Some(authority) = authority {
            make_secret(&provider, name, json!({"ca.crt": authority.authority()})).await;
        }
        let tls = authority.map(|_| json!({"caSecretRef": {"name": name, "key": "ca.crt"}}));
        make_config(&provider, name, &endpoint, tls).await;
        make_queue(&queues, name).await;
    }
    tokio::join!(
        a_queue_lives_over_tls(&queues, &rabbitmq),
        a_server_of_another_authority_is_told(&provider, &queues, &rabbitmq, &own),
    );
}

/// Makes the user by the commands of the documents, word for word.
async fn make_documented_user(rabbitmq: &RabbitMq) {
    let page = test_cluster::components::repository().join("docs/transports.md");
    let page = fs::read_to_string(page).unwrap();
    let command = |name: &str| {
        let start = format!("rabbitmqctl {name} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&start));
        let line = line.unwrap_or_else(|| panic!("the page has no {start:?}"));
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let [user, tag] = command("set_user_tags").try_into().unwrap();
    assert_eq!(user, USER);
    let body = json!({"password": "p", "tags": tag});
    rabbitmq.api.put(&["users", USER], &body).await.unwrap();
    let [_, vhost, _, configure, write, read] = command("set_permissions").try_into().unwrap();
    let bare = |pattern: &str| pattern.trim_matches('\'').to_owned();
    let permissions =
        json!({"configure": bare(&configure), "write": bare(&write), "read": bare(&read)});
    let path = ["permissions", vhost.as_str(), USER];
    rabbitmq.api.put(&path, &permissions).await.unwrap();
}

async fn make_secret(provider: &ProviderFixture, name: &str, data: Value) {
    let secret = json!({"metadata": {"name": name}, "stringData": data});
    provider_fixture::apply(&provider.namespaced::<Secret>(NAMESPACE), secret).await;
}

async fn make_config(provider: &ProviderFixture, name: &str, endpoint: &str, tls: Option<Value>) {
    let key = |key: &str| json!({"name": "user", "key": key});
    let mut connection = json!({"endpoint": endpoint, "credentials": {
        "usernameSecretRef": key("username"), "passwordSecretRef": key("password")}});
    if let Some(tls) = tls {
        connection["tls"] = tls;
    }
    let config = json!({"metadata": {"name": name}, "spec": {"rabbitmq": connection}});
    provider_fixture::apply(&provider.namespaced::<ProviderConfig>(NAMESPACE), config).await;
}

/// A queue called `asya-<name>`, with everything that a queue can have.
async fn make_queue(queues: &Queues, name: &str) {
    let rabbitmq = json!({"host": "rabbitmq", "routingKeys": [name, format!("asya-{name}")],
        "deadLetter": {"enabled": true, "maxReceiveCount": 5}});
    let object = json!({
        "metadata": {"name": name,
            "annotations": {"crossplane.io/external-name": format!("asya-{name}")}},
        "spec": {"forProvider": {"rabbitmq": rabbitmq},
            "providerConfigRef": {"kind": "ProviderConfig", "name": name}},
    });
    provider_fixture::apply(&queues.0, object).await;
}

async fn a_queue_lives_over_tls(queues: &Queues, rabbitmq: &RabbitMq) {
    queues.until_ready("own").await;
    assert!(rabbitmq.publish("asya", "own").await, "a message arrives");
    let limit = async || {
        let policy = rabbitmq.read(&["policies", "/", "asya-asya-own"]).await;
        policy["definition"]["delivery-limit"].clone()
    };
    assert_eq!(limit().await, json!(5));
    let change =
        json!({"spec": {"forProvider": {"rabbitmq": {"deadLetter": {"maxReceiveCount": 6}}}}});
    queues.change("own", change).await;
    rig::until("the policy is written", || async {
        (limit().await == json!(6)).then_some(())
    })
    .await;
    queues.until_ready("own").await;
    queues.delete("own").await;
    queues.until_gone("own").await;
    for queue in ["asya-own", "asya-own-dlq"] {
        assert!(!rabbitmq.has(&["queues", "/", queue]).await, "{queue}");
    }
}

async fn a_server_of_another_authority_is_told(
    provider: &ProviderFixture,
    queues: &Queues,
    rabbitmq: &RabbitMq,
    own: &Certificates,
) {
    for name in ["other", "none"] {
        let text = "cannot reach https://127.0.0.1:";
        let queue = queues.until_says(name, SYNCED, "False", text).await;
        let said = json!(queue.status.conditions).to_string();
        let why = "invalid peer certificate: UnknownIssuer";
        assert!(said.contains(why), "{name}: {said}");
        let path = format!("asya-{name}");
        assert!(!rabbitmq.has(&["queues", "/", &path]).await, "{name}");
        let warnings = provider.warnings(NAMESPACE, name).await;
        assert_eq!(warnings.len(), 1, "{warnings:#?}");
    }
    // The right authority ends it, without a change of the config.
    make_secret(provider, "other", json!({"ca.crt": own.authority()})).await;
    queues.until_ready("other").await;
}
