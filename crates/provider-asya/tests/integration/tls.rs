//! RabbitMQ over TLS, with a certificate authority of its own, as the user that the documentation has
//! one make: its rights are the least for creating, changing and deleting queues.

use crate::rig::{self, Shared};
use std::fs;
use std::time::Duration;

use crate::rig::certificates::Certificates;
use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use crate::rig::rabbitmq::RabbitMq;
use actor::managed::SYNCED;
use k8s_openapi::api::core::v1::Secret;
use provider_asya::kinds::ProviderConfig;
use provider_asya::timings::Timings;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";
const USER: &str = "asya-provider";

static FIXTURE: Shared<Fixture> = Shared::new("RabbitMQ over TLS", || Box::pin(Fixture::start()));

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
    endpoint: String,
    /// The authority that has signed the broker's certificate.
    own: Certificates,
}

impl Fixture {
    async fn start() -> Self {
        let own = Certificates::make("own");
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
        let user = json!({"username": USER, "password": "p"});
        make_secret(&provider, "user", user).await;
        Self {
            queues: provider.queues(NAMESPACE),
            provider,
            rabbitmq,
            endpoint: format!("https://127.0.0.1:{port}"),
            own,
        }
    }

    /// Makes a config that trusts an authority, or those of the system, and a queue of that name.
    async fn make(&self, name: &str, authority: Option<&Certificates>) {
        if let Some(authority) = authority {
            let data = json!({"ca.crt": authority.authority()});
            make_secret(&self.provider, name, data).await;
        }
        let tls = authority.map(|_| json!({"caSecretRef": {"name": name, "key": "ca.crt"}}));
        make_config(&self.provider, name, &self.endpoint, tls).await;
        make_queue(&self.queues, name).await;
    }

    /// Waits until a queue reports that the broker's certificate is not trusted, once.
    async fn until_distrusted(&self, name: &str) {
        let text = "cannot reach https://127.0.0.1:";
        let queue = self
            .queues
            .until_condition(name, SYNCED, "False", text)
            .await;
        let conditions = json!(queue.status.conditions).to_string();
        let why = "invalid peer certificate: UnknownIssuer";
        assert!(conditions.contains(why), "{name}: {conditions}");
        let path = format!("asya-{name}");
        assert!(!self.rabbitmq.has(&["queues", "/", &path]).await, "{name}");
        // Events are written after the status.
        rig::until("a warning is written", || async {
            let warnings = self.provider.warnings(NAMESPACE, name).await;
            (!warnings.is_empty()).then_some(())
        })
        .await;
        for token in ["1", "2"] {
            self.queues.until_reconciled(name, token).await;
        }
        let warnings = self.provider.warnings(NAMESPACE, name).await;
        assert_eq!(warnings.len(), 1, "{warnings:#?}");
    }
}

/// Makes the user with the commands of the documentation.
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

#[test]
fn a_queue_is_created_changed_and_deleted_over_tls_as_the_documented_user() {
    FIXTURE.run(async |fixture| {
        let Fixture {
            queues,
            rabbitmq,
            own,
            ..
        } = fixture;
        fixture.make("own", Some(own)).await;
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
        queues.until_deleted("own").await;
        for queue in ["asya-own", "asya-own-dlq"] {
            assert!(!rabbitmq.has(&["queues", "/", queue]).await, "{queue}");
        }
    });
}

#[test]
fn a_broker_is_not_trusted_without_its_authority() {
    FIXTURE.run(async |fixture| {
        fixture.make("none", None).await;
        fixture.until_distrusted("none").await;
    });
}

#[test]
fn a_broker_is_trusted_once_its_authority_replaces_another_in_the_secret() {
    FIXTURE.run(async |fixture| {
        let other = Certificates::make("other");
        fixture.make("other", Some(&other)).await;
        fixture.until_distrusted("other").await;
        let own = json!({"ca.crt": fixture.own.authority()});
        make_secret(&fixture.provider, "other", own).await;
        fixture.queues.until_ready("other").await;
    });
}
