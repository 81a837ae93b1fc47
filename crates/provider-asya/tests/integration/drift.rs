//! Drift of queues, as Queue objects report it: the conditions `Drifted` and `PolicyShadowed`, and the
//! reason `QueueLocationChanged`.

use crate::rig::Shared;
use crate::rig::moto::{Moto, REGION};
use crate::rig::provider_fixture::{self, ProviderFixture, Queues};
use crate::rig::proxy::Proxy;
use crate::rig::rabbitmq::RabbitMq;
use actor::managed::SYNCED;
use actor::queue::{DRIFTED, POLICY_SHADOWED};
use kube::Api;
use kube::api::{Patch, PatchParams};
use provider_asya::kinds::ProviderConfig;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

static FIXTURE: Shared<Fixture> = Shared::new("drift of queues", || Box::pin(Fixture::start()));

struct Fixture {
    provider: ProviderFixture,
    queues: Queues,
    rabbitmq: RabbitMq,
    moto: Moto,
}

impl Fixture {
    async fn start() -> Self {
        let (provider, rabbitmq, moto) = tokio::join!(
            ProviderFixture::start(provider_fixture::timings()),
            RabbitMq::start(),
            Moto::start()
        );
        provider.make_namespace(NAMESPACE).await;
        let fixture = Self {
            queues: provider.queues(NAMESPACE),
            provider,
            rabbitmq,
            moto,
        };
        let broker = provider_fixture::rabbitmq_connection(&fixture.rabbitmq.endpoint, None);
        let service = provider_fixture::sqs_connection(&fixture.moto.endpoint, None);
        for (name, connection) in [
            ("rabbitmq", json!({"rabbitmq": broker})),
            ("moving", json!({"rabbitmq": broker})),
            ("sqs", json!({"sqs": service})),
        ] {
            fixture.make_config(name, &connection).await;
        }
        fixture
    }

    /// A config whose queues are polled often.
    async fn make_config(&self, name: &str, connection: &Value) {
        let mut spec = connection.clone();
        spec["countersInterval"] = json!("1s");
        let configs: Api<ProviderConfig> = self.provider.namespaced(NAMESPACE);
        provider_fixture::apply(&configs, json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    async fn make(&self, name: &str, config: &str, settings: Value) {
        let object = json!({
            "metadata": {"name": name,
                "annotations": {"crossplane.io/external-name": format!("asya-{name}")}},
            "spec": {"forProvider": settings,
                "providerConfigRef": {"kind": "ProviderConfig", "name": config}},
        });
        provider_fixture::apply(&self.queues.0, object).await;
    }
}

fn rabbitmq(kind: &str) -> Value {
    json!({"rabbitmq": {"host": "rabbitmq", "queueType": kind, "routingKeys": ["key"],
        "deadLetter": {"enabled": true}}})
}

#[test]
fn a_foreign_policy_with_higher_priority_is_reported() {
    FIXTURE.run(async |fixture| {
    fixture.make("shaded", "rabbitmq", rabbitmq("quorum")).await;
    fixture.queues.until_ready("shaded").await;
    let path = ["policies", "/", "operators"];
    let policy = json!({"pattern": "^asya-shaded$", "definition": {"max-length": 1000},
        "priority": 7, "apply-to": "queues"});
    fixture.rabbitmq.api.put(&path, &policy).await.unwrap();
    let text =
        "policy \"operators\" applies to queue \"asya-shaded\" in place of \"asya-asya-shaded\"";
    let queue = fixture
        .queues
        .until_condition("shaded", POLICY_SHADOWED, "True", text)
        .await;
    let mut conditions = queue.status.conditions.iter();
    assert!(conditions.any(|condition| condition.reason == "AnotherPolicy"));
    // A shadowed policy is no failure, and is reported once.
    let before = fixture.queues.until_reconciled("shaded", "1").await;
    let after = fixture.queues.until_reconciled("shaded", "2").await;
    assert_eq!(before.status.conditions, after.status.conditions);
    fixture.queues.until_ready("shaded").await;
    fixture.rabbitmq.api.delete(&path).await.unwrap();
    fixture
        .queues
        .until_condition("shaded", POLICY_SHADOWED, "False", "NoOtherPolicy")
        .await;
    });
}

#[test]
fn drift_of_an_immutable_setting_is_reported_and_the_queue_is_kept() {
    FIXTURE.run(async |fixture| {
    let body = json!({"durable": true, "auto_delete": false,
        "arguments": {"x-queue-type": "classic"}});
    let path = ["queues", "/", "asya-classic"];
    fixture.rabbitmq.api.put(&path, &body).await.unwrap();
    let mut settings = rabbitmq("quorum");
    settings["adopt"] = json!(true);
    fixture.make("classic", "rabbitmq", settings).await;
    let text = "queueType is \"classic\" and should be \"quorum\": to change it, drain the queue and delete it: the provider creates it again";
    fixture
        .queues
        .until_condition("classic", DRIFTED, "True", text)
        .await;
    fixture.queues.until_ready("classic").await;
    let queue = fixture.rabbitmq.read(&path).await;
    assert_eq!(queue["type"], json!("classic"), "it is never recreated");
    });
}

#[test]
fn a_lower_retention_is_reported_and_not_written() {
    FIXTURE.run(async |fixture| {
    let settings =
        |seconds: u32| json!({"sqs": {"region": REGION, "messageRetentionSeconds": seconds}});
    fixture.make("kept", "sqs", settings(7200)).await;
    fixture.queues.until_ready("kept").await;
    fixture
        .queues
        .change("kept", json!({"spec": {"forProvider": settings(60)}}))
        .await;
    let text =
        "messageRetentionSeconds is \"7200\" and should be \"60\": writing it could lose messages";
    fixture
        .queues
        .until_condition("kept", DRIFTED, "True", text)
        .await;
    fixture.queues.until_ready("kept").await;
    let change = json!({"spec": {"forProvider": settings(7200)}});
    fixture.queues.change("kept", change).await;
    fixture
        .queues
        .until_condition("kept", DRIFTED, "False", "NoDifference")
        .await;
    });
}

#[test]
fn a_config_with_another_endpoint_stops_its_queues() {
    FIXTURE.run(async |fixture| {
        fixture.make("moved", "moving", rabbitmq("classic")).await;
        fixture.queues.until_ready("moved").await;
        // The same broker by another name: nobody can know that it is the same.
        let proxy = Proxy::start(&fixture.rabbitmq.endpoint).await;
        let elsewhere = provider_fixture::rabbitmq_connection(&proxy.endpoint, None);
        fixture
            .make_config("moving", &json!({"rabbitmq": elsewhere}))
            .await;
        let queue = fixture
            .queues
            .until_condition("moved", SYNCED, "False", "QueueLocationChanged")
            .await;
        let conditions = json!(queue.status.conditions).to_string();
        let expected = json!(format!(
            "endpoint {:?} is now {:?}",
            fixture.rabbitmq.endpoint, proxy.endpoint
        ));
        assert!(
            conditions.contains(expected.as_str().unwrap().replace('"', "\\\"").as_str()),
            "{conditions}"
        );
        let back = provider_fixture::rabbitmq_connection(&fixture.rabbitmq.endpoint, None);
        fixture
            .make_config("moving", &json!({"rabbitmq": back}))
            .await;
        fixture.queues.until_ready("moved").await;
    });
}

#[test]
fn a_queue_recorded_in_another_region_is_not_reconciled() {
    FIXTURE.run(async |fixture| {
        fixture
            .make("regional", "sqs", json!({"sqs": {"region": REGION}}))
            .await;
        fixture.queues.until_ready("regional").await;
        // An object cannot change its region.
        let change = json!({"spec": {"forProvider": {"sqs": {"region": "eu-west-1"}}}});
        let parameters = PatchParams::default();
        let refused = fixture
            .queues
            .0
            .patch("regional", &parameters, &Patch::Merge(change))
            .await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("region"), "{refused}");
        // One that is made anew from a backup, with another region, brings its status along.
        let recorded = json!({"status": {"atProvider": {"location": {"region": "eu-west-1"}}}});
        let recorded = Patch::Merge(recorded);
        let change = fixture
            .queues
            .0
            .patch_status("regional", &parameters, &recorded);
        change.await.unwrap();
        let text = "region \"eu-west-1\" is now \"us-east-1\"";
        let queue = fixture
            .queues
            .until_condition("regional", SYNCED, "False", text)
            .await;
        let mut conditions = queue.status.conditions.iter();
        assert!(conditions.any(|condition| condition.reason == "QueueLocationChanged"));
    });
}
